"""Runs the commands of one host session, and ends what they leave behind."""

import math
import os
import uuid

import attrs
import trio

from agentcompass.deadlines import CleanupClock, cleanup
from agentcompass.environments._command import Command, OutputPipe, start
from agentcompass.environments._launch import Launch, encode
from agentcompass.environments._processes import Family, end, of_command, of_session
from agentcompass.environments._procfs import EXEC, Process, ProcessTable
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import ExecResult


@attrs.define(eq=False, kw_only=True)
class HostShell:
    """The commands of the session whose processes carry `token`; its folder is `folder`."""

    token: str
    folder: str
    output_limit: int
    grace_seconds: float
    cleanup: CleanupClock
    table: ProcessTable
    _is_closed: bool = attrs.field(default=False, init=False)
    _has_run: bool = attrs.field(default=False, init=False)
    _at_work: int = attrs.field(default=0, init=False)
    _is_idle: trio.Event = attrs.field(factory=trio.Event, init=False)
    _running: set[trio.CancelScope] = attrs.field(factory=set, init=False)
    _left_roots: set[int] = attrs.field(factory=set, init=False)
    _discards: set[trio.CancelScope] = attrs.field(factory=set, init=False)

    async def run(self, launch: Launch, *, stdin: bytes, seconds: float | None) -> ExecResult:
        """Run a command to its end, or to the end of its tree after `seconds` or a cancellation.

        What it started and left running stays until the session is closed.
        """
        self._refuse_if_closed()
        if not self._at_work:
            self._is_idle = trio.Event()
        self._at_work += 1
        self._has_run = True
        try:
            exec_token = uuid.uuid4().hex
            marked = attrs.evolve(launch, env={**launch.env, EXEC.encode(): encode(exec_token)})
            command = await start(marked, stdin=stdin, output_limit=self.output_limit)
            return await self._see_through(command, exec_token, seconds)
        finally:
            self._at_work -= 1
            if not self._at_work:
                self._is_idle.set()

    async def _see_through(
        self, command: Command, exec_token: str, seconds: float | None
    ) -> ExecResult:
        began = trio.current_time()
        left: list[Process] = []
        is_over = False
        scope = trio.move_on_after(math.inf if seconds is None else max(0.0, seconds))
        self._running.add(scope)
        try:
            self._refuse_if_closed()
            with scope:
                await command.run()
            took = trio.current_time() - began
            is_over = command.exit_code is not None
        finally:
            self._running.discard(scope)
            if not is_over:
                left = await self._end_tree(command, exec_token)
            self._let_go(command)
        self._refuse_if_closed()
        if left:
            raise EnvironmentFailed(
                f"a command that ran out of time cannot be ended: {_pids(left)}"
            )
        return _result(command, took)

    async def _end_tree(self, command: Command, exec_token: str) -> list[Process]:
        """End a command with all it started; return who does not die."""
        family = Family(of_command(command.pid, exec_token))
        left: list[Process] = []
        with cleanup(self.cleanup):
            left = await end(family, self.table, grace_seconds=self.grace_seconds)
            if not left:
                await command.process.wait()
        if command.process.returncode is None:
            # Killed, but not seen to die in time; its zombie has to be taken away all the same.
            trio.lowlevel.spawn_system_task(command.process.wait)
        return left

    def _let_go(self, command: Command) -> None:
        has_ended = command.exit_code is not None
        for pipe in command.pipes:
            pipe.drain()
            if has_ended and pipe.has_writers():
                self._discard(pipe)
            else:
                pipe.close()
        if has_ended and _group_exists(command.pid):
            self._left_roots.add(command.pid)

    def _discard(self, pipe: OutputPipe) -> None:
        # A server that was left running must neither block nor die of what it logs. It may be
        # needed longer than any nursery here is open; the scope ends with the session.
        scope = trio.CancelScope()
        self._discards.add(scope)

        async def throw_away() -> None:
            with scope:
                await pipe.discard()
            pipe.close()
            self._discards.discard(scope)

        trio.lowlevel.spawn_system_task(throw_away)

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise EnvironmentFailed("the session is closed")

    async def aclose(self) -> None:
        """End every process of the session; raises `EnvironmentFailed` naming who does not die.

        A command that runs is ended first, and its `run` raises.
        """
        self._is_closed = True
        for scope in self._running:
            scope.cancel()
        try:
            left = await self._end_all() if self._has_run else []
        finally:
            for scope in self._discards:
                scope.cancel()
        if left:
            raise EnvironmentFailed(f"processes of the session cannot be ended: {_pids(left)}")

    async def _end_all(self) -> list[Process]:
        family = Family(of_session(self.token, self.folder, lambda: self._left_roots))
        left = await end(family, self.table, grace_seconds=self.grace_seconds)
        if self._at_work:
            await self._is_idle.wait()
            left = await end(family, self.table, grace_seconds=self.grace_seconds)
        return left


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _pids(processes: list[Process]) -> str:
    return ", ".join(f"pid {process.pid}" for process in processes)


def _result(command: Command, seconds: float) -> ExecResult:
    stdout, stdout_cut = command.stdout.buffer.text()
    stderr, stderr_cut = command.stderr.buffer.text()
    return ExecResult(
        exit_code=command.exit_code,
        stdout=stdout,
        stderr=stderr,
        timed_out=command.exit_code is None,
        seconds=seconds,
        truncated_bytes=(stdout_cut, stderr_cut),
    )
