"""`agentcompass config`: the effective configuration, and the parameters of a component."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any

import asyncclick as click

if TYPE_CHECKING:
    from agentcompass.config.docs import Row
    from agentcompass.config.json_schema import Form

from agentcompass.cli.list import KINDS
from agentcompass.cli.output import emit
from agentcompass.registry import Kind

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
@click.option("--origins", is_flag=True, help="Tell of each value the file and line, or default.")
@click.option("--format", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
async def show(
    files: tuple[str, ...],
    benchmark: tuple[str, ...],
    harness: tuple[str, ...],
    env: tuple[str, ...],
    origins: bool,
    format: str,
) -> None:
    """Print the effective configuration: built-in defaults, the user's file, the project's, PATHs.

    Secrets are masked. Components are shown that a file configures; of a kind that is asked for
    by id, those ids, with their defaults.
    """
    from agentcompass.config.show import effective_configuration
    from agentcompass.store.redact import Redactor

    ids: dict[Kind, tuple[str, ...]] = {
        "benchmark": benchmark,
        "harness": harness,
        "environment": env,
    }
    found = effective_configuration(files, ids, cwd=Path.cwd(), environ=os.environ)
    shown = Redactor(found.secrets).record(found.tree)
    emit(_shown(shown, found.origins if origins else None, format))


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


@config.command()
@click.argument("file", type=click.Choice(["config", "orchestration"]), default="config")
@click.option(
    "--format",
    type=click.Choice(["yaml", "json"]),
    default="yaml",
    show_default=True,
    help="Of the files to check: in YAML text may stand unquoted.",
)
async def schema(file: str, format: "Form") -> None:
    """Print the JSON Schema (2020-12) of FILE, a configuration or one for `launch`, for editors.

    It knows the components that are installed here. Whatever a run accepts, it accepts.
    """
    from agentcompass.config.json_schema import configuration_schema, orchestration_schema

    make = configuration_schema if file == "config" else orchestration_schema
    emit(_json(make(format)))


def _shown(tree: Mapping[str, Any], origins: Mapping[str, Any] | None, format: str) -> str:
    from agentcompass.config.annotated import as_list, as_yaml
    from agentcompass.config.yaml_text import dump

    if format == "json":
        return _json(tree if origins is None else as_list(tree, origins))
    return dump(tree).rstrip("\n") if origins is None else as_yaml(tree, origins)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


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
