"""How a typed program makes requests, runs them and puts them together; mypy checks it only."""

from typing import Any, assert_type

import attrs

from agentcompass import (
    BaseRecipe,
    ExecutionIssue,
    ExecutionPlan,
    IssuePhase,
    IssueSeverity,
    Orchestration,
    OrchestrationDefaults,
    OrchestrationResult,
    OrchestrationSpec,
    RunRequest,
    RunRequestSpec,
    RuntimeOptions,
    TaskSpec,
    async_launch,
    async_run_evaluation_request,
    build_run_request,
    launch,
    run_evaluation_request,
)


async def one_by_one() -> None:
    request = build_run_request(benchmark="starter", harness="oracle", model="none")
    assert_type(request, RunRequest)
    again = attrs.evolve(request, execution=attrs.evolve(request.execution, max_retries=1))
    assert_type(run_evaluation_request(again, results_dir="results"), dict[str, Any])
    assert_type(await async_run_evaluation_request(again), dict[str, Any])


async def together(request: RunRequest) -> None:
    both = Orchestration.from_requests(
        {"a": request, "b": request}, runtime=RuntimeOptions(results_dir="results")
    )
    assert_type(both.requests, tuple[RunRequest, ...])
    assert_type(both.names, list[str])
    result = launch(both, task_concurrency=2)
    assert_type(result, OrchestrationResult)
    assert_type(result.requests["a"].error, str)
    spec = OrchestrationSpec(
        requests=[RunRequestSpec(name="a")],
        runtime=RuntimeOptions(timeout_seconds=5.5),
        defaults=OrchestrationDefaults(harness={"id": "oracle"}),
    )
    assert_type(Orchestration.from_spec(spec), Orchestration)
    assert_type(await async_launch(both.with_settings(progress="none")), OrchestrationResult)
    launch(5)  # type: ignore[arg-type]


def blamed(issue: ExecutionIssue) -> ExecutionIssue:
    if issue.severity == "fatal" or IssueSeverity(issue.severity) is IssueSeverity.ERROR:
        return issue
    ExecutionIssue(severity="grave", phase="run", code="c", message="m")  # type: ignore[arg-type]
    return ExecutionIssue(
        severity=IssueSeverity.ERROR, phase=IssuePhase.EVALUATE, code="c", message="m"
    )


class Longer(BaseRecipe):
    id = "longer"

    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        return task.category == "long"

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        return attrs.evolve(plan, run_timeout_seconds=60.0)
