"""One open fake session: it does what its script says, on trio's clock and in memory."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import attrs
import trio

from agentcompass.environments._fake_files import FakeFiles
from agentcompass.environments._fake_ledger import Ledger
from agentcompass.environments._fake_script import (
    FakeCommand,
    FakeScript,
    Handler,
    Point,
    rule_for,
)
from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import SessionRequest
from agentcompass.records.environment import (
    ExecResult,
    NetworkPolicy,
    Transfer,
    TransferLimits,
)

T = TypeVar("T")


@attrs.define(eq=False, kw_only=True)
class FakeSession:
    """See `protocols.Session`. Its `files` and the environment's ledger are open to tests."""

    request: SessionRequest
    script: FakeScript
    ledger: Ledger
    handler: Handler | None
    files: FakeFiles
    workdir: str
    is_closed: bool = attrs.field(default=False, init=False)
    _is_gone: bool = attrs.field(default=False, init=False)
    _running: set[trio.CancelScope] = attrs.field(factory=set, init=False)

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
        """Ask the handler, then the rules; take as long as they say, or as is allowed."""
        self._refuse_if_closed()
        asked = FakeCommand(
            request=self.request,
            command=command,
            cwd=cwd,
            env=dict(env or {}),
            stdin=stdin,
            timeout_seconds=timeout_seconds,
            user=user,
        )
        self.ledger.commands.append(asked)
        self.ledger.fail_if_told(self.script, "exec")
        result, writes = self._outcome(asked)
        seconds, is_late = self._time_of(result, timeout_seconds)
        await self._take(seconds)
        if is_late:
            return attrs.evolve(result, exit_code=None, timed_out=True, seconds=seconds)
        for path, text in writes.items():
            self.files.write(path, text.encode())
        return result

    def _outcome(self, asked: FakeCommand) -> tuple[ExecResult, Mapping[str, str]]:
        handled = None if self.handler is None else self.handler(asked)
        if handled is not None:
            return handled, {}
        rule = rule_for(self.script, asked)
        result = ExecResult(
            exit_code=rule.exit_code, stdout=rule.stdout, stderr=rule.stderr, seconds=rule.seconds
        )
        return result, rule.writes

    def _time_of(self, result: ExecResult, limit: float | None) -> tuple[float, bool]:
        seconds = math.inf if "exec" in self.script.hangs else result.seconds
        if limit is None or self.script.ignores_timeouts or seconds <= limit:
            return seconds, False
        return limit, True

    async def _take(self, seconds: float) -> None:
        with trio.CancelScope() as scope:
            self._running.add(scope)
            try:
                await trio.sleep(seconds)
            finally:
                self._running.discard(scope)
        self._refuse_if_closed()

    async def upload(self, source: Path, target: str) -> None:
        """Read host files into memory."""
        await self._operation("upload", lambda: self.files.upload(source, target))

    async def download(
        self,
        source: str,
        target: Path,
        *,
        exclude: Sequence[str] = (),
        limits: TransferLimits | None = None,
    ) -> Transfer:
        """Write files from memory to the host; `FileNotFoundError` where there is no `source`."""
        return await self._operation(
            "download",
            lambda: self.files.download(source, target, exclude=exclude, limits=limits),
        )

    async def read(self, path: str) -> bytes:
        """The bytes of one file."""
        return await self._operation("read", lambda: self.files.read(path))

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Keep one file in memory."""
        await self._operation("write", lambda: self.files.write(path, data, mode))

    async def set_network_policy(self, policy: NetworkPolicy) -> None:
        """Take note of the policy."""
        await self._operation(
            "set_network_policy", lambda: self.ledger.policies.append((self.request, policy))
        )

    async def _operation(self, point: Point, work: Callable[[], T]) -> T:
        self._refuse_if_closed()
        self.ledger.fail_if_told(self.script, point)
        hangs = point in self.script.hangs
        await self._take(math.inf if hangs else self.script.operation_seconds)
        return work()

    def _refuse_if_closed(self) -> None:
        if self.is_closed:
            raise EnvironmentFailed("the session is closed")

    async def aclose(self) -> None:
        """Close, once; a closing that was cut off or failed may be tried again."""
        if self._is_gone:
            return
        self.is_closed = True
        for scope in self._running:
            scope.cancel()
        hangs = "close" in self.script.hangs
        await trio.sleep(math.inf if hangs else self.script.close_seconds)
        self.ledger.fail_if_told(self.script, "close")
        self._is_gone = True
        self.ledger.note_closed(self.request)
