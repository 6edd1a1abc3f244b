"""Command-line agents and budgets: ended where they tell what they take, else looked at after."""

import json
import logging
import os
from pathlib import Path

import attrs
import pytest
import trio

from agentcompass.engine.budget import ExecutionAllowance, attempt_account
from agentcompass.errors import BudgetExhausted, EnvironmentFailed
from agentcompass.harnesses import _cli_budget
from agentcompass.harnesses._cli_agent import CliAgent
from agentcompass.harnesses._cli_budget import LOOK_SECONDS, within
from agentcompass.harnesses._cli_program import Step, Transcript
from agentcompass.models.anthropic import Anthropic
from agentcompass.protocols import Session
from agentcompass.records.model import Usage
from agentcompass.records.request import Budget
from agentcompass.records.task import RunResult
from tests.harnesses import test_cli_agents as agents
from tests.harnesses.seams import context
from tests.whole_runs import run

PRICES = {"input": 1e6, "output": 1e6}  # a dollar a token


def allowed(**budget: float) -> ExecutionAllowance:
    spec = attrs.evolve(agents.MODEL, params={"prices": PRICES})
    return ExecutionAllowance(
        accounts=[attempt_account(Budget(**budget))],  # type: ignore[arg-type]
        model=Anthropic(spec, replies=None, connections=1),
    )


def told(*tokens: int) -> Transcript:
    usages = [Usage(prompt_tokens=number, completion_tokens=0) for number in tokens]
    return Transcript(steps=[Step(usage=usage) for usage in usages])


@attrs.define(eq=False)
class Printed:
    """What each look finds, the last one for ever."""

    found: list[Transcript | EnvironmentFailed]

    async def read(self) -> Transcript:
        now = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if isinstance(now, EnvironmentFailed):
            raise now
        return now


@pytest.mark.parametrize("budget", [{"max_total_tokens": 20}, {"max_cost_usd": 20.0}])
async def test_a_program_is_ended_at_the_look_that_finds_too_much(
    budget: dict[str, float], autojump_clock: trio.abc.Clock
) -> None:
    printed = Printed([told(5), EnvironmentFailed("gone for a moment"), told(5, 14), told(5, 15)])

    with pytest.raises(BudgetExhausted, match="20 of 20"):
        await within(allowed(**budget), trio.sleep_forever, printed.read)

    assert trio.current_time() == 4 * LOOK_SECONDS


async def test_a_program_that_ends_is_not_looked_at_any_more(
    autojump_clock: trio.abc.Clock,
) -> None:
    async def work() -> None:
        await trio.sleep(12)

    await within(allowed(max_total_tokens=20), work, Printed([told(1)]).read)

    assert trio.current_time() == 12


async def test_a_fault_of_the_program_stays_what_it_is(autojump_clock: trio.abc.Clock) -> None:
    async def work() -> None:
        await trio.sleep(1)
        raise EnvironmentFailed("no sandbox any more")

    with pytest.raises(EnvironmentFailed, match="no sandbox"):
        await within(allowed(max_total_tokens=20), work, Printed([told(1)]).read)


async def test_without_a_budget_nothing_is_looked_at(autojump_clock: trio.abc.Clock) -> None:
    async def work() -> None:
        await trio.sleep(100)

    await within(allowed(), work, Printed([]).read)
    await within(None, work, Printed([]).read)


def agent(name: str, session: Session, allowance: ExecutionAllowance) -> CliAgent:
    given = attrs.evolve(context(), model=agents.MODEL, allowance=allowance)
    return agents.HARNESSES[name].start(session, given)


async def test_claude_code_is_ended_and_what_it_had_done_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cli_budget, "LOOK_SECONDS", 0.1)
    allowance, result = allowed(max_total_tokens=100), RunResult(task_id="t")
    usage = {"input_tokens": 90, "output_tokens": 10}
    async with agents.machine(tmp_path) as host:
        host.has("claude")
        host.does(agents.says("m1", agents.use("t1", "ls"), usage=usage), then="sleep 60")
        async with agent("claude", host.session, allowance) as started:
            with trio.fail_after(30), pytest.raises(BudgetExhausted, match="100 of 100 tokens"):
                await started.run(result)
            await started.collect(result)

    assert len(result.trajectory["steps"]) == 1
    assert allowance.accounts[0].spent.tokens == 100


async def test_codex_that_took_too_much_is_told_of_afterwards_and_warned_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    agents.HARNESSES["codex"]._has_warned = False
    result = RunResult(task_id="t")
    async with agents.machine(tmp_path) as host:
        host.has("codex")
        host.does(*agents.CODEX)
        for _ in range(2):
            result = RunResult(task_id="t")
            async with agent("codex", host.session, allowed(max_total_tokens=20)) as started:
                await started.run(result)
                await started.collect(result)

    assert caplog.text.count("only at its end") == 1
    [issue] = result.issues
    assert (issue.severity, issue.code) == ("warning", "budget_exhausted")
    assert "29 of 20 tokens" in issue.message


async def test_the_cost_is_ours_where_it_is_known_else_the_programs() -> None:
    spent = []
    for prices in ({"prices": PRICES}, {}):
        spec = attrs.evolve(agents.MODEL, params=prices)
        allowance = ExecutionAllowance(
            accounts=[attempt_account(Budget())],
            model=Anthropic(spec, replies=None, connections=1),
        )
        total = Transcript(
            usage=Usage(prompt_tokens=2, completion_tokens=1),
            telemetry={"reported_cost_usd": 0.25},
        )
        _cli_budget.settle(allowance, total, RunResult(task_id="t"))
        spent.append(allowance.accounts[0].spent.cost_usd)

    assert spent == [pytest.approx(3.0), 0.25]


async def test_what_a_program_took_counts_for_the_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first program uses the run's budget up, and no second one begins."""
    events = "\n".join(json.dumps(event) for event in agents.CLAUDE)
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "claude"
    fake.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo 1.2.3 && exit\necho '{events}'\n")
    fake.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    ran = await run(
        tmp_path / "run",
        {"t0": {}, "t1": {}},
        harness="claude_code",
        model="org/m",
        model_base_url="http://127.0.0.1:9",
        model_params={"prices": {"input": 1e6, "output": 0}},
        execution_params={"run_budget": {"max_cost_usd": 50}},
        task_concurrency=1,
    )

    assert ran.status == "failed"
    assert "run_budget is used up: 50 of 50 US dollars; 1 of 2 tasks" in str(ran.raised)
    assert ran.result["metadata"]["spent"]["total_tokens"] == 59
    [issues] = [ran.issues(task) for task in ran.attempts]
    assert issues == [("warning", "run", "budget_exhausted")]
