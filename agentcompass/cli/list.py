"""`agentcompass list`: every component of a kind."""

import asyncclick as click

from agentcompass.cli.output import emit, emit_table
from agentcompass.errors import UsageError
from agentcompass.registry import Kind, known

KINDS: dict[str, Kind] = {
    "benchmark": "benchmark",
    "harness": "harness",
    "env": "environment",
    "environment": "environment",
    "model": "model",
    "recipe": "recipe",
    "analyzer": "analyzer",
}


@click.command("list")
@click.argument("kind", type=click.Choice(list(KINDS)))
async def list_components(kind: str) -> None:
    """List the components of KIND: built in, and installed as plug-ins.

    One that cannot be imported here is listed with the reason.
    """
    rows = [(name, _description(KINDS[kind], name)) for name in known(KINDS[kind])]
    if rows:
        emit_table(("Id", "Description"), rows)
    else:
        emit(f"no {kind} is built in or installed")


def _description(kind: Kind, component_id: str) -> str:
    from agentcompass.config.components import component_class

    try:
        return str(component_class(kind, component_id).description)
    except UsageError as error:
        return f"not usable: {error}"
