"""The options of `agentcompass run`, in the order and groups in which `--help` shows them."""

from collections.abc import Callable
from typing import Any

import asyncclick as click

from agentcompass.cli.groups import GroupedOption
from agentcompass.cli.params import Json, Named, Number, Protocol, Whole

_LEVELS = click.Choice(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], case_sensitive=False)
_OBJECT = Json(dict)
_LIST = Json(list)


def _option(group: str, flags: str, help: str, keyword: str | None = None, **extra: Any) -> Any:
    """`keyword` is that of `run_evaluation` where it is not the flag's own name."""
    names = (flags,) if keyword is None else (flags, keyword)
    return click.option(*names, cls=GroupedOption, group=group, help=help, **extra)


_COMPONENTS = "Components"
_CONFIGURATION = "Configuration and recipes"
_EXECUTION = "Execution"
_OUTPUT = "Output and reuse"
_PROCESS = "Process"
_ANALYSIS = "Analysis"

RUN_OPTIONS = (
    _option(
        _COMPONENTS,
        "--benchmark-params",
        'Parameters of BENCHMARK, such as {"sample_ids": ["..."]}; see `config docs`.',
        type=_OBJECT,
    ),
    _option(_COMPONENTS, "--harness-params", "Parameters of HARNESS.", type=_OBJECT),
    _option(
        _COMPONENTS,
        "--model-base-url",
        "Where calls to the model go; ${NAME} reads the environment.",
        metavar="URL",
    ),
    _option(
        _COMPONENTS,
        "--model-api-key",
        "The credential for these calls; ${NAME} reads the environment and keeps the key out of"
        " the process list.",
        metavar="KEY",
    ),
    _option(
        _COMPONENTS,
        "--model-api-protocol",
        "How to speak to the model: a protocol, auto, or a JSON list in order of preference."
        "  [default: the harness's own]",
        type=Protocol(),
    ),
    _option(
        _COMPONENTS,
        "--model-params",
        'Fields for the body of each call, such as {"temperature": 0}.',
        type=_OBJECT,
    ),
    _option(
        _COMPONENTS,
        "--env",
        "Where the task's commands run.  [default: host_process]",
        metavar="ID",
        keyword="environment",
    ),
    _option(
        _COMPONENTS,
        "--env-params",
        "setup, resources, network policies and env_variables, and what is the provider's own.",
        type=_OBJECT,
        keyword="environment_params",
    ),
    _option(
        _CONFIGURATION,
        "--config",
        "A YAML or JSON file over the user's and the project's; repeatable, later ones win.",
        multiple=True,
        metavar="PATH",
        keyword="config_path",
    ),
    _option(
        _CONFIGURATION,
        "--recipe",
        "Consider only this recipe; repeatable.  [default: all that fit]",
        multiple=True,
        metavar="ID",
        keyword="enabled_recipes",
    ),
    _option(
        _CONFIGURATION,
        "--recipe-dir",
        "A trusted folder of further recipes; repeatable.",
        multiple=True,
        metavar="PATH",
        keyword="recipe_dirs",
    ),
    _option(
        _EXECUTION,
        "--execution-params",
        "Any field of `execution`, such as timeouts, budgets, artifact limits; other options win.",
        type=_OBJECT,
    ),
    _option(
        _EXECUTION,
        "--task-concurrency",
        "Executions at once, retries included.  [default: 32]",
        type=Whole(),
    ),
    _option(
        _EXECUTION,
        "--max-retries",
        "Further executions of an attempt that failed in a matching way.  [default: 0]",
        type=Whole(),
    ),
    _option(
        _EXECUTION,
        "--retry-pattern-list",
        "Regular expressions for the ERRORs to retry; null or [] retries FATAL only."
        "  [default: null]",
        type=_LIST,
    ),
    _option(
        _EXECUTION,
        "--keep-environment/--no-keep-environment",
        "Leave the sandboxes of the task and its verifier in place, to look into them.",
        default=None,
    ),
    _option(_EXECUTION, "--k", "Attempts at each task.  [default: 1]", type=Whole()),
    _option(
        _EXECUTION,
        "--attempt-strategy",
        "avg measures all k attempts; pass stops a task at its first success.  [default: avg]",
        type=click.Choice(["avg", "pass"]),
    ),
    _option(
        _OUTPUT,
        "--run-name",
        "Folders between the results folder and that of model, benchmark and harness.",
        metavar="NAME",
    ),
    _option(
        _OUTPUT,
        "--run-id",
        "The folder of this run; it must not exist.  [default: the time, YYYYMMDD_HHMMSS]",
        metavar="ID",
    ),
    _option(
        _OUTPUT,
        "--reuse",
        "Take over what an earlier run has finished: the newest that fits, or RUN_ID. Without"
        " RUN_ID, give it after MODEL.",
        is_flag=False,
        flag_value="",
        metavar="[RUN_ID]",
    ),
    _option(
        _OUTPUT,
        "--checkpoint-resume/--no-checkpoint-resume",
        "With --reuse, score from checkpoints what an earlier run left unscored."
        "  [default: checkpoint-resume]",
        default=None,
    ),
    _option(
        _PROCESS,
        "--results-dir",
        "The root of all runs.  [default: results]",
        metavar="PATH",
    ),
    _option(
        _PROCESS,
        "--data-dir",
        "The root of data sets and caches.  [default: data]",
        metavar="PATH",
    ),
    _option(
        _PROCESS,
        "--timeout-seconds",
        "The deadline of the whole request once preflight is done; 0 is none.  [default: 360000]",
        type=Number(),
    ),
    _option(
        _PROCESS,
        "--env-open-qps",
        "Sandboxes a provider may open per second; repeatable, 0 is no limit."
        "  [default: local 0, remote 10]",
        multiple=True,
        type=Named(Number()),
    ),
    _option(
        _PROCESS,
        "--provider-limit",
        "Sandboxes of a provider that may live at once; repeatable, 0 is no limit."
        "  [default: 128 for each built-in one]",
        multiple=True,
        type=Named(Whole()),
        keyword="provider_limits",
    ),
    _option(
        _PROCESS,
        "--progress",
        "How to show progress on stderr.  [default: auto]",
        type=click.Choice(["auto", "plain", "none"]),
    ),
    _option(
        _PROCESS,
        "--log-level",
        "What to log on stderr, from DEBUG to CRITICAL.  [default: INFO]",
        type=_LEVELS,
        metavar="LEVEL",
    ),
    _option(
        _PROCESS,
        "--file-log-level",
        "What to log in run.log.  [default: DEBUG]",
        type=_LEVELS,
        metavar="LEVEL",
    ),
    _option(
        _PROCESS,
        "--auto-install-dependencies/--no-auto-install-dependencies",
        "Install the optional packages that a built-in component needs.",
        default=None,
    ),
    _option(
        _ANALYSIS,
        "--enable-analysis/--no-enable-analysis",
        "Run the analyzers after scoring.  [default: enable-analysis]",
        default=None,
    ),
    _option(
        _ANALYSIS,
        "--analysis-params",
        "Which analyzers, and their settings.",
        type=_OBJECT,
    ),
)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command every option of `run`."""
    for option in reversed(RUN_OPTIONS):
        command = option(command)
    return command
