"""Set-up that runs out of its time, on real processes."""

from pathlib import Path
from typing import Any

import pytest

from agentcompass.engine.tree import run_job
from agentcompass.environments.host_process import HostProcess, HostProcessConfig
from agentcompass.records.task import PreparedTask
from tests.fakes import MemoryStore, Scripted, ScriptedBenchmark, World, make_job
from tests.processes import alive, new_mark
from tests.whole_runs import run


@pytest.mark.parametrize("retries", [0, 2])
async def test_a_set_up_out_of_time_is_dead_before_it_is_run_again(
    tmp_path: Path, retries: int
) -> None:
    """cases.md 9; fails where a retry begins while the first command may still run."""
    mark, found_alive = new_mark(), []

    class SlowSetUp(ScriptedBenchmark):
        async def prepare_task(self, task: Any, session: Any, plan: Any) -> PreparedTask:
            found_alive.extend(alive(mark))
            await session.exec(
                'echo run >> "$LINES"; ls >> "$SEEN"; touch left; setsid sleep 60 & sleep 60',
                env={"LINES": str(tmp_path / "lines"), "SEEN": str(tmp_path / "seen"), "M": mark},
            )
            raise AssertionError("the command does not end by itself")

    world = World({"t": Scripted(task_id="t", provider="host_process")})
    store = MemoryStore()
    provider = HostProcess(HostProcessConfig(operation_timeout=0.4))
    pause = {"retry_min_delay_seconds": 0.01, "retry_max_delay_seconds": 0.02}
    job = make_job(
        world,
        store,
        providers=[provider],  # type: ignore[list-item]
        benchmark=SlowSetUp(world),
        max_retries=retries,
        **pause,
    )
    await run_job(job)
    [issue] = store.attempts["t", 1].issues

    assert (tmp_path / "lines").read_text().split() == ["run"] * (1 + retries)
    assert (tmp_path / "seen").read_text() == ""
    assert found_alive == alive(mark) == []
    assert (issue.severity, issue.phase) == ("fatal", "setup")
    assert "host_process exec operation timeout" in issue.message
    assert store.attempts["t", 1].retry_count == retries


@pytest.mark.parametrize("phase", ["run_harness", "evaluate"])
async def test_what_was_printed_before_a_phase_ran_out_is_on_record(
    tmp_path: Path, phase: str
) -> None:
    """cases.md 41: a solution, and a verifier, that prints three lines and hangs."""
    hangs = "echo 1; echo 2; echo 3 >&2; sleep 60\n"
    is_run = phase == "run_harness"
    files = {"solution/solve.sh": hangs} if is_run else {"tests/test.sh": hangs}
    limit = "run_timeout_seconds" if is_run else "evaluation_timeout_seconds"
    params = {limit: 1.0, "run_timer_compensation_seconds": 0.0}
    ran = await run(tmp_path, {"t": files}, execution_params=params)
    cut_off = ran.attempts["t"]["artifacts"]["cut_off"]

    assert (cut_off["stdout"], cut_off["stderr"]) == ("1\n2\n", "3\n")
    assert cut_off["phase"] == phase
    assert ran.issues("t") == [
        ("error", "run", "run_failed") if is_run else ("error", "evaluate", "evaluate_failed")
    ]
    assert f"{phase} timeout: exceeded 1 s" in ran.attempts["t"]["issues"][0]["message"]
    assert ran.attempts["t"]["metrics"] == ({"correct": True} if is_run else {})
