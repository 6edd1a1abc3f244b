"""Whether the packages that a component needs are here, and their installation where asked for."""

import importlib
import logging
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

import trio

from agentcompass.deadlines import deadline
from agentcompass.errors import DependencyMissing, ExecutionError
from agentcompass.records.needs import Needs

# A package of some hundred MB over a slow line, or built from its source.
INSTALL_SECONDS = 1800.0

log = logging.getLogger(__name__)


async def require(what: str, needs: Needs, *, install: bool) -> None:
    """Have what `needs` names, installed into this environment if `install`.

    Raises `DependencyMissing`, which begins with `what`, with the command that installs it.
    """
    lacking = missing(needs)
    if lacking and install:
        await _install(what, needs, lacking)
        importlib.invalidate_caches()
        lacking = missing(needs)
    if lacking:
        raise DependencyMissing(f"{what} needs {', '.join(lacking)}: {needs.command}")


def missing(needs: Needs) -> list[str]:
    """The requirements that are not met, each with what is here instead."""
    return [text for package in needs.packages if (text := _lacking(package))]


def _lacking(package: str) -> str:
    from importlib import metadata  # most runs need neither

    from packaging.requirements import InvalidRequirement, Requirement

    try:
        wanted = Requirement(package)
        here = metadata.version(wanted.name)
    except InvalidRequirement:
        return f"{package!r}, which is no requirement"
    except metadata.PackageNotFoundError:
        return package
    return "" if wanted.specifier.contains(here, prereleases=True) else f"{package} (not {here})"


async def _install(what: str, needs: Needs, lacking: Sequence[str]) -> None:
    command = [*_installer(needs), *needs.arguments]
    log.info("%s needs %s: %s", what, ", ".join(lacking), " ".join(command))
    try:
        with deadline(INSTALL_SECONDS, stretch="installing"):
            ended = await trio.run_process(
                command,
                stdin=subprocess.DEVNULL,
                capture_stdout=True,
                capture_stderr=True,
                check=False,
            )
    except (ExecutionError, OSError) as error:
        raise DependencyMissing(f"{what}: {' '.join(command)}: {error}") from error
    if ended.returncode:
        said = " ".join(ended.stderr.decode(errors="replace").split())
        raise DependencyMissing(
            f"{what} needs {', '.join(lacking)}, which could not be installed: {said[-600:]}"
        )


def _installer(needs: Needs) -> list[str]:
    """The installer of this very environment: its pip, else uv, which makes some without pip."""
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--no-input"]
    if (uv := shutil.which("uv")) is not None:
        return [uv, "pip", "install", "--python", sys.executable]
    raise DependencyMissing(f"neither pip nor uv is here to install by: {needs.command}")
