"""A task from its data set to its result: TaskSpec, PreparedTask, RunResult."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import attrs

from agentcompass.records.environment import EnvironmentSetup, NetworkPolicy, Resources
from agentcompass.records.issue import Issue

RunStatus = Literal[
    "completed",
    "skipped",
    "run_error",
    "eval_error",
    "run_error_or_eval_error",
    "cancelled",
    "interrupted",
]
EvaluationMode = Literal["none", "reuse", "fresh"]


def _task_id(_instance: object, _attribute: object, value: str) -> None:
    if not isinstance(value, str) or not value or value != value.strip():
        raise ValueError(f"task id {value!r} is no text, is empty or has white space around it")


@attrs.frozen(kw_only=True)
class ArtifactSpec:
    """A path to collect from the sandbox: `source` is absolute, `destination` is relative."""

    source: str
    destination: str | None = None
    exclude: tuple[str, ...] = ()
    service: str | None = None


@attrs.frozen(kw_only=True)
class CollectCommand:
    """A command run in the sandbox, by `bash -c`, before artifacts are downloaded."""

    command: str
    timeout_seconds: float = 60.0
    service: str = "main"
    user: str | None = None


@attrs.frozen(kw_only=True)
class TaskSpec:
    """One item of a benchmark as its data set describes it.

    `fault` names why the item cannot be run (a broken row): the attempt ends with that as a FATAL
    issue, and the other tasks go on. None in the optional fields leaves it to the defaults.
    `evaluation_*` are a fresh verifier's, None as the agent's; an `evaluation_setup` that names an
    image or a build context takes nothing of the agent's setup.
    """

    task_id: str = attrs.field(validator=_task_id)
    instruction: str = ""
    category: str | None = None
    ground_truth: Any = None
    metadata: Mapping[str, Any] = attrs.field(factory=dict)
    setup: EnvironmentSetup = EnvironmentSetup()
    evaluation_setup: EnvironmentSetup | None = None
    resources: Resources = Resources()
    evaluation_resources: Resources | None = None
    network_policy: NetworkPolicy | None = None
    run_network_policy: NetworkPolicy | None = None
    verifier_network_policy: NetworkPolicy | None = None
    evaluation_mode: EvaluationMode | None = None
    env_variables: Mapping[str, str] = attrs.field(factory=dict)
    evaluation_env_variables: Mapping[str, str] | None = None
    artifacts: tuple[ArtifactSpec, ...] = ()
    artifact_collect: tuple[CollectCommand, ...] = ()
    run_timeout_seconds: float | None = None
    evaluation_timeout_seconds: float | None = None
    warnings: tuple[str, ...] = ()
    fault: str | None = None


@attrs.frozen(kw_only=True)
class TaskInput:
    """What the agent is given; `messages` are in OpenAI chat form and stand for `prompt`."""

    prompt: str = ""
    system_prompt: str | None = None
    media: tuple[Mapping[str, Any], ...] = ()
    files: tuple[Mapping[str, Any], ...] = ()
    workspace: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    messages: tuple[Mapping[str, Any], ...] = ()


@attrs.frozen(kw_only=True)
class TaskOutput:
    """What the agent is to leave behind."""

    answer: str | None = None
    files: tuple[Mapping[str, Any], ...] = ()


@attrs.frozen(kw_only=True)
class PreparedTask:
    """A task made ready in a session. `metadata` stays on the host; the agent never sees it."""

    task_id: str
    category: str | None = None
    ground_truth: Any = None
    input: TaskInput = TaskInput()
    output: TaskOutput = TaskOutput()
    metadata: Mapping[str, Any] = attrs.field(factory=dict)


_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("trajectory", "artifacts", "metrics", "telemetry", "extra"), dict),
    "issues": list,
    "meta": dict | None,
}


@attrs.define(kw_only=True)
class RunResult:
    """What one execution observed. Harness and benchmark fill it as they go.

    It belongs to the execution, so that at a deadline what is already in it is kept. `trajectory`
    is an ACTF_v1.0 object or empty; `telemetry` holds numbers such as tokens.
    """

    task_id: str
    status: RunStatus = "completed"
    category: str | None = None
    final_answer: Any = None
    ground_truth: Any = None
    trajectory: dict[str, Any] = attrs.field(factory=dict)
    issues: list[Issue] = attrs.field(factory=list)
    artifacts: dict[str, Any] = attrs.field(factory=dict)
    metrics: dict[str, bool | float] = attrs.field(factory=dict)
    telemetry: dict[str, Any] = attrs.field(factory=dict)
    meta: dict[str, Any] | None = None
    extra: dict[str, Any] = attrs.field(factory=dict)

    def mend(self) -> list[str]:
        """Empty every field that is not of its kind; the names of these."""
        wrong = [name for name, kind in _KINDS.items() if not isinstance(getattr(self, name), kind)]
        for name in wrong:
            setattr(self, name, None if name == "meta" else _KINDS[name]())
        if self.status not in get_args(RunStatus):
            wrong.append("status")
            self.status = "completed"
        issues = [issue for issue in self.issues if isinstance(issue, Issue)]
        if len(issues) < len(self.issues):
            wrong.append("issues")
            self.issues = issues
        return wrong

    def add_issue(self, issue: Issue) -> None:
        """Record a fault once."""
        if issue not in self.issues:
            self.issues.append(issue)
