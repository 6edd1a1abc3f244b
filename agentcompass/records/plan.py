"""What an attempt resolved to use, before its environment is opened."""

import attrs

from agentcompass.records.environment import EnvironmentPlan, NetworkPolicy
from agentcompass.records.request import ArtifactLimits
from agentcompass.records.task import ArtifactSpec, CollectCommand, EvaluationMode


@attrs.frozen(kw_only=True)
class ExecutionPlan:
    """The plan of one attempt; every timeout in seconds, multipliers applied, None for none."""

    task_id: str
    environment: EnvironmentPlan
    evaluation_environment: EnvironmentPlan | None = None
    evaluation_mode: EvaluationMode = "none"
    run_network_policy: NetworkPolicy = NetworkPolicy()
    verifier_network_policy: NetworkPolicy = NetworkPolicy()
    applied_recipes: tuple[str, ...] = ()
    run_timeout_seconds: float | None = None
    run_timer_compensation_seconds: float = 120.0
    evaluation_timeout_seconds: float | None = None
    runresult_collect_timeout_seconds: float = 60.0
    artifact_collect_timeout_seconds: float | None = None
    artifact_limits: ArtifactLimits = ArtifactLimits()
    artifacts: tuple[ArtifactSpec, ...] = ()
    artifact_collect: tuple[CollectCommand, ...] = ()
    save_artifacts: bool = False
