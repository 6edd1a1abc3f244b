"""Budgets as users set them: a real agent on a server, its run directory, and what goes on."""

from pathlib import Path
from typing import Any

import pytest

from agentcompass.errors import UsageError
from tests.loopback import Act, answer, serve
from tests.loopback import Server as Server
from tests.whole_runs import MARKER, Ran, read, run

TASKS: dict[str, dict[str, str]] = {f"t{number}": {} for number in range(4)}
PRICES = {"input": 10_000, "output": 10_000}


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def paid(command: str) -> Act:
    """A call of the tool that takes 100 tokens, a dollar by `PRICES`."""
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "bash", "arguments": f'{{"command": "{command}"}}'},
    }
    return answer(
        {
            "choices": [{"message": {"content": None, "tool_calls": [call]}}],
            "usage": {"prompt_tokens": 60, "completion_tokens": 40},
        }
    )


def settings(url: str, **execution: Any) -> dict[str, Any]:
    return {
        "harness": "mini_swe_agent",
        "model": "m",
        "model_base_url": url,
        "model_api_key": "sk-test-12345678",
        "model_api_protocol": "openai-chat",
        "model_params": {"prices": PRICES},
        "execution_params": execution,
        "task_concurrency": 1,
    }


async def talk(folder: Path, *acts: Act, tasks: Any = TASKS, **given: Any) -> tuple[Ran, Server]:
    execution = given.pop("execution")
    async with serve(*acts) as server:
        ran = await run(folder, tasks, **{**settings(server.url, **execution), **given})
    return ran, server


async def test_an_attempt_keeps_what_it_had_when_its_budget_was_used_up(tmp_path: Path) -> None:
    ran, server = await talk(
        tmp_path,
        paid("echo some"),
        tasks={"t": TASKS["t0"]},
        execution={"attempt_budget": {"max_cost_usd": 2}},
    )
    record = ran.attempts["t"]
    info = read(ran.directory / "run_info.json")

    assert len(server.asked) == 2
    assert ran.issues("t") == [("error", "run", "budget_exhausted")]
    assert len(record["trajectory"]["steps"]) == 2
    assert record["metrics"] == {"correct": True}
    assert (ran.status, record["status"]) == ("completed", "run_error")
    assert info["request"]["execution"]["attempt_budget"] == {"max_cost_usd": 2.0}
    assert read(ran.directory / "params.json")["execution"]["attempt_budget"]
    assert info["spent"]["total_tokens"] == ran.result["metadata"]["spent"]["total_tokens"] == 200
    assert info["spent"]["cost_usd"] == pytest.approx(2.0)


async def test_a_run_out_of_budget_leaves_a_whole_directory_and_goes_on_with_more(
    tmp_path: Path,
) -> None:
    submits = paid(f"echo {MARKER}; echo done")
    first, server = await talk(
        tmp_path, submits, execution={"run_budget": {"max_total_tokens": 150}}, run_id="first"
    )
    progress = read(first.directory / "progress.json")

    assert len(server.asked) == 2
    assert first.status == "failed"
    assert first.raised is not None
    assert first.raised.exit_code == 1
    assert "run_budget is used up: 200 of 150 tokens; 2 of 4 tasks" in str(first.raised)
    assert sorted(first.attempts) == ["t0", "t1"]
    assert (progress["status"], progress["finished_tasks"]) == ("failed", 2)
    assert progress["pending_tasks"] == 2
    assert "**Cut short:** run_budget is used up" in (first.directory / "summary.md").read_text()
    [series] = read(first.directory / "metrics.json")["series"]
    assert (series["counts"]["total"], series["counts"]["evaluated"]) == (4, 2)

    second, server = await talk(
        tmp_path,
        submits,
        execution={"run_budget": {"max_total_tokens": 250}},
        run_id="second",
        reuse=True,
    )
    assert len(server.asked) == 2
    assert second.status == "completed"
    assert second.result["metadata"]["reuse_counts"] == {"reused": 2, "resumed": 0, "executed": 2}
    assert second.result["metadata"]["spent"]["total_tokens"] == 200
    assert sorted(second.attempts) == sorted(TASKS)


async def test_an_attempt_that_had_ended_is_not_paid_for_again(tmp_path: Path) -> None:
    submits = paid(f"echo {MARKER}; echo done")
    given: dict[str, Any] = {"tasks": {"t": {}}, "k": 2}
    execution: dict[str, Any] = {"run_budget": {"max_total_tokens": 100}}
    first, server = await talk(tmp_path, submits, execution=execution, run_id="1", **given)

    assert len(server.asked) == 1
    assert (first.status, list(first.directory.glob("details/normal/*"))) == ("failed", [])

    second, server = await talk(
        tmp_path, submits, execution=execution, run_id="2", reuse=True, **given
    )
    assert len(server.asked) == 1
    assert second.status == "completed"
    assert second.result["metadata"]["reuse_counts"] == {"reused": 1, "resumed": 0, "executed": 1}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"execution_params": {"run_budget": {"max_cost_usd": 5}}, "model_params": {}},
            "run_budget.max_cost_usd cannot be held, since no price of model 'm' is known.*prices",
        ),
        ({"execution_params": {"attempt_budget": {"max_total_tokens": 0}}}, "max_total_tokens"),
        ({"execution_params": {"attempt_budget": {"max_total_tokens": 1.5}}}, "max_total_tokens"),
        ({"execution_params": {"attempt_budget": {"max_cost_usd": -1}}}, "max_cost_usd"),
        ({"execution_params": {"run_budget": {"max_dollars": 1}}}, "max_dollars"),
        ({"execution_params": {"max_total_tokens": 1}}, "max_total_tokens"),
        ({"model_params": {"budget": 5}}, "budget is an option of the execution.*attempt_budget"),
    ],
)
async def test_a_budget_that_cannot_be_held_is_refused_in_one_line(
    given: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        await run(tmp_path, {"t": {}}, **{**settings("http://127.0.0.1:9/v1"), **given})

    assert "\n" not in str(refused.value)
    assert not (tmp_path / "results").exists()
