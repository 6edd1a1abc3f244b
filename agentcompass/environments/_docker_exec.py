"""Runs commands in one container, and ends all that a command started when its time is up."""

import logging
import math
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import attrs
import httpx
import trio

from agentcompass.deadlines import CleanupClock, cleanup
from agentcompass.environments._docker_command import Command, Output, State, why_not_started
from agentcompass.environments._docker_engine import Engine, EngineRefused
from agentcompass.environments._docker_keeper import PATH
from agentcompass.environments._docker_kill import ASK_ALL, END_FAMILY
from agentcompass.environments._docker_life import Life
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import ExecResult

# How long processes are looked for before the container is killed instead.
KILL_SECONDS = 20.0
# How long the container's own shell may take to ask them all to end.
_ASK_SECONDS = 1.0
_STATE_SECONDS = 0.3
_FIRST_LOOK_SECONDS, _LOOK_SECONDS = 0.1, 0.5
_BETWEEN_LOOKS_SECONDS = 0.02
# How the engine refuses to kill a container: there is none, it does not run.
_GONE = (404, 409)

log = logging.getLogger(__name__)


@attrs.define(eq=False, kw_only=True)
class Runner:
    """The commands of a container, which runs them as `user`; `shell` is its `sh`, if any.

    Where processes cannot be ended one by one the container is killed, and `lost` says why.
    `is_closed` is set by who removes the container, so that nobody looks for its processes.
    """

    engine: Engine
    life: Life
    shell: str | None
    user: str = ""
    output_limit: int
    grace_seconds: float
    cleanup: CleanupClock
    is_closed: bool = attrs.field(default=False, init=False)
    lost: str | None = attrs.field(default=None, init=False)
    _running: set[str] = attrs.field(factory=set, init=False)
    _ran_with_others: set[str] = attrs.field(factory=set, init=False)

    async def run(self, command: Command, seconds: float | None) -> ExecResult:
        """Run a command to its end, or to the end of its processes after `seconds` or a
        cancellation. What it started and left running stays.

        Raises `EnvironmentFailed` where it cannot be started, naming what is missing.
        """
        with self._counted(command.token):
            return await self._run(command, seconds)

    async def _run(self, command: Command, seconds: float | None) -> ExecResult:
        began = trio.current_time()
        output = Output(self.output_limit)
        scope = trio.move_on_after(math.inf if seconds is None else max(0.0, seconds))
        state: State | None = None
        fault: EnvironmentFailed | None = None
        is_read = False
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
                if state is not None:
                    await output.wait_rest()
                    is_read = True
                nursery.cancel_scope.cancel()
        finally:
            if not is_read:
                await self._end_family(exec_id, command)
        if fault is not None:
            raise fault
        return _result(command, state, output, began, timed_out=scope.cancelled_caught)

    async def end_everything(self) -> None:
        """End every process of the container, itself with them, and start it again.

        Its own shell only asks them before: it may be one that the task made.
        """
        why = "it did not start again"
        with cleanup(self.cleanup):
            try:
                await self._ask_everybody()
                with trio.move_on_after(KILL_SECONDS):
                    return await self.life.renew()
            except EnvironmentFailed as error:
                why = f"{why}: {error}"
            await self._kill_container(why)
        raise EnvironmentFailed(self.lost or why)

    async def _ask_everybody(self) -> None:
        with trio.move_on_after(_ASK_SECONDS):
            if await self.script(ASK_ALL, PATH):
                await trio.sleep(self.grace_seconds)

    @contextmanager
    def _counted(self, token: str) -> Iterator[None]:
        """Around a command, so that it is known which ones ran at the same time as others."""
        self._running.add(token)
        if len(self._running) > 1:
            self._ran_with_others |= self._running
        try:
            yield
        finally:
            self._running.discard(token)
            self._ran_with_others.discard(token)

    async def _create(self, command: Command) -> str:
        path = f"/containers/{self.life.name}/exec"
        created = await self.engine.call("POST", path, body=command.body())
        # Afterwards: what was made before a restart cannot be started after it.
        await self.life.refuse_if_over()
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
                return state
            if is_over:  # the engine may take a moment to know, or the command closed its output
                await trio.sleep(min(pause, _BETWEEN_LOOKS_SECONDS))
            pause = min(1.5 * pause, _LOOK_SECONDS)

    async def _state(self, exec_id: str) -> State:
        about = await self.engine.call("GET", f"/exec/{exec_id}/json")
        return State(None if about["Running"] else about["ExitCode"], about["Pid"])

    async def _end_family(self, exec_id: str, command: Command) -> State:
        """End a command with all that it started, or else the container."""
        why = "the processes of a command cannot be ended one by one"
        with cleanup(self.cleanup) as scope:
            try:
                with trio.move_on_after(KILL_SECONDS):
                    if found := await self._end_each(exec_id, command):
                        return found
            except EnvironmentFailed as error:
                why = f"{why}: {error}"
            if not self.is_closed:
                await self._kill_container(why)
        if scope.cancelled_caught:
            self.lost = "the time for cleanup was over before the processes of a command had ended"
        return State(None, 0)

    async def _end_each(self, exec_id: str, command: Command) -> State | None:
        mode = "marked"
        while not self.is_closed:
            who = "among others" if command.token in self._ran_with_others else "alone"
            grace = f"{self.grace_seconds:g}"
            if not await self.script(END_FAMILY, command.token, grace, mode, who):
                return None
            if mode == "cleared":
                break
            # An engine is silent for seconds about one whose output somebody still holds.
            with trio.move_on_after(_STATE_SECONDS) as scope:
                state = await self._state(exec_id)
                if state.exit_code is not None:
                    return state
                await trio.sleep(_BETWEEN_LOOKS_SECONDS)
            # Not even started yet, or it has cleared its own environment.
            mode = "cleared" if scope.cancelled_caught or state.pid else "marked"
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
        self.lost = f"it is not known whether processes have ended, and {why}"
        try:
            await self.engine.call("POST", f"/containers/{self.life.name}/kill")
        except EngineRefused as error:
            if error.status in _GONE:  # and they with it
                self.lost = None
        except EnvironmentFailed as error:
            log.debug("not killed: %s", error)
        else:
            self.lost = f"the container was killed, since {why}"
        if self.lost:
            log.warning("container %s is lost: %s", self.life.name, self.lost)


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
