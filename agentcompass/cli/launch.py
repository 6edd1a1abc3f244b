"""`agentcompass launch`: several evaluation requests on one pool of slots."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncclick as click

from agentcompass.cli.groups import GroupedCommand
from agentcompass.cli.launch_options import launch_options
from agentcompass.cli.run import given_options, spelling

if TYPE_CHECKING:
    from agentcompass.config.orchestration import Orchestration


@click.command("launch", cls=GroupedCommand)
@click.argument("file")
@launch_options
@click.pass_context
async def launch(ctx: click.Context, /, file: str, dry_run: bool, **values: Any) -> None:
    """Run every request of the orchestration in FILE, YAML or JSON (docs/launch.md).

    The result is a table on stdout; progress and logs go to stderr. Exit codes: 0 completed,
    1 a request failed, 2 usage, 124 timed out, 130 Ctrl-C, 143 SIGTERM.
    """
    from agentcompass.cli.conduct import conduct
    from agentcompass.config.orchestration import resolve_orchestration
    from agentcompass.config.outline import read_orchestration

    resolved = resolve_orchestration(
        read_orchestration(file, cwd=Path.cwd()),
        given_options(values),
        cwd=Path.cwd(),
        environ=os.environ,
        spell=spelling(ctx.command),
    )
    if dry_run:
        await _show(resolved)
    else:
        await conduct(resolved, ctx.obj or _orchestrate())


async def _show(resolved: "Orchestration") -> None:
    """Print what would be run, without its secrets, once its preflight has passed."""
    from agentcompass.cli.bugs import masker
    from agentcompass.cli.output import emit
    from agentcompass.config.dry_run import as_document
    from agentcompass.config.yaml_text import dump
    from agentcompass.launching import prepare_jobs

    redactor = masker()
    await prepare_jobs(resolved, redactor=redactor)
    emit(dump(redactor.record(as_document(resolved))).rstrip("\n"))


def _orchestrate() -> Any:
    from agentcompass.launching import orchestrate

    return orchestrate
