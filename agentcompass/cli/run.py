"""`agentcompass run`: one evaluation request."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import asyncclick as click

from agentcompass.cli.groups import GroupedCommand
from agentcompass.cli.options import run_options
from agentcompass.cli.params import as_mapping


@click.command("run", cls=GroupedCommand)
@click.argument("benchmark")
@click.argument("harness")
@click.argument("model")
@run_options
@click.pass_context
async def run(ctx: click.Context, /, **values: Any) -> None:
    """Measure MODEL in HARNESS on BENCHMARK, and write a run directory.

    The result is a table on stdout; progress and logs go to stderr. Exit codes: 0 completed,
    1 failed (a final FATAL issue, a used-up run_budget), 2 usage, 124 timed out, 130 Ctrl-C, 143
    SIGTERM.
    """
    from agentcompass.cli.measure import measure
    from agentcompass.config.resolve import resolve_run

    resolved = resolve_run(
        keywords(values), cwd=Path.cwd(), environ=os.environ, spell=spelling(ctx.command)
    )
    await measure(resolved, ctx.obj or _evaluate())


def keywords(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, as keywords of `run_evaluation`."""
    given = given_options(values)
    if "reuse" in given:
        given["reuse_run_id"] = given["reuse"] or None
        given["reuse"] = True
    return given


def given_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given; those that take a provider as one mapping."""
    given = {name: value for name, value in values.items() if value not in (None, ())}
    for name, option in (
        ("provider_limits", "--provider-limit"),
        ("env_open_qps", "--env-open-qps"),
    ):
        if name in given:
            given[name] = as_mapping(given[name], option)
    return given


def spelling(command: click.Command) -> Callable[[str], str]:
    """How a keyword is written on the command line: `--env-params`, or `MODEL`."""
    names = {
        str(param.name): param.opts[0] if isinstance(param, click.Option) else param.opts[0].upper()
        for param in command.params
    }
    names["reuse_run_id"] = names["reuse"]
    return lambda keyword: names.get(keyword, keyword)


def _evaluate() -> Any:
    from agentcompass.evaluating import evaluate

    return evaluate
