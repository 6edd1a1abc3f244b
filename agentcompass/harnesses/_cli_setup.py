"""Finds a command-line agent in the environment, or installs it there."""

import re
import shlex

import attrs

from agentcompass.errors import EnvironmentFailed
from agentcompass.harnesses._cli_program import Program
from agentcompass.harnesses._packages import install, install_script, why_failed
from agentcompass.harnesses._script import run_script
from agentcompass.protocols import Session

# Says the version, and the folder, which is neither below the workspace nor the home, and for its
# owner alone.
_FIND = """\
command -v {command} >/dev/null || exit 127
said=$({command} --version </dev/null) || exit 1
printf '%s\\n' "$said" | head -n 1
case " $(echo "$said" | tr '\\n' ' ') " in *{version}*) ;; *) exit 127 ;; esac
umask 077
mktemp -d "${{TMPDIR:-/tmp}}/agentcompass-agent.XXXXXX" || exit 1
"""
_FIND_SECONDS = 120.0
_MISSING = 127
# A version that can be compared; with `latest` and ranges, what is there already is taken.
_EXACT = re.compile(r"\d+\.\d+\.\d+\S*")


@attrs.define(kw_only=True, eq=False)
class Setup:
    """Has one program ready for its user, installed within `seconds`; with 0 it has to be there.

    Afterwards `found_version` is what it says of itself, and `folder` is for its files.
    """

    program: Program
    session: Session
    user: str | None
    version: str
    seconds: float
    found_version: str = attrs.field(init=False, default="")
    folder: str = attrs.field(init=False, default="")

    async def ready(self) -> None:
        """Find the program, or install it; raises `EnvironmentFailed`."""
        if await self._is_found():
            return
        node = install_script("nodejs", "npm", "ca-certificates")
        script = f"command -v npm >/dev/null || (\n{node}\n) || exit 1\n{self.program.install}"
        await install(self.session, script, what=self._name(), seconds=self.seconds)
        if not await self._is_found():
            raise EnvironmentFailed(f"npm installed {self._name()}, which the PATH has not")

    async def _is_found(self) -> bool:
        command = shlex.quote(self.program.command)
        wanted = shlex.quote(f" {self.version} ") if self._is_exact() else ""
        script = _FIND.format(command=command, version=wanted)
        ended = await run_script(
            self.session, script, user=self.user, timeout_seconds=_FIND_SECONDS
        )
        said = ended.stdout.splitlines()
        self.found_version = said[0] if said else ""
        if ended.exit_code == _MISSING:
            return False
        if not ended.ok:
            message = f"{self.program.command} cannot be started: {why_failed(ended)}"
            raise EnvironmentFailed(message)
        self.folder = said[-1]
        return True

    def _name(self) -> str:
        """The program that is asked for, and the one that is there instead."""
        name = self.program.command + (f" {self.version}" if self._is_exact() else "")
        return f"{name} (in place of {self.found_version})" if self.found_version else name

    def _is_exact(self) -> bool:
        return _EXACT.fullmatch(self.version) is not None
