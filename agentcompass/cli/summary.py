"""`agentcompass summary`: the report of a run directory, made anew from its records."""

import os
from typing import Any

import asyncclick as click

from agentcompass.cli.output import emit, tell
from agentcompass.cli.params import Json


@click.command("summary")
@click.argument("run_dir", metavar="RUN_DIR")
@click.option(
    "--benchmark-params",
    type=Json(dict),
    default=None,
    help='Count other tasks or otherwise: {"sample_ids": [...]}, aggregation_mode,'
    " category_hierarchy.",
)
@click.option(
    "--config",
    "config_path",
    multiple=True,
    metavar="PATH",
    help="A file whose section benchmarks.<id> sets the same; repeatable, later ones win.",
)
@click.option("--dry-run", is_flag=True, help="Print summary.md and write nothing.")
async def summary(
    run_dir: str,
    benchmark_params: dict[str, Any] | None,
    config_path: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Aggregate the tasks in RUN_DIR again, and replace its metrics.json and summary.md.

    A task that cannot be read is named on stderr and left out. Tasks that did not finish are
    missing, as in the summary that the run itself wrote.
    """
    from agentcompass.cli.result import show_result
    from agentcompass.config.secrets import known_in
    from agentcompass.progress.console import console_logging
    from agentcompass.sdk import async_summary
    from agentcompass.store.redact import Redactor

    with console_logging(tell, "INFO", Redactor(known_in(dict(os.environ)))):
        result = await async_summary(
            run_dir=run_dir,
            benchmark_params=benchmark_params,
            config_path=config_path,
            dry_run=dry_run,
            spell=_option,
        )
    if dry_run:
        emit(result["markdown"].removesuffix("\n"))
    else:
        show_result(result, result["paths"]["run_dir"])


def _option(keyword: str) -> str:
    return "--" + keyword.replace("_", "-")
