"""What becomes of a patch before any test is run, and what agents see."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcompass.benchmarks._swebench_repository import FAULTS, PATCH
from agentcompass.benchmarks.swebench_verified import SWEbenchVerified
from agentcompass.errors import EvaluationFailed
from agentcompass.protocols import Session
from agentcompass.records.task import PreparedTask, RunResult, TaskSpec
from tests.benchmarks.local_session import a_plan
from tests.benchmarks.swebench_projects import CALC, Made, write_rows
from tests.benchmarks.test_swebench_grading import needs_package
from tests.contract.environment import HOST_PROCESS, opened


@attrs.frozen
class Open:
    """One attempt, its session open."""

    benchmark: SWEbenchVerified
    task: TaskSpec
    session: Session
    prepared: PreparedTask
    result: RunResult

    async def score(self) -> RunResult:
        await self.benchmark.evaluate(
            self.task, self.prepared, self.result, a_plan(evaluation_mode="fresh"), self.session
        )
        return self.result


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("swebench")
    made = CALC.make(folder / "calc")
    made.mirror(folder)
    return made


@asynccontextmanager
async def an_attempt(made: Made, folder: Path, **row: Any) -> AsyncIterator[Open]:
    benchmark = SWEbenchVerified(SWEbenchVerified.Config(repos_dir=str(made.folder.parent)))
    [task] = benchmark.load_tasks(write_rows(folder, [made.row("t", **row)]))
    async with opened(HOST_PROCESS) as session:
        prepared = await benchmark.prepare_task(task, session, a_plan())
        yield Open(benchmark, task, session, prepared, RunResult(task_id="t"))


@pytest.mark.parametrize("patch", ["", "\n"])
async def test_an_empty_patch_is_not_tested(tmp_path: Path, made: Made, patch: str) -> None:
    async with an_attempt(made, tmp_path) as attempt:
        await attempt.session.write(PATCH, patch.encode())
        result = await attempt.score()

    assert (result.metrics, result.extra) == ({"correct": False}, {"verdict": "empty_patch"})
    assert "test_output" not in result.artifacts


async def test_a_patch_that_does_not_apply_is_not_tested_and_says_why(
    tmp_path: Path, made: Made
) -> None:
    patch = made.patches["fix"].replace("a - b", "something else").replace("def add", "def other")
    async with an_attempt(made, tmp_path) as attempt:
        await attempt.session.write(PATCH, patch.encode())
        result = await attempt.score()

    assert (result.metrics, result.extra) == ({"correct": False}, {"verdict": "patch_not_applied"})
    assert not result.artifacts["report"]["patch_successfully_applied"]
    assert "calc.py" in result.artifacts["patch_output"]


async def test_a_patch_that_was_not_collected_gives_no_verdict(tmp_path: Path, made: Made) -> None:
    async with an_attempt(made, tmp_path) as attempt:
        with pytest.raises(EvaluationFailed, match=r"no patch at /logs/artifacts/model\.patch"):
            await attempt.score()

    assert attempt.result.metrics == {}


@attrs.frozen
class PatchUnread:
    """A session of which the patch is not read to this host."""

    session: Session

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)

    async def read(self, path: str) -> bytes:
        assert path != PATCH, "it may be larger than this host's memory"
        return await self.session.read(path)


async def test_a_patch_is_applied_where_it_is(tmp_path: Path, made: Made) -> None:
    async with an_attempt(made, tmp_path, eval_script=_script("echo done")) as attempt:
        await attempt.session.write(PATCH, made.patches["fix"].encode())
        result = await attrs.evolve(attempt, session=PatchUnread(attempt.session)).score()

    assert result.artifacts["report"]["patch_exists"]
    assert "Applied patch calc.py cleanly" in result.artifacts["patch_output"]


def _script(tests: str) -> str:
    return f": '>>>>> Start Test Output'\n{tests}\n: '>>>>> End Test Output'\n"


async def test_tests_that_print_without_end_are_cut_off(tmp_path: Path, made: Made) -> None:
    prints = "yes | head -c 35000000; sleep 600"
    async with an_attempt(made, tmp_path, eval_script=_script(prints)) as attempt:
        await attempt.session.write(PATCH, made.patches["fix"].encode())
        result = await attempt.score()
        size = len(await attempt.session.read("/logs/verifier/test_output.txt"))

    assert (result.metrics, result.extra) == ({"correct": False}, {"verdict": "tests_cut_off"})
    assert size == 32 * 2**20


@needs_package
async def test_a_log_without_any_result_is_a_warning(tmp_path: Path, made: Made) -> None:
    prints = "echo No module named pytest"
    async with an_attempt(made, tmp_path, eval_script=_script(prints)) as attempt:
        await attempt.session.write(PATCH, made.patches["fix"].encode())
        result = await attempt.score()

    assert (result.metrics, result.extra) == ({"correct": False}, {"verdict": "no_test_results"})
    assert [(issue.severity, issue.code) for issue in result.issues] == [
        ("warning", "no_test_results")
    ]


async def test_a_patch_that_runs_finds_no_later_commits_either(tmp_path: Path, made: Made) -> None:
    async with an_attempt(made, tmp_path) as attempt, opened(HOST_PROCESS) as fresh:
        await fresh.upload(made.folder, ".")
        assert "the fix" in (await fresh.exec("git log --all --format=%s")).stdout
        await attempt.benchmark.prepare_evaluation(attempt.task, attempt.prepared, a_plan(), fresh)
        history = await fresh.exec("git log --all --format=%s; git fsck --lost-found")

    assert sorted(history.stdout.split()) == ["base", "first"]


async def test_what_could_not_be_in_the_patch_is_a_warning(tmp_path: Path, made: Made) -> None:
    async with an_attempt(made, tmp_path) as attempt:
        await attempt.session.write(PATCH, b"")
        await attempt.session.write(FAULTS, b"error: 'within/' has no commit\n")
        [issue] = (await attempt.score()).issues

    assert (issue.severity, issue.phase, issue.code) == ("warning", "collect", "patch_incomplete")
    assert "'within/' has no commit" in issue.message


async def test_an_agent_sees_neither_solution_nor_tests(tmp_path: Path, made: Made) -> None:
    """cases.md 78."""
    async with an_attempt(made, tmp_path) as attempt:
        root = Path(attempt.session.workdir).parent
        history = await attempt.session.exec("git log -p --all")
        found = await attempt.session.exec(["grep", "-rlE", r"test_add|a \+ b", str(root)])

    assert found.stdout == ""
    assert "return a - b" in history.stdout
    assert "test_add" not in history.stdout
    assert attempt.prepared.input.prompt == "calc is at fault"
    assert "test_add" not in str(attempt.prepared)
