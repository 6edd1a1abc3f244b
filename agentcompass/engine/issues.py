"""One exception becomes one issue here, by the phase and the kind of fault."""

from collections.abc import Iterator, Mapping

from agentcompass.errors import EnvironmentFailed, ExecutionError, Severity
from agentcompass.records.issue import Issue, PhaseName

ISSUE_PHASE: Mapping[str, PhaseName] = {
    "plan": "setup",
    "open_environment": "setup",
    "prepare_task": "setup",
    "start_harness": "setup",
    "run_harness": "run",
    "run_task": "run",
    "collect_harness_result": "collect",
    "collect_artifacts": "collect",
    "download_artifacts": "collect",
    "save_evaluation_checkpoint": "collect",
    "recover_evaluation": "evaluate",
    "evaluate_environment": "evaluate",
    "evaluate": "evaluate",
    "cleanup": "cleanup",
}


def issue_from(error: BaseException, *, phase: str) -> Issue:
    """The issue that `error` is when it ends the engine phase `phase`.

    Looks through exception groups and causes, so that patterns match what happened at the bottom.
    """
    leaf = leaf_of(error)
    where = _phase(leaf, phase)
    return Issue(
        severity=_severity(leaf, where),
        phase=where,
        code=_code(leaf, where),
        message=_message(leaf),
    )


def leaf_of(error: BaseException) -> BaseException:
    """The error that tells most: of a group, ours before foreign ones."""
    leaves = list(_leaves(error))
    ours = [leaf for leaf in leaves if isinstance(leaf, ExecutionError)]
    return (ours or leaves)[0]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part)
    else:
        yield error


def _phase(error: BaseException, phase: str) -> PhaseName:
    if isinstance(error, ExecutionError) and error.phase in ISSUE_PHASE.values():
        return error.phase  # type: ignore[return-value]  # one of the literals, as just checked
    return ISSUE_PHASE[phase]


def _severity(error: BaseException, phase: PhaseName) -> Severity:
    if isinstance(error, ExecutionError):
        return error.severity
    if phase == "run" and any(isinstance(cause, TimeoutError) for cause in causes_of(error)):
        return "error"
    return "error" if phase == "evaluate" else "fatal"


def _code(error: BaseException, phase: PhaseName) -> str:
    if isinstance(error, EnvironmentFailed) and phase == "setup":
        return "setup_failed"
    if isinstance(error, ExecutionError) and error.code != "timeout":
        return error.code
    by_phase: Mapping[PhaseName, str] = {
        "setup": "setup_failed",
        "run": "run_failed" if isinstance(error, ExecutionError) else "harness_failed",
        "collect": "environment_failed",
        "evaluate": "evaluate_failed",
        "cleanup": "environment_failed",
    }
    return by_phase[phase]


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """The error itself, and what was behind it."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _message(error: BaseException) -> str:
    parts = [_line(cause) for cause in causes_of(error)]
    text = " <- ".join(dict.fromkeys(parts))
    status = next((s for c in causes_of(error) if (s := getattr(c, "status_code", None))), None)
    said = status is None or f"HTTP {status}" in text
    return text if said else f"HTTP {status}: {text}"


def _line(error: BaseException) -> str:
    kind, text = type(leaf_of(error)).__name__, first_line(error)
    return f"{kind}: {text}" if text else kind


def first_line(error: BaseException) -> str:
    """What an error says first; empty where it says nothing."""
    return next(iter(str(leaf_of(error)).strip().splitlines()), "")
