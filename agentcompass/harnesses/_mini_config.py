"""The parameters of mini_swe_agent, by the names that mini-swe-agent 2.4 and the peer give them."""

import re
from collections.abc import Mapping
from typing import Literal

import attrs
import jinja2

from agentcompass.harnesses import _mini_templates as templates
from agentcompass.harnesses._parameters import at_least, parameter

_NOTHING_TO_INSTALL = "the loop is built in, so that nothing is installed in the sandbox"


def _template(_instance: object, attribute: "attrs.Attribute[str]", source: str) -> None:
    try:
        used = templates.names_in(source)
    except jinja2.TemplateSyntaxError as error:
        raise ValueError(f"{attribute.name}: line {error.lineno}: {error.message}") from error
    known = {*templates.TEMPLATE_NAMES[attribute.name], *(f.name for f in attrs.fields(MiniConfig))}
    if unknown := sorted(used - known):
        names = f"{', '.join(unknown)}; known: {', '.join(sorted(known))}"
        raise ValueError(f"{attribute.name}: unknown name {names}")


def _local(_instance: object, _attribute: object, value: str) -> None:
    if value != "local":
        raise ValueError(
            f"launch_mode {value!r} is not supported: {_NOTHING_TO_INSTALL}; use 'local'"
        )


def _mini(_instance: object, _attribute: object, value: str) -> None:
    if value != "mini":
        raise ValueError(f"binary {value!r} cannot be run: {_NOTHING_TO_INSTALL}; leave it out")


def _no_strategy(_instance: object, _attribute: object, value: str | None) -> None:
    if value is not None:
        raise ValueError(f"install_strategy has no use: {_NOTHING_TO_INSTALL}; leave it out")


def _version(_instance: object, _attribute: object, value: str | None) -> None:
    if value is not None and not re.fullmatch(r"2\.4(\.\d+)?", value):
        raise ValueError(f"version {value!r}: the built-in loop behaves as 2.4; leave it out")


@attrs.frozen(kw_only=True)
class MiniConfig:
    """How the loop runs, and when it stops by itself."""

    action_format: Literal["tool", "text"] = parameter(
        "tool",
        "How the model acts: `tool` by calls of a tool `bash`, `text` by one "
        "mswea_bash_command block in each reply.",
    )
    step_limit: int = parameter(250, "Model calls; 0 is no limit.", unit="calls", check=at_least(0))
    cost_limit: float = parameter(
        3.0, "Cost, as far as it is known; 0 is no limit.", unit="US dollars", check=at_least(0)
    )
    wall_time_limit_seconds: float = parameter(
        0.0, "Time, looked at before each call; 0 is no limit.", unit="s", check=at_least(0)
    )
    max_consecutive_format_errors: int = parameter(
        3, "Unusable replies in a row; 0 is no limit.", unit="replies", check=at_least(0)
    )
    command_timeout: float = parameter(
        2400.0,
        "Time of one command; the agent is told and goes on. 0 is no limit.",
        unit="s",
        check=at_least(0),
    )
    cwd: str = parameter("", "Where commands run; by default the task's working directory.")
    env: Mapping[str, str] = attrs.field(
        factory=dict, metadata={"help": "Variables of every command.", "unit": ""}
    )
    system_template: str = parameter(
        templates.SYSTEM, "Jinja2 template of the system message.", check=_template
    )
    instance_template: str = parameter(
        templates.INSTANCE, "Jinja2 template of the first user message.", check=_template
    )
    observation_template: str = parameter(
        templates.OBSERVATION, "Jinja2 template of what a command led to.", check=_template
    )
    format_error_template: str = parameter(
        templates.FORMAT_ERROR, "Jinja2 template of the answer to a bad reply.", check=_template
    )
    cost_tracking: Literal["ignore_errors", "default"] = parameter(
        "ignore_errors", "With `default`, a reply of unknown cost ends the attempt."
    )
    interleaved_thinking: bool = parameter(
        False, "Give the model its earlier reasoning back in later calls."
    )
    artifact_dir: str | None = parameter(
        None, "Folder in the sandbox for mini_swe_agent.traj.json; none where it is left out."
    )
    launch_mode: str = parameter("local", "Only `local`: the loop runs here.", check=_local)
    binary: str = parameter("mini", "Only `mini`; nothing is run by this name.", check=_mini)
    version: str | None = parameter(
        None, "Refused unless it is 2.4: what the loop is compatible with.", check=_version
    )
    install_strategy: str | None = parameter(
        None, "Refused: nothing is installed.", check=_no_strategy
    )
