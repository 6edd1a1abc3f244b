"""One resolved request in a terminal: display, logs, signals, and how it ended."""

import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs

from agentcompass.cli.bugs import process_redactor
from agentcompass.cli.garbage import keep_loaded, seldom_collected
from agentcompass.cli.output import tell
from agentcompass.cli.result import fatal_issues, show_result
from agentcompass.cli.signals import Signalled, run_under_signals
from agentcompass.config.resolve import Resolved
from agentcompass.config.secrets import known_secrets
from agentcompass.errors import AgentCompassError, RequestCancelled, RequestError
from agentcompass.progress.console import console_logging
from agentcompass.progress.terminal import Display, terminal
from agentcompass.protocols import Reporter
from agentcompass.records.request import ProcessOptions, RunRequest
from agentcompass.store.redact import Redactor

log = logging.getLogger(__name__)


class Evaluate(Protocol):
    """`agentcompass.evaluating.evaluate`, or a fake of it."""

    async def __call__(
        self,
        request: RunRequest,
        options: ProcessOptions,
        *,
        reporters: Sequence[Reporter] = (),
        on_open: Callable[[Path], None] | None = None,
        redactor: Redactor | None = None,
    ) -> Mapping[str, Any]:
        """Run the request; raises `AgentCompassError`, and passes a cancellation on."""
        ...


@attrs.define
class _Ending:
    """How the request ended: one of the first two, or neither where it was cancelled."""

    result: Mapping[str, Any] | None = None
    error: AgentCompassError | None = None
    directory: Path | None = None

    def opened(self, directory: Path) -> None:
        """Note where the run is; by now, all that it needs is loaded."""
        self.directory = directory
        keep_loaded()


async def measure(resolved: Resolved, evaluate: Evaluate) -> None:
    """Run the request and write its result; raises what decides about the exit code."""
    process_redactor().learn(known_secrets(resolved.request, os.environ))
    ending = _Ending()
    with seldom_collected():
        async with terminal(resolved.options.progress, sys.stderr) as display:
            with console_logging(display.say, resolved.options.log_level, process_redactor()):
                signalled = await _run(resolved, evaluate, ending, display)
    _conclude(ending, signalled)


async def _run(
    resolved: Resolved, evaluate: Evaluate, ending: _Ending, display: Display
) -> Signalled:
    async def work() -> None:
        try:
            ending.result = await evaluate(
                resolved.request,
                resolved.options,
                reporters=[display] if display.shows_progress else [],
                on_open=ending.opened,
                redactor=process_redactor(),
            )
        except AgentCompassError as error:
            ending.error = error

    return await run_under_signals(
        work,
        grace_seconds=resolved.request.execution.cleanup_grace_seconds,
        say=display.say,
        last_words=lambda: _left_behind(ending.directory),
    )


def _conclude(ending: _Ending, signalled: Signalled) -> None:
    error = ending.error or (None if ending.result is not None else _cancelled(ending, signalled))
    result = error.result if isinstance(error, RequestError) else ending.result
    if result:
        show_result(result, ending.directory)
    if error is not None and ending.directory is not None:
        for line in fatal_issues(ending.directory):
            tell(process_redactor().text(line))
    if error is not None:
        raise error


def _cancelled(ending: _Ending, signalled: Signalled) -> RequestCancelled:
    name = signalled.first.name if signalled.first else "the caller"
    where = f"; what had finished is in {ending.directory}" if ending.directory else ""
    error = RequestCancelled(f"cancelled by {name}{where}")
    error.exit_code = signalled.exit_code
    return error


def _left_behind(directory: Path | None) -> str:
    if directory is None:
        return "ended at once, before anything was opened"
    return (
        "ended at once: processes, sandboxes and half-written state of this run may be left;"
        f" see {directory}"
    )
