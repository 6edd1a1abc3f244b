"""The loop: what the model is asked, what is run, when it ends, and what is left in the result."""

import json
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.deadlines import deadline
from agentcompass.errors import EnvironmentFailed, HarnessFailed, ModelFailed, PhaseTimeout
from agentcompass.harnesses._mini_templates import MARKER
from agentcompass.harnesses.mini_swe_agent import MiniConfig, MiniSweAgent
from agentcompass.records.environment import ExecResult
from agentcompass.records.model import Reply, Usage
from agentcompass.records.task import RunResult
from tests import virtual
from tests.harnesses.seams import (
    ScriptedModel,
    ScriptedSession,
    call,
    context,
    drive,
    runs,
    says,
)

DONE = ExecResult(exit_code=0, stdout=f"{MARKER}\nthe answer\n")


def answers(command: str) -> ExecResult:
    return DONE if command == "submit" else ExecResult(exit_code=0, stdout=f"ran {command}\n")


async def play(
    *replies: Reply | Exception,
    session: ScriptedSession | None = None,
    given: dict[str, Any] | None = None,
    **config: Any,
) -> tuple[RunResult, ScriptedModel, ScriptedSession]:
    session = session or ScriptedSession(answer=answers)
    model = ScriptedModel(replies)  # type: ignore[arg-type]
    harness = MiniSweAgent(MiniConfig(**config))
    result = await drive(harness, session, context(model, **(given or {})))
    return result, model, session


def messages(result: RunResult) -> list[dict[str, Any]]:
    return result.artifacts["mini_swe_agent"]["messages"]


def roles(result: RunResult) -> list[str]:
    return [message["role"] for message in messages(result)]


async def test_it_runs_commands_until_it_submits():
    result, _, session = await play(runs("ls"), runs("make"), runs("submit"))

    assert session.commands == ["ls", "make", "submit"]
    assert (result.status, result.final_answer, result.issues) == ("completed", "the answer\n", [])
    assert result.extra == {"exit_status": "Submitted"}
    assert roles(result) == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "exit",
    ]
    assert result.artifacts["mini_swe_agent"]["info"]["submission"] == "the answer\n"
    assert result.artifacts["mini_swe_agent"]["trajectory_format"] == "mini-swe-agent-1.1"


async def test_the_model_is_asked_with_the_history_and_the_tool():
    _, model, _ = await play(runs("ls"), runs("submit"))

    system, user, assistant, tool = model.asked[1]
    assert model.asked[0] == [system, user]
    assert system["role"] == "system"
    assert "Mend it." in user["content"]
    assert assistant == {"role": "assistant", "content": "I act.", **runs("ls").message}
    assert tool["role"] == "tool"
    assert tool["tool_call_id"] == "c1"
    assert tool["content"] == "<returncode>0</returncode>\n<output>\nran ls\n</output>"
    assert set(tool) == {"role", "tool_call_id", "content"}
    assert [tools[0]["function"]["name"] for tools in model.tools] == ["bash", "bash"]


async def test_several_calls_of_a_reply_run_in_order_each_with_its_observation():
    _, model, session = await play(runs("a", "b", "c"), runs("submit"))

    assert session.commands == ["a", "b", "c", "submit"]
    tools = [message for message in model.asked[1] if message["role"] == "tool"]
    assert [(tool["tool_call_id"], "ran" in tool["content"]) for tool in tools] == [
        ("c1", True),
        ("c2", True),
        ("c3", True),
    ]


async def test_submitting_ends_a_reply_at_once():
    """As in the package, the history then holds no observation of that reply."""
    result, _, session = await play(runs("a", "submit", "never"))

    assert session.commands == ["a", "submit"]
    assert roles(result) == ["system", "user", "assistant", "exit"]
    assert len(result.trajectory["steps"][0]["observation"]) == 2


@pytest.mark.parametrize(
    ("ended", "submission"),
    [
        (ExecResult(exit_code=0, stdout=f"\n \n{MARKER}\na\nb"), "a\nb"),
        (ExecResult(exit_code=0, stdout=f"  {MARKER}  \r\nx"), "x"),
        (ExecResult(exit_code=0, stdout=MARKER), ""),
        (ExecResult(exit_code=1, stdout=f"{MARKER}\nx"), None),
        (ExecResult(exit_code=None, timed_out=True, stdout=MARKER), None),
        (ExecResult(exit_code=0, stdout=f"x\n{MARKER}\n"), None),
        (ExecResult(exit_code=0, stdout=f"{MARKER}X\n"), None),
        (ExecResult(exit_code=0, stdout=""), None),
    ],
)
async def test_the_marker_counts_only_first_and_on_success(
    ended: ExecResult, submission: str | None
):
    result, _, _ = await play(
        runs("submit"), session=ScriptedSession(answer=lambda _: ended), step_limit=1
    )

    assert result.final_answer == submission
    assert result.extra["exit_status"] == ("LimitsExceeded" if submission is None else "Submitted")


async def test_a_submission_with_a_hole_is_an_error():
    ended = ExecResult(exit_code=0, stdout=f"{MARKER}\nab", truncated_bytes=(7, 0))
    result, _, _ = await play(runs("submit"), session=ScriptedSession(answer=lambda _: ended))

    (issue,) = result.issues
    assert (issue.severity, issue.code) == ("error", "submission_truncated")
    assert "7 bytes" in issue.message
    assert result.final_answer == "ab"


async def test_text_replies_act_by_one_fenced_block():
    block = "I look.\n```mswea_bash_command\n{}\n```"
    result, model, session = await play(
        says(block.format("ls")), says(block.format("submit")), action_format="text"
    )

    assert session.commands == ["ls", "submit"]
    assert roles(result) == ["system", "user", "assistant", "user", "assistant", "exit"]
    assert model.tools == [(), ()]
    assert "mswea_bash_command" in model.asked[0][1]["content"]
    assert "tool" not in model.asked[0][1]["content"]
    assert result.final_answer == "the answer\n"


async def test_a_bad_reply_is_answered_and_forgotten():
    """Row 59 of the cases: nothing runs, the turn counts, the bad call is not sent again."""
    bad = says("oops", [*runs("rm -rf /").message["tool_calls"], call("{", call_id="c9")])
    result, model, session = await play(bad, runs("submit"))

    assert session.commands == ["submit"]
    assert [message["role"] for message in model.asked[1]] == ["system", "user", "user"]
    assert "not a JSON object" in model.asked[1][2]["content"]
    assert result.telemetry["n_calls"] == 2
    step = result.trajectory["steps"][0]
    assert step["assistant_content"]["content"] == "oops"
    assert step["observation"][0]["role"] == "user"


async def test_bad_replies_in_a_row_end_the_run_with_a_warning():
    result, model, _ = await play(says("no call"))

    assert len(model.asked) == 3
    assert roles(result) == ["system", "user", "user", "user", "user", "exit"]
    assert result.extra["exit_status"] == "RepeatedFormatError"
    assert [(issue.severity, issue.code) for issue in result.issues] == [
        ("warning", "harness_limit_reached")
    ]
    assert result.status == "completed"


async def test_a_good_reply_between_bad_ones_starts_the_count_anew():
    bad = says("no call")
    result, model, _ = await play(bad, bad, runs("ls"), bad, bad, runs("submit"))

    assert result.extra["exit_status"] == "Submitted"
    assert len(model.asked) == 6


async def test_no_limit_on_bad_replies_leaves_the_step_limit():
    result, model, _ = await play(says("no call"), max_consecutive_format_errors=0, step_limit=7)

    assert len(model.asked) == 7
    assert result.extra["exit_status"] == "LimitsExceeded"


async def test_the_step_limit_is_a_warning_that_names_it():
    result, model, session = await play(runs("ls"), step_limit=2)

    assert len(model.asked) == 2
    assert session.commands == ["ls", "ls"]
    (issue,) = result.issues
    assert (issue.severity, issue.phase, issue.code) == ("warning", "run", "harness_limit_reached")
    assert issue.message == (
        "LimitsExceeded: the agent reached step_limit or cost_limit after 2 model calls"
    )
    assert (result.final_answer, result.status) == (None, "completed")


async def test_cost_counts_where_it_is_known_and_bad_replies_are_billed():
    """Row 56 of the cases: a reply that cannot be used was paid for all the same."""
    paid = Usage(prompt_tokens=10, completion_tokens=5, cached_tokens=4, cost_usd=0.4)
    result, model, _ = await play(
        says("no call", usage=paid), runs("ls", usage=paid), runs("ls"), cost_limit=0.8
    )

    assert len(model.asked) == 2
    assert result.extra["exit_status"] == "LimitsExceeded"
    assert result.telemetry["prompt_tokens"] == 20
    assert result.telemetry["completion_tokens"] == 10
    assert result.telemetry["cached_tokens"] == 8
    assert result.telemetry["cost_usd"] == 0.8


async def test_unknown_usage_is_unknown_and_counted():
    result, _, _ = await play(runs("ls", usage=Usage(prompt_tokens=3)), runs("submit"))

    telemetry = result.telemetry
    assert telemetry["prompt_tokens"] == 3
    assert telemetry["completion_tokens"] is None
    assert telemetry["cost_usd"] is None
    assert telemetry["calls_without_usage"] == 1


async def test_an_unknown_cost_ends_the_run_where_costs_must_be_known():
    with pytest.raises(HarnessFailed, match="cost_tracking"):
        await play(runs("ls"), cost_tracking="default")


def test_the_wall_time_limit_is_looked_at_before_each_call():
    async def main() -> tuple[RunResult, float]:
        model = ScriptedModel([runs("ls")], seconds=3)
        harness = MiniSweAgent(MiniConfig(wall_time_limit_seconds=10))
        session = ScriptedSession(answer=answers, seconds=2)
        result = await drive(harness, session, context(model))
        return result, trio.current_time()

    result, ended = virtual.run(main)

    assert ended == 10
    assert result.telemetry["n_calls"] == 2
    assert result.extra["exit_status"] == "TimeExceeded"
    assert result.issues[0].severity == "warning"


async def test_a_command_that_ran_out_of_time_is_told_to_the_agent_who_goes_on():
    slow = ExecResult(exit_code=None, timed_out=True, stdout="partial\n", seconds=7.0)
    session = ScriptedSession(answer=lambda command: slow if command == "slow" else DONE)

    result, model, _ = await play(runs("slow"), runs("submit"), session=session, command_timeout=7)

    assert model.asked[1][3]["content"] == (
        "<exception>the command took longer than 7 seconds and was ended, with everything that "
        "it had started</exception>\n<returncode>-1</returncode>\n<output>\npartial\n</output>"
    )
    assert result.extra["exit_status"] == "Submitted"
    assert session.asked[0][1]["timeout_seconds"] == 7
    assert messages(result)[3]["extra"]["returncode"] == -1


async def test_commands_run_as_configured():
    session = ScriptedSession(answer=answers)
    given = {"workspace": "/work", "agent_user": "dev"}
    await play(runs("submit"), session=session, given=given, env={"A": "1", "PAGER": "less"})

    options = session.asked[0][1]
    assert options["cwd"] == "/work"
    assert options["user"] == "dev"
    assert options["timeout_seconds"] == 2400
    assert options["env"] == {
        "PAGER": "less",
        "MANPAGER": "cat",
        "LESS": "-R",
        "PIP_PROGRESS_BAR": "off",
        "TQDM_DISABLE": "1",
        "A": "1",
    }


async def test_a_command_timeout_of_zero_leaves_the_phase_s_deadline():
    _, _, session = await play(runs("submit"), command_timeout=0, cwd="/elsewhere")

    assert session.asked[0][1]["timeout_seconds"] == float("inf")
    assert session.asked[0][1]["cwd"] == "/elsewhere"


async def observed(ended: ExecResult) -> str:
    session = ScriptedSession(answer=lambda command: DONE if command == "submit" else ended)
    _, model, _ = await play(runs("x"), runs("submit"), session=session)
    return str(model.asked[1][3]["content"])


async def test_output_below_ten_thousand_characters_is_shown_whole():
    assert "x" * 9_999 + "</output>" in await observed(ExecResult(exit_code=0, stdout="x" * 9_999))


@pytest.mark.parametrize("timed_out", [False, True])
async def test_longer_output_is_cut_in_the_middle_on_every_path(timed_out: bool):
    """Row 40 of the cases: a timeout's output is cut as any other's."""
    stdout = "a" * 5_000 + "b" * 2_345 + "c" * 5_000
    ended = ExecResult(exit_code=None if timed_out else 1, stdout=stdout, timed_out=timed_out)

    text = await observed(ended)

    assert (
        "b"
        not in text.partition("<output_head>")[2]
        .replace("</output_head>", "")
        .partition("<left_out>")[0]
    )
    assert "a" * 5_000 in text
    assert "c" * 5_000 in text
    assert "2345 characters" in text
    assert "bytes" not in text
    assert len(text) < 10_700


async def test_bytes_that_the_session_did_not_keep_are_counted_too():
    text = await observed(ExecResult(exit_code=0, stdout="short", truncated_bytes=(123, 4)))

    assert "0 characters and 127 bytes" in text


async def test_what_the_shell_says_before_its_streams_are_one_is_not_lost():
    text = await observed(ExecResult(exit_code=2, stdout="", stderr="bash: syntax error\n"))

    assert "<output>\nbash: syntax error\n</output>" in text


async def test_a_huge_call_is_run_whole_and_bounded_in_the_history():
    """Row 62 of the cases: 1.2 MB would be sent again with every later call."""
    huge = "echo " + "x" * 1_200_000
    result, model, session = await play(runs(huge), runs("submit"))

    assert session.commands[0] == huge
    arguments = model.asked[1][2]["tool_calls"][0]["function"]["arguments"]
    assert len(arguments) < 70_000
    command = json.loads(arguments)["command"]
    assert command.startswith("echo xxx")
    assert "[1134469 characters left out]" in command
    assert len(json.dumps(result.trajectory)) < 200_000
    assert len(json.dumps(messages(result))) < 300_000


async def test_half_a_surrogate_pair_does_not_come_back_to_the_model():
    """Row 24 of the cases: a server would refuse every later call."""
    reply = says("half \ud83d, whole 😀", runs("ls").message["tool_calls"])
    result, model, _ = await play(reply, runs("submit"))

    assert model.asked[1][2]["content"] == "half \ufffd, whole 😀"
    json.dumps(result.trajectory, ensure_ascii=False).encode()
    json.dumps(result.artifacts, ensure_ascii=False).encode()


async def test_bytes_that_are_no_text_reach_the_model_as_text():
    """Row 38 of the cases, as far as the session decodes."""
    text = await observed(ExecResult(exit_code=0, stdout="\ufffd\ufffd\0"))

    assert "<output>\n\ufffd\ufffd\0</output>" in text


@pytest.mark.parametrize("thinking", [False, True])
async def test_reasoning_goes_back_only_where_it_is_asked_for(thinking: bool):
    reply = runs("ls")
    reply = says(None, reply.message["tool_calls"], reasoning_content="hmm")
    result, model, _ = await play(reply, runs("submit"), interleaved_thinking=thinking)

    assert ("reasoning_content" in model.asked[1][2]) is thinking
    assert result.trajectory["steps"][0]["assistant_content"]["reasoning_content"] == "hmm"


async def test_a_model_s_fault_flies_and_leaves_what_was_done():
    model = ScriptedModel([runs("ls"), ModelFailed("HTTP 500: no", severity="fatal")])
    result = RunResult(task_id="t")
    session = ScriptedSession(answer=answers)
    with pytest.raises(ModelFailed, match="HTTP 500"):
        async with MiniSweAgent(MiniConfig()).start(session, context(model)) as agent:
            await agent.run(result)

    assert len(result.trajectory["steps"]) == 1
    assert roles(result) == ["system", "user", "assistant", "tool", "exit"]
    info = result.artifacts["mini_swe_agent"]["info"]
    assert (info["exit_status"], info["exception_str"]) == ("ModelFailed", "HTTP 500: no")
    assert info["model_stats"]["api_calls"] == result.telemetry["n_calls"] == 2
    assert result.issues == []


async def test_a_session_s_fault_flies():
    session = ScriptedSession(answer=lambda _: EnvironmentFailed("the sandbox is gone"))
    with pytest.raises(EnvironmentFailed, match="gone"):
        await play(runs("ls"), session=session)


def test_a_deadline_keeps_what_is_there():
    async def main() -> RunResult:
        result = RunResult(task_id="t")
        model = ScriptedModel([runs("a", "b")], seconds=1)
        session = ScriptedSession(answer=answers, seconds=2)
        async with MiniSweAgent(MiniConfig()).start(session, context(model)) as agent:
            with pytest.raises(PhaseTimeout), deadline(4, stretch="run_harness"):
                await agent.run(result)
            await agent.collect(result)
        return result

    result = virtual.run(main)

    (step,) = result.trajectory["steps"]
    assert [seen["content"] for seen in step["observation"]] == [
        "<returncode>0</returncode>\n<output>\nran a\n</output>"
    ]
    assert result.artifacts["mini_swe_agent"]["info"]["exit_status"] == ""
    assert result.telemetry["n_calls"] == 1


async def test_the_trajectory_is_actf():
    usage = Usage(prompt_tokens=7, completion_tokens=3)
    result, _, _ = await play(
        runs("a", "b", usage=usage, seconds=0.25, finish_reason="tool_calls"),
        runs("submit"),
        session=ScriptedSession(
            answer=lambda command: (
                DONE if command == "submit" else ExecResult(exit_code=0, seconds=0.5)
            )
        ),
    )

    trajectory = result.trajectory
    first, second = trajectory["steps"]
    assert list(trajectory) == ["schema_version", "steps", "started_at", "finished_at"]
    assert trajectory["schema_version"] == "ACTF_v1.0"
    assert [first["step_id"], second["step_id"]] == [0, 1]
    assert first["metric"] == {
        "prompt_tokens_len": 7,
        "completion_tokens_len": 3,
        "cached_tokens_len": None,
        "cost_usd": None,
        "llm_infer_ms": 250.0,
        "env_action_ms": 1000.0,
        "stop_reason": "tool_calls",
    }
    assert "Mend it." in first["user_content"]
    assert first["tools"][0]["function"]["name"] == "bash"
    assert (second["system_prompt"], second["user_content"], second["tools"]) == ("", "", None)
    assert first["started_at"].endswith("+00:00")
    assert trajectory["started_at"] <= first["started_at"] <= second["finished_at"]
    assert trajectory["finished_at"] == second["finished_at"]


async def test_the_trajectory_file_is_left_where_it_is_asked_for():
    result, _, session = await play(runs("submit"), artifact_dir="/logs/mini/")

    written = json.loads(session.files["/logs/mini/mini_swe_agent.traj.json"])
    assert written == json.loads(json.dumps(result.artifacts["mini_swe_agent"]))


async def test_no_trajectory_file_where_it_is_not_asked_for():
    _, _, session = await play(runs("submit"))

    assert session.files == {}


outcomes = st.builds(
    ExecResult,
    exit_code=st.sampled_from([None, 0, 1]),
    stdout=st.sampled_from(["", "x", MARKER, f"{MARKER}\nyes"]),
    timed_out=st.booleans(),
)
turns = st.sampled_from(["bad", "one", "two"])


@given(
    script=st.lists(turns, min_size=1, max_size=12),
    outcome=outcomes,
    steps=st.integers(0, 6),
    bad=st.integers(0, 4),
)
def test_the_loop_always_ends_and_its_history_is_well_formed(
    script: list[str], outcome: ExecResult, steps: int, bad: int
):
    """Fails without the test of `step_limit` before each call, and without the exit on errors."""
    replies = {"bad": says("?"), "one": runs("a"), "two": runs("a", "b")}

    async def main() -> tuple[RunResult, ScriptedModel]:
        session = ScriptedSession(answer=lambda _: outcome)
        out = ModelFailed("the script has run out")
        model = ScriptedModel([*(replies[turn] for turn in script), out])
        config = MiniConfig(step_limit=steps, max_consecutive_format_errors=bad)
        result = RunResult(task_id="t")
        async with MiniSweAgent(config).start(session, context(model)) as agent:
            try:
                await agent.run(result)
            except ModelFailed:
                assert len(model.asked) == len(script) + 1
        return result, model

    result, model = virtual.run(main)

    assert not steps or len(model.asked) <= steps
    assert roles(result)[:2] == ["system", "user"]
    assert roles(result).count("exit") == 1
    assert roles(result)[-1] == "exit"
    for asked in model.asked:
        wanted = [c["id"] for m in asked for c in m.get("tool_calls", ())]
        assert [m["tool_call_id"] for m in asked if m["role"] == "tool"] == wanted
    assert len(result.trajectory["steps"]) == result.telemetry["n_calls"] - (
        result.extra["exit_status"] == "ModelFailed"
    )
