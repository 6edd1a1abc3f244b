"""What an attempt resolved to use, before its environment is opened."""

import attrs

from agentcompass.records.environment import EnvironmentPlan, NetworkPolicy
from agentcompass.records.request import ArtifactLimits
from agentcompass.records.task import ArtifactSpec, CollectCommand, EvaluationMode
from agentcompass.records.validators import not_negative, positive


@attrs.frozen(kw_only=True)
class ExecutionPlan:
    """The plan of one attempt; every timeout in seconds, None for none.

    `benchmark` and `harness` are ids, by which a recipe knows what the plan is for. Multipliers of
    timeouts are applied after the recipes.
    """

    task_id: str
    benchmark: str = ""
    harness: str = ""
    environment: EnvironmentPlan
    evaluation_environment: EnvironmentPlan | None = None
    evaluation_mode: EvaluationMode = "none"
    run_network_policy: NetworkPolicy = NetworkPolicy()
    verifier_network_policy: NetworkPolicy = NetworkPolicy()
    applied_recipes: tuple[str, ...] = ()
    run_timeout_seconds: float | None = attrs.field(default=None, validator=positive)
    run_timer_compensation_seconds: float = attrs.field(default=120.0, validator=not_negative)
    evaluation_timeout_seconds: float | None = attrs.field(default=None, validator=positive)
    runresult_collect_timeout_seconds: float = attrs.field(default=60.0, validator=positive)
    artifact_collect_timeout_seconds: float | None = attrs.field(default=None, validator=positive)
    artifact_limits: ArtifactLimits = ArtifactLimits()
    artifacts: tuple[ArtifactSpec, ...] = ()
    artifact_collect: tuple[CollectCommand, ...] = ()
    save_artifacts: bool = False
