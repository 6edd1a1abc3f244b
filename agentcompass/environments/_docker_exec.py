"""Runs commands in one container, and ends all that a command started when its time is up."""

import logging
import math
from contextlib import AsyncExitStack

import attrs
import httpx
import trio

from agentcompass.deadlines import CleanupClock, cleanup
from agentcompass.environments._docker_command import Command, Output, State, why_not_started
from agentcompass.environments._docker_engine import Engine, EngineRefused
from agentcompass.environments._docker_kill import END_ALL, END_FAMILY
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import ExecResult

# How long processes are looked for before the container is killed instead.
KILL_SECONDS = 20.0
_FIRST_LOOK_SECONDS, _LOOK_SECONDS = 0.1, 1.0
_BETWEEN_LOOKS_SECONDS = 0.02

log = logging.getLogger(__name__)


@attrs.define(eq=False, kw_only=True)
class Runner:
    """The commands of container `name`, which runs them as `user`; `shell` is its `sh`, if any.

    Where processes cannot be ended one by one the container is killed, and `lost` says why.
    `is_closed` is set by who removes the container, so that nobody looks for its processes.
    """

    engine: Engine
    name: str
    shell: str | None
    user: str = ""
    output_limit: int
    grace_seconds: float
    cleanup: CleanupClock
    is_closed: bool = attrs.field(default=False, init=False)
    lost: str | None = attrs.field(default=None, init=False)

    async def run(self, command: Command, seconds: float | None) -> ExecResult:
        """Run a command to its end, or to the end of its processes after `seconds` or a
        cancellation. What it started and left running stays.

        Raises `EnvironmentFailed` where it cannot be started, naming what is missing.
        """
        began = trio.current_time()
        output = Output(self.output_limit)
        scope = trio.move_on_after(math.inf if seconds is None else max(0.0, seconds))
        state: State | None = None
        fault: EnvironmentFailed | None = None
        exec_id = await self._create(command)
        try:
            async with AsyncExitStack() as stack:
                response = await self._start(exec_id, stack)
                nursery = await stack.enter_async_context(trio.open_nursery())
                nursery.start_soon(output.read, self.engine.pieces(response))
                try:
                    with scope:
                        state = await self._wait(exec_id, output)
                except EnvironmentFailed as error:
                    fault = error
                if scope.cancelled_caught:
                    state = await self._end_family(exec_id, command)
                    await output.wait_silent()
                nursery.cancel_scope.cancel()
        finally:
            if state is None:
                await self._end_family(exec_id, command)
        if fault is not None:
            raise fault
        return _result(command, state, output, began, timed_out=scope.cancelled_caught)

    async def end_everything(self) -> None:
        """End every process of the container but those that keep it alive."""
        with trio.move_on_after(KILL_SECONDS):
            if await self.script(END_ALL, f"{self.grace_seconds:g}"):
                return
        await self._kill_container("its processes cannot be ended one by one")

    async def _create(self, command: Command) -> str:
        path = f"/containers/{self.name}/exec"
        created = await self.engine.call("POST", path, body=command.body())
        return str(created["Id"])

    async def _start(self, exec_id: str, stack: AsyncExitStack) -> httpx.Response:
        response = None
        # Shielded, so that nothing is started behind the back of who ends it.
        with cleanup(self.cleanup):
            response = await stack.enter_async_context(
                self.engine.stream(
                    "POST", f"/exec/{exec_id}/start", body={"Detach": False, "Tty": False}
                )
            )
        if response is None:
            raise EnvironmentFailed("the Docker Engine does not start the command")
        return response

    async def _wait(self, exec_id: str, output: Output) -> State:
        """Wait for a command's end, whoever else holds its output then."""
        pause = _FIRST_LOOK_SECONDS
        while True:
            is_over = await output.wait_over(pause)
            state = await self._state(exec_id)
            if state.exit_code is not None:
                await output.wait_silent()
                return state
            if is_over:  # the engine may take a moment to know, or the command closed its output
                await trio.sleep(min(pause, _BETWEEN_LOOKS_SECONDS))
            pause = min(1.5 * pause, _LOOK_SECONDS)

    async def _state(self, exec_id: str) -> State:
        about = await self.engine.call("GET", f"/exec/{exec_id}/json")
        return State(None if about["Running"] else about["ExitCode"], about["Pid"])

    async def _end_family(self, exec_id: str, command: Command) -> State:
        """End a command with all that it started, or else the container."""
        ended = State(None, 0)
        with cleanup(self.cleanup):
            try:
                with trio.move_on_after(KILL_SECONDS):
                    if found := await self._end_each(exec_id, command):
                        return found
                await self._kill_container("the processes of a command cannot be ended one by one")
            except EngineRefused as error:  # the container is gone, and they with it
                log.debug("no processes to end: %s", error)
            except EnvironmentFailed as error:
                self.lost = f"it is not known whether a command's processes have ended: {error}"
        return ended

    async def _end_each(self, exec_id: str, command: Command) -> State | None:
        mode = "marked"
        while not self.is_closed:
            if not await self.script(END_FAMILY, command.token, f"{self.grace_seconds:g}", mode):
                return None
            state = await self._state(exec_id)
            if state.exit_code is not None:
                return state
            # Not even started yet, or it has cleared its own environment.
            mode = "cleared" if state.pid else "marked"
            await trio.sleep(_BETWEEN_LOOKS_SECONDS)
        return State(None, 0)

    async def script(self, text: str, *arguments: str) -> bool:
        """Whether a script could be run as the container's root, who may see and end everybody.

        Without a right that the task's own root lacks: the shell may be one that the task made.
        """
        if self.shell is None:
            return False
        argv = (self.shell, "-c", text, "sh", *arguments)
        return await self._quietly(Command(argv=argv, user="0")) == 0

    async def _quietly(self, command: Command) -> int | None:
        """The exit code of a command that ends by itself, None where it cannot be started."""
        exec_id, output = await self._create(command), Output(4096)
        body = {"Detach": False, "Tty": False}
        async with self.engine.stream("POST", f"/exec/{exec_id}/start", body=body) as response:
            await output.read(self.engine.pieces(response))
        state = await self._wait(exec_id, output)
        if state.exit_code:
            log.debug("exit code %s: %s", state.exit_code, output.stdout.text()[0])
        return state.exit_code if state.pid else None

    async def _kill_container(self, why: str) -> None:
        self.lost = f"the container was killed, since {why}"
        log.warning("container %s is lost: %s", self.name, self.lost)
        await self.engine.call("POST", f"/containers/{self.name}/kill")


def _result(
    command: Command, state: State | None, output: Output, began: float, *, timed_out: bool
) -> ExecResult:
    stdout, stdout_cut = output.stdout.text()
    stderr, stderr_cut = output.stderr.text()
    if state is not None and state.pid == 0 and state.exit_code is not None:
        raise EnvironmentFailed(why_not_started(command, stdout or stderr))
    return ExecResult(
        exit_code=None if timed_out or state is None else state.exit_code,
        stdout=stdout,
        stderr=stderr,
        timed_out=timed_out,
        seconds=trio.current_time() - began,
        truncated_bytes=(stdout_cut, stderr_cut),
    )
