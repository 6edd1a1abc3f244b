"""`agentcompass config`: the effective configuration, and the parameters of a component."""

import json
import os
from pathlib import Path
from textwrap import indent

import asyncclick as click

from agentcompass.cli.list import KINDS
from agentcompass.cli.output import emit, emit_table
from agentcompass.registry import Kind
from agentcompass.store.redact import Redactor

# A longer default, such as a template, is shown below the table, as the text that it is.
LONGEST_IN_TABLE = 40


@click.group()
async def config() -> None:
    """Show the configuration, or what can be configured."""


@config.command()
@click.option("--config", "files", multiple=True, metavar="PATH", help="As in `run`; repeatable.")
@click.option("--benchmark", multiple=True, metavar="ID", help="Show this one; repeatable.")
@click.option("--harness", multiple=True, metavar="ID", help="Show this one; repeatable.")
@click.option("--env", multiple=True, metavar="ID", help="Show this one; repeatable.")
@click.option("--format", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
async def show(
    files: tuple[str, ...],
    benchmark: tuple[str, ...],
    harness: tuple[str, ...],
    env: tuple[str, ...],
    format: str,
) -> None:
    """Print the effective configuration: built-in defaults, the user's file, the project's, PATHs.

    Secrets are masked. Components are shown that a file configures; of a kind that is asked for
    by id, those ids, with their defaults.
    """
    from agentcompass.config.show import effective_configuration
    from agentcompass.config.yaml_text import dump

    ids: dict[Kind, tuple[str, ...]] = {
        "benchmark": benchmark,
        "harness": harness,
        "environment": env,
    }
    found = effective_configuration(files, ids, cwd=Path.cwd(), environ=os.environ)
    shown = Redactor(found.secrets).record(found.tree)
    if format == "json":
        emit(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        emit(dump(shown).rstrip("\n"))


@config.command()
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("id", metavar="ID")
async def docs(kind: str, id: str) -> None:
    """Describe a component and its parameters, from the fields that check them."""
    from agentcompass.config.docs import component_docs

    found = component_docs(KINDS[kind], id)
    emit(f"{found.title}\n{found.description}")
    if found.details:
        emit(f"\n{found.details}")
    emit("")
    long = {row.field: row.default for row in found.rows if len(row.default) > LONGEST_IN_TABLE}
    rows = [
        (row.field, row.type, "below" if row.field in long else row.default, row.unit, row.meaning)
        for row in found.rows
    ]
    emit_table(("Field", "Type", "Default", "Unit", "Meaning"), rows)
    for field, default in long.items():
        emit(f"\n{field}, by default:\n\n{indent(json.loads(default), '    ')}")
