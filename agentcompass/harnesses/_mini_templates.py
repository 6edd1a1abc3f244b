"""The prompts of mini_swe_agent: our own defaults, and the rendering of anybody's."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import meta

from agentcompass.errors import HarnessFailed

MARKER = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
FENCE = "mswea_bash_command"

SYSTEM = """\
You are a careful engineer at a Linux shell. You work by running bash commands, one step at a \
time, and you read what they print before you decide what to do next."""

INSTANCE = f"""\
This is your task:

<task>
{{{{ task }}}}
</task>

How you work:

- {{% if action_format == "tool" -%}}
Act by calling the tool `bash`; every reply needs at least one call. Several calls of one reply \
run in their order.
{{%- else -%}}
Every reply needs exactly one command, in a block like this:

```{FENCE}
ls -l
```
{{%- endif %}}
- Each command runs in a new shell in the working directory, so that `cd` and variables do not \
last: write `cd folder && command` where you need them.
- Nobody answers questions and no program gets input from a keyboard.
- Look at what is there first, then change it, then check that the change does what the task asks.

When the task is done, submit it with this command, alone in your reply:

    echo {MARKER}

After that you can do nothing more. Whatever a successful command prints below such a first line \
is your answer, where the task wants one."""

OBSERVATION = """\
{% if output.exception_info -%}
<exception>{{ output.exception_info }}</exception>
{% endif -%}
<returncode>{{ output.returncode }}</returncode>
{% if output.output | length < 10000 and not output.lost_bytes -%}
<output>
{{ output.output -}}
</output>
{%- else -%}
<warning>Too long to be shown whole: print less, or print to a file and read parts of it.</warning>
<output_head>
{{ output.output[:5000] }}
</output_head>
<left_out>
{{ [output.output | length - 10000, 0] | max }} characters
{%- if output.lost_bytes %} and {{ output.lost_bytes }} bytes that were not kept{% endif %}
</left_out>
<output_tail>
{{ output.output[5000:][-5000:] }}
</output_tail>
{%- endif %}"""

FORMAT_ERROR = f"""\
Nothing was run: {{{{ error }}}}

{{% if action_format == "tool" -%}}
Reply with at least one call of the tool `bash`, whose arguments are a JSON object with the text \
`command`.
{{%- else -%}}
Reply with exactly one command in a block that begins with ```{FENCE} and ends with ```.
{{%- endif %}}
If the task is done, run `echo {MARKER}`."""

# Names that a template may use beside the parameters of the harness.
UNAME = ("system", "release", "version", "machine")
_PROMPT_NAMES = ("task", "n_model_calls", "model_cost", "elapsed_seconds", *UNAME)
TEMPLATE_NAMES: Mapping[str, tuple[str, ...]] = {
    "system_template": _PROMPT_NAMES,
    "instance_template": _PROMPT_NAMES,
    "observation_template": (*_PROMPT_NAMES, "output"),
    "format_error_template": (
        *_PROMPT_NAMES,
        *("error", "actions", "has_tool_calls", "finish_reason"),
    ),
}

_FAULTS = (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError)
_jinja = jinja2.Environment(  # noqa: S701 - prompts are plain text, not HTML
    undefined=jinja2.StrictUndefined
)


@lru_cache(maxsize=64)
def _compiled(source: str) -> jinja2.Template:
    return _jinja.from_string(source)


@lru_cache(maxsize=64)
def names_in(source: str) -> frozenset[str]:
    """The names that a template takes from outside; raises `jinja2.TemplateSyntaxError`."""
    return frozenset(meta.find_undeclared_variables(_jinja.parse(source)))


def render(name: str, source: str, variables: Mapping[str, Any]) -> str:
    """The text of a template; `HarnessFailed` names the template that cannot be rendered."""
    try:
        return _compiled(source).render(variables)
    except _FAULTS as error:
        raise HarnessFailed(f"{name} cannot be rendered: {error}") from error
