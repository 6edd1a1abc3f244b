"""The same replies to PyPI's mini-swe-agent and to ours: the same messages and the same end.

Needs mini-swe-agent 2.4.6 in an environment of its own, whose interpreter AGENTCOMPASS_MINI_PYTHON
names. `make mini MINI_VENV=FOLDER` makes the environment in FOLDER, once, and runs these tests.
"""

import functools
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from agentcompass.harnesses.mini_swe_agent import MiniConfig, MiniSweAgent
from agentcompass.records.model import Reply, Usage
from agentcompass.records.task import RunResult
from tests.contract.environment import HOST_PROCESS, opened
from tests.harnesses.seams import ScriptedModel, call, calls, context

PYTHON = os.environ.get("AGENTCOMPASS_MINI_PYTHON", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="AGENTCOMPASS_MINI_PYTHON is not set: run `make mini`"),
]

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
ANSWER = f"{SUBMIT}; echo the; echo answer"
# Each side has its own words for what is wrong; what it can tell a template is the same.
BAD = "bad: {{ has_tool_calls }} {{ finish_reason }} {{ actions | length }}"
BAD_TEXT = "bad: {{ finish_reason }} {{ actions | length }}"


def acts(*commands: str, **rest: Any) -> dict[str, Any]:
    return reply("I act.", calls(*commands), **rest)


def reply(
    content: str | None, tool_calls: Any = (), *, cost: float = 0.0, finish: str = "stop"
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if tool_calls:
        message["tool_calls"] = list(tool_calls)
    return {"message": message, "cost": cost, "finish": finish}


def fenced(*commands: str, **rest: Any) -> dict[str, Any]:
    blocks = (f"```mswea_bash_command\n{command}\n```" for command in commands)
    return reply("\n".join(("I act.", *blocks)), **rest)


def case(*replies: dict[str, Any], text: bool = False, **limits: Any) -> dict[str, Any]:
    return {
        "action_format": "text" if text else "tool",
        "format_error_template": BAD_TEXT if text else BAD,
        "command_timeout": limits.pop("command_timeout", 30),
        "task": "Mend 'it' <now> & {here}.",
        "limits": {"cost_limit": 3.0, "step_limit": 12, **limits},
        "replies": list(replies),
    }


CASES = {
    "submits": case(acts("echo a > f; cat f"), acts(ANSWER)),
    "several calls of a reply": case(
        acts("echo a", "echo b", "cd /; pwd", "pwd | wc -l"), acts(SUBMIT)
    ),
    "submits in the middle": case(acts("echo a", ANSWER, "echo never")),
    "no text, only calls": case(reply(None, calls("echo x")), acts(ANSWER)),
    "both streams and a status": case(acts("echo out; echo err >&2; exit 3"), acts(SUBMIT)),
    "no such command": case(acts("no-such-command 2>/dev/null"), acts(SUBMIT)),
    "a long output": case(acts("seq 1 5000"), acts("printf %09999d 1"), acts(SUBMIT)),
    "not UTF-8": case(acts(r"printf 'a\377\376b'"), acts(SUBMIT)),
    "unicode and quotes": case(acts("""echo 'é "☃" 漢'"""), acts(SUBMIT)),
    "the marker after blank lines": case(acts(f"echo; echo '  '; {ANSWER}")),
    "the marker and a failure": case(acts(f"{SUBMIT}; false"), acts(ANSWER)),
    "the marker not first": case(acts(f"echo x; {SUBMIT}"), acts(ANSWER)),
    "the marker with more on its line": case(acts(f"{SUBMIT} x"), acts(ANSWER)),
    "a command out of time": case(acts("echo soon; sleep 30"), acts(ANSWER), command_timeout=1),
    "no call": case(reply("Hello."), acts(ANSWER)),
    "cut off": case(reply("I will", finish="length"), acts(ANSWER)),
    "no JSON": case(reply("x", [call("{")]), acts(ANSWER)),
    "a list of arguments": case(reply("x", [call("[]")]), acts(ANSWER)),
    "no command": case(reply("x", [call('{"cmd": "ls"}')]), acts(ANSWER)),
    "another tool": case(reply("x", [call('{"command": "ls"}', name="sh")]), acts(ANSWER)),
    "one bad call of two": case(
        reply("x", [*calls("echo a"), call("{", call_id="c2")]), acts(ANSWER)
    ),
    "bad replies until the end": case(reply("x"), reply("y"), reply("z")),
    "bad replies between good ones": case(
        *(reply("x"), reply("y"), acts("echo a"), reply("x"), reply("y"), acts(ANSWER))
    ),
    "one bad reply is too many": case(reply("x"), max_consecutive_format_errors=1),
    "steps run out": case(acts("echo a"), step_limit=2),
    "bad replies are steps": case(reply("x"), acts("echo a"), step_limit=2),
    "money runs out": case(acts("echo a", cost=1.0), cost_limit=2.5),
    "bad replies cost": case(reply("x", cost=2.0), acts("echo a", cost=2.0), cost_limit=3.0),
    "text": case(fenced("echo a"), fenced(ANSWER), text=True),
    "text with two blocks": case(fenced("echo a", "echo b"), fenced(ANSWER), text=True),
    "text with none": case(reply("Hello.", finish="length"), fenced(ANSWER), text=True),
    "text over several lines": case(fenced("cat <<'E'\na\n\nb\nE"), fenced(ANSWER), text=True),
}


@functools.cache
def package() -> dict[str, Any]:
    """What the package makes of every case: one start of it takes ten seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "played.json"
        script = Path(__file__).with_name("mini_package.py")
        done = subprocess.run(
            [PYTHON, str(script), str(out)],
            input=json.dumps(CASES),
            text=True,
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(out.read_text())


def scripted(replies: list[dict[str, Any]]) -> list[Reply]:
    return [
        Reply(
            message=given["message"],
            finish_reason=given["finish"],
            usage=Usage(cost_usd=given["cost"]),
        )
        for given in replies
    ]


async def ours(given: dict[str, Any]) -> dict[str, Any]:
    harness = MiniSweAgent(
        MiniConfig(
            action_format=given["action_format"],
            command_timeout=given["command_timeout"],
            format_error_template=given["format_error_template"],
            **package()["templates"],
            **given["limits"],
        )
    )
    result = RunResult(task_id="t")
    model = ScriptedModel(scripted(given["replies"]))
    async with opened(HOST_PROCESS) as session:
        async with harness.start(session, context(model, prompt=given["task"])) as agent:
            await agent.run(result)
    left = result.artifacts["mini_swe_agent"]
    names = ("model_stats", "exit_status", "submission")
    return {
        "messages": [seen(message) for message in left["messages"]],
        "info": {name: left["info"][name] for name in names},
    }


def seen(message: dict[str, Any]) -> dict[str, Any]:
    names = ("role", "content", "tool_calls", "tool_call_id")
    kept = {name: message[name] for name in names if message.get(name) is not None}
    extra = message.get("extra", {})
    if "raw_output" in extra:
        raw = extra["raw_output"]  # ours keeps its ends
        kept["ran"] = [raw[:5000], raw[-5000:], extra["returncode"], bool(extra["exception_info"])]
    return kept


@pytest.mark.parametrize("name", CASES)
async def test_the_same_replies_give_the_same_run(name: str):
    theirs, mine = package()["played"][name], await ours(CASES[name])

    assert mine["info"] == theirs["info"]
    assert mine["messages"] == theirs["messages"]
