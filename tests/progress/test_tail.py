"""Events are read while they are being written."""

import json

from agentcompass.progress.tail import EventTail


def line(name, **fields):
    return json.dumps({"run_id": "r", "event": name, "timestamp": 1.0, **fields}) + "\n"


def names(tail):
    return [event.event for event in tail.read()]


def test_each_event_is_read_once(tmp_path):
    path = tmp_path / "progress.jsonl"
    tail = EventTail(path)
    assert names(tail) == []

    path.write_text(line("a") + line("b"))
    assert names(tail) == ["a", "b"]
    assert names(tail) == []

    with path.open("a") as file:
        file.write(line("c"))
    assert names(tail) == ["c"]


def test_half_a_line_is_left_until_it_is_whole(tmp_path):
    path = tmp_path / "progress.jsonl"
    tail = EventTail(path)
    whole = line("b", task_id="t")
    path.write_text(line("a") + whole[:20])
    assert names(tail) == ["a"]

    path.write_text(line("a") + whole[:-1])
    assert names(tail) == ["b"]

    path.write_text(line("a") + whole + line("c"))
    assert names(tail) == ["c"]
    assert tail.unreadable == 0


def test_what_is_no_event_is_counted_and_passed_over(tmp_path):
    path = tmp_path / "progress.jsonl"
    bad = ["{", "[]", '{"event": 5}', '{"run_id": "r", "event": "x", "timestamp": "now"}']
    path.write_bytes("\n".join(bad).encode() + b"\n\xff\xfe\n\n" + line("a").encode())
    tail = EventTail(path)

    assert names(tail) == ["a"]
    assert tail.unreadable == 5


def test_a_task_id_that_is_no_unicode_is_read(tmp_path):
    path = tmp_path / "progress.jsonl"
    path.write_text(line("a", task_id="x\ud800"))

    assert [event.task_id for event in EventTail(path).read()] == ["x\ud800"]
