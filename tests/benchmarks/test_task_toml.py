"""task.toml is read strictly: what it says is kept, what is wrong is named with its path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.benchmarks._task_toml import TaskTomlInvalid, parse_task_toml

TERMINAL_BENCH_2_1 = """
schema_version = "1.1"
artifacts = []

[task]
name = "example/count-lines"
keywords = ["files"]
[[task.authors]]
name = "A. Author"

[metadata]
difficulty = "medium"
category = "file-operations"
tags = []
expert_time_estimate_min = 30.0

[verifier]
timeout_sec = 900.0

[agent]
timeout_sec = 1800.0

[environment]
build_timeout_sec = 600.0
docker_image = "example/count-lines:20251031"
cpus = 1
memory_mb = 2048
storage_mb = 10240
gpus = 0
allow_internet = true
mcp_servers = []

[verifier.env]

[environment.env]

[solution.env]
"""


def parsed(text):
    return parse_task_toml(text)[0]


def warnings(text):
    return list(parse_task_toml(text)[1])


def faults(text):
    with pytest.raises(TaskTomlInvalid) as caught:
        parse_task_toml(text)
    return str(caught.value)


def test_a_file_as_terminal_bench_has_it_is_read_without_a_remark():
    toml, remarks = parse_task_toml(TERMINAL_BENCH_2_1)

    assert remarks == ()
    assert (toml.schema_version, toml.category, toml.graded) == ("1.1", "file-operations", False)
    assert (toml.agent.timeout_sec, toml.verifier.timeout_sec) == (1800.0, 900.0)
    assert toml.environment.docker_image == "example/count-lines:20251031"
    assert (toml.environment.cpus, toml.environment.memory_mb) == (1.0, 2048)
    assert toml.environment.network_mode == "public"


def test_an_empty_file_has_the_defaults_of_the_format():
    toml, remarks = parse_task_toml("")

    assert remarks == ()
    assert (toml.schema_version, toml.verifier.timeout_sec) == ("1.4", None)
    assert (toml.agent.timeout_sec, toml.environment.build_timeout_sec) == (None, 600.0)
    assert toml.environment.network_mode is None
    assert not toml.verifier.is_separate


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3", "1.4"])
def test_the_known_schemas_are_read_under_either_key(version):
    for key in ("version", "schema_version"):
        toml, remarks = parse_task_toml(f'{key} = "{version}"')

        assert (toml.schema_version, remarks) == (version, ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('memory = "2G"', "memory_mb = 2048"),
        ('memory = "1.5g"', "memory_mb = 1536"),
        ('memory = "512M"', "memory_mb = 512"),
        ('memory = "2048K"', "memory_mb = 2"),
        ('storage = "10G"', "storage_mb = 10240"),
        ('memory = "2G"\nmemory_mb = 2048', "memory_mb = 2048"),
        ("allow_internet = false", 'network_mode = "no-network"'),
        ("allow_internet = true", 'network_mode = "public"'),
        ('allow_internet = true\nnetwork_mode = "no-network"', 'network_mode = "no-network"'),
        ('os = "Linux"', 'os = "linux"'),
    ],
)
def test_older_spellings_say_the_same_as_newer_ones(old, new):
    assert parse_task_toml(f"[environment]\n{old}") == parse_task_toml(f"[environment]\n{new}")


def test_users_may_be_numbers_and_artifacts_bare_paths():
    toml = parsed('artifacts = ["/a", {source = "/b", exclude = ["*.tmp"]}]\n[agent]\nuser = 1000')

    assert [entry.source for entry in toml.artifacts] == ["/a", "/b"]
    assert toml.artifacts[1].exclude == ("*.tmp",)
    assert toml.agent.user == "1000"


def test_a_verifier_is_separate_by_its_mode_or_by_its_own_environment():
    assert parsed('[verifier]\nenvironment_mode = "separate"').verifier.is_separate
    assert parsed("[verifier.environment]\ncpus = 1").verifier.is_separate
    assert not parsed('[verifier]\nenvironment_mode = "shared"').verifier.is_separate


def test_a_key_that_is_not_known_is_a_remark_at_every_depth_but_in_metadata():
    text = """
    colour = 1
    [metadata]
    anything = 1
    [environment]
    flavour = 2
    [[verifier.collect]]
    command = "c"
    when = 3
    """

    assert warnings(text) == [
        "task.toml.colour is not known and has no effect",
        "task.toml.environment.flavour is not known and has no effect",
        "task.toml.verifier.collect.when is not known and has no effect",
    ]


def test_a_newer_minor_schema_is_a_remark_and_another_major_one_a_fault():
    assert warnings('schema_version = "1.7"') == [
        "task.toml.schema_version 1.7 is newer than 1.4: what it added is not known here"
    ]
    assert "'2.0' is not known; known: 1.0 to 1.4" in faults('schema_version = "2.0"')


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a = [", "task.toml: Invalid value"),
        ("x = " + "[" * 100_000, "task.toml: maximum recursion depth"),
        ("schema_version = 1.4", "task.toml.schema_version: expected text, got float 1.4"),
        ("agent = 3", "task.toml.agent: expected an object, got int 3"),
        ('[agent]\ntimeout_sec = "9"', "task.toml.agent.timeout_sec: expected a number"),
        ("[agent]\ntimeout_sec = true", "task.toml.agent.timeout_sec: expected a number"),
        ("[agent]\ntimeout_sec = nan", "task.toml.agent.timeout_sec: expected a finite number"),
        ("[agent]\ntimeout_sec = 0", "timeout_sec must be a finite number above 0, not 0"),
        ("[verifier]\ntimeout_sec = -1.5", "must be a finite number above 0, not -1.5"),
        ("[verifier]\nenv = {N = 3}", "expected text, got int 3"),
        ("[environment]\ncpus = 0", "cpus must be a finite number above 0"),
        ("[environment]\nmemory_mb = 2.5", "task.toml.environment.memory_mb: expected an integer"),
        ("[environment]\ngpus = -1", "gpus must be at least 0"),
        ('[environment]\nmemory = "2X"', "task.toml.environment.memory: expected a size"),
        ('[environment]\nmemory = "G"', "task.toml.environment.memory: expected a size"),
        ("[environment]\nmemory = 2", "task.toml.environment.memory: expected a size"),
        ('[environment]\nmemory = "2G"\nmemory_mb = 9', "memory says 2048 MB, memory_mb 9"),
        ('[environment]\nallow_internet = "no"', "allow_internet: expected true or false"),
        ('[environment]\nnetwork_mode = "closed"', "task.toml.environment.network_mode"),
        ('[environment]\nallowed_hosts = ["a"]', "allowed_hosts needs network_mode = 'allowlist'"),
        (
            '[agent]\nnetwork_mode = "no-network"\nallowed_hosts = ["a"]',
            "task.toml.agent: allowed_hosts needs network_mode = 'allowlist'",
        ),
        ("[[verifier.collect]]\ntimeout_sec = 1", "command is required"),
        ("[metadata]\ncategory = 3", "metadata.category: expected text, got 3"),
        ('[metadata]\ngraded = "yes"', "metadata.graded: expected true or false, got 'yes'"),
        ('artifacts = ["rel"]', "source 'rel' must be an absolute path"),
        ('artifacts = ["/a/../etc"]', "source '/a/../etc' must not contain '..'"),
        (
            'artifacts = [{source = "/a", destination = "/b"}]',
            "destination '/b' must be a relative",
        ),
        ('artifacts = [{source = "/a", destination = "../b"}]', "'../b' must not contain '..'"),
        ('artifacts = [{source = "/a", destination = "."}]', "destination '.' must be a relative"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_path(text, fault):
    assert fault in faults(text)


def test_every_fault_is_named_at_once():
    found = faults('[agent]\ntimeout_sec = "9"\n[environment]\ncpus = "2"\n[verifier]\nuser = 1.5')

    assert [part.partition(":")[0] for part in found.split("; ")] == [
        "task.toml.agent.timeout_sec",
        "task.toml.verifier.user",
        "task.toml.environment.cpus",
    ]


def test_the_category_is_known_where_something_else_is_wrong():
    with pytest.raises(TaskTomlInvalid) as caught:
        parse_task_toml('[metadata]\ncategory = "c"\n[agent]\ntimeout_sec = "9"')

    assert caught.value.category == "c"


def refusal(text):
    """The faults of a text, or only the name of the file where it has none."""
    try:
        parse_task_toml(text)
    except TaskTomlInvalid as error:
        return str(error)
    return "task.toml"


@given(st.text(max_size=80) | st.text('[]{}=."\n aA1', max_size=60))
def test_any_text_is_read_or_refused(text):
    """Fails where a foreign error escapes, such as for a section that is no table."""
    assert refusal(text).startswith("task.toml")


SECTIONS = st.dictionaries(
    st.sampled_from(["artifacts", "steps", "agent", "verifier", "environment", "metadata", "task"]),
    st.sampled_from(["1", "true", '"x"', "[]", "[1]", '["x"]', "{}", "[{}]", "nan", "1979-05-27"]),
)


@given(SECTIONS, SECTIONS)
def test_any_shape_of_the_known_sections_is_read_or_refused(top, inner):
    lines = [f"{name} = {value}" for name, value in top.items()]
    lines += [f"environment.{name} = {value}" for name, value in inner.items()]

    assert refusal("\n".join(lines)).startswith("task.toml")
