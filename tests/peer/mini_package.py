"""Plays scripted replies to PyPI's mini-swe-agent; run by the Python that has it installed.

Cases come as JSON on stdin, each with its format, configuration and replies; what the agent's
messages came to goes to stdout.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ |= {"MSWEA_SILENT_STARTUP": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
os.environ["MSWEA_GLOBAL_CONFIG_DIR"] = tempfile.mkdtemp()

import litellm
import yaml
from minisweagent.agents.default import DefaultAgent
from minisweagent.config import builtin_config_dir
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel
from minisweagent.models.litellm_textbased_model import LitellmTextbasedModel

KEPT = ("role", "content", "tool_calls", "tool_call_id")


def scripted(kind: type[LitellmModel], replies: list[dict[str, Any]]) -> type[LitellmModel]:
    """The package's model, with its parsing, whose server is a list."""
    left = list(replies)

    class Scripted(kind):  # type: ignore[misc, valid-type]
        def _query(self, messages: Any, **kwargs: Any) -> Any:
            reply = left.pop(0) if len(left) > 1 else left[0]
            self.cost = reply["cost"]
            choice = {"index": 0, "message": reply["message"], "finish_reason": reply["finish"]}
            return litellm.ModelResponse(choices=[choice])

        def _calculate_cost(self, response: Any) -> dict[str, float]:
            return {"cost": self.cost}

    return Scripted


def templates() -> dict[str, str]:
    """The package's own, without what each side says in its own words of a command's fault."""
    config = yaml.safe_load((builtin_config_dir / "mini.yaml").read_text())
    named = ("system_template", "instance_template", "observation_template")
    found = {**config["agent"], **config["model"]}
    told = ("output.exception_info | tojson", "'...' | tojson")
    return {name: found[name].replace(*told) for name in named}


def play(case: dict[str, Any], words: dict[str, str]) -> dict[str, Any]:
    kind = LitellmModel if case["action_format"] == "tool" else LitellmTextbasedModel
    model = scripted(kind, case["replies"])(
        model_name="scripted",
        observation_template=words["observation_template"],
        format_error_template=case["format_error_template"],
    )
    with tempfile.TemporaryDirectory() as folder:
        place = LocalEnvironment(cwd=folder, timeout=case["command_timeout"])
        agent = DefaultAgent(
            model,
            place,
            system_template=words["system_template"],
            instance_template=words["instance_template"],
            **case["limits"],
        )
        agent.run(case["task"])
    return {
        "messages": [seen(message) for message in agent.messages],
        "info": {
            name: agent.serialize()["info"][name]
            for name in ("model_stats", "exit_status", "submission")
        },
    }


def seen(message: dict[str, Any]) -> dict[str, Any]:
    kept = {name: message[name] for name in KEPT if message.get(name) is not None}
    extra = message.get("extra", {})
    if "raw_output" in extra:
        raw = extra["raw_output"]  # ours keeps its ends
        kept["ran"] = [raw[:5000], raw[-5000:], extra["returncode"], bool(extra["exception_info"])]
    return kept


def main() -> None:
    words = templates()
    cases = json.load(sys.stdin)
    played = {name: play(case, words) for name, case in cases.items()}
    Path(sys.argv[1]).write_text(json.dumps({"templates": words, "played": played}))


main()
