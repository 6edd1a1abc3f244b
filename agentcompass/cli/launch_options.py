"""The options of `agentcompass launch`: those of `run` that are the process's, and its own."""

from collections.abc import Callable
from typing import Any

import asyncclick as click

from agentcompass.cli.groups import GroupedOption
from agentcompass.cli.params import Number
from agentcompass.cli.run import run

_OF_RUN = (
    *("config_path", "task_concurrency", "run_id", "results_dir", "data_dir", "env_open_qps"),
    *("provider_limits", "progress", "log_level", "file_log_level", "auto_install_dependencies"),
)


def _option(group: str, flags: str, help: str, **extra: Any) -> click.Option:
    return GroupedOption([flags], group=group, help=help, **extra)


_OWN = (
    _option(
        "Execution",
        "--timeout-seconds",
        "The deadline of all requests together once preflight is done; 0 is none."
        "  [default: 360000]",
        type=Number(),
    ),
    _option(
        "Execution",
        "--cleanup-grace-seconds",
        "How long cleanup may take after a cancellation.  [default: 30]",
        type=Number(),
    ),
    _option(
        "Output and reuse",
        "--reuse",
        "Take over what the newest earlier run of each request has finished; `reuse: false` of a"
        " request wins.",
        is_flag=True,
        default=None,
    ),
    _option(
        "Output and reuse",
        "--dry-run",
        "Check everything, print the resolved requests as YAML, and create nothing.",
        is_flag=True,
    ),
)


def launch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command every option of `launch`."""
    shared = [option for option in run.params if option.name in _OF_RUN]
    command.__click_params__ = [*reversed([*shared, *_OWN])]  # type: ignore[attr-defined]
    return command
