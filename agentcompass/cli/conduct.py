"""One resolved orchestration in a terminal: display, logs, signals, and how it ended."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import attrs

from agentcompass.cli.bugs import process_redactor
from agentcompass.cli.garbage import keep_loaded, seldom_collected
from agentcompass.cli.outcomes import show_outcomes
from agentcompass.cli.signals import Signalled, run_under_signals
from agentcompass.config.orchestration import Orchestration
from agentcompass.config.secrets import known_in
from agentcompass.errors import AgentCompassError, RequestCancelled, RequestFailed, RequestTimeout
from agentcompass.progress.console import console_logging
from agentcompass.progress.terminal import Display, terminal
from agentcompass.protocols import Reporter
from agentcompass.records.orchestration import OrchestrationResult, RequestOutcome, overall
from agentcompass.store.redact import Redactor


class Orchestrate(Protocol):
    """`agentcompass.launching.orchestrate`, or a fake of it."""

    async def __call__(
        self,
        resolved: Orchestration,
        *,
        reporters: Sequence[Reporter] = (),
        ended: Sequence[Callable[[RequestOutcome], None]] = (),
        on_open: Callable[[Path], None] = ...,
        redactor: Redactor | None = None,
    ) -> OrchestrationResult:
        """Run the requests; raises `AgentCompassError`, and passes a cancellation on."""
        ...


@attrs.define
class _Ending:
    """What is known of the end: the outcomes so far, or why there are none; the directories."""

    outcomes: list[RequestOutcome] = attrs.field(factory=list)
    error: AgentCompassError | None = None
    directories: list[Path] = attrs.field(factory=list)

    def opened(self, directory: Path) -> None:
        """Note where a run is; by now, what it needs is loaded."""
        self.directories.append(directory)
        keep_loaded()


async def conduct(resolved: Orchestration, orchestrate: Orchestrate) -> None:
    """Run the requests and write their results; raises what decides about the exit code."""
    process_redactor().learn(known_in(dict(os.environ)))
    ending, options = _Ending(), resolved.runtime
    try:
        with seldom_collected():
            async with terminal(options.progress, sys.stderr, requests=resolved.names) as display:
                with console_logging(display.say, options.log_level, process_redactor()):
                    signalled = await _run(resolved, orchestrate, ending, display)
    finally:
        outcomes = sorted(ending.outcomes, key=lambda outcome: resolved.names.index(outcome.name))
        if outcomes:  # also where a bug of ours ends them
            show_outcomes(outcomes)
    if ending.error is not None:
        raise ending.error
    _raise_unless_completed(outcomes, signalled)


async def _run(
    resolved: Orchestration, orchestrate: Orchestrate, ending: _Ending, display: Display
) -> Signalled:
    async def work() -> None:
        try:
            await orchestrate(
                resolved,
                reporters=[display] if display.shows_progress else [],
                ended=[display.ended, ending.outcomes.append],
                on_open=ending.opened,
                redactor=process_redactor(),
            )
        except AgentCompassError as error:
            ending.error = error

    return await run_under_signals(
        work,
        grace_seconds=resolved.cleanup_grace_seconds,
        say=display.say,
        last_words=lambda: _left_behind(ending.directories),
    )


def _raise_unless_completed(outcomes: Sequence[RequestOutcome], signalled: Signalled) -> None:
    status = overall(outcomes) if outcomes else "cancelled"
    if status == "cancelled":
        name = signalled.first.name if signalled.first else "the caller"
        error = RequestCancelled(f"cancelled by {name}")
        error.exit_code = signalled.exit_code
        raise error
    failed = [repr(outcome.name) for outcome in outcomes if outcome.status != "completed"]
    names = f"{len(failed)} of {len(outcomes)} requests: {', '.join(failed)}"
    if status == "timed_out":
        raise RequestTimeout(f"out of time: {names}")
    if status != "completed":
        raise RequestFailed(f"failed: {names}")


def _left_behind(directories: Sequence[Path]) -> str:
    if not directories:
        return "ended at once, before anything was opened"
    return (
        "ended at once: processes, sandboxes and half-written state of these runs may be left;"
        f" see {', '.join(str(directory) for directory in directories)}"
    )
