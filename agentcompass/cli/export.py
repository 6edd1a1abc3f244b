"""`agentcompass export`: a run directory as another program reads it."""

import os

import asyncclick as click

from agentcompass.cli.output import emit, tell


@click.command("export")
@click.argument("run_dir", metavar="RUN_DIR")
@click.option(
    "--format", "form", required=True, metavar="FORMAT", help="Who reads it: peer, atif, inspect."
)
@click.option(
    "--output",
    required=True,
    metavar="PATH",
    help="Where to: a folder, empty or not there yet; for inspect also FILE.eval, FILE.json.",
)
async def export(run_dir: str, form: str, output: str) -> None:
    """Write the run in RUN_DIR to PATH, as FORMAT has it. RUN_DIR is only read.

    `peer` is a copy for the asyncio implementation of AgentCompass, PyPI agentcompass 1.0.1. A run
    of which a task is missing or cannot be read is refused: its numbers would be others there.

    `atif` is a trajectory in ATIF v1.8 for each attempt, and index.jsonl, which names them.

    `inspect` is an evaluation log of Inspect, PyPI inspect-ai, with a sample for each attempt.
    """
    from agentcompass.config.secrets import known_in
    from agentcompass.progress.console import console_logging
    from agentcompass.sdk import async_export_run
    from agentcompass.store.redact import Redactor

    with console_logging(tell, "INFO", Redactor(known_in(dict(os.environ)))):
        paths = await async_export_run(
            run_dir=run_dir, output=output, format=form, spell="--{}".format
        )
    emit(f"{'Run directory' if form == 'peer' else 'Written'}: {paths['output']}")
