"""What a run of mini_swe_agent leaves in its result, kept up to date after every event.

`artifacts["mini_swe_agent"]` is a trajectory in the package's own form (mini-swe-agent-1.1);
`trajectory` is the same run as ACTF_v1.0, with the replies that the package forgets.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from agentcompass.harnesses._mini_actions import Action
from agentcompass.harnesses._mini_config import MiniConfig
from agentcompass.harnesses._mini_shell import Output
from agentcompass.harnesses._sums import Sums
from agentcompass.harnesses._text import bounded
from agentcompass.harnesses._trajectory import Trajectory
from agentcompass.records.model import Reply
from agentcompass.records.task import RunResult

FORMAT = "mini-swe-agent-1.1"
_RAW_LIMIT = 10_000  # characters of a command's output beside the observation


@attrs.define(eq=False)
class Record:
    """The messages of one run, and where the result holds what was counted."""

    result: RunResult
    config: MiniConfig
    messages: list[dict[str, Any]] = attrs.field(factory=list)
    trajectory: Trajectory = attrs.field(factory=Trajectory)
    sums: Sums = attrs.field(init=False)
    info: dict[str, Any] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.sums = Sums.of(self.result)
        agent = "agentcompass.harnesses.mini_swe_agent.MiniSweAgent"
        self.info |= {
            "model_stats": {"instance_cost": 0.0, "api_calls": 0},
            "config": {"agent": attrs.asdict(self.config), "agent_type": agent},
            "mini_version": "2.4",
            "exit_status": "",
            "submission": "",
        }
        self.result.trajectory = self.trajectory.record
        self.result.artifacts["mini_swe_agent"] = {
            "info": self.info,
            "messages": self.messages,
            "trajectory_format": FORMAT,
        }

    @property
    def exited(self) -> bool:
        """Whether the run has come to an end by itself."""
        return bool(self.messages) and self.messages[-1]["role"] == "exit"

    def called(self) -> None:
        """Count a call before it is made, so that one that fails counts too."""
        self.sums.called()
        self.info["model_stats"]["api_calls"] = self.sums.calls

    def replied(self, reply: Reply, started_at: str, tools: Sequence[Mapping[str, Any]]) -> None:
        """Take a reply into the trajectory and the sums, whether or not it can be used."""
        first = not self.trajectory.record["steps"]
        asked: dict[str, Any] = {}
        if first:
            system, user = self.messages[0]["content"], self.messages[1]["content"]
            asked = {"system_prompt": system, "user_content": user, "tools": tools}
        kept = attrs.evolve(reply, message=_bounded_within(reply.message))
        self.trajectory.add_step(kept, started_at=started_at, **asked)
        self.sums.replied(reply)
        self.info["model_stats"]["instance_cost"] = self.sums.cost

    def accepted(self, message: Mapping[str, Any], actions: Sequence[Action], reply: Reply) -> None:
        """Take a usable reply into the history."""
        done = [
            {"command": bounded(action.command)}
            | ({"tool_call_id": action.call["id"]} if action.call is not None else {})
            for action in actions
        ]
        cost = reply.usage.cost_usd or 0.0
        self.messages.append({**message, "extra": {"actions": done, "cost": cost, **_stamp()}})

    def rejected(self, content: str, actions: Sequence[str], reply: Reply) -> None:
        """Take the answer to an unusable reply into the history, and not the reply."""
        cost = reply.usage.cost_usd or 0.0
        extra = {"interrupt_type": "FormatError", "n_actions": len(actions), "cost": cost}
        self.messages.append({"role": "user", "content": content, "extra": extra | _stamp()})
        self.trajectory.observe({"role": "user", "content": content})

    def ran(self, action: Action, output: Output, content: str) -> dict[str, Any]:
        """Take a command's outcome into the trajectory; gives its message for the history."""
        message: dict[str, Any] = {"role": "user", "content": content}
        if action.call is not None:
            message = {"role": "tool", "tool_call_id": action.call["id"], "content": content}
        self.trajectory.observe(message, seconds=output.seconds)
        self.sums.acted(output.seconds)
        extra = {
            "raw_output": bounded(output.output, _RAW_LIMIT),
            "returncode": output.returncode,
            "exception_info": output.exception_info,
        }
        return {**message, "extra": extra | _stamp()}

    def exit(self, status: str, submission: str = "", **extra: str) -> None:
        """Note how the run ended: the package's exit statuses, or the name of an error."""
        self.info |= {"exit_status": status, "submission": submission, **extra}
        self.result.extra["exit_status"] = status
        note = {"exit_status": status, "submission": submission, **extra}
        content = submission if status == "Submitted" else extra.get("exception_str", status)
        self.messages.append({"role": "exit", "content": content, "extra": note})


def _bounded_within(value: Any, depth: int = 8) -> Any:
    if depth == 0:
        return None
    if isinstance(value, Mapping):
        return {key: _bounded_within(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_bounded_within(item, depth - 1) for item in value]
    return bounded(value)


def _stamp() -> dict[str, float]:
    return {"timestamp": time.time()}
