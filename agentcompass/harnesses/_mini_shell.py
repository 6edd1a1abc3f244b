"""A command of the agent: run in the session, with what the agent is told of it."""

import math
from collections.abc import Mapping

import attrs

from agentcompass.harnesses._mini_templates import MARKER, UNAME
from agentcompass.protocols import Session
from agentcompass.records.environment import ExecResult

# Programs that would page, draw or colour for a person are told not to.
_QUIET = {
    "PAGER": "cat",
    "MANPAGER": "cat",
    "LESS": "-R",
    "PIP_PROGRESS_BAR": "off",
    "TQDM_DISABLE": "1",
}


@attrs.frozen(kw_only=True)
class Output:
    """What a command printed, both streams in one; `lost_bytes` of its middle were not kept.

    `returncode` is -1 where the command did not end by itself, as `exception_info` then says.
    """

    output: str
    returncode: int
    exception_info: str = ""
    lost_bytes: int = 0
    seconds: float = 0.0

    @property
    def submission(self) -> str | None:
        """All below the marker, where it is the first line that is not blank and all went well.

        None is no submission. The rule is that of mini-swe-agent 2.4.
        """
        text = self.output.lstrip()
        if self.returncode != 0 or not text.startswith(MARKER):
            return None
        first, *rest = text.splitlines(keepends=True)
        return "".join(rest) if first.strip() == MARKER else None


@attrs.frozen(kw_only=True)
class Shell:
    """Runs each command in a new shell; `command_timeout` in seconds, 0 for none of its own."""

    session: Session
    cwd: str | None
    env: Mapping[str, str]
    user: str | None
    command_timeout: float

    async def run(self, command: str) -> Output:
        """Run a command to its end or its limit; raises `EnvironmentFailed`."""
        # On the same line, or every line number in the shell's own messages would be one too high.
        ended = await self._exec(f"exec 2>&1; {command}", self.command_timeout or math.inf)
        return Output(
            # A line that the shell could not even parse is reported before the streams are one.
            output=ended.stdout + ended.stderr,
            returncode=-1 if ended.exit_code is None else ended.exit_code,
            exception_info=self._exception(ended),
            lost_bytes=sum(ended.truncated_bytes),
            seconds=ended.seconds,
        )

    async def uname(self) -> dict[str, str]:
        """What the sandbox is, by the names that the templates of mini-swe-agent use."""
        ended = await self._exec("uname -s; uname -r; uname -v; uname -m", None)
        return dict(zip(UNAME, ended.stdout.splitlines(), strict=False))

    async def _exec(self, command: str, timeout_seconds: float | None) -> ExecResult:
        return await self.session.exec(
            command,
            cwd=self.cwd,
            env={**_QUIET, **self.env},
            timeout_seconds=timeout_seconds,
            user=self.user,
        )

    def _exception(self, ended: ExecResult) -> str:
        if ended.timed_out:
            return (
                f"the command took longer than {self.command_timeout:g} seconds and was ended, "
                "with everything that it had started"
            )
        return "the command ended without an exit code" if ended.exit_code is None else ""
