"""Budgets of an attempt and of a run: what is called, what is recorded, what is left undone."""

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcompass.engine.budget import RUN_CODE, attempt_account, why_used_up
from agentcompass.engine.request import Outcome
from agentcompass.engine.tree import run_job
from agentcompass.errors import BudgetExhausted, EvaluationFailed, ModelFailed
from agentcompass.models._meter import Meter
from agentcompass.protocols import AgentContext, Session
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.issue import Issue
from agentcompass.records.metrics import binary_contract
from agentcompass.records.model import Reply, Spent, Usage
from agentcompass.records.request import AttemptPlan, Budget
from agentcompass.records.reuse import EarlierAttempt
from agentcompass.records.task import RunResult
from tests import virtual
from tests.fakes import MemoryStore, Scripted, ScriptedBenchmark, ScriptedHarness, World, make_job

PAID = Usage(prompt_tokens=60, completion_tokens=40, cost_usd=0.5)
UNKNOWN = Usage()


@attrs.define(eq=False, kw_only=True)
class SpendingModel:
    """Each call takes a second and `usage`; those named by number, over all, fail and pay too."""

    id: ClassVar[str] = "spending"
    usage: Usage = PAID
    failing: frozenset[int] = frozenset()
    calls: int = 0
    under_way: int = 0

    def conversation(self, task_id: str, attempt: int) -> "SpendingTalk":
        return SpendingTalk(self)

    async def __aenter__(self) -> "SpendingModel":
        return self

    async def __aexit__(self, *exc: object) -> None: ...


@attrs.define(eq=False)
class SpendingTalk:
    model: SpendingModel
    meter: Meter = attrs.field(factory=Meter)

    async def complete(self, messages: Any, *, tools: Any = ()) -> Reply:
        self.model.calls += 1
        number = self.model.calls
        with self.meter.call() as bill:
            await trio.sleep(1)
            bill.usage = self.model.usage
            if number in self.model.failing:
                raise ModelFailed("broke off", severity="fatal")
            bill.good = True
        return Reply(message={"role": "assistant", "content": "x"}, usage=bill.usage)

    def spent(self) -> Mapping[str, Any]:
        return self.meter.telemetry()


@attrs.define(eq=False)
class CallingAgent:
    """Asks its model so often, and ends; what it had so far is its answer."""

    context: AgentContext
    calls: int

    async def __aenter__(self) -> "CallingAgent":
        return self

    async def __aexit__(self, *exc: object) -> None: ...

    async def run(self, result: RunResult) -> None:
        result.extra["attempt"] = self.context.attempt
        assert self.context.conversation is not None
        for number in range(self.calls):
            await self.context.conversation.complete([])
            result.final_answer = number + 1

    async def collect(self, result: RunResult) -> None: ...


@attrs.define(eq=False)
class CallingHarness(ScriptedHarness):
    needs_model: ClassVar[bool] = True
    calls: int = 3

    def start(self, session: Session, context: AgentContext) -> CallingAgent:  # type: ignore[override]
        return CallingAgent(context, self.calls)


@attrs.define(eq=False)
class Judging(ScriptedBenchmark):
    """Scores by the answer alone."""

    async def evaluate(self, task: Any, prepared: Any, result: RunResult, *_: Any) -> None:
        if result.final_answer is None:
            raise EvaluationFailed("nothing to score")
        result.metrics["correct"] = True


@attrs.define(kw_only=True)
class Ran:
    outcome: Outcome
    store: MemoryStore
    model: SpendingModel

    @property
    def issues(self) -> dict[str, list[tuple[str, str, str]]]:
        return {
            f"{task}#{attempt}": [(i.severity, i.phase, i.code) for i in result.issues]
            for (task, attempt), result in self.store.attempts.items()
        }


def run(
    *,
    tasks: int = 1,
    calls: int = 3,
    model: SpendingModel | None = None,
    slots: int = 32,
    attempts: AttemptPlan | None = None,
    **execution: Any,
) -> Ran:
    """A run on the virtual clock of tasks `t0`, `t1` ... whose agents call so often."""
    model, store = model or SpendingModel(), MemoryStore()
    world = World({f"t{number}": Scripted(task_id=f"t{number}") for number in range(tasks)})

    async def main() -> Outcome:
        job = make_job(
            world, store, slots=slots, benchmark=Judging(world), attempts=attempts, **execution
        )
        harness = CallingHarness(world, calls=calls)
        return await run_job(attrs.evolve(job, model=model, harness=harness))

    return Ran(outcome=virtual.run(main), store=store, model=model)


budgets = st.builds(
    Budget,
    max_total_tokens=st.none() | st.integers(1, 10**9),
    max_cost_usd=st.none() | st.floats(1e-3, 1e6),
)
sums = st.builds(
    Spent,
    tokens=st.integers(0, 10**9),
    cost_usd=st.floats(0, 1e6),
    replies_without_usage=st.integers(0, 2),
    replies_without_cost=st.integers(0, 2),
)


@given(budget=budgets, spent=sums)
def test_a_call_may_be_made_as_long_as_every_limit_is_known_to_hold(
    budget: Budget, spent: Spent
) -> None:
    """Fails when one of the limits, or what is not known, is left out of the decision."""
    tokens, dollars = budget.max_total_tokens, budget.max_cost_usd
    holds = (
        tokens is None or (spent.tokens < tokens and not spent.replies_without_usage),
        dollars is None or (round(spent.cost_usd, 9) < dollars and not spent.replies_without_cost),
    )

    assert (why_used_up(budget, spent) is None) == all(holds)


@given(given_sums=st.lists(sums, min_size=1))
def test_what_is_noted_again_counts_once(given_sums: list[Spent]) -> None:
    """Fails when a later note is added to the one before."""
    total, before = Spent(), Spent()
    for each in given_sums:
        total, before = total.changed(before, each), each

    assert total.tokens == before.tokens
    assert total.cost_usd == pytest.approx(before.cost_usd, abs=1e-3)


@given(cents=st.integers(1, 99), calls=st.integers(1, 60))
def test_sums_of_money_are_exact_to_the_billionth(cents: int, calls: int) -> None:
    """Fails when sums of floats, which are a little off, are compared as they are."""
    account = attempt_account(Budget(max_cost_usd=cents * calls / 100))
    before, made = Spent(), 0
    while account.fault is None:
        made += 1
        after = attrs.evolve(before, cost_usd=before.cost_usd + cents / 100)
        account.spent, before = account.spent.changed(before, after), after

    assert made == calls


def test_an_attempt_ends_before_the_call_beyond_its_budget_and_is_scored() -> None:
    ran = run(calls=5, attempt_budget=Budget(max_total_tokens=250))
    result = ran.store.attempts["t0", 1]

    assert ran.model.calls == 3
    assert ran.issues == {"t0#1": [("error", "run", "budget_exhausted")]}
    assert "attempt_budget is used up: 300 of 250 tokens" in result.issues[0].message
    assert (result.final_answer, result.metrics, result.retry_count) == (3, {"correct": True}, 0)
    assert ran.store.status == "completed"


def test_dollars_are_a_budget_too() -> None:
    ran = run(calls=5, attempt_budget=Budget(max_cost_usd=1.0))

    assert ran.model.calls == 2
    assert "1 of 1 US dollars" in ran.store.attempts["t0", 1].issues[0].message


def test_an_agent_whose_last_call_uses_the_budget_up_has_done_nothing_wrong() -> None:
    both = Budget(max_total_tokens=300)
    ran = run(calls=3, attempt_budget=both, run_budget=both)

    assert ran.issues == {"t0#1": []}
    assert (ran.store.status, ran.store.error) == ("completed", None)


def test_failed_calls_and_those_of_earlier_executions_count() -> None:
    """cases.md 56: a failed call is paid for, and a retry goes on with what is left."""
    ran = run(
        calls=5,
        model=SpendingModel(failing=frozenset({2})),
        attempt_budget=Budget(max_total_tokens=350),
        max_retries=3,
    )

    assert ran.model.calls == 4
    assert ran.issues == {"t0#1": [("error", "run", "budget_exhausted")]}
    assert ran.store.attempts["t0", 1].retry_count == 1
    assert ran.store.run_info["spent"]["total_tokens"] == 400


def test_an_attempt_without_budget_left_is_not_tried_again_and_keeps_its_work() -> None:
    ran = run(
        calls=5,
        attempt_budget=Budget(max_total_tokens=250),
        max_retries=3,
        retry_pattern_list=("budget",),
    )

    assert ran.model.calls == 3
    assert ran.store.attempts["t0", 1].final_answer == 3
    assert ran.store.retries == []


def test_each_attempt_has_a_budget_of_its_own() -> None:
    ran = run(calls=3, attempts=AttemptPlan(k=3), attempt_budget=Budget(max_total_tokens=300))

    assert ran.model.calls == 9
    assert set(map(len, ran.issues.values())) == {0}


@pytest.mark.parametrize(
    ("budget", "usage"),
    [
        (Budget(max_total_tokens=10**6), attrs.evolve(PAID, completion_tokens=None)),
        (Budget(max_cost_usd=10**6), attrs.evolve(PAID, cost_usd=None)),
    ],
)
def test_what_a_reply_does_not_say_bounds_nothing(budget: Budget, usage: Usage) -> None:
    ran = run(calls=3, model=SpendingModel(usage=usage), attempt_budget=budget)

    assert ran.model.calls == 1
    assert "did not say what it took" in ran.store.attempts["t0", 1].issues[0].message


def test_what_no_budget_is_about_may_be_unknown() -> None:
    ran = run(calls=3, model=SpendingModel(usage=UNKNOWN))

    assert ran.issues == {"t0#1": []}
    assert ran.store.run_info["spent"] == {
        "total_tokens": None,
        "cost_usd": None,
        "replies_without_usage": 3,
        "replies_without_cost": 3,
    }


def test_what_only_failed_calls_took_is_unknown_where_no_price_is() -> None:
    unpriced = attrs.evolve(PAID, cost_usd=None)
    ran = run(calls=1, model=SpendingModel(usage=unpriced, failing=frozenset({1})))

    spent = ran.store.run_info["spent"]
    assert (spent["total_tokens"], spent["cost_usd"]) == (100, None)


def test_calls_that_cost_nothing_cost_nothing() -> None:
    ran = run(model=SpendingModel(usage=attrs.evolve(PAID, cost_usd=0.0)))

    assert ran.store.run_info["spent"]["cost_usd"] == 0.0


def test_a_retry_that_the_budget_of_the_run_forbids_is_something_left_undone() -> None:
    ran = run(
        calls=2,
        model=SpendingModel(failing=frozenset({1})),
        max_retries=1,
        run_budget=Budget(max_total_tokens=100),
    )

    assert ran.issues == {"t0#1": [("fatal", "run", "model_failed")]}
    assert ran.store.status == "failed"
    assert ran.store.error == (
        "run_budget is used up: 100 of 100 tokens; agents were cut off or not tried again;"
        " --reuse goes on, with a larger run_budget or none"
    )
    assert ran.store.retries == []


def test_a_budget_that_others_use_up_while_a_retry_waits_leaves_what_there_was() -> None:
    """The first task fails, and waits; the second one spends the rest meanwhile."""
    ran = run(
        tasks=2,
        calls=3,
        model=SpendingModel(failing=frozenset({1})),
        max_retries=1,
        retry_min_delay_seconds=60.0,
        run_budget=Budget(max_total_tokens=400),
    )

    assert ran.model.calls == 4
    assert ran.issues == {"t0#1": [("fatal", "run", "model_failed")], "t1#1": []}
    assert ran.store.set_aside_attempts == []
    assert ran.store.status == "failed"


def test_a_run_without_budget_left_begins_nothing_and_ends_in_order() -> None:
    ran = run(tasks=6, slots=2, calls=2, run_budget=Budget(max_total_tokens=500))
    store = ran.store
    cut = [name for name, issues in ran.issues.items() if issues]

    assert ran.model.calls == 6
    assert ran.issues.keys() == {"t0#1", "t1#1", "t2#1", "t3#1"}
    assert [ran.issues[name] for name in cut] == [[("error", "run", RUN_CODE)]] * 2
    assert set(store.published) == {"t0", "t1", "t2", "t3"}
    assert store.report is not None
    [series] = store.report.series
    assert (series.counts.total, series.counts.evaluated) == (6, 4)
    assert (store.status, ran.outcome.status) == ("failed", "failed")
    assert store.error == (
        "run_budget is used up: 600 of 500 tokens; 2 of 6 tasks did not finish;"
        " --reuse goes on, with a larger run_budget or none"
    )
    assert "**Cut short:** run_budget is used up: 600 of 500 tokens" in store.summary
    assert store.run_info["spent"]["total_tokens"] == 600
    assert store.run_info["budget_used_up"] == "run_budget is used up: 600 of 500 tokens"
    assert store.events[-1].event == "run_finished"
    assert {e.task_id for e in store.events if e.task_id} == {"t0", "t1", "t2", "t3"}


def test_a_task_of_which_an_attempt_does_not_begin_keeps_those_that_ended() -> None:
    ran = run(
        tasks=1, slots=1, calls=2, attempts=AttemptPlan(k=3), run_budget=Budget(max_cost_usd=1.0)
    )

    assert list(ran.issues.values()) == [[]]
    assert ran.store.published == {}
    assert "1 of 1 tasks did not finish" in (ran.store.error or "")


def test_one_budget_of_the_run_is_that_of_all_tasks_and_retries() -> None:
    ran = run(
        tasks=2,
        slots=1,
        calls=2,
        model=SpendingModel(failing=frozenset({1, 3})),
        max_retries=5,
        run_budget=Budget(max_total_tokens=450),
    )

    assert ran.model.calls == 5
    assert ran.store.status == "failed"


@settings(deadline=None, max_examples=60)
@given(
    tasks=st.integers(1, 12),
    slots=st.integers(1, 5),
    calls=st.integers(1, 4),
    limit=st.integers(1, 4000),
    plan=st.builds(AttemptPlan, k=st.integers(1, 3), strategy=st.sampled_from(("avg", "pass"))),
)
def test_a_run_passes_its_budget_by_the_calls_under_way_at_most(
    tasks: int, slots: int, calls: int, limit: int, plan: AttemptPlan
) -> None:
    """Fails without the check before a call, and when an attempt begins in spite of the budget."""
    ran = run(
        tasks=tasks,
        slots=slots,
        calls=calls,
        attempts=plan,
        run_budget=Budget(max_total_tokens=limit),
    )
    spent = ran.store.run_info["spent"]["total_tokens"]

    assert spent == 100 * ran.model.calls
    assert spent < limit + 100 * slots
    in_vain = [r for r in ran.store.attempts.values() if r.final_answer is None]
    assert len(in_vain) <= slots
    begun = {e.task_id for e in ran.store.events if e.event == "task_started"}
    assert set(ran.store.published) <= begun
    needed = tasks * calls * (plan.k if plan.strategy == "avg" else 1) * 100
    assert (ran.store.status == "completed") == (spent == needed)
    assert (len(ran.store.published) == tasks) or ran.store.status == "failed"


def judged(*issues: Issue) -> str:
    from agentcompass.engine.retry import RetryPolicy
    from agentcompass.engine.reuse import Judge

    result = AttemptResult(metrics={"correct": False}, issues=issues, status="run_error")
    found = EarlierAttempt(result=result, has_checkpoint=True, is_classified=True)
    return Judge(contract=binary_contract(), retry=RetryPolicy()).judge(found).verdict


@pytest.mark.parametrize(
    ("severity", "code", "verdict"),
    [
        ("error", RUN_CODE, "execute"),
        ("warning", RUN_CODE, "keep"),
        ("error", BudgetExhausted.code, "keep"),
    ],
)
def test_what_the_budget_of_a_run_cut_off_is_executed_again_by_the_next(
    severity: Any, code: str, verdict: str
) -> None:
    """The budget of an attempt is a part of the measurement, as its time is."""
    assert judged(Issue(severity=severity, phase="run", code=code, message="x")) == verdict
