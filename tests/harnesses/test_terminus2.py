"""The loop: what the model is told, when it ends, what it leaves; the terminal is a list."""

import json
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from agentcompass.errors import ContextTooLong, ExecutionError, HarnessFailed, ModelFailed
from agentcompass.harnesses._terminus_reply import Keys
from agentcompass.harnesses._terminus_terminal import Seen
from agentcompass.harnesses.terminus2 import Terminus2, TerminusConfig
from agentcompass.records.atif import AtifAgent, atif_document
from agentcompass.records.model import Reply, Usage
from agentcompass.records.task import RunResult
from tests import atif_schema
from tests.harnesses.seams import ScriptedModel, ScriptedSession, context, says

FULL = ContextTooLong("HTTP 400: too long")


@attrs.define(eq=False)
class FakeTerminal:
    """Shows how often it was looked at; `typed` holds what it was sent."""

    typed: list[tuple[str, ...]] = attrs.field(factory=list)

    async def start(self) -> None: ...

    async def type(self, commands: Sequence[Keys]) -> Seen:
        self.typed.append(tuple(keys.text for keys in commands))
        return Seen(text=f"Terminal screen:\nlook {len(self.typed)}", seconds=0.5)


@attrs.frozen
class Played:
    result: RunResult
    model: ScriptedModel
    typed: list[tuple[str, ...]]
    raised: ExecutionError | None

    def prompt(self, call: int) -> str:
        """The last message of a call."""
        return str(self.model.asked[call][-1]["content"])


async def play(*replies: Reply | ExecutionError, **config: Any) -> Played:
    model, terminal, raised = ScriptedModel(replies), FakeTerminal(), None
    result = RunResult(task_id="t")
    agent = Terminus2(TerminusConfig(**config)).start(ScriptedSession(), context(model))
    agent.terminal = terminal  # type: ignore[assignment]
    async with agent:
        try:
            await agent.run(result)
        except ExecutionError as error:
            raised = error
    return Played(result, model, terminal.typed, raised)


def does(*keys: str, done: bool | None = None, **rest: Any) -> Reply:
    commands = [{"keystrokes": key, "duration": 0.1} for key in keys]
    said: dict[str, Any] = {"analysis": "I see", "plan": "I will", "commands": commands}
    return says(json.dumps(said if done is None else {**said, "task_complete": done}), **rest)


async def test_it_types_until_it_has_said_twice_that_it_is_done():
    played = await play(does("ls\n"), does(done=True), does(done=True))

    assert played.typed == [(), ("ls\n",), (), ()]
    assert (played.result.issues, played.result.extra) == ([], {"exit_status": "Completed"})
    assert played.result.telemetry["n_turns"] == 3
    assert [len(asked) for asked in played.model.asked] == [1, 3, 5]
    first = played.model.asked[0][0]
    assert first["role"] == "user"
    assert "Mend it." in first["content"]
    assert first["content"].endswith("look 1")
    assert played.prompt(1) == "Terminal screen:\nlook 2"
    assert "once more" in played.prompt(2)
    assert played.model.tools == [(), (), ()]


async def test_going_on_takes_the_claim_back():
    played = await play(*(does(done=True), does("ls\n"), does(done=True), does(done=True)))

    assert played.result.telemetry["n_turns"] == 4


async def test_commands_that_come_with_a_claim_are_run():
    played = await play(does("a\n", done=True), does("b\n", done=True))

    assert played.typed == [(), ("a\n",), ("b\n",)]


async def test_an_unreadable_reply_runs_nothing_and_keeps_the_claim():
    played = await play(does(done=True), says("Done!"), does(done=True))

    assert played.typed == [(), (), ()]
    assert "nothing of it was executed" in played.prompt(2)
    assert "ERROR: the reply holds no JSON object" in played.prompt(2)
    assert played.result.extra["exit_status"] == "Completed"


async def test_a_faulty_reply_is_run_and_the_model_told():
    odd = does("ls\n").message["content"] + " ok?"
    played = await play(says(odd), does(done=True))

    assert played.typed[1] == ("ls\n",)
    assert played.prompt(1).endswith(
        "WARNING: there is text after the JSON object\n\nTerminal screen:\nlook 2"
    )


async def test_turns_run_out_with_a_warning():
    played = await play(does("ls\n"), max_turns=2)

    assert len(played.model.asked) == 2
    (issue,) = played.result.issues
    assert (issue.severity, issue.code) == ("warning", "harness_limit_reached")
    assert played.result.extra["exit_status"] == "MaxTurns"


async def test_unreadable_replies_are_turns_too():
    played = await play(says("no"), max_turns=3)

    assert len(played.model.asked) == 3


@pytest.mark.parametrize(
    "given", [{"max_turns": -1}, {"tmux_pane_width": 1}, {"context_limit": -5}]
)
def test_odd_parameters_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        TerminusConfig(**given)


async def test_a_reply_cut_at_its_limit_is_asked_for_again_in_parts():
    cut = says('{"analysis": "I see", "plan": "I will", "commands": [', finish_reason="length")
    played = await play(cut, does("ls\n", finish_reason="length"), does(done=True))

    assert played.typed[:2] == [(), ("ls\n",)]
    assert "cut off" in played.prompt(1)
    assert "look 2" in played.prompt(2)


async def test_an_xml_reply_cut_behind_its_end_is_run():
    text = (
        "<response><analysis>a</analysis><plan>p</plan><commands>"
        "<keystrokes duration='1'>ls\n</keystrokes></commands></response><response><ana"
    )
    played = await play(says(text, finish_reason="length"), max_turns=1, parser_name="xml")

    assert played.typed[1] == ("ls\n",)


async def test_the_trajectory_has_commands_as_calls_and_is_valid_atif():
    usage = Usage(prompt_tokens=9, completion_tokens=2)
    played = await play(
        *(does("ls\n", usage=usage), says("?"), does("a\n", "b\n", done=True), does(done=True))
    )

    trajectory = played.result.trajectory
    document = atif_document(trajectory, AtifAgent(name="terminus2", version="1"))
    atif_schema.check(document)
    assert document is not None
    user, first, bad, both, last = document["steps"]
    assert user["source"] == "user"
    assert first["tool_calls"] == [
        {
            "tool_call_id": "call_1_1",
            "function_name": "bash_command",
            "arguments": {"keystrokes": "ls\n", "duration": 0.1},
        }
    ]
    assert first["observation"]["results"][0]["source_call_id"] == "call_1_1"
    assert bad["message"] == "?"
    assert "nothing of it" in bad["observation"]["results"][0]["content"]
    names = [call["tool_call_id"] for call in both["tool_calls"]]
    assert names == ["call_3_1", "call_3_2", "call_3_task_complete"]
    assert "source_call_id" not in both["observation"]["results"][0]
    assert last["tool_calls"][0]["function_name"] == "mark_task_complete"
    assert trajectory["steps"][0]["metric"]["env_action_ms"] == 500


async def test_a_fault_of_the_model_ends_the_run_with_what_was_done():
    played = await play(does("ls\n"), ModelFailed("HTTP 500: down"))

    assert isinstance(played.raised, ModelFailed)
    assert played.result.extra["exit_status"] == "ModelFailed"
    assert len(played.result.trajectory["steps"]) == 1
    assert played.result.telemetry["n_calls"] == 2


async def test_without_a_model_it_does_not_start():
    with pytest.raises(HarnessFailed):
        Terminus2(TerminusConfig()).start(ScriptedSession(), context())


SUMMING = (says("the summary"), says("the questions"), says("the answers"))


def check_handed_over(played: Played, call: int) -> None:
    """The three calls from `call` on sum up, and the one after them goes on."""
    asked = played.model.asked
    assert "Write down all" in asked[call][-1]["content"]
    assert [message["role"] for message in asked[call + 1]] == ["user"]
    assert "the summary" in asked[call + 1][0]["content"]
    assert asked[call + 2][-2] == {"role": "assistant", "content": "the summary"}
    assert "the questions" in asked[call + 2][-1]["content"]
    first, questions, go_on = asked[call + 3]
    assert first["content"].startswith(asked[0][0]["content"])
    assert questions == {"role": "assistant", "content": "the questions"}
    assert "the answers" in go_on["content"]
    assert f"look {len(played.typed) - 2}" in go_on["content"]


async def test_a_full_context_is_handed_over_and_the_work_goes_on():
    played = await play(does("a\n"), FULL, *SUMMING, does(done=True), does(done=True))

    assert played.result.extra["exit_status"] == "Completed"
    check_handed_over(played, 2)
    telemetry = played.result.telemetry
    assert (telemetry["n_summaries"], telemetry["n_turns"], telemetry["n_calls"]) == (1, 3, 7)
    contents = [s["assistant_content"]["content"] for s in played.result.trajectory["steps"]]
    assert contents[1:4] == ["the summary", "the questions", "the answers"]
    assert "the answers" in played.result.trajectory["steps"][4]["user_content"]


async def test_it_is_handed_over_before_it_is_full_where_the_limit_is_known():
    big = does("a\n", usage=Usage(prompt_tokens=90_000, completion_tokens=3_000))
    played = await play(*(big, *SUMMING, does(done=True), does(done=True)), context_limit=100_000)

    check_handed_over(played, 1)


async def test_tokens_that_nobody_counted_are_estimated():
    long = does("x" * 60_000)
    played = await play(*(long, *SUMMING, does(done=True)), context_limit=20_000)

    check_handed_over(played, 1)


async def test_a_reply_that_fills_the_context_is_a_full_context():
    played = await play(
        does("a\n"), says("I see", finish_reason="context_length"), *SUMMING, does(done=True)
    )

    assert played.result.telemetry["n_summaries"] == 1
    assert played.result.extra["exit_status"] == "Completed"


async def test_a_history_that_cannot_be_summed_up_is_shortened_and_then_given_up():
    replies = [does(f"{number}\n") for number in range(8)]
    played = await play(*replies, *(FULL,) * 4, says("a guess"), does(done=True))

    lengths = [len(asked) for asked in played.model.asked]
    assert lengths[8:] == [17, 17, 9, 5, 1, 1, 3]
    assert "a guess" in played.prompt(13)
    assert "Mend it." in played.prompt(13)
    assert played.result.extra["exit_status"] == "Completed"


async def test_what_does_not_fit_even_then_is_the_models_fault():
    played = await play(does("a\n"), FULL)

    assert isinstance(played.raised, ContextTooLong)
    assert len(played.model.asked) <= 8


@pytest.mark.parametrize("replies", [(FULL,), (does("a\n"), FULL)])
async def test_nothing_is_summed_up_where_it_may_not_or_nothing_was_said(replies: Any):
    played = await play(*replies, enable_summarize=len(replies) == 1)

    assert isinstance(played.raised, ContextTooLong)
    assert played.result.telemetry["n_summaries"] == 0


async def test_reasoning_goes_back_only_where_it_is_asked_for():
    thought = does("a\n", reasoning_content="hm")
    for wanted in (False, True):
        played = await play(thought, does(done=True), interleaved_thinking=wanted)
        assert ("reasoning_content" in played.model.asked[1][1]) is wanted


async def test_an_empty_reply_goes_back_as_words():
    played = await play(says(None), max_turns=2)

    assert played.model.asked[1][1]["content"] == "(an empty reply)"
