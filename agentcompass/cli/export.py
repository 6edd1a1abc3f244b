"""`agentcompass export`: a copy of a run directory that another program reads."""

import os

import asyncclick as click

from agentcompass.cli.output import emit, tell


@click.command("export")
@click.argument("run_dir", metavar="RUN_DIR")
@click.option("--format", "form", required=True, metavar="FORMAT", help="Who reads it: peer.")
@click.option("--output", required=True, metavar="DIR", help="Where to; DIR must not exist yet.")
async def export(run_dir: str, form: str, output: str) -> None:
    """Copy the completed run in RUN_DIR to DIR, as FORMAT has it.

    `peer` is the asyncio implementation of AgentCompass, PyPI agentcompass 1.0.1. A run of which
    a task is missing or cannot be read is refused: its numbers would be others there.
    """
    from agentcompass.config.secrets import known_in
    from agentcompass.progress.console import console_logging
    from agentcompass.sdk import async_export_run
    from agentcompass.store.redact import Redactor

    with console_logging(tell, "INFO", Redactor(known_in(dict(os.environ)))):
        paths = await async_export_run(
            run_dir=run_dir, output=output, format=form, spell="--{}".format
        )
    emit(f"Run directory: {paths['output_dir']}")
