"""Rows of SWE-bench from files; what is wrong with one is that task's fault."""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from agentcompass.benchmarks._swebench_rows import read_rows
from agentcompass.benchmarks.swebench_verified import SWEbenchVerified
from agentcompass.errors import DependencyMissing, UsageError

START, END = ": '>>>>> Start Test Output'", ": '>>>>> End Test Output'"
PATCH = (
    "diff --git a/tests/model/test_a.py b/tests/model/test_a.py\n"
    "--- a/tests/model/test_a.py\n+++ b/tests/model/test_a.py\n@@ -1 +1 @@\n-1\n+2\n"
)


def a_row(instance_id: str, **fields: Any) -> dict[str, Any]:
    """A classic row; a field that is None is left out."""
    row = {
        "instance_id": instance_id,
        "repo": "django/django",
        "base_commit": "a" * 40,
        "version": "4.2",
        "problem_statement": "It fails.",
        "hints_text": "Look at model.py.",
        "patch": PATCH,
        "test_patch": PATCH,
        "FAIL_TO_PASS": json.dumps(["test_a (model.T)"]),
        "PASS_TO_PASS": json.dumps([]),
        "difficulty": "<15 min fix",
        **fields,
    }
    return {name: value for name, value in row.items() if value is not None}


def lines(*rows: Any) -> bytes:
    texts = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    return b"\n".join(texts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "swebench_verified").mkdir()
    return tmp_path / "swebench_verified"


def faults(folder: Path) -> list[str]:
    return list(SWEbenchVerified(SWEbenchVerified.Config()).check_data(folder))


def load(folder: Path, **config: Any) -> dict[str, Any]:
    """The tasks by id."""
    benchmark = SWEbenchVerified(SWEbenchVerified.Config(**config))
    return {task.task_id: task for task in benchmark.load_tasks(folder.parent)}


def test_rows_are_read_from_every_kind_of_file(folder: Path) -> None:
    (folder / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + lines(a_row("one"), b"", a_row("two")))
    (folder / "b.json").write_text(json.dumps([a_row("three", FAIL_TO_PASS=["t"])]))
    table = pa.Table.from_pylist([a_row("four"), a_row("five", patch=None)])
    pq.write_table(table, folder / "c.parquet")
    (folder / ".part.jsonl").write_bytes(b"half of a downl")
    (folder / "README.md").write_text("not rows")

    read = read_rows(folder)

    assert [item.task_id for item in read] == ["one", "two", "three", "four", "five"]
    assert [item.fault for item in read] == [None] * 5
    assert read[3].row is not None
    assert read[3].row.FAIL_TO_PASS == ("test_a (model.T)",)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"base_commit": "HEAD"}, ": base_commit 'HEAD' is not a commit"),
        ({"base_commit": None}, ".base_commit: base_commit is required"),
        ({"repo": "../x/y"}, ": repo '../x/y' is not OWNER/NAME"),
        ({"repo": "a/b"}, ": repo 'a/b' has no commands known here"),
        ({"version": "99"}, ": version '99' of django/django has no commands known here"),
        ({"version": 4.2}, ".version: expected text, got"),
        ({"problem_statement": " "}, ": problem_statement ' ' is not a text"),
        ({"FAIL_TO_PASS": "[]"}, ": FAIL_TO_PASS names no test"),
        ({"FAIL_TO_PASS": "test_a"}, ".FAIL_TO_PASS: expected a list, got"),
        ({"PASS_TO_PASS": [1]}, ".PASS_TO_PASS[0]: expected text, got"),
        ({"eval_script": "pytest", "log_parser": "p"}, ": eval_script lacks the marks"),
        ({"eval_type": "other"}, ".eval_type: "),
        ({"eval_script": f"{END}\n{START}", "log_parser": "p"}, ": eval_script lacks the marks"),
        ({"eval_script": f"{START}{END}", "log_parser": "p"}, ": eval_script lacks the marks"),
        (
            {"eval_script": f"{START}\n{END}", "log_parser": "pytest"},
            ": log_parser 'pytest' is none of swebench 5.0.2",
        ),
        ({"image": " "}, ": image ' ' is not a text without white space"),
        ({"problem_statement": "half \ud83d"}, ": problem_statement has half a character"),
        ({"test_patch": PATCH + "+\ud83d\n"}, ": test_patch has half a character"),
        ({"patch": "\ud83d"}, ": patch has half a character"),
        ({"test_patch": PATCH + "+\0\n"}, ": test_patch has half a character, or NUL"),
    ],
)
def test_a_fault_names_row_and_field_and_costs_its_task_alone(
    folder: Path, fields: dict[str, Any], said: str
) -> None:
    (folder / "rows.jsonl").write_bytes(lines(a_row("good"), a_row("bad", **fields)))
    tasks = load(folder)

    assert tasks["good"].fault is None
    assert tasks["bad"].fault is not None
    assert f"rows.jsonl row 2{said}" in tasks["bad"].fault
    assert faults(folder) == [tasks["bad"].fault]


def test_a_column_that_only_other_rows_fill_is_none_of_this_row(folder: Path) -> None:
    """Rows of both generations in one Parquet file."""
    script = f"{START}\ntrue\n{END}"
    newer = {"eval_script": script, "log_parser": "parse_log_pytest", "eval_type": "fail_only"}
    columns = dict.fromkeys(("image", *newer))
    rows = [{**columns, **a_row("old")}, {**columns, **a_row("new", **newer)}]
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    (folder / "rows.json").write_text(json.dumps([{**columns, **a_row("json")}]))

    assert [item.fault for item in read_rows(folder)] == [None] * 3
    assert [item.row.eval_type for item in read_rows(folder) if item.row] == [
        *("pass_and_fail", "pass_and_fail", "fail_only")
    ]


def test_a_data_set_without_a_row_is_told(folder: Path) -> None:
    (folder / "rows.jsonl").write_bytes(b"\n")

    assert faults(folder) == [f"there is no row in {folder}"]


def test_what_is_no_row_at_all_is_a_fault_of_its_own(folder: Path) -> None:
    (folder / "rows.jsonl").write_bytes(lines(a_row("good"), b'{"instance_id": "cut', b"[]"))

    assert [(task.task_id, bool(task.fault)) for task in load(folder).values()] == [
        ("good", False),
        ("rows.jsonl row 2", True),
        ("rows.jsonl row 3", True),
    ]
    assert faults(folder)[0].startswith("rows.jsonl row 2: not JSON: ")


def test_an_id_that_is_there_twice_is_refused_by_name(folder: Path) -> None:
    (folder / "a.jsonl").write_bytes(lines(a_row("one"), a_row("two")))
    (folder / "b.jsonl").write_bytes(lines(a_row("two")))

    with pytest.raises(UsageError, match="more than one task with the id 'two'"):
        load(folder)
    assert faults(folder) == ["instance_id: 'two' is there more than once"]


def test_a_folder_without_rows_and_a_file_of_another_kind_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"looked for \*\.jsonl, \*\.json, \*\.parquet in /.*"):
        load(folder)

    (folder / "rows.json").write_text('{"one": 1}')
    with pytest.raises(UsageError, match=r"rows\.json cannot be read as rows: expected a list"):
        load(folder)

    (folder / "rows.json").unlink()
    (folder / "rows.parquet").write_bytes(b"PAR1 cut")
    with pytest.raises(UsageError, match=r"rows\.parquet cannot be read as rows"):
        load(folder)


def test_parquet_without_its_package_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "rows.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)

    with pytest.raises(DependencyMissing, match=r"pip install 'agentcompass\[parquet\]'"):
        load(folder)


def test_an_agent_is_told_the_problem_and_hints_only_where_asked(folder: Path) -> None:
    (folder / "rows.jsonl").write_bytes(lines(a_row("one"), a_row("two", hints_text=None)))

    assert {task.instruction for task in load(folder).values()} == {"It fails."}
    with_hints = load(folder, hints_text=True)
    assert with_hints["one"].instruction == "It fails.\n\nHints:\n\nLook at model.py."
    assert with_hints["two"].instruction == "It fails."


def test_a_task_has_its_image_its_category_and_half_an_hour_for_its_tests(folder: Path) -> None:
    rows = [a_row("django__django-1"), a_row("Two__two-2", image="mine:1")]
    (folder / "rows.jsonl").write_bytes(lines(*rows))
    tasks = load(folder)
    one = tasks["django__django-1"]

    assert one.setup.image == "swebench/sweb.eval.x86_64.django_1776_django-1:latest"
    assert tasks["Two__two-2"].setup.image == "mine:1"
    assert (one.category, one.evaluation_timeout_seconds) == ("django/django", 1800.0)
    other = load(folder, image="here/{id}.arm64")
    assert other["django__django-1"].setup.image == "here/django_1776_django-1.arm64"
