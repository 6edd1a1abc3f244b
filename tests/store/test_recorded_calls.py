"""Recorded calls: what is written reads back, grows with the conversation, and holds no secret."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.errors import RecordCorrupt, SchemaUnsupported, StoreError, UsageError
from agentcompass.records.exchange import Asked, Cause, Exchange, Fault
from agentcompass.records.model import Reply, Usage
from agentcompass.store.atomic import Disk
from agentcompass.store.exchange_file import ExchangeFile, marks_of, masked_lines
from agentcompass.store.layout import RunLayout
from agentcompass.store.recorded_calls import RecordedCalls, open_recorded_calls
from agentcompass.store.redact import Redactor
from agentcompass.store.shortening import digests, shortened, whole_again
from tests.store.disks import FaultyDisk, no_space

SECRET = "planted-secret-0123"
HEAD = b'{"schema_version": "agentcompass.exchange.v1"'
TOOLS = ({"name": "bash", "parameters": {"password": {"type": "string"}}},)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


@given(wholes=st.lists(st.dictionaries(st.sampled_from("abc"), JSON), max_size=5))
def test_what_was_shortened_is_whole_again(wholes: list[dict[str, Any]]):
    """Fails when a list that lost items counts as kept whole (`now == before` left out)."""
    before: Mapping[str, Any] = {}
    seen: dict[str, Any] = {}
    for whole in wholes:
        now = digests(whole)
        short = json.loads(json.dumps(shortened(whole, now, before)))
        seen, before = whole_again(short, seen), now
        assert seen == whole


@attrs.define
class Recording:
    """A run directory of one attempt whose calls are recorded."""

    folder: Path
    redactor: Redactor = attrs.field(factory=lambda: Redactor([SECRET]))

    @property
    def path(self) -> Path:
        return RunLayout(self.folder).task("t", "running").attempt(1).exchanges

    def file(self, disk: Disk | None = None) -> ExchangeFile:
        limiter = trio.CapacityLimiter(1)
        return ExchangeFile(
            path=self.path, redactor=self.redactor, disk=disk or Disk(), limiter=limiter
        )

    @property
    def calls(self) -> RecordedCalls:
        return RecordedCalls(directory=self.folder, redactor=self.redactor)

    def read(self) -> list[list[Exchange]]:
        return self.calls.executions("t", 1)

    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.path.read_bytes().splitlines()]


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path)


def asked(*texts: str, tools: Sequence[Any] = TOOLS, **params: Any) -> Asked:
    messages = [{"role": "user", "content": text} for text in texts]
    body = {"model": "m", **params, "messages": messages, "tools": list(tools)}
    return Asked(messages=messages, tools=tools, body=body)


def exchange(step: int, execution: str = "one", **end: Any) -> Exchange:
    reply = Reply(message={"role": "assistant", "content": "hi"}, usage=Usage(prompt_tokens=3))
    return Exchange(
        execution=execution,
        step=step,
        protocol="openai-chat",
        started_at="2026-01-01T00:00:00+00:00",
        seconds=0.5,
        spent={"calls": step},
        **({"reply": reply} | end),
    )


async def test_every_call_reads_back_by_its_execution(recording: Recording):
    fault = Fault(
        kind="ModelTimeout",
        message="too slow",
        severity="error",
        code="model_timeout",
        causes=(Cause(kind="ReadError", message="cut"),),
    )
    first, second = recording.file(), recording.file()
    await first.append(exchange(1), asked("a"))
    await first.append(exchange(2, reply=None, fault=fault), asked("a", "b"))
    await second.append(exchange(1, "two", reply=None), asked("a"))

    ((one, faulty), (cut_off,)) = recording.read()

    assert one == attrs.evolve(exchange(1), marks=recording.calls.marks(asked("a").messages, TOOLS))
    assert (faulty.reply, faulty.fault) == (None, fault)
    assert faulty.marks == recording.calls.marks(asked("a", "b").messages, TOOLS)
    assert (cut_off.step, cut_off.reply, cut_off.fault) == (1, None, None)
    assert cut_off.marks == one.marks


async def test_what_stood_in_the_call_before_is_not_written_again(recording: Recording):
    file, picture = recording.file(), "data:image/png;base64," + "A" * 1_000_000
    for step in range(1, 9):
        await file.append(exchange(step), asked(picture, *map(str, range(step))))

    assert recording.path.stat().st_size < 1_020_000
    last = recording.lines()[-1]["body"]
    assert last["kept"] == {"model": None, "messages": 8, "tools": None}
    assert last["new"] == {"messages": [{"role": "user", "content": "7"}]}


async def test_a_secret_is_masked_and_a_tool_that_takes_a_password_is_recognised(
    recording: Recording,
):
    reply = Reply(message={"role": "assistant", "content": f"echo {SECRET}", "password": "free"})
    await recording.file().append(exchange(1, reply=reply), asked(SECRET, api_key="short"))

    text = recording.path.read_text()
    assert SECRET not in text
    assert '"short"' not in text
    ((read,),) = recording.read()
    assert read.reply is not None
    # By its value alone: what a model said under any name is said again.
    assert read.reply.message["password"] == "free"
    assert read.marks == recording.calls.marks(asked(SECRET).messages, TOOLS)
    assert read.marks == marks_of(asked("********").messages, TOOLS, Redactor())


async def test_a_last_line_that_a_kill_cut_off_is_said_and_passed_over(
    recording: Recording, caplog: pytest.LogCaptureFixture
):
    file = recording.file()
    await file.append(exchange(1), asked("a"))
    await file.append(exchange(2), asked("a", "b"))
    whole = recording.path.read_bytes()
    begin = whole.index(b"\n") + 1
    for size in range(begin + 1, len(whole), 97):
        caplog.clear()
        recording.path.write_bytes(whole[:size])
        ((read,),) = recording.read()
        assert read.step == 1
        assert "its last line was never finished" in caplog.text

    await recording.file().append(exchange(1, "two"), asked("a"))  # goes on on a fresh line
    assert [[read.step for read in execution] for execution in recording.read()] == [[1], [1]]


@pytest.mark.parametrize("fails_at", [1, 2])
async def test_after_a_call_that_could_not_be_written_the_next_one_stands_alone(
    recording: Recording, fails_at: int
):
    disk = FaultyDisk()
    file = recording.file(disk)
    await file.append(exchange(1), asked("a"))
    disk.fails_at = len(disk.steps) + fails_at
    with pytest.raises(StoreError, match=r"exchanges\.jsonl: No space left"):
        await file.append(exchange(2), asked("a", "b"))
    await file.append(exchange(3), asked("a", "b", "c"))

    ((first, third),) = recording.read()
    assert (first.step, third.step) == (1, 3)
    assert third.marks == recording.calls.marks(asked("a", "b", "c").messages, TOOLS)


class AlmostFullDisk(Disk):
    """Has room for all of a line but its end."""

    full = True

    def write(self, file: int, data: bytes) -> None:
        if self.full and len(data) > 1:
            super().write(file, data[:-1])
            raise no_space()
        super().write(file, data)


async def test_a_call_that_lacks_only_its_line_end_counts_and_the_next_one_stands_alone(
    recording: Recording,
):
    disk = AlmostFullDisk()
    file = recording.file(disk)
    with pytest.raises(StoreError, match="No space left"):
        await file.append(exchange(1), asked("a"))
    disk.full = False
    await file.append(exchange(2), asked("a", "b"))
    disk.full = True
    with pytest.raises(StoreError, match="No space left"):
        await file.append(exchange(3), asked("a", "x"))
    disk.full = False
    await file.append(exchange(4), asked("a", "b", "c"))

    (execution,) = recording.read()
    assert [read.step for read in execution] == [1, 2, 3, 4]
    assert execution[3].marks == recording.calls.marks(asked("a", "b", "c").messages, TOOLS)


@pytest.mark.parametrize(
    ("line", "error", "said"),
    [
        (b"{\n", RecordCorrupt, "line 1: not readable as JSON"),
        (b"[]\n", SchemaUnsupported, "line 1: schema None is not known"),
        (b'{"schema_version": "agentcompass.exchange.v9"}\n', SchemaUnsupported, "exchange.v9"),
        (HEAD + b"}\n", RecordCorrupt, "its marks do not"),
        (
            HEAD + b', "marks": {"kept": {"messages": 2}, "new": {"messages": []}}}\n',
            RecordCorrupt,
            "its marks do not continue",
        ),
        (
            HEAD + b', "marks": {"kept": {}, "new": ["tools"]}}\n',
            RecordCorrupt,
            "its marks do not continue",
        ),
    ],
)
def test_a_line_that_is_none_is_named(
    recording: Recording, line: bytes, error: type[StoreError], said: str
):
    recording.path.parent.mkdir(parents=True)
    recording.path.write_bytes(line)

    with pytest.raises(error, match=said):
        recording.read()


async def test_a_task_that_moves_on_while_it_is_read_is_read_once(recording: Recording):
    await recording.file().append(exchange(1), asked("a"))
    running = recording.path.parent.parent
    moved = RunLayout(recording.folder).task("t", "normal").directory
    shutil.copytree(running, moved)

    assert [[read.step for read in execution] for execution in recording.read()] == [[1]]
    shutil.rmtree(running)
    assert [[read.step for read in execution] for execution in recording.read()] == [[1]]


def test_a_pipe_in_the_place_of_recorded_calls_is_waited_for_by_nobody(recording: Recording):
    recording.path.parent.mkdir(parents=True)
    os.mkfifo(recording.path)

    assert recording.read() == []


def test_lines_that_are_copied_are_whole_and_without_what_has_become_secret():
    lines = b'{"a":"free"}\n{"a":"later-secret"}\n{"a":'

    assert masked_lines(lines, Redactor()) == lines[: lines.rindex(b"\n") + 1]
    copied = masked_lines(lines, Redactor(["later-secret"]))
    assert copied == b'{"a":"free"}\n{"a":"********"}\n'


async def test_a_path_that_cannot_be_replayed_is_refused(recording: Recording):
    def refusal(benchmark: str) -> str:
        with pytest.raises(UsageError) as caught:
            open_recorded_calls(recording.folder, benchmark, Redactor())
        return str(caught.value)

    assert "is not a run directory: it has no run_info.json" in refusal("starter")
    info: dict[str, Any] = {"schema_version": "agentcompass.run_info.v3", "run_id": "r"}
    info |= {"started_at": "2026-01-01T00:00:00", "request": {"benchmark": {"id": "starter"}}}
    (recording.folder / "run_info.json").write_text(json.dumps(info))
    assert "is a run of starter, not of other" in refusal("other")
    assert "has recorded no call; a run records with --model-params" in refusal("starter")

    await recording.file().append(exchange(1), asked("a"))
    assert open_recorded_calls(recording.folder, "starter", Redactor()).executions("t", 1)
