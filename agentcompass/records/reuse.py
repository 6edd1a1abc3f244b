"""What a run finds of an earlier one, attempt by attempt, and what it takes over."""

from collections.abc import Mapping
from typing import Literal

import attrs

from agentcompass.records.attempt import AttemptResult

# The result counts as it is; the agent's work is scored again; everything is done again.
Verdict = Literal["keep", "resume", "execute"]


@attrs.frozen
class Judgement:
    """What is done with an attempt, and for all but the kept ones, why."""

    verdict: Verdict
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.verdict}, since {self.reason}" if self.reason else self.verdict


@attrs.frozen(kw_only=True)
class EarlierAttempt:
    """One attempt as an earlier run left it.

    `result` is None where it did not finish; `is_classified` is whether its faults are on record as
    issues, which they are not before run_info schema 3.
    """

    result: AttemptResult | None = None
    has_checkpoint: bool = False
    is_classified: bool = True


@attrs.frozen(kw_only=True)
class TakenOver:
    """What a run has of one task from earlier ones, already in its own directory.

    `kept` are finished attempts, without their trajectories; `resumable` the numbers of those whose
    saved work is to be scored. A task is `published` where nothing of it is left to do.
    """

    kept: Mapping[int, AttemptResult] = attrs.field(factory=dict)
    resumable: frozenset[int] = frozenset()
    published: bool = False
