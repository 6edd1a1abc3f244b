"""Opening, bounding and closing sessions: no provider is trusted to keep a deadline."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

import attrs
import trio

from agentcompass.deadlines import cleanup, deadline
from agentcompass.engine.job import Run
from agentcompass.errors import EnvironmentFailed, ExecutionError
from agentcompass.protocols import Environment, Session, SessionRequest
from agentcompass.records.environment import (
    EnvironmentPlan,
    ExecResult,
    NetworkPolicy,
    Transfer,
    TransferLimits,
)

T = TypeVar("T")

# What a provider gets beyond a command's deadline to end its processes and hand over the output.
KILL_SECONDS = 5.0
# A command that may outlast its phase is ended before it, by this share of the time that is left
# and at most by so many seconds: the provider hands over what it printed.
CUT_OFF_SHARE, CUT_OFF_SECONDS = 0.05, 0.5

OnCutOff = Callable[[str, ExecResult], None]


@attrs.frozen(eq=False)
class BoundedSession:
    """A session each of whose operations ends: by its own deadline, or by `operation_timeout`.

    `exec` with `timeout_seconds` has that deadline alone and reports it in the result; infinity
    leaves it to the phase. Anything else that runs out of `operation_timeout` is FATAL. The output
    of a command that the phase's own deadline ends is told to `on_cut_off`.
    """

    _session: Session
    _provider: str
    _task_id: str
    _limit: float | None
    _on_cut_off: OnCutOff = lambda _command, _ended: None

    @property
    def workdir(self) -> str:
        """Where commands run unless told otherwise."""
        return self._session.workdir

    @property
    def built_context(self) -> bool:
        """Whether the task's build context is part of the session's image."""
        return bool(getattr(self._session, "built_context", False))

    @property
    def image(self) -> str | None:
        """The name of the image that the session was started from, where there is one."""
        return getattr(self._session, "image", None)

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_seconds: float | None = None,
        user: str | None = None,
    ) -> ExecResult:
        """Run a command; see the class for its deadline."""
        limit = self._limit if timeout_seconds is None else timeout_seconds
        phase_ends_at = trio.current_effective_deadline()
        left = _left_until(phase_ends_at)
        is_cut_off = left < (math.inf if limit is None else limit)
        bound = left if is_cut_off or limit is None else limit
        with self._backstop(bound):
            result = await self._session.exec(
                command,
                cwd=cwd,
                env=env,
                stdin=stdin,
                timeout_seconds=None if math.isinf(bound) else bound,
                user=user,
            )
        if result.timed_out and is_cut_off:
            self._on_cut_off(_head(command), result)
            await trio.sleep_until(phase_ends_at)  # its own deadline says what it ends
        elif result.timed_out and timeout_seconds is None:
            raise EnvironmentFailed(f"{self._what('exec')}: exceeded {limit:g} s: {_head(command)}")
        return result

    async def upload(self, source: Path, target: str) -> None:
        """Copy from the host."""
        await self._operation("upload", lambda: self._session.upload(source, target))

    async def download(
        self,
        source: str,
        target: Path,
        *,
        exclude: Sequence[str] = (),
        limits: TransferLimits | None = None,
    ) -> Transfer:
        """Copy to the host."""
        return await self._operation(
            "download",
            lambda: self._session.download(source, target, exclude=exclude, limits=limits),
        )

    async def read(self, path: str) -> bytes:
        """The bytes of one file."""
        return await self._operation("read", lambda: self._session.read(path))

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write one file."""
        await self._operation("write", lambda: self._session.write(path, data, mode=mode))

    async def set_network_policy(self, policy: NetworkPolicy) -> None:
        """Switch the network policy."""
        await self._operation(
            "set_network_policy", lambda: self._session.set_network_policy(policy)
        )

    async def aclose(self) -> None:
        """Close the session; the caller bounds it."""
        await self._session.aclose()

    async def _operation(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        with deadline(self._limit, stretch=self._what(name), error=EnvironmentFailed):
            result = await call()
        return result

    def _backstop(self, bound: float) -> AbstractContextManager[None]:
        seconds = None if math.isinf(bound) else bound + KILL_SECONDS
        return deadline(seconds, stretch=self._what("exec"), error=EnvironmentFailed)

    def _what(self, operation: str) -> str:
        return f"{self._provider} {operation} operation timeout for task {self._task_id!r}"


def _left_until(ends_at: float) -> float:
    """The seconds that a command has whose output is to be there at `ends_at`."""
    left = max(0.0, ends_at - trio.current_time())
    return left if math.isinf(left) else left - min(CUT_OFF_SECONDS, CUT_OFF_SHARE * left)


def _head(command: str | Sequence[str]) -> str:
    text = command if isinstance(command, str) else " ".join(command)
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 80 else line[:77] + "..."


@attrs.define(eq=False)
class OpenSession:
    """A bounded session for the body, opened in its turn and closed within the cleanup's bound.

    Waiting for the turn counts against the request alone; the start deadline begins when the open
    is sent. What could not be closed is told to `on_close_fault` and does not change the result;
    for `on_cut_off` see `BoundedSession`.
    """

    run: Run
    plan: EnvironmentPlan
    task_id: str = attrs.field(kw_only=True)
    attempt: int = attrs.field(kw_only=True)
    role: str = attrs.field(kw_only=True)
    on_close_fault: Callable[[str], None] = attrs.field(kw_only=True)
    on_cut_off: OnCutOff = attrs.field(default=lambda _command, _ended: None, kw_only=True)
    _session: Session = attrs.field(init=False)

    async def __aenter__(self) -> BoundedSession:
        run, name = self.run, self.plan.id
        provider = run.job.environments[name]
        request = SessionRequest(
            plan=self.plan,
            run_id=run.store.run_id,
            task_id=self.task_id,
            attempt=self.attempt,
            role=self.role,
            cleanup=run.cleanup,
            keep=run.job.request.execution.keep_environment,
            resource=run.store.resource(name, self.task_id, self.attempt),
        )
        await run.job.limits.pace(name)
        self._session = await _open(provider, name, request)
        limit = provider.operation_timeout
        return BoundedSession(self._session, name, self.task_id, limit, self.on_cut_off)

    async def __aexit__(self, *exc: object) -> None:
        await _close(self.run, self._session, self.on_close_fault)


async def _open(provider: Environment, name: str, request: SessionRequest) -> Session:
    stretch = f"{name} sandbox start for task {request.task_id!r}"
    with deadline(provider.sandbox_start_timeout, stretch=stretch, error=EnvironmentFailed):
        session = await provider.open(request)
    return session


async def _close(run: Run, session: Session, on_close_fault: Callable[[str], None]) -> None:
    started = trio.current_time()
    with cleanup(run.cleanup) as scope:
        try:
            await session.aclose()
        except (ExecutionError, OSError) as error:
            on_close_fault(f"{_named(session)} could not be closed: {error}")
    if scope.cancelled_caught:
        waited = trio.current_time() - started
        on_close_fault(
            f"{_named(session)} was not closed within {waited:.1f} s and may be left over"
        )


def _named(session: Session) -> str:
    name = getattr(session, "name", "")
    return f"the environment {name}" if name else "the environment"
