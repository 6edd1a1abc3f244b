"""`agentcompass config`: the effective configuration, and the parameters of a component."""

import json
import os
from pathlib import Path
from textwrap import fill, indent
from typing import TYPE_CHECKING

import asyncclick as click

if TYPE_CHECKING:
    from agentcompass.config.docs import Row

from agentcompass.cli.list import KINDS
from agentcompass.cli.output import emit
from agentcompass.registry import Kind
from agentcompass.store.redact import Redactor

# A longer default, such as a template, is shown as the text that it is.
LONGEST_IN_LINE = 40
WIDTH = 79


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
    emit("\n\n".join(_entry(row) for row in found.rows) or "It has no parameters.")


def _entry(row: "Row") -> str:
    """A parameter as an entry of a list, readable at any width: its head, then what it means."""
    long = len(row.default) > LONGEST_IN_LINE
    default = "" if long or not row.default else f", default {row.default}"
    if row.default == "required":
        default = ", required"
    unit = f" {row.unit}" if row.unit and default else ""
    head = f"{row.field} ({row.type}{default}{unit})"
    meaning = fill(row.meaning, WIDTH, initial_indent="    ", subsequent_indent="    ")
    parts = [head, *([meaning] if row.meaning else [])]
    if long:
        parts += ["    Default:", indent(json.loads(row.default), "        ")]
    return "\n".join(parts)
