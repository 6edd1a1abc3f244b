"""A file or a spec becomes the requests of a launch: who wins, what is refused, and where it is."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from agentcompass import OrchestrationDefaults, OrchestrationSpec, RunRequestSpec, RunRuntimeSpec
from agentcompass.config.dry_run import as_document
from agentcompass.config.orchestration import Orchestration, resolve_orchestration
from agentcompass.config.outline import read_orchestration, written_in_python
from agentcompass.errors import ConfigInvalid

DEFAULTS = """
defaults:
  benchmark: {id: toy}
  harness: {id: toy}
  environment: {id: toybox}
  model: {id: m}
"""
ONE = f"{DEFAULTS}requests: [{{name: a}}]\n"

Resolve = Callable[..., Orchestration]


@pytest.fixture
def resolve(tmp_path: Path, toys: Path) -> Resolve:
    """Of YAML text, JSON text, or a spec; `values` are keywords of `launch`."""

    def run(given: Any, environ: Mapping[str, str] | None = None, **values: Any) -> Orchestration:
        if isinstance(given, str):
            name = "plan.json" if given.startswith("{") else "plan.yaml"
            (tmp_path / name).write_text(given, encoding="utf-8")
            written = read_orchestration(name, cwd=tmp_path)
        else:
            written = written_in_python(given)
        return resolve_orchestration(written, values, cwd=tmp_path, environ=environ or {})

    return run


@pytest.fixture
def faults(resolve: Resolve) -> Callable[..., tuple[str, ...]]:
    def run(*given: Any, **values: Any) -> tuple[str, ...]:
        with pytest.raises(ConfigInvalid) as refused:
            resolve(*given, **values)
        return refused.value.faults

    return run


def seed_003() -> OrchestrationSpec:
    """The orchestration of seed 003."""
    return OrchestrationSpec(
        name="terminal-evaluations",
        task_concurrency=4,
        defaults=OrchestrationDefaults(
            harness={"id": "terminus2", "max_turns": 300},
            environment={"id": "docker"},
            model={
                "id": "gpt",
                "base_url": "http://127.0.0.1:1/v1",
                "api_key": "sk-hush-hush-hush",
                "api_protocol": "openai-chat",
            },
        ),
        requests=[
            RunRequestSpec(
                name="terminal-bench-2-verified", benchmark={"id": "terminal_bench_2_verified"}
            ),
            RunRequestSpec(name="terminal-bench-2.1", benchmark={"id": "terminal_bench_2_1"}),
        ],
    )


def test_the_orchestration_of_seed_003(resolve: Resolve) -> None:
    resolved = resolve(seed_003())

    assert (resolved.name, resolved.task_concurrency) == ("terminal-evaluations", 4)
    assert resolved.names == ["terminal-bench-2-verified", "terminal-bench-2.1"]
    assert [request.benchmark.id for request in resolved.requests] == [
        "terminal_bench_2_verified",
        "terminal_bench_2_1",
    ]
    for index, request in enumerate(resolved.requests):
        assert (request.harness.id, request.harness.params) == ("terminus2", {"max_turns": 300})
        assert request.environment.id == "docker"
        assert (request.model.id, request.model.api_key) == ("gpt", "sk-hush-hush-hush")
        assert request.model.api_protocol == "openai-chat"
        assert request.execution.task_concurrency == 4
        assert request.metadata == {
            "orchestration_id": resolved.id,
            "request_key": f"{resolved.id}/{index}",
            "request_name": resolved.names[index],
            "request_index": index,
        }
    assert resolved.runtime.timeout_seconds == 360_000


def test_a_spec_does_not_show_its_key() -> None:
    assert "sk-hush" not in repr(seed_003())


def test_a_file_of_json_is_read_as_json(resolve: Resolve) -> None:
    text = (
        '{"version": 1, "requests": [{"name": "a", "benchmark": {"id": "toy"}, "harness":'
        ' {"id": "toy"}, "environment": {"id": "toybox"}, "model": {"id": "m"}}]}'
    )

    assert resolve(text).names == ["a"]


def test_later_sources_win_in_the_order_of_the_page(tmp_path: Path, resolve: Resolve) -> None:
    """Built-in, configuration, the file, its defaults, the request, keywords."""
    (tmp_path / "config.yaml").write_text(
        "benchmarks: {toy: {limit: 1, path: c, labels: {a: c, b: c}}}\n"
        "execution: {max_retries: 1, task_concurrency: 5, timeout_multiplier: 2}\n"
        "runtime: {results_dir: c, data_dir: c, timeout_seconds: 1}\n"
    )
    text = """
runtime: {results_dir: f, timeout_seconds: 2.5, cleanup_grace_seconds: 7}
defaults:
  benchmark: {id: toy, limit: 2, labels: {b: d, c: d}, sample_ids: [x, y]}
  harness: {id: toy}
  environment: {id: toybox}
  model: {id: m, params: {temperature: 0, stop: {a: 1}}}
  execution: {max_retries: 2, attempts: {k: 2}}
requests:
  - name: a
  - name: b
    benchmark: {limit: 3, labels: {c: r}, sample_ids: [z]}
    model: {id: n, params: {stop: {b: 2}}}
    execution: {max_retries: 3, attempts: {strategy: pass}}
"""
    a, b = resolve(text, results_dir="k").requests
    resolved = resolve(text, results_dir="k")

    assert a.benchmark.params == {
        "limit": 2, "path": "c", "labels": {"a": "c", "b": "d", "c": "d"}, "sample_ids": ["x", "y"]
    }  # fmt: skip
    assert b.benchmark.params == {
        "limit": 3, "path": "c", "labels": {"a": "c", "b": "d", "c": "r"}, "sample_ids": ["z"]
    }  # fmt: skip
    assert (a.model.id, b.model.id) == ("m", "n")
    assert b.model.params == {"temperature": 0, "stop": {"a": 1, "b": 2}}
    assert (a.execution.max_retries, b.execution.max_retries) == (2, 3)
    assert (b.execution.attempts.k, b.execution.attempts.strategy) == (2, "pass")
    assert b.execution.timeout_multiplier == 2
    assert (resolved.runtime.results_dir, resolved.runtime.data_dir) == ("k", "c")
    assert resolved.runtime.timeout_seconds == 2.5
    assert resolved.cleanup_grace_seconds == 7


@pytest.mark.parametrize(
    ("config", "file", "keyword", "slots"),
    [("", "", None, 32), ("5", "", None, 5), ("5", "6", None, 6), ("5", "6", 7, 7)],
)
def test_task_concurrency_is_of_the_whole(
    tmp_path: Path, resolve: Resolve, config: str, file: str, keyword: int | None, slots: int
) -> None:
    if config:
        (tmp_path / "config.yaml").write_text(f"execution: {{task_concurrency: {config}}}\n")
    text = ONE + (f"task_concurrency: {file}\n" if file else "")

    assert resolve(text, task_concurrency=keyword).task_concurrency == slots


def test_parameters_of_the_defaults_do_not_go_to_another_id(resolve: Resolve) -> None:
    """They are those of the id beside them; of the environment's as well."""
    text = """
defaults:
  benchmark: {id: toy, limit: 1}
  harness: {id: toy, steps: 3}
  environment: {id: toybox, sandbox_start_timeout: 5}
  model: {id: m}
requests:
  - {name: same, harness: {id: toy, style: none}}
  - {name: other, harness: {id: nop}, environment: {id: host_process}, benchmark: {id: starter}}
"""
    same, other = resolve(text).requests

    assert same.harness.params == {"steps": 3, "style": "none"}
    assert same.environment.params == {"sandbox_start_timeout": 5}
    assert other.harness.params == {}
    assert other.environment.params == {}
    assert other.benchmark.params == {}


def test_defaults_without_an_id_go_to_any(resolve: Resolve) -> None:
    text = ONE.replace("harness: {id: toy}", "harness: {steps: 4}").replace(
        "{name: a}", "{name: a, harness: {id: toy}}"
    )

    assert resolve(text).requests[0].harness.params == {"steps": 4}


def test_a_benchmark_that_runs_itself_has_harness_none(resolve: Resolve) -> None:
    request = resolve(ONE.replace("harness: {id: toy}", "harness: {id: none}")).requests[0]

    assert (request.harness.id, request.harness.params) == ("none", {})


def test_text_stays_text_and_references_are_read(resolve: Resolve) -> None:
    text = """
defaults:
  benchmark: {id: toy, path: "${WHERE}", sample_ids: [0644, 20260806_120000]}
  harness: {id: "${WHICH}"}
  environment: {id: toybox, env_variables: {SCRIPT: "echo ${HOME}"}}
  model: {id: 4.1, api_key: "${KEY}"}
requests: [{name: 007, output: {run_id: 20260806_120000}}, {name: "${WHO}"}]
"""
    environ = {"WHERE": "there", "WHICH": "toy", "KEY": "${WHERE}", "WHO": "me"}
    resolved = resolve(text, environ)
    request = resolved.requests[0]

    assert resolved.names == ["007", "me"]
    assert request.benchmark.params["path"] == "there"
    assert request.benchmark.params["sample_ids"] == ["0644", "20260806_120000"]
    assert request.harness.id == "toy"
    assert (request.model.id, request.model.api_key) == ("4.1", "${WHERE}")
    assert request.environment.env_variables == {"SCRIPT": "echo ${HOME}"}
    assert request.output.run_id == "20260806_120000"


@pytest.mark.parametrize(
    ("default", "own", "keyword", "reuse"),
    [
        ("", "", None, False),
        ("", "", True, True),
        ("reuse: true", "", None, True),
        ("reuse: true", "reuse: false", None, False),
        ("", "reuse: false", True, False),
        ("reuse: false", "", True, True),
        ("", "reuse: true", None, True),
    ],
)
def test_a_requests_own_word_about_reuse_wins(
    resolve: Resolve, default: str, own: str, keyword: bool | None, reuse: bool
) -> None:
    text = DEFAULTS + f"  runtime: {{{default}}}\nrequests: [{{name: a, runtime: {{{own}}}}}]\n"

    assert resolve(text, reuse=keyword).requests[0].runtime.reuse is reuse


def test_the_run_id_of_the_caller_is_every_requests(resolve: Resolve) -> None:
    text = DEFAULTS + "requests: [{name: a}, {name: b, output: {run_id: own, run_name: n}}]\n"
    outputs = [request.output for request in resolve(text, run_id="r1").requests]

    assert [output.run_id for output in outputs] == ["r1", "r1"]
    assert outputs[1].run_name == "n"


def test_records_and_mappings_of_python_mean_the_same_and_are_left_as_they_are(
    resolve: Resolve,
) -> None:
    """cases.md 75."""
    shared = {"labels": {"a": "1"}, "open": {"deep": [{"x": 1}]}}
    spec = OrchestrationSpec(
        task_concurrency=2,
        runtime={"results_dir": "out", "provider_limits": {"host_process": 0}},
        defaults={
            "benchmark": {"id": "toy", **shared},
            "harness": {"id": "toy"},
            "environment": {"id": "toybox"},
            "model": {"id": "m"},
        },
        requests=(
            RunRequestSpec(name="a", benchmark={"labels": {"b": "2"}}),
            RunRequestSpec(name="b", runtime=RunRuntimeSpec(reuse=True, checkpoint_resume=False)),
            {"name": "c", "benchmark": {"open": {"deep": []}}},
        ),
    )
    before = deepcopy(spec)
    resolved = resolve(spec)
    a, b, c = resolved.requests

    assert spec == before
    assert a.benchmark.params["labels"] == {"a": "1", "b": "2"}
    assert b.benchmark.params == shared
    assert c.benchmark.params == {"labels": {"a": "1"}, "open": {"deep": []}}
    a.benchmark.params["open"]["deep"][0]["x"] = 2  # a plug-in that changes its own
    assert b.benchmark.params["open"]["deep"] == [{"x": 1}]
    assert spec == before
    assert (b.runtime.reuse, b.runtime.checkpoint_resume) == (True, False)
    assert resolved.runtime.provider_limits == {"host_process": None}


def itself() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["requests"] = [value]
    return value


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("version: 2\n" + ONE, "plan.yaml: version: must be 1, not 2"),
        ("version: true\n" + ONE, "plan.yaml: version: must be 1, not True"),
        ("name: [x]\n" + ONE, "plan.yaml: name: expected text, got ['x']"),
        ("", "plan.yaml: requests: expected a list of requests"),
        ("- a\n", "plan.yaml: expected an object, got list"),
        (DEFAULTS, "plan.yaml: requests: expected a list of requests"),
        (DEFAULTS + "requests: []\n", "plan.yaml: requests: expected a list of requests"),
        (DEFAULTS + "requests: {a: 1}\n", "plan.yaml: requests: expected a list of requests"),
        (DEFAULTS + "requests: [a]\n", "plan.yaml: requests[0]: expected an object, got str"),
        (DEFAULTS + "requests: [{}]\n", "plan.yaml: requests[0].name: expected a name"),
        (DEFAULTS + "requests: [{name: ' '}]\n", "plan.yaml: requests[0].name: expected a name"),
        (
            DEFAULTS + "requests: [{name: a}, {name: a}]\n",
            "plan.yaml: requests[1].name: 'a' is the name of two requests",
        ),
        (ONE + "retries: 1\n", "plan.yaml: unknown key retries; known: requests, version, name, "),
        (
            ONE.replace("{name: a}", "{name: a, recipes: []}"),
            "plan.yaml: requests[0]: unknown key recipes; known: benchmark, harness, ",
        ),
        (ONE + "runtime: {reuse: true}\n", "plan.yaml: runtime: unknown key reuse; known: result"),
        (
            ONE.replace("{name: a}", "{name: a, runtime: {timeout_seconds: 5}}"),
            "plan.yaml: requests[0].runtime: unknown key timeout_seconds; known: reuse, reuse_run",
        ),
        (
            DEFAULTS + "  execution: {task_concurrency: 4}\nrequests: [{name: a}]\n",
            "plan.yaml: defaults.execution.task_concurrency: the requests share the slots; set",
        ),
        (
            ONE.replace("{name: a}", "{name: a, benchmark: {id: toy, params: {limit: 1}}}"),
            "plan.yaml: requests[0].benchmark.params: write the parameters beside id, not in",
        ),
        (
            ONE.replace("{name: a}", "{name: a, benchmark: {id: nope}}"),
            "plan.yaml: requests[0].benchmark.id: benchmark 'nope' is not known; known: broken",
        ),
        (
            ONE.replace("{name: a}", "{name: a, harness: {id: nope}}"),
            "plan.yaml: requests[0].harness.id: harness 'nope' is not known; known: cl",
        ),
        (
            ONE.replace("id: toybox", "id: nope"),
            "plan.yaml: requests[0].environment.id: environment 'nope' is not known; known: d",
        ),
        (
            ONE.replace("  environment: {id: toybox}\n", ""),
            "plan.yaml: requests[0].environment.id: required, here or in the defaults",
        ),
        (
            ONE.replace("  model: {id: m}\n", ""),
            "plan.yaml: requests[0].model.id: the id of a model is required",
        ),
        (
            ONE.replace("{id: m}", "{id: m, base_url: here}"),
            "plan.yaml: requests[0].model.base_url: expected http://... or https://...",
        ),
        (
            ONE.replace("{id: m}", "{id: m, api_protocol: x}"),
            "plan.yaml: requests[0].model.api_protocol: protocol 'x' is not known",
        ),
        (ONE.replace("{id: m}", "{id: m, key: x}"), "plan.yaml: defaults.model: unknown key key;"),
        (
            ONE.replace("{id: toy}", "{id: toy, limit: few}", 1),
            "plan.yaml: defaults.benchmark.limit: expected an integer, got str 'few'",
        ),
        (
            ONE.replace("{id: toy}", "{id: toy, k: 3}", 1),
            "plan.yaml: defaults.benchmark.k: the number of attempts is set by plan.yaml: requests",
        ),
        (
            ONE.replace("{id: toy}", "{id: needy}", 1),
            "plan.yaml: defaults.benchmark.folder: folder is required",
        ),
        (
            ONE.replace("{id: toybox}", "{id: toybox, colour: red}"),
            "plan.yaml: defaults.environment.colour: unknown key colour; known: sandbox_start_t",
        ),
        (ONE + "task_concurrency: 0\n", "plan.yaml: task_concurrency: must be >= 1: 0"),
        (
            ONE.replace("{name: a}", "{name: a, execution: {max_retries: -1}}"),
            "plan.yaml: requests[0].execution: 'max_retries' must be >= 0: -1",
        ),
        (
            ONE.replace("{name: a}", "{name: a, output: {run_id: ..}}"),
            "plan.yaml: requests[0].output: run_id must be a plain name of one folder, not '..'",
        ),
        (
            ONE.replace("{name: a}", "{name: a, runtime: {reuse_run_id: r1}}"),
            "plan.yaml: requests[0].runtime.reuse_run_id: names the run to reuse; ask for that",
        ),
        (ONE + "runtime: {progress: loud}\n", "plan.yaml: runtime.progress: loud is not one of"),
        (
            ONE.replace("id: m", 'id: "${NO_SUCH}"'),
            "plan.yaml: defaults.model.id: the environment has no NO_SUCH",
        ),
        (
            ONE.replace("name: a", "name: a, environment: {id: [x]}"),
            "plan.yaml: requests[0].environment.id: expected text, got list",
        ),
        ("{}", "plan.json: requests: expected a list of requests"),
        ('{"a": 1, "a": 2}', "plan.json: line 1 column 10: duplicate key"),
        ("a: [\n", "plan.yaml: line 2 column 1: "),
        (5, "orchestration: expected an OrchestrationSpec, an Orchestration or a mapping, got 5"),
        (itself(), "orchestration: holds itself, or what JSON cannot"),
        ({"requests": []}, "requests: expected a list of requests"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    faults: Callable[..., tuple[str, ...]], given: Any, fault: str
) -> None:
    found = faults(given)

    assert any(each.startswith(fault) for each in found), found
    assert not any("\n" in each for each in found)


def test_all_faults_are_told_at_once_and_each_once(
    faults: Callable[..., tuple[str, ...]],
) -> None:
    text = """
version: 3
defaults:
  benchmark: {id: toy, limit: few}
  harness: {id: toy}
  environment: {id: toybox}
  model: {id: m}
requests:
  - {name: a, execution: {max_retries: x}}
  - {name: b, harness: {id: nope}}
  - {name: a, execution: {attempts: {k: 0}}}
"""
    assert [fault.partition(";")[0] for fault in faults(text, task_concurrency=0, nope=1)] == [
        "nope: unknown keyword",
        "plan.yaml: version: must be 1, not 3",
        "plan.yaml: requests[2].name: 'a' is the name of two requests",
        "plan.yaml: requests[0].execution.max_retries: expected an integer, got str 'x'",
        "task_concurrency: must be >= 1: 0",
        "plan.yaml: defaults.benchmark.limit: expected an integer, got str 'few'",
        "plan.yaml: requests[1].harness.id: harness 'nope' is not known",
        "plan.yaml: requests[2].execution.attempts: 'k' must be >= 1: 0",
    ]


@pytest.mark.parametrize("model", ["{id: m, temperature: 1}", "{id: [m]}"])
def test_a_model_that_is_refused_is_not_said_to_be_missing(
    faults: Callable[..., tuple[str, ...]], model: str
) -> None:
    [fault] = faults(ONE.replace("{id: m}", model))

    assert fault.startswith("plan.yaml: defaults.model")


def test_a_model_without_an_id_is_said_to_lack_it(faults: Callable[..., tuple[str, ...]]) -> None:
    assert faults(ONE.replace("{id: m}", "{base_url: 'http://h'}")) == (
        "plan.yaml: requests[0].model.id: the id of a model is required",
    )


def test_no_fault_tells_a_secret(faults: Callable[..., tuple[str, ...]]) -> None:
    key = "sk-hush-hush-hush"
    text = ONE.replace("{id: m}", f"{{id: m, api_key: {key}, base_url: 'ftp://u:{key}@h'}}")

    assert key not in "; ".join(faults(text.replace("{name: a}", f"{{name: a, harness: {key}}}")))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"^no\.yaml: cannot be read: No such file"):
        read_orchestration("no.yaml", cwd=tmp_path)


def test_what_a_dry_run_shows_has_every_part(resolve: Resolve) -> None:
    shown = as_document(resolve("name: n\n" + ONE, provider_limits={"docker": 0}))

    assert list(shown) == ["orchestration_id", "name", "task_concurrency", "runtime", "requests"]
    assert shown["runtime"]["provider_limits"] == {"docker": 0}
    assert len(shown["runtime"]) == 12
    assert list(shown["requests"][0]) == [
        *("key", "index", "name", "benchmark", "harness", "model", "environment"),
        *("execution", "runtime", "output", "metadata"),
    ]
