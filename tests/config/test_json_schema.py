"""`config schema` and our own checks agree on which files are good."""

import copy
import json
import re
import tempfile
from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agentcompass.config.json_schema import configuration_schema, orchestration_schema
from agentcompass.config.orchestration import resolve_orchestration
from agentcompass.config.outline import Written
from agentcompass.config.show import effective_configuration
from agentcompass.errors import ConfigInvalid

DOCS = Path(__file__).resolve().parents[2] / "docs"

# What no schema can say: it depends on other fields, on what is installed, or on a text's inside.
BEYOND = re.compile(
    r"must be (absolute|inside)|is not known; known|is not in this version|not a regular expression"
    r"|is more than retry_max|ask for that with reuse|is the name of two|cannot be the name of a"
    r"|are the same; give one|the environment has no|expected (HOST:|IPv4|a size)|is required"
)

GOOD = {
    "benchmarks": {"task_directory": {"path": "p", "sample_ids": ["a"]}, "starter": None},
    "harnesses": {"mini_swe_agent": {"step_limit": 5, "action_format": "tool"}, "none": {}},
    "environments": {
        "docker": {"image": "x", "pull": "always", "cpus": 2, "env": {"A": "b"}, "mounts": []},
        "fake": {"exec": [{"match": "x", "seconds": 1}], "fails": {"open": "no"}, "fail_times": 2},
        "host_process": {
            "setup": {"workdir": "/w", "build_timeout_seconds": 3},
            "resources": {"cpu": 1.5, "gpu": None},
            "env_variables": {"A": "b"},
            "network_policy": {"network_mode": "public", "allowed_hosts": ["a"]},
        },
    },
    "execution": {
        "attempts": {"k": 2, "strategy": "avg"},
        "max_retries": 1,
        "retry_pattern_list": ["a"],
        "run_timeout_seconds": 3.5,
        "run_budget": {"max_cost_usd": 1},
        "artifacts": ["/a", {"source": "/b", "exclude": ["c"]}],
        "artifact_collect": ["ls", {"command": "ls", "timeout_seconds": 3}],
        "save_artifacts": True,
    },
    "runtime": {
        "results_dir": "r",
        "provider_limits": {"docker": 3},
        "env_open_qps": {"docker": 0.5},
        "progress": "none",
        "log_file": None,
        "reuse": True,
        "reuse_run_id": "r1",
        "cleanup_grace_seconds": 3,
    },
}

JUNK = st.sampled_from(
    [
        *(None, True, False, -3, 0, 2, 0.5, -1.5, "", "x", "avg", "/a", "..", "a/b", "none"),
        *([], ["x"], [1], [None], {}, {"x": 1}, {"source": "/q"}, {"k": 0}),
    ]
)
EXAMPLES = 30  # each validates a large schema; 1,500 of them found nothing more
KEYS = st.sampled_from(["x", "k", "image", "max_retries", "id", "params", "service", "k8s", "cpus"])


@cache
def validator(which, form="json"):
    make = configuration_schema if which == "config" else orchestration_schema
    schema = make(form)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def our_faults(text, name="a.json", environ=()):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_text(text, encoding="utf-8")
        try:
            effective_configuration((name,), {}, cwd=Path(folder), environ=dict(environ))
        except ConfigInvalid as error:
            return list(error.faults)
    return []


def orchestration_faults(content):
    try:
        resolve_orchestration(
            Written(content=content, name="o.json"), {}, cwd=Path("/nowhere"), environ={}
        )
    except ConfigInvalid as error:
        return list(error.faults)
    return []


def as_an_editor(text):
    """YAML 1.2, in which `yes` is text and `1e3` a number, unlike in 1.1."""
    return yaml.safe_load(text.replace(" yes", " 'yes'").replace("1e3", "1000.0"))


def places(value, path=()):
    yield path
    if isinstance(value, list):
        value = dict(enumerate(value))
    for key, item in value.items() if isinstance(value, dict) else ():
        yield from places(item, (*path, key))


@st.composite
def changed(draw, good):
    """`good` with one or two things changed: a value replaced, or a key put in."""
    document = copy.deepcopy(good)
    for _ in range(draw(st.integers(1, 2))):
        *above, last = draw(st.sampled_from([p for p in places(document) if p]))
        holder = document
        for key in above:
            holder = holder[key]
        if isinstance(holder, dict) and draw(st.booleans()):
            last = draw(KEYS)
        holder[last] = copy.deepcopy(draw(JUNK))
    return document


def check_agreement(validator, document, faults):
    refused = [error.message for error in validator.iter_errors(document)]
    beyond = [fault for fault in faults if BEYOND.search(fault)]
    assert bool(refused) <= bool(faults), f"only the schema refuses {document}: {refused}"
    assert refused or faults == beyond, f"the schema lets {document} pass: {faults}"


def test_a_good_file_passes_both():
    assert our_faults(json.dumps(GOOD)) == []
    assert list(validator("config").iter_errors(GOOD)) == []


@settings(deadline=None, max_examples=EXAMPLES)
@given(document=changed(GOOD))
def test_the_schema_and_our_own_checks_agree_on_configuration(document):
    """Fails without `said_as` at a validator, or if unknown keys are let pass."""
    check_agreement(validator("config"), document, our_faults(json.dumps(document)))


ORCHESTRATION = {
    "version": 1,
    "name": "n",
    "task_concurrency": 3,
    "runtime": {"results_dir": "r", "provider_limits": {"docker": 2}, "cleanup_grace_seconds": 3},
    "defaults": {
        "benchmark": {"id": "task_directory", "path": "p"},
        "harness": {"id": "mini_swe_agent", "step_limit": 3},
        "environment": {"id": "docker", "image": "x", "cpus": 2},
        "model": {"id": "m", "base_url": "http://m", "params": {"temperature": 0}},
        "execution": {"max_retries": 1, "attempts": {"k": 2}},
        "runtime": {"reuse": False},
        "output": None,
    },
    "requests": [
        {"name": "a", "environment": {"id": "host_process", "resources": {"cpu": 1}}},
        {
            "name": "b",
            "model": {"id": "n", "api_protocol": ["openai-chat"]},
            "output": {"run_id": "x"},
        },
        {"name": "c", "harness": {"id": "none"}, "runtime": {"reuse": True, "reuse_run_id": "r"}},
    ],
}


def test_a_good_orchestration_passes_both():
    assert orchestration_faults(ORCHESTRATION) == []
    assert list(validator("orchestration").iter_errors(ORCHESTRATION)) == []


@settings(deadline=None, max_examples=EXAMPLES)
@given(document=changed(ORCHESTRATION))
def test_no_good_orchestration_is_refused_by_its_schema(document):
    """Fails if a section, or an id, may not be null."""
    refused = [error.message for error in validator("orchestration").iter_errors(document)]

    assert not refused or orchestration_faults(document), refused


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 2},
        {"requests": []},
        {"requests": None},
        {"requests": [{"name": ""}]},
        {"requests": [{}]},
        {"request": []},
        {"task_concurrency": 0},
        {"runtime": {"reuse": True}},
        {"runtime": {"timeout_seconds": -1}},
        {"defaults": {"environment": {"id": "docker", "params": {}}}},
        {"defaults": {"environment": {"id": "dockr"}}},
        {"defaults": {"environment": {"id": "docker", "imagee": "x"}}},
        {"defaults": {"environment": {"params": {"image": "x"}}}},
        {"defaults": {"execution": {"task_concurrency": 3}}},
        {"defaults": {"execution": {"max_retries": 2.5}}},
        {"defaults": {"model": {"id": 5}}},
        {"defaults": {"output": {"run_id": ".."}}},
        {"defaults": {"output": {"run_name": "a//b"}}},
        {"requests": [{"name": "a", "harness": {"id": "none", "steps": 1}}]},
        {"requests": [{"name": "a", "harness": {"id": "mini_swe_agent", "step_limit": "x"}}]},
        {"requests": [{"name": "a", "runtime": {"results_dir": "x"}}]},
    ],
    ids=json.dumps,
)
def test_a_bad_orchestration_is_refused_by_both(wrong):
    document = {**ORCHESTRATION, **wrong}
    if "defaults" in wrong:
        document["defaults"] = {**ORCHESTRATION["defaults"], **wrong["defaults"]}
        document["requests"] = [{"name": "a"}]

    assert orchestration_faults(document)
    assert not validator("orchestration").is_valid(document)


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        ("benchmarks: {task_directory: {path: 0644, sample_ids: [1.10, true]}}", True),
        ("execution: {max_retries: 3, run_timeout_seconds: 1e3}", True),
        ("execution: {max_retries: '3'}", False),
        ("execution: {max_retries: yes}", False),
        ("execution: {keep_environment: 1}", False),
        ("execution: {max_retries: '${N}', keep_environment: '${B}'}", True),
        ("execution: {max_retries: '${N} or so'}", False),
        ("runtime: {progress: none, log_file: ~}", True),
        ("runtime: {progress: maybe}", False),
        ("runtime:\nexecution:\n", True),
        ("runtme: {}", False),
        ("environments: {docker: {image: x, setup: {imag: x}}}", False),
        ("environments: {docker: }", True),
        ("environments: {dockr: {}}", False),
    ],
)
def test_a_yaml_file_is_judged_alike_by_an_editor_and_by_a_run(text, is_good):
    faults = our_faults(text, "a.yaml", {"N": "3", "B": "true"})

    assert (faults == []) is is_good
    assert validator("config", "yaml").is_valid(as_an_editor(text)) is is_good


def test_a_json_file_has_no_unquoted_text():
    document = {"benchmarks": {"task_directory": {"path": 644}}}

    assert our_faults(json.dumps(document))
    assert not validator("config", "json").is_valid(document)
    assert validator("config", "yaml").is_valid(document)


def test_what_config_show_prints_passes():
    with tempfile.TemporaryDirectory() as folder:
        shown = effective_configuration(
            (), {"environment": ["docker", "fake"]}, cwd=Path(folder), environ={}
        )

    assert list(validator("config").iter_errors(json.loads(json.dumps(shown.tree)))) == []


@pytest.mark.parametrize(
    ("page", "which"), [("configuration.md", "config"), ("launch.md", "orchestration")]
)
def test_the_examples_of_the_docs_pass(page, which):
    text = (DOCS / page).read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)

    assert examples
    for example in examples:
        assert list(validator(which, "yaml").iter_errors(yaml.safe_load(example))) == []


def test_every_setting_says_what_it_means():
    """An editor shows it; fails for a field that was added without a word."""
    schema = validator("config").schema
    sections = [schema["properties"]["execution"], schema["properties"]["runtime"]]
    docker = schema["properties"]["environments"]["properties"]["docker"]

    fields = [each for part in (*sections, docker) for each in part["properties"].items()]
    assert [name for name, field in fields if not field.get("description")] == []
    assert docker["properties"]["pull"]["default"] == "missing"
    assert docker["properties"]["kill_grace_seconds"]["description"].endswith("Unit: seconds.")
