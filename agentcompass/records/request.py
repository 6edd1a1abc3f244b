"""What one request asks for, merged from every source; per-task recipes come later."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import attrs

from agentcompass.records.environment import EnvironmentSetup, NetworkPolicy, Resources
from agentcompass.records.task import ArtifactSpec, CollectCommand, EvaluationMode
from agentcompass.records.validators import not_negative, positive

Strategy = Literal["avg", "pass"]
Aggregation = Literal["micro_weighted", "category_mean"]


@attrs.frozen(kw_only=True)
class AttemptPlan:
    """How often each task is measured. `k` counts attempts, never retries."""

    k: int = attrs.field(default=1, validator=attrs.validators.ge(1))
    strategy: Strategy = attrs.field(default="avg", validator=attrs.validators.in_(("avg", "pass")))

    @property
    def numbers(self) -> range:
        """The attempt numbers, from 1."""
        return range(1, self.k + 1)


@attrs.frozen(kw_only=True)
class ModelSpec:
    """The model under test. `api_protocol` is one name, an ordered list, or empty for any."""

    id: str
    base_url: str = ""
    api_key: str = attrs.field(default="", repr=False)
    api_protocol: str | tuple[str, ...] = ""
    params: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class ComponentSpec:
    """A benchmark or harness by id, with the parameters that its own Config validates."""

    id: str
    params: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class EnvironmentSpec:
    """The provider by id: the fields common to all providers, and its own in `params`.

    None leaves the choice to a recipe, the task or the default, in this order.
    """

    id: str = "host_process"
    params: Mapping[str, Any] = attrs.field(factory=dict)
    setup: EnvironmentSetup | None = None
    evaluation_setup: EnvironmentSetup | None = None
    resources: Resources | None = None
    evaluation_resources: Resources | None = None
    env_variables: Mapping[str, str] = attrs.field(factory=dict)
    evaluation_mode: EvaluationMode | None = None
    network_policy: NetworkPolicy | None = None
    run_network_policy: NetworkPolicy | None = None
    verifier_network_policy: NetworkPolicy | None = None


@attrs.frozen(kw_only=True)
class ArtifactLimits:
    """Bounds of one artifact operation: megabytes (2^20 bytes), entries, seconds."""

    max_mb: int = attrs.field(default=16384, validator=attrs.validators.gt(0))
    max_files: int = attrs.field(default=100_000, validator=attrs.validators.gt(0))
    timeout_seconds: float = attrs.field(default=600.0, validator=attrs.validators.gt(0))


@attrs.frozen(kw_only=True)
class Budget:
    """What model calls may take: prompt and completion tokens, US dollars; None is no limit."""

    max_total_tokens: int | None = attrs.field(default=None, validator=positive)
    max_cost_usd: float | None = attrs.field(default=None, validator=positive)


@attrs.frozen(kw_only=True)
class ExecutionOptions:
    """How tasks are executed. Seconds, unless a name says otherwise; None leaves it to the task.

    The fields and defaults are listed in docs/configuration.md.
    """

    task_concurrency: int = attrs.field(default=32, validator=attrs.validators.ge(1))
    attempts: AttemptPlan = AttemptPlan()
    enabled_recipes: tuple[str, ...] = ()
    keep_environment: bool = False
    enable_analysis: bool = True
    analysis_params: Mapping[str, Any] = attrs.field(factory=dict)
    max_retries: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    retry_pattern_list: tuple[str, ...] | None = None
    retry_min_delay_seconds: float = attrs.field(default=5.0, validator=not_negative)
    retry_max_delay_seconds: float = attrs.field(default=60.0, validator=not_negative)
    attempt_budget: Budget = Budget()
    run_budget: Budget = Budget()
    run_timeout_seconds: float | None = attrs.field(default=None, validator=positive)
    run_timer_compensation_seconds: float = attrs.field(default=120.0, validator=not_negative)
    evaluation_timeout_seconds: float | None = attrs.field(default=None, validator=positive)
    timeout_multiplier: float = attrs.field(default=1.0, validator=positive)
    run_timeout_multiplier: float | None = attrs.field(default=None, validator=positive)
    evaluation_timeout_multiplier: float | None = attrs.field(default=None, validator=positive)
    runresult_collect_timeout_seconds: float = attrs.field(default=60.0, validator=positive)
    artifact_collect_timeout_seconds: float | None = attrs.field(default=None, validator=positive)
    artifact_limits: ArtifactLimits = ArtifactLimits()
    save_artifacts: bool | None = None
    artifacts: tuple[ArtifactSpec, ...] | None = None
    artifact_collect: tuple[CollectCommand, ...] | None = None
    cleanup_grace_seconds: float = attrs.field(default=30.0, validator=not_negative)

    def __attrs_post_init__(self) -> None:
        for stretch in ("run", "evaluation"):
            seconds = getattr(self, f"{stretch}_timeout_seconds")
            factor = getattr(self, f"{stretch}_timeout_multiplier") or self.timeout_multiplier
            if seconds is not None and not math.isfinite(seconds * factor):
                raise ValueError(f"{stretch}_timeout_seconds times its multiplier is not finite")


@attrs.frozen(kw_only=True)
class ReuseOptions:
    """Section `runtime` of the request: what to take over from an earlier run."""

    reuse: bool = False
    reuse_run_id: str | None = None
    checkpoint_resume: bool = True


@attrs.frozen(kw_only=True)
class OutputOptions:
    """Where below the results folder the run is written."""

    run_name: str = ""
    run_id: str | None = None


@attrs.frozen(kw_only=True)
class RunRequest:
    """One model x benchmark x harness x environment, and how to execute it."""

    benchmark: ComponentSpec
    harness: ComponentSpec
    model: ModelSpec
    environment: EnvironmentSpec = EnvironmentSpec()
    execution: ExecutionOptions = ExecutionOptions()
    runtime: ReuseOptions = ReuseOptions()
    output: OutputOptions = OutputOptions()
    metadata: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class ProcessOptions:
    """Settings of the process, not of the measurement; they are not part of the request's record.

    `timeout_seconds` None is no deadline. Limits and paces are by provider id, None for none;
    who is not named keeps what it has in this process, at first the default.
    """

    results_dir: str = "results"
    data_dir: str = "data"
    timeout_seconds: float | None = 360_000.0
    provider_limits: Mapping[str, int | None] = attrs.field(factory=dict)
    env_open_qps: Mapping[str, float | None] = attrs.field(factory=dict)
    progress: Literal["auto", "plain", "none"] = "auto"
    log_level: str = "INFO"
    file_log_level: str = "DEBUG"
    log_file: str | None = None
    auto_install_dependencies: bool = False
    recipe_dirs: tuple[str, ...] = ()
