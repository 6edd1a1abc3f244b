"""The command tree, and the one place where an error becomes a line and an exit code."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import asyncclick as click
import trio

from agentcompass._version import __version__
from agentcompass.cli.bugs import masker, report_bug
from agentcompass.cli.output import degrade_to_escapes, tell
from agentcompass.errors import AgentCompassError

_HOMES = {
    "run": "run",
    "launch": "launch",
    "status": "status",
    "summary": "summary",
    "export": "export",
    "list": "list_components",
    "config": "config",
    "data": "data",
    "env": "env",
}


class _Commands(Mapping[str, click.Command]):
    """The commands by name, each imported from the module of its name on first use."""

    def __getitem__(self, name: str) -> click.Command:
        attribute = _HOMES[name]
        command: click.Command = getattr(import_module(f"agentcompass.cli.{name}"), attribute)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


class CommandLine(click.Group):
    """A group whose `main` exits by itself, with one line for what the user can mend."""

    async def main(self, *args: Any, **extra: Any) -> Any:
        """Run one command line; always ends in `SystemExit`."""
        degrade_to_escapes()
        extra["standalone_mode"] = False
        try:
            code = await super().main(*args, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            tell(error.format_message())
            code = error.exit_code
        except click.ClickException as error:
            tell(f"Error: {' '.join(error.format_message().split())}")
            code = error.exit_code
        except AgentCompassError as error:
            tell(f"Error: {masker().known(str(error))}")
            code = error.exit_code
        except click.Abort:
            code = 130
        sys.exit(code if isinstance(code, int) else 0)


@click.group(
    cls=CommandLine,
    commands=_Commands(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="agentcompass", message="%(prog)s %(version)s")
async def commands() -> None:
    """Measure AI agents with deadlines that mean what they say."""


def command_line(arguments: Sequence[str], **extra: Any) -> int:
    """Run one command line on trio and return its exit code."""
    sys.excepthook = report_bug
    try:
        # not `commands(...)`, which would load anyio to find a loop that is known
        trio.run(partial(commands.main, list(arguments), prog_name="agentcompass", **extra))
    except SystemExit as end:
        return int(end.code or 0)
    return 0
