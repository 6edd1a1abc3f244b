"""A task of several steps: each with instruction, tests and verdict of its own; what it comes to.

Pure. As in Harbor, whose rules for rewards these are.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentcompass.benchmarks._health import HealthCheck
from agentcompass.benchmarks._verifier import Verifier
from agentcompass.records.task import CollectCommand, TaskSpec


@attrs.frozen(kw_only=True)
class Step:
    """One step, all references resolved. Kept in a task's metadata as `record` has it.

    `solution_dir` and `workdir_dir` are folders on the host; limits are in seconds, None for none.
    Without every reward of `min_reward`, no further step follows.
    """

    name: str
    instruction: str
    tests_dirs: tuple[str, ...]
    workdir_dir: str | None = None
    solution_dir: str | None = None
    agent_user: str | None = None
    verifier_user: str | None = None
    verifier_env: Mapping[str, str] = attrs.field(factory=dict)
    run_seconds: float | None = None
    evaluation_seconds: float
    min_reward: Mapping[str, float] = attrs.field(factory=dict)
    healthcheck: HealthCheck | None = None
    collect: tuple[CollectCommand, ...] = ()

    @property
    def record(self) -> dict[str, Any]:
        """The step as plain values."""
        return attrs.asdict(self)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Step":
        """The step that was kept as `record`."""
        check = record["healthcheck"]
        return cls(
            **{
                **record,
                "healthcheck": None if check is None else HealthCheck(**check),
                "collect": tuple(CollectCommand(**command) for command in record["collect"]),
            }
        )

    @property
    def verifier(self) -> Verifier:
        """What scores the step."""
        return Verifier(
            tests_dirs=tuple(Path(folder) for folder in self.tests_dirs),
            env=self.verifier_env,
            user=self.verifier_user,
        )

    def passes(self, rewards: Mapping[str, float]) -> bool:
        """Whether the next step may follow."""
        return all(rewards.get(name, -1e308) >= least for name, least in self.min_reward.items())

    def seen_by_agent(self, task: TaskSpec) -> TaskSpec:
        """The task as if this step were all of it."""
        mine = {"solution_dir": self.solution_dir, "agent_user": self.agent_user}
        metadata = {**task.metadata, **mine}
        return attrs.evolve(
            task,
            instruction=self.instruction,
            metadata={name: value for name, value in metadata.items() if value is not None},
        )


def steps_of(task: TaskSpec) -> tuple[Step, ...]:
    """The steps of a task; none where it is of one piece."""
    return tuple(Step.of(record) for record in task.metadata.get("steps", ()))


def total_seconds(steps: Sequence[Step]) -> float | None:
    """How long all steps may take with their verifiers; None where one may take for ever."""
    limits = [step.run_seconds for step in steps]
    if None in limits:
        return None
    return sum(filter(None, limits)) + sum(step.evaluation_seconds for step in steps)


def combined(verdicts: Sequence[Mapping[str, float]], strategy: str) -> dict[str, float]:
    """The rewards of a task: `final` those of the last step that was had, `mean` of all of these.

    A name that a step has not counts as 0 in it.
    """
    if strategy == "final":
        return dict(verdicts[-1])
    names = dict.fromkeys(name for rewards in verdicts for name in rewards)
    return {
        name: sum(rewards.get(name, 0.0) for rewards in verdicts) / len(verdicts) for name in names
    }
