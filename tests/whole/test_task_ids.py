"""Whatever a data set calls its tasks, each is itself on disk and in every report."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentcompass.benchmarks._selection import select
from agentcompass.errors import UsageError
from agentcompass.progress.event_file import read_events
from agentcompass.records.request import AttemptPlan
from agentcompass.records.task import TaskSpec
from agentcompass.store.layout import RunLayout
from agentcompass.store.reading import StoredTask, read_run_info, read_tasks
from tests.fakes import Script, Scripted, ScriptedBenchmark, World
from tests.strategies import task_ids
from tests.summarizing.runs import run_on_disk, summarized

ODD = (
    *("Task", "task", "TASK", "a/b", "a_b", "a\\b", "a//b", "/etc/passwd", "C:\\x", "CON"),
    *("..", ".", "../../x", "-rf", "--k", "~", "$HOME", "%2e%2e", "a b", "a  b", "end.", "100%"),
    *("caf\u00e9", "cafe\u0301", "日本語", "🧭", "👩‍👩‍👧", "ﬁ", "fi", "İ", "i̇", "ß", "ss"),
    *(
        "new\nline",
        "car\rriage",
        "tab\tbed",
        "nul\0byte",
        "\x1b[31mred",
        "\u202eright",
        "line\u2028end",
    ),
    *("x" * 300, "x" * 299 + "y", "木" * 90, "half \ud83d", "1", "01", "1.0", "null", "task.json"),
    *("a--" + "0" * 64, "attempt-1", "running", "[x]*?", '"quoted"', "{}", "a|b", "#", "<!--"),
)


@attrs.define(eq=False)
class Selecting(ScriptedBenchmark):
    """Its tasks are chosen as those of every benchmark are."""

    sample_ids: Sequence[str] | None = None

    def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
        return select(super().load_tasks(data_dir), self.sample_ids)


def solved(task_id: str) -> bool:
    """An outcome that tells ids apart, so that none can stand for another unnoticed."""
    return sum(map(ord, task_id)) % 2 == 0


def run(folder: Path, ids: Sequence[str], *, k: int, sample_ids: Sequence[str] | None) -> Path:
    """Run tasks of these ids; the run directory."""
    scripts = {name: {1: [Script(run_seconds=0, verdict=solved(name))]} for name in ids}
    world = World({name: Scripted(task_id=name, scripts=scripts[name]) for name in ids})
    benchmark = Selecting(world, sample_ids=sample_ids)
    return run_on_disk(folder, world, benchmark=benchmark, attempts=AttemptPlan(k=k))


def check(directory: Path, ids: Sequence[str], *, k: int) -> None:
    """Hold every place that names a task against the ids, which are in the data set's order."""
    check_records(directory, ids, k=k)
    check_paths(directory, len(ids))
    check_reports(directory, ids)


def check_records(directory: Path, ids: Sequence[str], *, k: int) -> None:
    info = read_run_info(directory)
    assert info.task_ids == tuple(ids)
    assert list(info.resolved_execution_plans or {}) == sorted(ids)
    found = {task.task_id: task for task in read_tasks(directory) if isinstance(task, StoredTask)}
    assert found.keys() == set(ids)
    for task_id, task in found.items():
        assert task.is_published
        assert set(task.attempts) == set(range(1, k + 1))
        assert {result.metrics["correct"] for result in task.attempts.values() if result} == {
            solved(task_id)
        }
    finished = [e.task_id for e in read_events(RunLayout(directory).events) if e.task_id]
    assert set(finished) == set(ids)


def check_paths(directory: Path, tasks: int) -> None:
    """Fails where two tasks share a folder, also on a disk that is blind to case."""
    folders = [path for _, path in RunLayout(directory).task_folders()]
    assert len({path.name.casefold() for path in folders}) == len(folders) == tasks
    assert all(path.is_relative_to(directory.resolve()) for path in map(Path.resolve, folders))
    for path in directory.rglob("*"):
        path.name.encode("ascii")
        assert len(path.name) <= 255


def check_reports(directory: Path, ids: Sequence[str]) -> None:
    """A summary of all, of one id and of the rest: each counts what it names, in any order."""
    assert summarized(directory)["metrics"] == json.loads((directory / "metrics.json").read_bytes())
    for chosen in (ids[:1], list(reversed(ids[1:]))):
        report = summarized(directory, {"sample_ids": list(chosen)})
        [series] = [each for each in report["metrics"]["series"] if each["reducer"] != "pass"]
        assert series["counts"]["total"] == series["counts"]["evaluated"] == len(chosen)
        if chosen:
            assert series["value"] == pytest.approx(sum(map(solved, chosen)) / len(chosen))


@pytest.mark.parametrize("k", [1, 2])
def test_odd_ids_are_themselves_in_every_record_and_report(tmp_path: Path, k: int) -> None:
    """cases.md 70."""
    check(run(tmp_path, ODD, k=k, sample_ids=None), ODD, k=k)


@given(
    ids=st.lists(task_ids, unique=True, min_size=1, max_size=6),
    data=st.data(),
    k=st.sampled_from([1, 2]),
)
def test_any_ids_are_themselves_and_are_chosen_as_themselves(
    ids: list[str], data: st.DataObject, k: int
) -> None:
    """Fails when ids are compared, folded, cut or stripped on the way to a path or a filter."""
    chosen = data.draw(st.lists(st.sampled_from(ids), unique=True, min_size=1))
    with tempfile.TemporaryDirectory() as folder:
        directory = run(Path(folder), ids, k=k, sample_ids=chosen)
        check(directory, [name for name in ids if name in chosen], k=k)


@given(base=task_ids, other=task_ids)
@example(base="a/b", other="a_b")
@example(base="caf\u00e9", other="cafe\u0301")
def test_an_id_that_is_nearly_another_is_not_it(base: str, other: str) -> None:
    """Fails when a filter is forgiving: the near one is unknown, or is the only one chosen."""
    near = {base.swapcase(), base + "x", base.casefold(), other} - {base}
    ids = [base, *sorted(name for name in near if name and name == name.strip())]
    tasks = [TaskSpec(task_id=name) for name in ids]

    assert [task.task_id for task in select(tasks, [base])] == [base]
    assert [task.task_id for task in select(tasks, ids[::-1])] == ids
    with pytest.raises(UsageError, match="not among"):
        select(tasks[1:], [base])


@pytest.mark.parametrize("task_id", ["", " ", "end ", "\ttab", "line\n", 1, None])
def test_an_id_that_is_no_name_is_refused_where_it_is_born(task_id: Any) -> None:
    """cases.md 69."""
    with pytest.raises(ValueError, match="no text, is empty or has white space"):
        TaskSpec(task_id=task_id)


def test_a_data_set_that_names_a_task_twice_is_refused_before_a_run_directory_exists(
    tmp_path: Path,
) -> None:
    """cases.md 69."""
    world = World({"a": Scripted(task_id="a"), "b": Scripted(task_id="a")})

    with pytest.raises(UsageError, match="'a'"):
        run_on_disk(tmp_path, world, benchmark=Selecting(world))
    assert list(tmp_path.iterdir()) == []
