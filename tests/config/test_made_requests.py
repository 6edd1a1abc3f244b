"""Requests that programs make, keep and put together: what still counts, and what is refused."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcompass import (
    ConfigInvalid,
    Orchestration,
    OrchestrationSpec,
    RunRequest,
    RunRequestSpec,
    RuntimeOptions,
)
from agentcompass.config.keywords import KEYWORDS
from agentcompass.config.outline import OF_THE_PROCESS
from agentcompass.config.resolve import Resolved, new_request, resolve_process, resolve_run

NEEDED: Mapping[str, Any] = {
    "benchmark": "toy",
    "harness": "toy",
    "model": "m",
    "environment": "toybox",
}


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toys: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def made(**settings: Any) -> RunRequest:
    return new_request({**NEEDED, **settings}, cwd=Path.cwd(), environ={})


def process(request: RunRequest, **settings: Any) -> Resolved:
    return resolve_process(request, settings, cwd=Path.cwd(), environ={})


def test_a_made_request_is_that_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("benchmarks: {toy: {limit: 2}}\n")
    settings = {"benchmark_params": {"labels": {"a": "b"}}, "k": 2, "run_name": "n", "reuse": True}
    run = resolve_run({**NEEDED, **settings}, cwd=tmp_path, environ={})

    assert made(**settings) == run.request
    assert run.request.benchmark.params == {"limit": 2, "labels": {"a": "b"}}


def test_keywords_and_files_settle_the_process_of_a_made_request(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("runtime: {results_dir: lab, timeout_seconds: 0}\n")
    request = made(config_path="lab.yaml")
    (tmp_path / "other.yaml").write_text("runtime: {results_dir: other}\n")
    same = process(request, data_dir="d", provider_limits={"docker": 0})

    assert same.request == request
    assert (same.options.results_dir, same.options.data_dir) == ("lab", "d")
    assert same.options.timeout_seconds is None
    assert same.options.provider_limits == {"docker": None}
    assert process(request, config_path="other.yaml").options.results_dir == "other"


def test_folders_of_recipes_come_to_those_of_the_request() -> None:
    request = made(recipe_dirs=["a", "b"])
    resolved = process(request, recipe_dirs=["b", "c"])

    assert resolved.request.metadata["recipe_dirs"] == ["a", "b", "c"]
    assert request.metadata["recipe_dirs"] == ["a", "b"]


def test_each_keyword_of_a_run_is_for_the_making_or_for_the_running() -> None:
    """None is left out, and none does nothing."""
    for name in KEYWORDS - NEEDED.keys() - {"recipe_dirs", "config_path"}:
        early = late = ""
        try:
            made(**{name: None})
        except ConfigInvalid as error:
            late = str(error)
        try:
            process(made(), **{name: None})
        except ConfigInvalid as error:
            early = str(error)
        assert (early, late) in (
            (f"{name}: the request is made already; give it to build_run_request", ""),
            ("", f"{name}: a setting of the process; give it to run_evaluation_request"),
        )


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: process({"benchmark": "toy"}), "request: expected a RunRequest, got dict"),  # type: ignore[arg-type]
        (lambda: process(made(), nope=1), "nope: unknown keyword"),
        (lambda: made(nope=1), "nope: unknown keyword"),
        (lambda: Orchestration.from_requests({}), "requests: expected requests by their names"),
        (lambda: Orchestration.from_requests({" ": made()}), "requests: expected a name that is"),
        (
            lambda: Orchestration.from_requests({"a": 5}),  # type: ignore[dict-item]
            "requests['a']: expected a RunRequest, got int",
        ),
        (
            lambda: Orchestration.from_requests({"a": made()}, task_concurrency=0),
            "task_concurrency: must be >= 1: 0",
        ),
        (
            lambda: Orchestration.from_requests({"a": made()}, runtime={"results": "x"}),
            "results: unknown keyword",
        ),
        (
            lambda: Orchestration.from_requests({"a": made()}, runtime="r"),  # type: ignore[arg-type]
            "runtime: expected settings by their names, got 'r'",
        ),
        (
            lambda: Orchestration.from_requests({"a": made()}, runtime={1: 2}),  # type: ignore[dict-item]
            "runtime: expected settings by their names, got {1: 2}",
        ),
        (
            lambda: Orchestration.from_requests({"a": made()}, name=3),  # type: ignore[arg-type]
            "name: expected text, got 3",
        ),
    ],
)
def test_what_no_program_can_mean_is_refused_in_one_line(
    make: Callable[[], object], fault: str
) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        make()

    [said] = caught.value.faults
    assert said.startswith(fault)


def test_requests_by_name_become_an_orchestration() -> None:
    first, second = made(task_concurrency=3), made(harness="none", task_concurrency=5)
    runtime = RuntimeOptions(results_dir="r", provider_limits={"docker": 2}, recipe_dirs=["a"])
    both = Orchestration.from_requests({"one": first, "two": second}, name="n", runtime=runtime)

    assert (both.name, both.names, both.task_concurrency) == ("n", ["one", "two"], 5)
    assert [request.execution.task_concurrency for request in both.requests] == [5, 5]
    assert [request.harness.id for request in both.requests] == ["toy", "none"]
    assert (both.runtime.results_dir, both.runtime.provider_limits) == ("r", {"docker": 2})
    assert both.requests[1].metadata == {
        "orchestration_id": both.id,
        "request_key": f"{both.id}/1",
        "request_name": "two",
        "request_index": 1,
        "recipe_dirs": ["a"],
    }
    assert first.metadata == {}


def test_a_spec_is_resolved_as_launch_would(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("runtime: {data_dir: lab}\n")
    components = {kind: {"id": NEEDED[kind]} for kind in ("benchmark", "harness", "environment")}
    request = RunRequestSpec(name="a", model={"id": "m"}, **components)
    spec = OrchestrationSpec(requests=[request], runtime=RuntimeOptions(results_dir="r"))
    resolved = Orchestration.from_spec(spec, config_path="lab.yaml", task_concurrency=2)

    assert resolved.names == ["a"]
    assert (resolved.runtime.results_dir, resolved.runtime.data_dir) == ("r", "lab")
    assert resolved.requests[0].execution.task_concurrency == resolved.task_concurrency == 2


def test_settings_of_the_process_still_change_and_nothing_else_does() -> None:
    limits = RuntimeOptions(provider_limits={"docker": 2}, timeout_seconds=9, data_dir="d")
    before = Orchestration.from_requests({"a": made()}, runtime=limits)
    after = before.with_settings(
        task_concurrency=7,
        cleanup_grace_seconds=4,
        provider_limits={"host_process": 0},
        results_dir="r",
        progress=None,
    )

    assert after.runtime == attrs.evolve(
        before.runtime, results_dir="r", provider_limits={"docker": 2, "host_process": None}
    )
    assert (after.task_concurrency, after.cleanup_grace_seconds) == (7, 4)
    [was], [now] = before.requests, after.requests
    execution = attrs.evolve(was.execution, task_concurrency=7, cleanup_grace_seconds=4)
    assert now == attrs.evolve(was, execution=execution)
    assert before.with_settings() == before


@pytest.mark.parametrize("name", ["config_path", "run_id", "reuse"])
def test_what_says_something_of_requests_comes_too_late(name: str) -> None:
    resolved = Orchestration.from_requests({"a": made()})

    with pytest.raises(ConfigInvalid, match=f"^{name}: the requests are resolved already; give"):
        resolved.with_settings(**{name: "x"})


def test_the_settings_of_the_process_are_those_of_a_file() -> None:
    assert tuple(field.name for field in attrs.fields(RuntimeOptions)) == OF_THE_PROCESS
