"""kill -9 again and again, then `--reuse`: the numbers of a run that never died, nothing twice."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcompass.store.layout import RunLayout, TaskLayout
from agentcompass.store.reading import (
    StoredTask,
    read_run_info,
    read_task,
    read_tasks,
)
from tests.cli.process import environment, finish
from tests.summarizing.runs import summarized
from tests.whole_runs import write_tasks

ROOT = Path(__file__).parents[2]


def lives(folder: Path, *, k: int, strategy: str, kills: int) -> str:
    """Have so many lives killed; a word about what was done, for a test that fails."""
    seed = random.randrange(1_000_000)
    command = [sys.executable, "-m", "tests.crash.lives", str(folder), str(k), strategy]
    done = subprocess.run(
        [*command, str(kills), str(seed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return f"seed {seed}"


def notes(chain: Path) -> list[tuple[int, str, str]]:
    """What was done, in order: the life, `agent`, `score`, `result` or `work`, and the attempt.

    The last two have become durable then.
    """
    lines = [line.split(" ", 2) for line in (chain / "notes").read_text().splitlines()]
    return [(int(life), what, attempt) for life, what, attempt in lines]


def check_nothing_ran_twice(chain: Path) -> None:
    """Fails when what was durable once is lost, overlooked or passed over by a later life."""
    results: dict[str, int] = {}
    works: dict[str, int] = {}
    for life, what, attempt in notes(chain):
        settled = results.get(attempt, life) if counts(attempt) else life
        if what in ("agent", "score"):
            assert settled == life, f"life {life}: {what} of {attempt}, done in life {settled}"
        if what == "agent":
            saved = works.get(attempt, life)
            assert saved == life, f"life {life}: {attempt} executed, its work saved by {saved}"
        elif what == "result":
            results.setdefault(attempt, life)
        elif what == "work":
            works.setdefault(attempt, life)


def counts(attempt: str) -> bool:
    """Whether its result stands: FATAL is executed again, what has no verdict scored again."""
    return not attempt.startswith(("fatal/", "unscored/"))


def runs(chain: Path) -> dict[int, Path]:
    """The run directory of each life that came so far as to have one."""
    return {int(path.name[-3:]): path for path in sorted(chain.glob("results/*/life-*"))}


def outcome(run: Path) -> dict[str, Any]:
    """What a finished run measured, attempt by attempt."""
    return {
        f"{task.task_id}#{number}": (
            task.state,
            result.status,
            result.metrics,
            result.final_answer,
            [(issue.severity, issue.phase, issue.message) for issue in result.issues],
            result.trajectory,
        )
        for task in finished(run)
        for number, result in task.attempts.items()
        if result is not None
    }


def finished(run: Path) -> Iterator[StoredTask]:
    for state, folder in RunLayout(run).task_folders():
        task = read_task(TaskLayout(folder), state)
        assert task.is_published, folder
        yield task


def check_chain(chain: Path, whole: Path) -> None:
    directories = runs(chain)
    last = directories[max(directories)]
    assert read_run_info(last).status == read_run_info(whole).status == "failed"
    assert outcome(last) == outcome(whole)
    for name in ("metrics.json", "summary.md"):
        assert (last / name).read_text() == (whole / name).read_text()
    assert summarized(last)["metrics"] == json.loads((whole / "metrics.json").read_bytes())
    check_nothing_ran_twice(chain)


@pytest.mark.parametrize(("k", "strategy"), [(1, "avg"), (3, "avg"), (3, "pass")])
def test_killed_again_and_again_the_numbers_are_those_of_a_run_that_never_died(
    tmp_path: Path, k: int, strategy: str
) -> None:
    """Fails when a step of the store loses or doubles what was finished before it."""
    done = lives(tmp_path, k=k, strategy=strategy, kills=36)
    [whole] = (tmp_path / "whole").glob("results/*/life-*")
    chains = sorted(tmp_path.glob("chain-*"))

    for chain in chains:
        try:
            check_chain(chain, whole)
        except AssertionError as error:
            error.add_note(f"{done}, {chain}")
            raise
    assert sum(len(runs(chain)) for chain in chains) > len(chains) + 20


def start(chain: Path, life: int, *reuse: str) -> "subprocess.Popen[bytes]":
    """Start the real command on tasks that note what they do."""
    variables = {"LIFE": str(life), "NOTES": str(chain / "notes")}
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "agentcompass", "run", "task_directory", "oracle", "none"),
            *("--benchmark-params", json.dumps({"path": str(chain / "tasks")})),
            *("--env-params", json.dumps({"env_variables": variables})),
            *("--task-concurrency", "2", "--run-id", f"life-{life:03}", *reuse),
        ],
        cwd=chain,
        env=environment(chain),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for_notes(chain: Path, lines: int) -> None:
    ends_at = time.monotonic() + 30
    while not (chain / "notes").exists() or len(notes(chain)) < lines:
        assert time.monotonic() < ends_at
        time.sleep(0.01)


def test_the_real_command_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    script = 'echo "$LIFE agent {}#1" >> "$NOTES"; sleep 0.1\n'
    names = [f"t{number}" for number in range(10)]
    write_tasks(
        tmp_path / "tasks", {name: {"solution/solve.sh": script.format(name)} for name in names}
    )
    durable: set[str] = set()
    for life, lines in enumerate((4, 7, 9, None)):
        process = start(tmp_path, life, *(["--reuse"] if life else []))
        if lines is not None:
            wait_for_notes(tmp_path, lines)
            process.kill()
        ended = finish(process)
        executed = {attempt for number, _, attempt in notes(tmp_path) if number == life}
        assert not executed & durable
        durable |= results_in(runs(tmp_path)[life])

    assert ended.code == 0, ended.err
    assert "taken over" in ended.err
    assert durable == {f"{name}#1" for name in names}
    assert len(list(finished(runs(tmp_path)[3]))) == 10


def results_in(run: Path) -> set[str]:
    tasks = [task for task in read_tasks(run) if isinstance(task, StoredTask)]
    return {f"{task.task_id}#1" for task in tasks if task.attempts.get(1) is not None}
