"""The command tree, and the one place where an error becomes a line and an exit code."""

import sys
from collections.abc import Sequence
from typing import Any

import asyncclick as click

from agentcompass._version import __version__
from agentcompass.cli.bugs import masker, report_bug
from agentcompass.cli.config import config
from agentcompass.cli.data import data
from agentcompass.cli.env import env
from agentcompass.cli.export import export
from agentcompass.cli.launch import launch
from agentcompass.cli.list import list_components
from agentcompass.cli.output import degrade_to_escapes, tell
from agentcompass.cli.run import run
from agentcompass.cli.status import status
from agentcompass.cli.summary import summary
from agentcompass.errors import AgentCompassError


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


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="agentcompass", message="%(prog)s %(version)s")
async def commands() -> None:
    """Measure AI agents with deadlines that mean what they say."""


commands.add_command(run)
commands.add_command(launch)
commands.add_command(status)
commands.add_command(summary)
commands.add_command(export)
commands.add_command(list_components)
commands.add_command(config)
commands.add_command(data)
commands.add_command(env)


def command_line(arguments: Sequence[str], **extra: Any) -> int:
    """Run one command line on trio and return its exit code."""
    sys.excepthook = report_bug
    try:
        commands(list(arguments), prog_name="agentcompass", _anyio_backend="trio", **extra)
    except SystemExit as end:
        return int(end.code or 0)
    return 0
