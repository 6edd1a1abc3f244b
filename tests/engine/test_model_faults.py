"""What a model's faults do to an attempt: a real agent on a server that misbehaves."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentcompass.engine.request import NO_ANSWER
from tests.loopback import Act, Server, answer, cut, serve
from tests.whole_runs import Ran, read, run, runs, submits

FAST = {"retry_min_delay_seconds": 0.01, "retry_max_delay_seconds": 0.02}


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


async def talk(folder: Path, *acts: Act, **settings: Any) -> tuple[Ran, Server]:
    """Run task `t` with mini_swe_agent against a server of these acts."""
    async with serve(*acts) as server:
        ran = await run(
            folder,
            {"t": {}},
            harness="mini_swe_agent",
            model="m",
            model_base_url=server.url,
            model_api_key="sk-test-12345678",
            model_api_protocol="openai-chat",
            execution_params=FAST,
            **settings,
        )
    return ran, server


def refusal(status: int, code: str, **headers: str) -> Act:
    return answer({"error": {"message": "no", "code": code}}, status=status, **headers)


async def test_a_retried_agent_starts_anew_and_finds_nothing_of_its_first_try(
    tmp_path: Path,
) -> None:
    """cases.md 54."""
    ran, server = await talk(
        tmp_path,
        runs("touch marker; ls"),
        cut(b'{"choices"'),
        runs("test -e marker && echo STALE || echo CLEAN"),
        submits(),
        max_retries=1,
        retry_pattern_list=["broke off"],
    )
    record = ran.attempts["t"]
    [discarded] = ran.directory.glob("details/normal/*/attempt-1/retries/*.json")
    replies = [message["role"] for message in server.asked[-1].json()["messages"]]

    assert ran.status == "completed"
    assert record["retry_count"] == 1
    assert record["issues"] == []
    assert replies == ["system", "user", "assistant", "tool"]
    assert "CLEAN" in server.asked[-1].json()["messages"][-1]["content"]
    assert "marker" not in json.dumps(record["trajectory"]).replace("test -e marker", "")
    assert "broke off" in discarded.read_text()


@pytest.mark.parametrize(("status", "code"), [(429, "rate_limit"), (500, "oops")])
async def test_a_fault_that_lasts_is_tried_as_often_as_asked_and_told_as_it_was(
    tmp_path: Path, status: int, code: str
) -> None:
    """cases.md 13."""
    refused = refusal(status, code, Retry_After="86400")
    ran, server = await talk(tmp_path, refused, max_retries=2)
    [issue] = ran.attempts["t"]["issues"]

    assert len(server.asked) == 3
    assert ran.attempts["t"]["retry_count"] == 2
    assert (issue["severity"], issue["code"]) == ("fatal", "model_failed")
    assert f"HTTP {status}" in issue["message"]
    assert code in issue["message"]


@pytest.mark.parametrize("patterns", [None, []])
@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "context_length_exceeded"), (404, "model_not_found"), (413, "large"), (422, "bad")],
)
async def test_what_another_try_cannot_mend_is_asked_once(
    tmp_path: Path, status: int, code: str, patterns: list[str] | None
) -> None:
    """cases.md 53."""
    ran, server = await talk(
        tmp_path, refusal(status, code), max_retries=3, retry_pattern_list=patterns
    )

    assert len(server.asked) == 1
    assert ran.issues("t") == [("error", "run", "model_failed")]
    assert f"HTTP {status}" in ran.attempts["t"]["issues"][0]["message"]


async def test_an_error_that_a_pattern_names_is_tried_again(tmp_path: Path) -> None:
    """cases.md 53."""
    ran, server = await talk(
        tmp_path,
        refusal(400, "context_length_exceeded"),
        max_retries=3,
        retry_pattern_list=["(?i)context.?length"],
    )

    assert len(server.asked) == 4
    assert ran.issues("t") == [("error", "run", "model_failed")]


async def test_a_wait_that_the_endpoint_asks_for_is_waited_and_counted(tmp_path: Path) -> None:
    """cases.md 55 and 56: what failed calls took is kept, whatever the harness makes of them."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    paid = {"choices": [{"message": {"content": "no command"}}], "usage": usage}
    ran, server = await talk(
        tmp_path,
        refusal(429, "rate_limit", Retry_After="0"),
        answer(paid),
        submits(),
        model_params={"prices": {"input": 10_000, "output": 0}},
    )
    spent = ran.attempts["t"]["meta"]["harness"]["telemetry"]["model"]

    assert ran.issues("t") == []
    assert len(server.asked) == 3
    assert (spent["calls"], spent["failed_calls"], spent["waits"]) == (3, 1, 1)
    assert 0.5 <= spent["seconds_waited"] < 30
    assert (spent["prompt_tokens"], spent["calls_without_usage"]) == (100, 1)
    assert spent["cost_usd"] == pytest.approx(1.0)
    assert "waiting" in (ran.directory / "run.log").read_text()


async def test_text_that_is_no_unicode_costs_neither_the_attempt_nor_the_run(
    tmp_path: Path,
) -> None:
    """cases.md 24 and 38: half of an emoji in a reply, and bytes that are no text in an answer."""
    arguments = '{\\"command\\": \\"echo on; ls\\"}'
    call = (
        f'{{"id": "\\ud83d", "type": "function",'
        f' "function": {{"name": "bash", "arguments": "{arguments}"}}}}'
    )
    body = f'{{"choices": [{{"message": {{"content": "half \\ud83d", "tool_calls": [{call}]}}}}]}}'
    ran, server = await talk(
        tmp_path, answer(body.encode("ascii")), submits("printf 'x\\xbc\\xff\\0y'")
    )

    assert ran.status == "completed"
    assert len(server.asked) == 2
    assert ran.attempts["t"]["final_answer"] == "x\ufffd\ufffd\0y"
    for path in ran.directory.rglob("*"):
        if path.is_file():
            path.read_text(encoding="utf-8")
    assert read(ran.directory / "progress.json")["completed_tasks"] == 1


async def test_a_run_whose_model_never_answered_says_so_and_counts_its_errors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        ran, _ = await talk(tmp_path, refusal(404, "not_found"))

    assert ran.status == "completed"
    assert NO_ANSWER in caplog.messages
    assert caplog.messages[-1].endswith("; 1 task with errors")


async def test_a_run_with_one_answer_is_not_told_to_check_its_endpoint(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        await talk(tmp_path, runs("true"), refusal(404, "not_found"))

    assert NO_ANSWER not in caplog.messages
    assert caplog.messages[-1].endswith("; 1 task with errors")
