"""Installs what an agent needs into an environment, with whichever package manager is there."""

from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import Session
from agentcompass.records.environment import ExecResult

_APT = "DEBIAN_FRONTEND=noninteractive apt-get"
_MANAGERS = (
    ("apt-get", f"apt-get update && {_APT} install -y --no-install-recommends {{}}"),
    ("apk", "apk add --no-cache {}"),
    ("dnf", "dnf install -y {}"),
    ("yum", "yum install -y {}"),
    ("zypper", "zypper install -y -n {}"),
    ("pacman", "pacman -Sy --noconfirm {}"),
)

# Where the environment is the user's own machine, nothing is installed.
OWN_MACHINE = "host_process"

_SHOWN = 500  # characters of what a command said


def install_script(*packages: str) -> str:
    """Ends with 0 where the packages are installed; what is said goes to stderr."""
    names = " ".join(packages)
    cases = (
        f"if command -v {manager}; then {{ {command.format(names)}; }} >&2; exit; fi"
        for manager, command in _MANAGERS
    )
    return "\n".join((*cases, "echo 'no package manager is known here' >&2; exit 1"))


async def install(session: Session, script: str, *, what: str, seconds: float) -> None:
    """Run a script that installs `what`; with 0 seconds it has to be there already.

    Raises `EnvironmentFailed`.
    """
    if not seconds:
        raise EnvironmentFailed(f"{what} is not in the environment: install it there")
    ended = await session.exec(script, timeout_seconds=seconds)
    if ended.timed_out:
        raise EnvironmentFailed(
            f"{what} was not installed in {seconds:g} s: put it into the image,"
            f" or raise install_timeout; {why_failed(ended)}"
        )
    if not ended.ok:
        raise EnvironmentFailed(
            f"{what} cannot be installed: put it into the image; {why_failed(ended)}"
        )


def why_failed(ended: ExecResult) -> str:
    """How a command ended, and the end of what it said, in one line."""
    how = "it took too long" if ended.timed_out else f"exit code {ended.exit_code}"
    said = " ".join((ended.stderr.strip() or ended.stdout).split())[-_SHOWN:]
    return f"{how}: {said}" if said else how
