"""What a run holds in memory follows how much goes on at once, not how many tasks there are."""

import weakref
from pathlib import Path
from typing import Any

from agentcompass.engine.tree import run_job
from tests.fakes import MemoryStore, Scripted, ScriptedBenchmark, World, make_job
from tests.virtual import on_virtual_time
from tests.whole_runs import on_disk

SLOTS = 4


class Trajectory(dict[str, Any]):
    """A mapping that can be watched."""


@on_virtual_time
async def test_a_trajectory_is_let_go_once_it_is_written(tmp_path: Path) -> None:
    """cases.md 81; fails where anything of a task keeps its result, such as the observations."""
    living: weakref.WeakSet[Any] = weakref.WeakSet()
    most = 0

    class Watched:
        """Referred to by a trajectory, and so alive as long as it is."""

    class Recording(ScriptedBenchmark):
        async def evaluate(
            self, task: Any, prepared: Any, result: Any, plan: Any, session: Any
        ) -> None:
            nonlocal most
            await super().evaluate(task, prepared, result, plan, session)
            result.trajectory = Trajectory(steps=[])
            living.add(_identity(result.trajectory))
            most = max(most, len(living))

    def _identity(trajectory: Trajectory) -> Watched:
        watched = trajectory.watched = Watched()  # type: ignore[attr-defined]
        return watched

    world = World({f"t{n}": Scripted(task_id=f"t{n}", mode="reuse") for n in range(150)})
    job = make_job(world, MemoryStore(), benchmark=Recording(world), slots=SLOTS)
    outcome = await run_job(on_disk(job, tmp_path))

    assert outcome.report.series[0].counts.evaluated == 150
    assert most <= 10 * SLOTS
