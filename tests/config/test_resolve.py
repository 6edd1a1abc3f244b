"""Keywords and files become a request: who wins, what is refused, and by which name."""

from copy import deepcopy

import pytest

from agentcompass.config.resolve import resolve_run
from agentcompass.errors import ConfigInvalid

NEEDED = {"benchmark": "toy", "harness": "toy", "model": "m", "environment": "toybox"}


@pytest.fixture
def resolve(tmp_path, toys):
    def run(config=None, environ=(), **values):
        if config is not None:
            (tmp_path / "config.yaml").write_text(config, encoding="utf-8")
        return resolve_run({**NEEDED, **values}, cwd=tmp_path, environ=dict(environ))

    return run


@pytest.fixture
def faults(resolve):
    def run(config=None, environ=(), **values):
        with pytest.raises(ConfigInvalid) as refused:
            resolve(config, environ, **values)
        return refused.value.faults

    return run


def test_without_any_setting_the_built_in_defaults_hold(resolve):
    resolved = resolve()

    assert resolved.request.execution.task_concurrency == 32
    assert resolved.request.execution.attempts.k == 1
    assert resolved.options.timeout_seconds == 360_000
    assert resolved.options.provider_limits == {}
    assert resolved.options.env_open_qps == {}
    assert resolved.options.results_dir == "results"


def test_later_sources_win(tmp_path, resolve):
    user = tmp_path / "xdg" / "agentcompass"
    user.mkdir(parents=True)
    (user / "config.yaml").write_text("execution: {max_retries: 1, task_concurrency: 1}\n")
    (tmp_path / "first.yaml").write_text(
        "execution: {max_retries: 3, attempts: {k: 3}, timeout_multiplier: 3}\n"
    )
    (tmp_path / "second.json").write_text('{"execution": {"timeout_multiplier": 4}}')

    execution = resolve(
        "execution: {max_retries: 2, task_concurrency: 2, retry_min_delay_seconds: 2}\n",
        environ={"XDG_CONFIG_HOME": str(tmp_path / "xdg")},
        config_path=["first.yaml", tmp_path / "second.json"],
        execution_params={"task_concurrency": 5, "attempts": {"strategy": "pass"}},
        task_concurrency=6,
        k=7,
    ).request.execution

    assert execution.retry_min_delay_seconds == 2
    assert execution.max_retries == 3
    assert execution.timeout_multiplier == 4
    assert execution.task_concurrency == 6
    assert (execution.attempts.k, execution.attempts.strategy) == (7, "pass")


def test_a_component_has_the_parameters_of_every_layer(resolve):
    benchmark = resolve(
        "benchmarks: {toy: {limit: 3, labels: {a: x, b: y}, sample_ids: [1, 2]}, needy: {}}\n",
        benchmark_params={"labels": {"b": "z"}, "sample_ids": ["3"]},
    ).request.benchmark

    assert benchmark.params == {
        "limit": 3,
        "labels": {"a": "x", "b": "z"},
        "sample_ids": ["3"],
    }


def test_null_for_an_id_forgets_earlier_files(tmp_path, resolve):
    (tmp_path / "later.yaml").write_text("environments: {toybox: null}\n")

    environment = resolve(
        "environments: {toybox: {sandbox_start_timeout: 3}}\n", config_path="later.yaml"
    ).request.environment

    assert environment.params == {}


def test_a_text_field_keeps_what_was_written(resolve):
    resolved = resolve(
        "benchmarks: {toy: {sample_ids: [20260806_120000, NO, 0644, 7], path: 2026}}\n"
        "environments: {toybox: {env_variables: {PORT: 8080, V: 1.10, ON: true}}}\n"
        "runtime: {results_dir: 2026}\n"
    )

    assert resolved.request.benchmark.params == {
        "sample_ids": ["20260806_120000", "NO", "0644", "7"],
        "path": "2026",
    }
    assert resolved.request.environment.env_variables == {
        "PORT": "8080",
        "V": "1.10",
        "ON": "true",
    }
    assert resolved.options.results_dir == "2026"


def test_environment_parameters_are_parted_into_common_and_own(resolve):
    environment = resolve(
        environment_params={
            "image": "debian",
            "setup": {"workdir": "/w"},
            "resources": {"cpu": 2},
            "evaluation_environment_mode": "fresh",
            "baseline_network_policy": {"network_mode": "no-network"},
            "evaluation_network_policy": {"network_mode": "public"},
            "sandbox_start_timeout": 5,
        }
    ).request.environment

    assert environment.params == {"sandbox_start_timeout": 5}
    assert (environment.setup.image, environment.setup.workdir) == ("debian", "/w")
    assert environment.resources.cpu == 2
    assert environment.evaluation_mode == "fresh"
    assert environment.network_policy.network_mode == "no-network"
    assert environment.verifier_network_policy.network_mode == "public"


def test_a_later_short_image_wins_over_an_earlier_long_one(resolve):
    environment = resolve(
        "environments: {toybox: {setup: {image: old, workdir: /w}}}\n",
        environment_params={"image": "new"},
    ).request.environment

    assert (environment.setup.image, environment.setup.workdir) == ("new", "/w")


def test_short_entries_of_artifacts_are_spelled_out(resolve):
    execution = resolve(
        execution_params={
            "artifacts": ["/a", {"source": "/b", "exclude": ["x"]}],
            "artifact_collect": ["tar c .", {"command": "true", "timeout_seconds": 5}],
        }
    ).request.execution

    assert [artifact.source for artifact in execution.artifacts] == ["/a", "/b"]
    assert [entry.timeout_seconds for entry in execution.artifact_collect] == [60, 5]


@pytest.mark.parametrize("zero", [0, 0.0])
def test_a_users_zero_becomes_none_once(resolve, zero):
    options = resolve(
        timeout_seconds=zero, provider_limits={"docker": 0}, env_open_qps={"modal": zero}
    ).options

    assert options.timeout_seconds is None
    assert options.provider_limits == {"docker": None}
    assert options.env_open_qps == {"modal": None}


def test_a_whole_reference_is_read_from_the_environment(resolve):
    request = resolve(
        'environments: {toybox: {env_variables: {TOKEN: "${TOKEN}", PATH: "/x:${PATH}"}}}\n'
        "execution:\n  task_concurrency: ${SLOTS}\n  retry_pattern_list: ['${SLOTS}']\n",
        environ={"TOKEN": "12345678", "SLOTS": "8", "KEY": "0099", "URL": "http://h/v1"},
        model_base_url="${URL}",
        model_api_key="${KEY}",
        model_params={"user": "${TOKEN}", "n": 1},
    ).request

    assert request.environment.env_variables == {"TOKEN": "12345678", "PATH": "/x:${PATH}"}
    assert request.execution.task_concurrency == 8
    assert request.execution.retry_pattern_list == ("8",)
    assert (request.model.base_url, request.model.api_key) == ("http://h/v1", "0099")
    assert request.model.params == {"user": "12345678", "n": 1}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, ""),
        ("auto", ""),
        ("replay", "replay"),
        (["anthropic", "replay"], ("anthropic", "replay")),
    ],
)
def test_a_protocol_is_a_name_a_list_or_any(resolve, given, meant):
    assert resolve(model_api_protocol=given).request.model.api_protocol == meant


def test_what_was_given_is_not_changed_and_not_shared(resolve):
    values = {
        "benchmark_params": {"open": {"list": [1]}, "labels": {}},
        "execution_params": {"attempts": {"k": 2}, "artifacts": ["/a"]},
        "environment_params": {"image": "x", "setup": {"workdir": "/w"}},
        "model_params": {"deep": {"list": [1]}},
    }
    before = deepcopy(values)

    first = resolve(**values).request
    first.benchmark.params["open"]["list"].append(2)
    first.model.params["deep"]["list"].append(2)

    assert values == before
    assert resolve(**values).request.benchmark.params["open"] == {"list": [1]}


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"task_concurrency": 0}, "task_concurrency: must be >= 1: 0"),
        ({"task_concurrency": True}, "task_concurrency: expected an integer, got bool True"),
        ({"task_concurrency": 2.0}, "task_concurrency: expected an integer, got float 2.0"),
        ({"k": 0}, "k: must be >= 1: 0"),
        ({"k": "3"}, "k: expected an integer, got str '3'"),
        ({"attempt_strategy": "best"}, "attempt_strategy: best is not one of 'avg', 'pass'"),
        ({"max_retries": -1}, "max_retries: must be >= 0: -1"),
        ({"timeout_seconds": -1}, "timeout_seconds: must be a finite number of at least 0, not -1"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds: expected a finite number, got nan"),
        ({"timeout_seconds": float("inf")}, "timeout_seconds: expected a finite number, got inf"),
        ({"timeout_seconds": "1.5s"}, "timeout_seconds: expected a number, got str '1.5s'"),
        ({"timeout_seconds": True}, "timeout_seconds: expected a number, got bool True"),
        ({"provider_limits": {"docker": -1}}, "provider_limits: docker must be at least 0, not -1"),
        (
            {"provider_limits": {"docker": 1.5}},
            "provider_limits['docker']: expected an integer, got float 1.5",
        ),
        ({"provider_limits": {"dokcer": 1}}, "provider_limits.dokcer: environment 'dokcer' is not"),
        ({"env_open_qps": {"modal": -0.5}}, "env_open_qps: modal must be at least 0, not -0.5"),
        ({"retry_pattern_list": ["ok", "("]}, "retry_pattern_list: '(' is not a regular expr"),
        ({"retry_pattern_list": "x"}, "retry_pattern_list: expected a list, got str 'x'"),
        ({"retry_pattern_list": [1]}, "retry_pattern_list[0]: expected text, got int 1"),
        ({"execution_params": {"k": 3}}, "execution_params: unknown key k; known: "),
        (
            {"execution_params": {"artifact_limits": {"max_mb": 0}}},
            "execution_params.artifact_limits: 'max_mb' must be > 0: 0",
        ),
        (
            {"execution_params": {"run_timeout_seconds": 0}},
            "execution_params: run_timeout_seconds must be a finite number above 0, not 0",
        ),
        (
            {"execution_params": {"cleanup_grace_seconds": -1}},
            "execution_params: cleanup_grace_seconds must be a finite number of at least 0",
        ),
        (
            {"execution_params": {"artifacts": ["a"]}},
            "execution_params.artifacts: the source 'a' must be absolute",
        ),
        (
            {"execution_params": {"artifacts": [{"source": "/a", "destination": "../b"}]}},
            "execution_params.artifacts: the destination '../b' must be inside",
        ),
        ({"execution_params": []}, None),
        ({"execution_params": 5}, "execution_params: expected an object, got int"),
        ({"benchmark_params": {"k": 3}}, "benchmark_params.k: the number of attempts is set by k"),
        ({"benchmark_params": {"avgk": 3}}, "benchmark_params.avgk: the number of attempts is"),
        ({"benchmark_params": {"limt": 3}}, "benchmark_params.limt: unknown key limt; known: path"),
        ({"benchmark_params": {"limit": -1}}, "benchmark_params.limit: 'limit' must be >= 0: -1"),
        ({"benchmark_params": {"limit": "3"}}, "benchmark_params.limit: expected an integer"),
        ({"benchmark_params": {"shuffle": 1}}, "benchmark_params.shuffle: expected true or false"),
        ({"benchmark_params": {"path": None}}, "benchmark_params.path: expected text, got None"),
        (
            {"benchmark_params": {"judge": {"retrys": 1}}},
            "benchmark_params.judge: unknown key retrys; known: api_key, retries",
        ),
        ({"benchmark_params": {"open": {"x": float("nan")}}}, "benchmark_params.open"),
        ({"harness_params": {"style": "bold"}}, "harness_params.style: bold is not one of 'plain'"),
        ({"environment_params": {"image": "a", "setup": {"image": "b"}}}, "environment_params: im"),
        ({"environment_params": {"setup": {"img": "a"}}}, "environment_params.setup: unknown key"),
        ({"environment_params": {"imgae": "a"}}, "environment_params.imgae: unknown key imgae"),
        ({"environment_params": {"resources": {"cpu": -1}}}, "environment_params.resources.cpu: e"),
        ({"environment_params": {"env_variables": {"A": 1}}}, "environment_params.env_variables"),
        (
            {"environment_params": {"env_variables": {"A=B": ""}}},
            "environment_params.env_variables",
        ),
        ({"environment_params": {"sandbox_start_timeout": -1}}, "environment_params.sandbox_start"),
        (
            {"benchmark": "nope"},
            "benchmark 'nope' is not known; known: broken, lacking, needy, sta",
        ),
        (
            {"environment": "daytona"},
            "environment 'daytona' is not in this version",
        ),
        ({"benchmark": ""}, "benchmark: the id of the benchmark is required"),
        ({"benchmark": None}, "benchmark: the id of the benchmark is required"),
        ({"harness": 5}, "harness: the id of the harness is required"),
        ({"benchmark": "needy"}, "benchmark_params.folder: folder is required"),
        ({"benchmark": "broken"}, "benchmark 'broken' (toy_components_broken:Broken) cannot be"),
        ({"benchmark": "lacking"}, "benchmark 'lacking' needs the package 'a_package_that_nobody"),
        ({"harness": "none", "harness_params": {"x": 1}}, "harness_params.x: harness 'none' takes"),
        ({"environment": "modal"}, "environment 'modal' is not in this version yet; known: "),
        ({"model": " "}, "model: the id of a model is required"),
        ({"model_base_url": "example.org"}, "model_base_url: expected http://... or https://..."),
        ({"model_api_key": "${NO_SUCH}"}, "model_api_key: the environment has no NO_SUCH"),
        ({"model_api_protocol": "gopher"}, "model_api_protocol: protocol 'gopher' is not known"),
        ({"model_api_protocol": [1]}, "model_api_protocol: expected a protocol, auto, or a list"),
        (
            {"model_params": {"x": float("inf")}},
            "model_params['x']: expected a finite number, got inf",
        ),
        ({"run_id": ".."}, "run_id: must be a plain name of one folder, not '..'"),
        ({"run_id": ""}, "run_id: must be a plain name of one folder, not ''"),
        ({"run_id": "a/../../b"}, "run_id: must be a plain name of one folder"),
        ({"run_id": "a\0b"}, "run_id: must be a plain name of one folder"),
        ({"run_name": "a/../b"}, "run_name: must be names of folders with / between them"),
        ({"run_name": "/etc"}, "run_name: must be names of folders with / between them"),
        ({"results_dir": ""}, "results_dir: must be a path, not ''"),
        ({"log_level": "LOUD"}, "log_level: LOUD is not one of 'DEBUG', 'INFO'"),
        ({"progress": "rich"}, "progress: rich is not one of 'auto', 'plain', 'none'"),
        ({"bogus": 1}, "bogus: unknown keyword"),
        ({"config_path": "no.yaml"}, "no.yaml: cannot be read: No such file or directory"),
        ({"reuse_run_id": "x"}, "reuse_run_id: names the run to reuse; ask for that with reuse"),
        ({"reuse": True, "reuse_run_id": "../x"}, "reuse_run_id: must be a plain name of one fold"),
        ({"analysis_params": {"analyzers": []}}, "analysis_params: choosing analyzers is not in"),
        ({"enabled_recipes": ["x"]}, "enabled_recipes: recipe 'x' is not known; known: swebe"),
        (
            {
                "execution_params": {"save_artifacts": False},
                "environment_params": {"evaluation_mode": "fresh"},
            },
            "execution_params.save_artifacts: evaluation_mode fresh needs the artifacts",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(faults, values, fault):
    if fault is None:
        fault = "execution_params: expected an object, got list"
    found = faults(**values)

    assert len(found) == 1, found
    assert found[0].startswith(fault), found


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ("execution: {max_retires: 1}", "config.yaml: execution: unknown key max_retires; known:"),
        ("execution: {attempts: {n: 1}}", "config.yaml: execution.attempts: unknown key n; known:"),
        ("execution: {max_retries: true}", "config.yaml: execution.max_retries: expected an int"),
        ("execution: {task_concurrency: 0x10}", "config.yaml: execution.task_concurrency: expect"),
        ("runtime: {keep: 1}", "config.yaml: runtime: unknown key keep; known: results_dir"),
        ("runtime: {timeout_seconds: 1m30s}", "config.yaml: runtime.timeout_seconds: expected a"),
        ("runtime: {timeout_seconds: .inf}", "config.yaml: runtime.timeout_seconds: expected a fi"),
        ("runtime: {reuse_run_id: x}", "config.yaml: runtime.reuse_run_id: names the run to reuse"),
        ("execution: {keep_environment: NO}", "config.yaml: execution.keep_environment: expected"),
        ("benchmarks: {toy: {limt: 1}}", "config.yaml: benchmarks.toy.limt: unknown key limt; kno"),
        ("benchmarks: {needy: {x: 1}}", "config.yaml: benchmarks.needy.x: unknown key x; known: "),
        ("benchmarks: {tyo: {}}", "config.yaml: benchmarks.tyo: benchmark 'tyo' is not known; kn"),
        ("benchmarks: {toy: 5}", "config.yaml: benchmarks.toy: expected an object, got int"),
        ("harnesses: {toy: {style: bold}}", "config.yaml: harnesses.toy.style: bold is not one"),
        ("models: {}", "config.yaml: unknown section models; known: benchmarks, harnesses"),
        ("execution: {cleanup_grace_seconds: x}", "config.yaml: execution.cleanup_grace_seconds:"),
        ("runtime: {cleanup_grace_seconds: x}", "config.yaml: runtime.cleanup_grace_seconds: exp"),
    ],
)
def test_a_fault_of_a_file_names_the_file_and_the_key(faults, config, fault):
    found = faults(config)

    assert len(found) == 1, found
    assert found[0].startswith(fault), found


@pytest.mark.parametrize("other", ["docker: {image: x}", "modal: null", "fake: {}"])
def test_a_file_may_configure_what_is_not_used_here(resolve, other):
    resolve(f"environments: {{{other}}}\nbenchmarks: {{lacking: {{x: 1}}, broken: {{y: 2}}}}\n")


def test_all_faults_are_told_at_once(faults):
    found = faults(
        "runtime: {x: 1}\nexecution: {y: 1}\n", k=0, max_retries=-1, benchmark_params={"z": 1}
    )

    assert len(found) == 5
    assert "; ".join(found) == str(ConfigInvalid(found))


def test_a_fault_names_the_layer_that_made_it(faults):
    found = faults("benchmarks: {toy: {limit: x}}\n", benchmark_params={"shuffle": 1})

    assert [fault.partition(": expected")[0] for fault in found] == [
        "config.yaml: benchmarks.toy.limit",
        "benchmark_params.shuffle",
    ]


def test_a_keyword_may_switch_off_what_a_file_asks_for(resolve):
    assert not resolve("runtime: {reuse: true}\n", reuse=False).request.runtime.reuse


def test_no_secret_is_told_in_a_fault(faults):
    found = faults(
        environ={"MY_TOKEN": "hush-hush-hush"},
        benchmark_params={"judge": {"api_key": ["sk-0123456789"]}, "limit": "${MY_TOKEN}"},
    )

    assert "sk-0123456789" not in str(found)
    assert "hush" not in str(found)


def test_checkpoints_need_no_reuse_to_be_left_alone(resolve):
    assert not resolve(checkpoint_resume=False).request.runtime.checkpoint_resume
