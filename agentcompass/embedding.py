"""An evaluation inside a trio program: followed, steered and cancelled while it runs."""

import contextvars
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import trio

from agentcompass.config.resolve import resolve_run
from agentcompass.endings import cut_off, own_error
from agentcompass.engine.job import Job
from agentcompass.engine.limits import AllowsMoreCalls, Limits, set_provider_limits
from agentcompass.errors import AgentCompassError, RequestFailed, UsageError
from agentcompass.evaluating import run_to_result
from agentcompass.groups import bare_errors
from agentcompass.loops import require_trio
from agentcompass.preflight import prepare_job
from agentcompass.progress.history import EventHistory, EventStream, new_history
from agentcompass.protocols import Model
from agentcompass.records.progress import ProgressSnapshot
from agentcompass.records.request import ProcessOptions, RunRequest
from agentcompass.registry import known

EVENTS_HELD = 1000

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_evaluation(
    *, event_buffer: int = EVENTS_HELD, **settings: Any
) -> AsyncIterator["Evaluation"]:
    """Run one request beside the body, which is given the `Evaluation`.

    The keywords are those of `run_evaluation`, without `on_progress`; nothing is shown, so that
    `progress` and `log_level` change nothing. The latest `event_buffer` events are held. Raises
    `UsageError` before anything is created. An evaluation that still runs when the body is left, in
    whichever way, is cancelled, and its cleanup, which `cleanup_grace_seconds` bounds, waited for.
    """
    require_trio("open_evaluation", "run_evaluation")
    if not _is_count(event_buffer) or event_buffer < 1:
        raise UsageError(f"event_buffer: expected a whole number from 1, not {event_buffer!r}")
    resolve = partial(resolve_run, settings, cwd=Path.cwd(), environ=os.environ)
    resolved = await trio.to_thread.run_sync(resolve)
    running = _Running(resolved.request, new_history(event_buffer, resolved.request))
    job = await running.prepare(resolved.options)
    with bare_errors():
        async with trio.open_nursery(strict_exception_groups=True) as nursery:
            nursery.start_soon(running.run, job, nursery.cancel_scope, name="evaluation")
            try:
                yield running
            finally:
                running.cancel()


@attrs.define(eq=False)
class Evaluation:
    """A request that runs, or has ended; `open_evaluation` makes it.

    Its methods may be called from any task of the trio run, also after the end.
    """

    _request: RunRequest
    _history: EventHistory
    _limits: Limits = attrs.field(init=False)
    _model: Model | None = attrs.field(init=False)
    _directory: Path | None = attrs.field(default=None, init=False)
    _context: contextvars.Context | None = attrs.field(default=None, init=False)
    _scope: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    _ended: trio.Event = attrs.field(factory=trio.Event, init=False)
    _result: dict[str, Any] = attrs.field(factory=dict, init=False)
    _error: AgentCompassError | None = attrs.field(default=None, init=False)
    _unsaid: list[str] = attrs.field(factory=list, init=False)

    @property
    def request(self) -> RunRequest:
        """What is measured, as it was resolved."""
        return self._request

    @property
    def run_dir(self) -> Path | None:
        """The run directory; None before it is made, once the tasks are loaded."""
        return self._directory

    @property
    def progress(self) -> ProgressSnapshot:
        """What all events so far come to."""
        return self._history.latest.snapshot()

    @property
    def is_paused(self) -> bool:
        """Whether no new execution is begun."""
        return self._limits.is_paused

    @property
    def has_ended(self) -> bool:
        """Whether `result` has no longer to wait."""
        return self._ended.is_set()

    def events(self) -> EventStream:
        """The events from the first that is still held to the end; each caller has its own stream.

        A reader that is slow, or comes late, delays nothing: what it missed is counted, and an
        `EventsDropped` with the state at that point stands in its place.
        """
        return EventStream(self._history)

    async def result(self) -> dict[str, Any]:
        """Wait for the end, and return what `run_evaluation` does, or raise its errors.

        Also raises `RequestCancelled`. Errors of a run that began carry the `result`. Both are the
        caller's own, to change and to keep.
        """
        await self._ended.wait()
        if self._error is not None:
            raise own_error(self._error)
        return deepcopy(self._result)

    def cancel(self) -> None:
        """End the evaluation; `result` waits until it is cleaned up. Twice is as good as once."""
        self._scope.cancel()

    def pause(self) -> None:
        """Begin no execution, a retry included, until `resume`; those that run go on.

        The time counts against the request's `timeout_seconds`.
        """
        self._limits.pause()
        self._note("paused: no execution is begun")

    def resume(self) -> None:
        """Go on after `pause`."""
        self._limits.resume()
        self._note("resumed")

    def set_task_concurrency(self, slots: int) -> None:
        """Let `slots` executions run at once from now on; where more do, they are not ended."""
        if not _is_count(slots) or slots < 1:
            raise UsageError(f"task_concurrency: expected a whole number from 1, not {slots!r}")
        self._limits.slots.total_tokens = slots
        if isinstance(self._model, AllowsMoreCalls):
            self._model.allow_calls(slots)
        self._note(f"task_concurrency is {slots} from now on")

    def set_provider_limit(self, provider: str, limit: int) -> None:
        """Let `limit` sandboxes of a provider live at once, for all requests of this trio run.

        0 is no limit. Those that live go on.
        """
        if provider not in (ids := known("environment")):
            raise UsageError(
                f"provider_limits: environment {provider!r} is not known; known: {', '.join(ids)}"
            )
        if not _is_count(limit) or limit < 0:
            raise UsageError(f"provider_limits: expected a whole number from 0, not {limit!r}")
        set_provider_limits({provider: limit or None}, {})
        self._note(f"the limit of {provider} is {limit or 'none'} from now on")

    def _note(self, text: str) -> None:
        """Put on record what changes the conditions of the measurement, once there is a log."""
        if self._context is not None:
            self._context.run(log.info, "%s", text)
        elif not self.has_ended:
            self._unsaid.append(text)


class _Running(Evaluation):
    """The half of an evaluation that only `open_evaluation` uses.

    The job goes with its end, and with it the data of its tasks, however long it is asked about.
    """

    async def prepare(self, options: ProcessOptions) -> Job:
        """Check everything that can be checked beforehand."""
        job = await prepare_job(
            self._request, options, listeners=[self._history.emit], on_open=self._opened
        )
        set_provider_limits(options.provider_limits, options.env_open_qps)
        self._limits, self._model = job.limits, job.model
        return job

    async def run(self, job: Job, body: trio.CancelScope) -> None:
        """Run to the end; only what is nobody's fault but ours leaves, or a cancellation.

        Then the body is cancelled first, which would else be woken to raise an error of its own.
        """
        try:
            with self._scope:
                await run_to_result(job, on_end=self._result.update)
        except AgentCompassError as error:
            self._error = error
        finally:
            if (crash := sys.exception()) is not None:
                body.cancel()
            self._conclude(crash)

    def _opened(self, directory: Path) -> None:
        self._directory = directory
        self._context = contextvars.copy_context()  # by which run.log knows its own records
        while self._unsaid:
            self._note(self._unsaid.pop(0))

    def _conclude(self, crash: BaseException | None) -> None:
        """Note how it ended; `crash` is a cancellation by the caller's scope, or a bug of ours."""
        if isinstance(crash, Exception):
            self._error = RequestFailed(f"{type(crash).__name__}: {crash}", result=self._result)
        elif self._error is None and (crash is not None or self._scope.cancelled_caught):
            self._error = cut_off(self._result, self._directory)
        self._context = self._model = None
        self._history.close()
        self._ended.set()


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
