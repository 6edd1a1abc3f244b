"""The parameters: honoured, or refused with a line that says why."""

from typing import Any

import attrs
import jinja2
import pytest

from agentcompass.errors import ConfigInvalid, HarnessFailed
from agentcompass.harnesses import _mini_templates as templates
from agentcompass.harnesses.mini_swe_agent import MiniConfig, MiniSweAgent
from agentcompass.records.convert import structure_settings
from tests.harnesses.seams import ScriptedModel, ScriptedSession, context, drive, runs, says


def settings(**params: Any) -> MiniConfig:
    return structure_settings(params, MiniConfig, path="--harness-params")


def test_the_defaults_are_the_peer_s():
    config = settings()

    assert (config.step_limit, config.cost_limit, config.command_timeout) == (250, 3.0, 2400.0)
    assert (config.wall_time_limit_seconds, config.max_consecutive_format_errors) == (0, 3)
    assert (config.action_format, config.cost_tracking) == ("tool", "ignore_errors")


def test_every_parameter_says_what_it_is():
    for field in attrs.fields(MiniConfig):
        assert field.metadata["help"].endswith(".")
        assert "unit" in field.metadata


def test_the_peer_s_names_for_what_is_built_in_are_taken():
    settings(launch_mode="local", binary="mini", version="2.4.5", install_strategy=None)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"launch_mode": "remote"}, "launch_mode 'remote' is not supported"),
        ({"binary": "/opt/mini"}, "binary '/opt/mini' cannot be run"),
        ({"version": "2.3.0"}, "behaves as 2.4"),
        ({"install_strategy": "pip"}, "install_strategy has no use"),
        ({"action_format": "xml"}, "action_format"),
        ({"cost_tracking": "off"}, "cost_tracking"),
        ({"step_limit": -1}, "step_limit must be from 0"),
        ({"step_limit": 2.5}, "step_limit: expected an integer"),
        ({"step_limit": True}, "step_limit: expected an integer"),
        ({"cost_limit": "3"}, "cost_limit: expected a number"),
        ({"command_timeout": -0.5}, "command_timeout must be from 0"),
        ({"command_timeout": float("inf")}, "command_timeout"),
        ({"env": {"A": 1}}, "env"),
        ({"max_steps": 1}, "unknown key max_steps"),
        ({"instance_template": "{{ taks }}"}, "unknown name taks; known: .*task"),
        ({"system_template": "{% if %}"}, "system_template: line 1"),
        ({"observation_template": "{{ error }}"}, "unknown name error"),
    ],
)
def test_what_cannot_be_used_is_refused(params: dict[str, Any], said: str):
    with pytest.raises(ConfigInvalid, match=said):
        settings(**params)


def test_names_of_the_package_s_templates_are_known():
    """swebench.yaml and mini.yaml speak of these."""
    settings(
        system_template="{{ system }} {{ release }} {{ version }} {{ machine }} {{ cwd }}",
        instance_template="{{ task }} {{ step_limit }} {{ n_model_calls }} {{ model_cost }}",
        observation_template="{% for key in output %}{{ key }}{% endfor %}{{ elapsed_seconds }}",
        format_error_template=(
            "{% if has_tool_calls is defined %}{{ actions | length }}{% endif %}"
            "{{ error }}{% if finish_reason is defined %}{{ finish_reason }}{% endif %}"
        ),
    )


async def test_templates_are_given_parameters_and_counts():
    model = ScriptedModel([says("no call"), runs("ls")])
    config = settings(
        system_template="{{ step_limit }}",
        instance_template="{{ task }}",
        format_error_template="{{ n_model_calls }} {{ error }} {{ finish_reason }}",
        observation_template="{{ output.output }}{{ output.returncode }}",
        step_limit=3,
    )
    await drive(MiniSweAgent(config), ScriptedSession(), context(model, prompt="<b>{{x}}</b>"))

    assert [message["content"] for message in model.asked[2]] == [
        "3",
        "<b>{{x}}</b>",
        "1 the reply holds no tool call. None",
        "I act.",
        "ran ls\n0",
    ]


async def test_a_template_that_cannot_be_rendered_is_named():
    config = settings(instance_template="{{ task / 2 }}")
    with pytest.raises(HarnessFailed, match="instance_template cannot be rendered"):
        await drive(MiniSweAgent(config), ScriptedSession(), context(ScriptedModel([runs("ls")])))


@pytest.mark.parametrize("action_format", ["tool", "text"])
def test_the_default_prompts_fit_the_action_format(action_format: str):
    config = attrs.asdict(settings(action_format=action_format)) | {"task": "T"}
    other = {"tool": templates.FENCE, "text": "tool `bash`"}[action_format]

    prompt = templates.render("instance_template", templates.INSTANCE, config)
    error = templates.render(
        "format_error_template", templates.FORMAT_ERROR, config | {"error": "E."}
    )

    assert other not in prompt + error
    assert "\n\n\n" not in prompt + error
    assert templates.MARKER in prompt
    assert templates.MARKER in error


def test_an_undefined_name_is_never_silently_empty():
    with pytest.raises(HarnessFailed, match="'x' is undefined"):
        templates.render("system_template", "{{ x }}", {})
    assert jinja2.StrictUndefined is templates._jinja.undefined


async def test_a_model_is_needed():
    with pytest.raises(HarnessFailed, match="needs a model"):
        MiniSweAgent(settings()).start(ScriptedSession(), context(None))
