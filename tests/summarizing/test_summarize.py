"""A summary says what the run itself said, whatever became of the run since."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.errors import UsageError
from agentcompass.records.metrics import binary_contract
from agentcompass.records.request import AttemptPlan
from agentcompass.store.layout import RunLayout
from agentcompass.store.redact import MASK
from tests.fakes import FAULTS, Script, Scripted, ScriptedBenchmark, World
from tests.summarizing.runs import run_on_disk, summarized, tree

CATEGORIES = {"a1": "a", "a2": "a", "b1": "b", "b2": "b", "none": None}


def categorized() -> World:
    """Right, wrong, wrong, right, and right; b2 takes a hundred seconds."""
    scripts = {
        "a1": Script(),
        "a2": Script(verdict=False),
        "b1": Script(verdict=False),
        "b2": Script(run_seconds=100),
        "none": Script(),
    }
    return World(
        {
            name: Scripted(task_id=name, scripts={1: [script]}, category=CATEGORIES[name])
            for name, script in scripts.items()
        }
    )


def change(path: Path, **fields: Any) -> None:
    record = json.loads(path.read_text())
    record.update(fields)
    path.write_text(json.dumps({k: v for k, v in record.items() if v != "absent"}))


def task_of(run: Path, task_id: str) -> Path:
    return RunLayout(run).task(task_id, "normal").directory


def primary(result: Any) -> Any:
    return result["metrics"]["series"][0]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    script = st.builds(
        Script,
        run_seconds=st.sampled_from([1.0, 5.0, 60.0]),
        agent=st.sampled_from(FAULTS),
        scoring=st.sampled_from(FAULTS),
        verdict=st.booleans(),
    )
    tasks = draw(
        st.dictionaries(
            st.sampled_from(["é", "x/y", "X/Y", "../z", "a b"]),
            st.tuples(
                st.dictionaries(st.integers(1, 3), st.lists(script, min_size=1, max_size=1)),
                st.sampled_from([None, "", "c", "d/e"]),
            ),
        )
    )
    return World(
        {
            name: Scripted(task_id=name, scripts=scripts, category=category)
            for name, (scripts, category) in tasks.items()
        }
    )


@given(
    world=worlds(),
    attempts=st.builds(AttemptPlan, k=st.integers(1, 3), strategy=st.sampled_from(["avg", "pass"])),
    timeout=st.sampled_from([None, 0.5, 3.0, 30.0]),
    aggregation=st.sampled_from(["micro_weighted", "category_mean"]),
)
def test_a_summary_is_byte_for_byte_what_the_run_wrote(
    tmp_path_factory: pytest.TempPathFactory,
    world: World,
    attempts: AttemptPlan,
    timeout: float | None,
    aggregation: str,
) -> None:
    """Fails when unfinished tasks lose their category, or attempts in details/running count."""
    benchmark = ScriptedBenchmark(world, aggregation_mode=aggregation)
    run = run_on_disk(
        tmp_path_factory.mktemp("runs"),
        world,
        attempts=attempts,
        timeout_seconds=timeout,
        benchmark=benchmark,
    )
    result = summarized(run)

    assert result["markdown"].encode() == (run / "summary.md").read_bytes()
    assert result["metrics"] == json.loads((run / "metrics.json").read_text())
    assert result["metadata"]["left_out"] == []


def test_a_run_out_of_time_keeps_its_missing_tasks(tmp_path: Path) -> None:
    """Shows 3 of the issue, and case 66."""
    seconds = {f"t{number}": 1.0 if number < 4 else 500.0 for number in range(10)}
    tasks = {
        name: Scripted(task_id=name, scripts={1: [Script(run_seconds=after)]}, category="c")
        for name, after in seconds.items()
    }
    run = run_on_disk(tmp_path, World(tasks), timeout_seconds=10.0)
    result = summarized(run)
    series = primary(result)

    assert (series["counts"]["total"], series["counts"]["evaluated"]) == (10, 4)
    assert series["extra"]["missing"] == 6
    assert series["extra"]["interval"] == [0.4, 1.0]
    assert list(series["categories"]) == ["c"]
    assert "**Cut short:** timed out" in result["markdown"]
    assert result["markdown"] == (run / "summary.md").read_text()


def test_metrics_keep_the_order_in_which_they_were_declared(tmp_path: Path) -> None:
    """Fails when the contract is on record as a mapping, which the file sorts."""
    world = categorized()
    contract = binary_contract().with_auxiliary("z", "scalar").with_auxiliary("a", "scalar")
    run = run_on_disk(tmp_path, world, benchmark=ScriptedBenchmark(world, contract=contract))

    assert summarized(run)["markdown"] == (run / "summary.md").read_text()


def test_the_report_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    run = run_on_disk(tmp_path, categorized())
    change(run / "run_info.json", from_a_later_version={"kept": True})
    before = tree(run)
    info_before = json.loads(before["run_info.json"])
    params = {"aggregation_mode": "category_mean"}
    result = summarized(run, params, dry_run=False)

    after = tree(run)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"metrics.json", "summary.md", "run_info.json"}
    assert before.keys() == after.keys()
    assert after["summary.md"].decode() == result["markdown"]
    assert json.loads(after["metrics.json"]) == result["metrics"]
    info = json.loads(after["run_info.json"])
    assert (
        info.pop("metric_artifacts").items()
        >= {
            "source": "summary",
            "report": {"k": 1, "strategy": "avg", "aggregation": "category_mean"},
            "benchmark_params_override": params,
        }.items()
    )
    del info_before["metric_artifacts"]
    assert info == info_before


def test_an_override_lasts_for_one_summary_only(tmp_path: Path) -> None:
    run = run_on_disk(tmp_path, categorized())
    first = (run / "summary.md").read_bytes()
    summarized(run, {"aggregation_mode": "category_mean"}, dry_run=False)
    summarized(run, dry_run=False)

    assert (run / "summary.md").read_bytes() == first
    info = json.loads((run / "run_info.json").read_text())
    assert info["metric_artifacts"]["benchmark_params_override"] == {}


@pytest.mark.parametrize(
    ("params", "value", "aggregation"),
    [
        ({}, 0.6, "micro_weighted"),
        ({"sample_ids": ["a1", "a2", "b1"]}, 1 / 3, "micro_weighted"),
        ({"sample_ids": []}, None, "micro_weighted"),
        ({"sample_ids": None}, 0.6, "micro_weighted"),
        ({"aggregation_mode": "category_mean"}, 2 / 3, "category_mean"),
        (
            {
                "sample_ids": ["a1", "a2", "b1"],
                "category_hierarchy": {
                    "overall": {
                        "aggregation": "weighted",
                        "children": {"a": {"weight": 3}, "b": {"weight": 1}},
                    }
                },
            },
            0.375,
            "category_hierarchy",
        ),
    ],
)
def test_benchmark_params_say_which_tasks_count_and_how(
    tmp_path: Path, params: Any, value: float | None, aggregation: str
) -> None:
    run = run_on_disk(tmp_path, categorized())
    result = summarized(run, params)

    assert primary(result)["value"] == (value if value is None else pytest.approx(value))
    assert result["metrics"]["aggregation"] == aggregation


DAMAGE: dict[str, tuple[str, dict[str, Any] | str, str]] = {
    "torn": ("task.json", "{", "not readable as JSON"),
    "no result": ("attempt-1/result.json", {"metrics": "absent"}, "missing or unknown: metrics"),
    "unpublished": ("task.json", {"category": "absent"}, "lacks results"),
    "undeclared metric": ("attempt-1/result.json", {"metrics": {"x": 1.0}}, "is not declared"),
    "no verdict": ("attempt-1/result.json", {"metrics": {"correct": 1.0}}, "true or false"),
    "other plan": ("task.json", {"attempt_plan": {"k": 2, "strategy": "avg"}}, "unlike its run"),
    "other task": ("task.json", {"task_id": "a2"}, "not the folder of task 'a2'"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_one_bad_task_is_named_and_counts_as_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    run = run_on_disk(tmp_path, categorized())
    name, damage, fault = DAMAGE[kind]
    path = task_of(run, "a1") / name
    if isinstance(damage, str):
        path.write_text(damage)
    else:
        change(path, **damage)
    result = summarized(run)

    assert primary(result)["counts"]["total"] == 5
    assert primary(result)["counts"]["evaluated"] == 4
    assert [fault in text for text in result["metadata"]["left_out"]] == [True]
    assert fault in caplog.text


def test_a_task_that_the_run_did_not_select_is_left_out(tmp_path: Path) -> None:
    run = run_on_disk(tmp_path, categorized())
    change(run / "run_info.json", task_ids=["a1", "a2", "b1", "b2"])
    result = summarized(run)

    assert primary(result)["counts"]["total"] == 4
    assert result["metadata"]["left_out"] == ["task 'none' is not one that the run selected"]


def test_a_mode_that_is_asked_for_stands_over_the_hierarchy_of_the_run(tmp_path: Path) -> None:
    world = categorized()
    leaves = {"a": {}, "b": {}, "__uncategorized__": {}}
    benchmark = ScriptedBenchmark(world, category_hierarchy={"overall": {"children": leaves}})
    run = run_on_disk(tmp_path, world, benchmark=benchmark)

    assert summarized(run)["markdown"] == (run / "summary.md").read_text()
    asked = summarized(run, {"aggregation_mode": "micro_weighted"})
    assert asked["metrics"]["aggregation"] == "micro_weighted"


def test_a_run_without_a_final_state_is_summarized_as_cut_short(tmp_path: Path) -> None:
    run = run_on_disk(tmp_path, categorized())
    change(run / "run_info.json", status="absent", metric_artifacts="absent")

    assert "**Cut short:** no final state was written;" in summarized(run)["markdown"]


def test_what_the_run_info_lacks_is_taken_from_the_params(tmp_path: Path) -> None:
    run = run_on_disk(tmp_path, categorized())
    request = json.loads((run / "run_info.json").read_text())["request"]
    del request["execution"], request["model"]
    change(run / "run_info.json", request=request)

    assert summarized(run)["markdown"] == (run / "summary.md").read_text()

    (run / "params.json").write_text("{")
    with pytest.raises(UsageError, match=r"request\.execution\.attempts: expected an object"):
        summarized(run)


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({"path": "x"}, "benchmark_params: unknown key path; known: sample_ids, aggregation_mode,"),
        ({"sample_ids": ["a1", "q"]}, r"benchmark_params\.sample_ids: 'q' not among the 5 tasks"),
        ({"aggregation_mode": "best"}, r"benchmark_params\.aggregation_mode: best is not one of"),
        ({"category_hierarchy": {}}, "cannot be reported: category_hierarchy has exactly one root"),
        (
            {"category_hierarchy": {"overall": {"children": {"a": {}}}}},
            "cannot be reported: category_hierarchy has no leaf for the categories",
        ),
    ],
)
def test_parameters_that_do_not_fit_are_refused_and_nothing_is_written(
    tmp_path: Path, params: dict[str, Any], fault: str
) -> None:
    run = run_on_disk(tmp_path, categorized())
    before = tree(run)

    with pytest.raises(UsageError, match=fault):
        summarized(run, params, dry_run=False)
    assert tree(run) == before


def test_files_set_what_the_command_line_does_not(tmp_path: Path) -> None:
    run = run_on_disk(tmp_path, categorized())
    file = tmp_path / "c.yaml"
    file.write_text(
        "benchmarks:\n  scripted: {sample_ids: [a1, b1], file: other.jsonl}\n  x: {sample_ids: 3}\n"
    )

    assert primary(summarized(run, files=[str(file)]))["counts"]["total"] == 2
    both = summarized(run, {"sample_ids": ["a1"]}, files=[str(file)])
    assert primary(both)["counts"]["total"] == 1
    with pytest.raises(UsageError, match=r"no\.yaml: cannot be read"):
        summarized(run, files=["no.yaml"])


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(UsageError, match=r"is not a run directory: it has no run_info\.json"):
        summarized(tmp_path)
    with pytest.raises(UsageError, match="Not a directory"):
        summarized(file)


def test_secrets_of_this_process_are_masked_here_as_well(tmp_path: Path) -> None:
    secret = "hush-hush-hush"
    world = World({"t": Scripted(task_id="t", category=secret)})
    run = run_on_disk(tmp_path, world)
    result = summarized(run, dry_run=False, environ={"MY_API_KEY": secret})

    assert secret not in result["markdown"]
    assert MASK in (run / "summary.md").read_text()
    assert secret not in (run / "metrics.json").read_text()
