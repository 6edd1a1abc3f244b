"""A task folder becomes a task; what is wrong with it is its own fault, by name."""

from pathlib import Path

import pytest

from agentcompass.benchmarks._task_folder import find_replies, find_tasks, load_task
from agentcompass.errors import UsageError
from agentcompass.records.environment import NetworkPolicy
from agentcompass.records.task import ArtifactSpec, CollectCommand
from tests.benchmarks.local_session import make_task

EVERYTHING = """
schema_version = "1.4"
artifacts = ["/app/out", {source = "/app/logs", destination = "logs", exclude = ["*.tmp"]}]
[metadata]
category = "files"
graded = true
created = 2025-10-31
[agent]
timeout_sec = 900
user = "dev"
network_mode = "no-network"
[verifier]
timeout_sec = 60
user = 0
env = {SEED = "7", TOKEN = "${VERIFIER_TOKEN}"}
environment_mode = "separate"
[[verifier.collect]]
command = "dump"
timeout_sec = 5
[environment]
docker_image = "example/files:1"
build_timeout_sec = 30
cpus = 2
memory_mb = 512
storage_mb = 1024
gpus = 1
gpu_types = ["T4"]
workdir = "/srv"
network_mode = "allowlist"
allowed_hosts = ["pypi.org"]
env = {MODE = "fast", KEY = "${HOST_KEY:-none}"}
[solution.env]
ANSWER = "42"
"""


def load(folder, files=None, host=None):
    return load_task(make_task(folder, files or {}), host or {})


def test_all_that_a_task_says_is_in_its_record(tmp_path):
    host = {"VERIFIER_TOKEN": "vt"}
    task = load(tmp_path / "t", {"task.toml": EVERYTHING, "solution/solve.sh": ""}, host)

    assert (task.fault, task.warnings) == (None, ())
    assert (task.task_id, task.category, task.instruction) == ("t", "files", "Do it.\n")
    assert (task.run_timeout_seconds, task.evaluation_timeout_seconds) == (900.0, 60.0)
    assert (task.setup.image, task.setup.workdir) == ("example/files:1", "/srv")
    assert task.setup.build_context == str(tmp_path / "t" / "environment")
    assert task.setup.build_timeout_seconds == 30
    assert (task.resources.cpu, task.resources.memory_mb, task.resources.storage_mb) == (
        2,
        512,
        1024,
    )
    assert (task.resources.gpu, task.resources.gpu_type) == (1, "T4")
    assert task.network_policy == NetworkPolicy(
        network_mode="allowlist", allowed_hosts=("pypi.org",)
    )
    assert task.run_network_policy == NetworkPolicy(network_mode="no-network")
    assert task.verifier_network_policy is None
    assert task.evaluation_mode == "fresh"
    assert task.env_variables == {"MODE": "fast", "KEY": "none"}
    assert task.artifacts == (
        ArtifactSpec(source="/app/out"),
        ArtifactSpec(source="/app/logs", destination="logs", exclude=("*.tmp",)),
    )
    assert task.artifact_collect == (CollectCommand(command="dump", timeout_seconds=5),)
    assert task.metadata == {
        "task_dir": str(tmp_path / "t"),
        "environment_dir": str(tmp_path / "t" / "environment"),
        "tests_dir": str(tmp_path / "t" / "tests"),
        "solution_dir": str(tmp_path / "t" / "solution"),
        "solution_env": {"ANSWER": "42"},
        "verifier_env": {"SEED": "7", "TOKEN": "vt"},
        "agent_user": "dev",
        "verifier_user": "0",
        "host_secrets": {"VERIFIER_TOKEN": "vt"},
        "graded": True,
        "metadata": {"category": "files", "graded": True, "created": "2025-10-31"},
    }


def test_what_a_task_does_not_say_is_left_to_the_defaults(tmp_path):
    task = load(tmp_path / "t", {"environment/Dockerfile": None, "environment/data.csv": ""})

    assert task.fault is None
    assert (task.setup.build_context, task.setup.build_timeout_seconds) == (None, None)
    assert (task.network_policy, task.run_timeout_seconds, task.evaluation_mode) == (None,) * 3
    assert task.evaluation_timeout_seconds == 600
    assert task.resources.gpu is None


APART = """
[environment]
docker_image = "agent:1"
workdir = "/app"
memory_mb = 512
network_mode = "no-network"
env = {A = "agent"}
healthcheck = {command = "agent-up"}
[verifier]
environment_mode = "separate"
"""
OWN = 'environment = {{{}, memory = "1G", env = {{TOKEN = "${{T}}"}}, workdir = "/v"}}\n'


@pytest.mark.parametrize(
    ("named", "dockerfile", "image"),
    [
        ('docker_image = "verifier:1"', "FROM x", "verifier:1"),
        ('docker_image = "verifier:1"', None, "verifier:1"),
        ("gpus = 0", "FROM x", None),
    ],
)
def test_a_verifier_may_have_an_environment_of_its_own(tmp_path, named, dockerfile, image):
    """Its image goes before its Dockerfile, as in Harbor; without [.network_mode] it is public."""
    files = {
        "task.toml": APART + OWN.format(named),
        "tests/Dockerfile": dockerfile,
        "tests/test.sh": None if dockerfile is None else "",
    }
    task = load(tmp_path / "t", files, {"T": "verifier-token"})

    assert task.fault is None
    assert task.evaluation_mode == "fresh"
    assert (task.evaluation_setup.image, task.evaluation_setup.workdir) == (image, "/v")
    builds = None if image else str(tmp_path / "t" / "tests")
    assert task.evaluation_setup.build_context == builds
    assert task.evaluation_resources.memory_mb == 1024
    assert task.evaluation_env_variables == {"TOKEN": "verifier-token"}
    assert task.verifier_network_policy == NetworkPolicy()
    assert task.metadata["tests_in_image"]
    assert task.metadata["healthcheck"]["command"] == "agent-up"
    assert "verifier_healthcheck" not in task.metadata


def test_a_separate_verifier_without_one_has_all_of_the_tasks(tmp_path):
    task = load(tmp_path / "t", {"task.toml": APART})

    assert task.evaluation_mode == "fresh"
    assert (task.evaluation_setup, task.evaluation_resources) == (None, None)
    assert (task.evaluation_env_variables, task.verifier_network_policy) == (None, None)
    assert task.metadata["verifier_healthcheck"]["command"] == "agent-up"


def test_no_gpu_is_not_asking_for_one(tmp_path):
    task = load(tmp_path / "t", {"task.toml": '[environment]\ngpus = 0\ngpu_types = ["T4"]'})

    assert (task.resources.gpu, task.resources.gpu_type) == (None, None)


@pytest.mark.parametrize(
    ("dockerfile", "workdir"),
    [("/app", "/app"), ("/app/src", "/app/src"), ("/application", None), ("/srv", None)],
)
def test_the_working_directory_is_the_dockerfiles_where_every_provider_has_it(
    tmp_path, dockerfile, workdir
):
    task = load(tmp_path / "t", {"environment/Dockerfile": f"FROM x\nWORKDIR {dockerfile}\n"})

    assert task.setup.workdir == workdir


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"task.toml": None}, "task.toml is missing"),
        ({"task.toml": "[agent]\ntimeout_sec = '9'"}, "task.toml.agent.timeout_sec"),
        ({"instruction.md": None}, "instruction.md is missing"),
        ({"instruction.md": " \n"}, "instruction.md is empty"),
        ({"tests/test.sh": None}, "tests/test.sh is missing"),
        ({"environment/docker-compose.yaml": ""}, "environment/docker-compose.yaml"),
        ({"trajectory.json": "{}"}, "trajectory.json"),
        ({"task.toml": '[environment]\nos = "windows"'}, "the operating system 'windows'"),
        ({"task.toml": '[environment.tpu]\ntype = "v6e"'}, "a TPU"),
        ({"task.toml": '[[environment.mcp_servers]]\nname = "m"'}, "MCP servers"),
        ({"task.toml": '[verifier.environment]\nos = "windows"'}, "the operating system 'windows'"),
        (
            {
                "task.toml": '[verifier]\nenvironment_mode = "separate"',
                "tests/docker-compose.yaml": "",
            },
            "tests/docker-compose.yaml (a verifier that is more than one container)",
        ),
        ({"task.toml": "[environment.healthcheck]\ncommand = 3"}, "healthcheck.command: expected"),
        (
            {"task.toml": '[environment.healthcheck]\ncommand = "c"\nretries = 0'},
            "retries must be at least 1, not 0",
        ),
        ({"task.toml": 'artifacts = [{source = "/a", service = "db"}]'}, "the services db"),
        (
            {"task.toml": '[[verifier.collect]]\ncommand = "c"\nservice = "db"'},
            "the services db",
        ),
        (
            {"task.toml": '[verifier]\nenvironment_mode = "shared"\nenvironment = {cpus = 1}'},
            "environment_mode is 'shared', but there is a [verifier.environment]",
        ),
        ({"task.toml": '[verifier.environment]\nmemory = "x"'}, "verifier.environment.memory: exp"),
        ({"task.toml": '[verifier.environment]\nenv = {A = "${NO_SUCH}"}'}, "NO_SUCH is not set"),
        ({"task.toml": '[environment]\nenv = {A = "${NO_SUCH}"}'}, "NO_SUCH is not set"),
        ({"task.toml": '[verifier]\nenv = {A = "${NO_SUCH}"}'}, "NO_SUCH is not set"),
    ],
)
def test_what_a_task_cannot_do_without_is_its_fault(tmp_path, files, fault):
    task = load(tmp_path / "t", files, {"SECRET": "s3cret-value"})

    assert fault in task.fault
    assert "s3cret-value" not in task.fault
    assert task.task_id == "t"


def test_a_faulty_task_has_the_category_that_its_file_names(tmp_path):
    toml = '[metadata]\ncategory = "files"\n[agent]\ntimeout_sec = "9"'

    assert load(tmp_path / "t", {"task.toml": toml}).category == "files"


def test_every_fault_of_a_task_is_named(tmp_path):
    task = load(
        tmp_path / "t", {"task.toml": "x = [", "instruction.md": None, "tests/test.sh": None}
    )

    assert task.fault.count(";") == 2


def test_text_that_is_not_utf_8_is_a_fault(tmp_path):
    folder = make_task(tmp_path / "t", {})
    (folder / "instruction.md").write_bytes(b"\xff\xfe")

    assert "instruction.md cannot be read" in load_task(folder, {}).fault


def test_what_a_task_can_do_without_is_a_warning(tmp_path):
    toml = """
    [environment]
    skills_dir = "/skills"
    gpus = 1
    gpu_types = ["T4", "A100"]
    colour = 1
    [solution.env]
    KEY = "${NO_SUCH}"
    OTHER = "x"
    """
    task = load(tmp_path / "t", {"task.toml": toml})

    assert task.fault is None
    assert [warning.split()[0] for warning in task.warnings] == [
        "task.toml.environment.colour",
        "task.toml.environment.skills_dir",
        "task.toml.environment.gpu_types:",
        "task.toml.solution.env:",
    ]
    assert task.metadata["solution_env"] == {"OTHER": "x"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<!-- bench canary 1ab2c3d4-0000-11ee -->\n\nDo it.\n", "Do it.\n"),
        ("# canary GUID 1ab2c3d4-0000-11ee\n# canary GUID 1ab2c3d4-0000-1\nDo\n\nit.", "Do\n\nit."),
        ("# Canary releases\n\nDo it.\n", "# Canary releases\n\nDo it.\n"),
        ("\n\n  Do it.\n", "\n\n  Do it.\n"),
    ],
)
def test_a_canary_in_front_is_not_shown_to_the_agent(tmp_path, text, shown):
    assert load(tmp_path / "t", {"instruction.md": text}).instruction == shown


def test_tasks_are_the_folders_with_a_task_in_them_by_name(tmp_path):
    for name in ("b", "a", "C"):
        make_task(tmp_path / name, {})
    make_task(tmp_path / ".hidden", {})
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("")
    (tmp_path / "replies.jsonl").write_text("")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "instruction.md").write_text("Do it.")

    assert [folder.name for folder in find_tasks(tmp_path)] == ["C", "a", "b", "half"]
    assert "task.toml is missing" in load_task(tmp_path / "half", {}).fault


def test_a_folder_that_is_a_task_is_that_task(tmp_path):
    folder = make_task(tmp_path / "only", {})

    assert find_tasks(folder / "tests" / "..") == [folder]


def test_a_missing_data_set_is_refused_with_the_path_that_was_looked_for(tmp_path):
    with pytest.raises(UsageError, match=f"{tmp_path}/none cannot be read: No such file"):
        find_tasks(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot be read: File name too long"):
        find_tasks(tmp_path / ("x" * 5000))
    assert find_replies(tmp_path / ("x" * 5000)) is None
    with pytest.raises(UsageError, match=f"no tasks in {tmp_path}: .*task.toml"):
        find_tasks(tmp_path)


def test_a_name_that_cannot_be_an_id_is_refused(tmp_path):
    make_task(tmp_path / "a ", {})

    with pytest.raises(UsageError, match="white space"):
        find_tasks(tmp_path)


def test_a_broken_task_leaves_the_others_alone(tmp_path):
    make_task(tmp_path / "bad", {"task.toml": "x = ["})
    make_task(tmp_path / "good", {})

    tasks = {folder.name: load_task(folder, {}) for folder in find_tasks(Path(tmp_path))}

    assert tasks["bad"].fault
    assert tasks["good"].fault is None
