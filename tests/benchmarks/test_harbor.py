"""Task folders in a session of real processes: laid out without tests, scored by them alone."""

from pathlib import Path

import attrs
import pytest

from agentcompass.benchmarks.starter import Starter, data_folder
from agentcompass.benchmarks.task_directory import TaskDirectory
from agentcompass.errors import ConfigInvalid, EnvironmentFailed, UsageError
from agentcompass.records.convert import structure_settings
from tests.benchmarks.local_session import REWARD, Attempt, make_task


async def test_a_prepared_task_has_its_files_and_folders_and_nothing_of_tests_or_solution(tmp_path):
    attempt = Attempt(
        tmp_path,
        {
            "environment/data/a.csv": "1\n",
            "environment/run.py": "",
            "environment/.dockerignore": "data/b.csv",
            "environment/data/b.csv": "hidden",
            "solution/solve.sh": "",
        },
    )

    prepared = await attempt.prepare()

    assert attempt.session.files() == {"app/data/a.csv", "app/run.py"}
    logs = {path.name for path in (attempt.session.root / "logs").iterdir()}
    assert logs == {"agent", "verifier", "artifacts"}
    assert prepared.input.prompt == "Do it.\n"
    assert prepared.input.workspace == attempt.session.workdir


async def test_a_missing_working_directory_is_made(tmp_path):
    attempt = Attempt(tmp_path, {"environment/a": ""})
    Path(attempt.session.workdir).rmdir()

    await attempt.prepare()

    assert attempt.session.files() == {"app/a"}


async def test_nothing_is_copied_where_the_image_was_built_from_the_folder(tmp_path):
    attempt = Attempt(tmp_path, {"environment/a": ""})
    attempt.session.built_context = True

    await attempt.prepare()

    assert attempt.session.files() == set()


@pytest.mark.parametrize(
    ("running", "dockerfile", "copied"),
    [
        ("published:1", "FROM x\n", False),
        ("published:1", None, True),
        ("another:1", "FROM x\n", True),
        (None, "FROM x\n", True),
    ],
)
async def test_nothing_is_copied_into_the_image_that_was_published_of_the_folder(
    tmp_path, running, dockerfile, copied
):
    """Without a Dockerfile, or in another image of the user, the files are not there yet."""
    toml = '[environment]\ndocker_image = "published:1"'
    files = {"task.toml": toml, "environment/Dockerfile": dockerfile, "environment/a": ""}
    attempt = Attempt(tmp_path, files)
    attempt.session.image = running

    await attempt.prepare()

    assert attempt.session.files() == ({"app/a"} if copied else set())


async def test_a_task_that_is_not_healthy_is_not_begun(tmp_path):
    toml = '[environment.healthcheck]\ncommand = "test -e up"\ninterval_sec = 0\nretries = 2'
    attempt = Attempt(tmp_path, {"task.toml": toml})

    with pytest.raises(EnvironmentFailed, match="`test -e up` failed 2 times in a row"):
        await attempt.prepare()

    attempt.session.shell("touch up")
    await attempt.prepare()


async def test_links_are_laid_out_as_links(tmp_path):
    attempt = Attempt(tmp_path, {"environment/d/a": "x"})
    (tmp_path / "tasks" / "t" / "environment" / "d" / "out").symlink_to("../../tests/test.sh")

    await attempt.prepare()

    link = attempt.session.root / "app" / "d" / "out"
    assert str(link.readlink()) == "../../tests/test.sh"
    assert not link.exists()


async def test_an_unreadable_dockerignore_is_the_environments_fault(tmp_path):
    attempt = Attempt(tmp_path, {})
    (tmp_path / "tasks" / "t" / "environment" / ".dockerignore").write_bytes(b"\xff")

    with pytest.raises(EnvironmentFailed, match="environment/ cannot be read"):
        await attempt.prepare()


async def test_what_cannot_be_laid_out_is_the_environments_fault(tmp_path):
    attempt = Attempt(tmp_path, {})
    (attempt.session.root / "logs").write_text("a file where a folder belongs")

    with pytest.raises(EnvironmentFailed, match="could not be laid out"):
        await attempt.prepare()


@pytest.mark.parametrize(
    ("reward", "correct"), [("1", True), ("1.0", True), ("0", False), ("0.0", False)]
)
async def test_a_task_is_correct_at_reward_1(tmp_path, reward, correct):
    attempt = Attempt(tmp_path, {"tests/test.sh": REWARD.format(reward)})

    await attempt.evaluate()

    assert attempt.result.metrics == {"correct": correct}
    assert attempt.result.extra == {"rewards": {"reward": float(reward)}}
    assert attempt.result.issues == []


@pytest.mark.parametrize("reward", ["0.999999", "2", "-1"])
async def test_a_reward_between_is_not_correct_and_said(tmp_path, reward):
    attempt = Attempt(tmp_path, {"tests/test.sh": REWARD.format(reward)})

    await attempt.evaluate()

    assert attempt.result.metrics == {"correct": False}
    assert [(i.severity, i.code) for i in attempt.result.issues] == [
        ("warning", "reward_not_binary")
    ]


@pytest.mark.parametrize("how", ["parameter", "metadata"])
async def test_a_graded_reward_is_the_score(tmp_path, how):
    toml = "[metadata]\ngraded = true" if how == "metadata" else ""
    attempt = Attempt(
        tmp_path,
        {"task.toml": toml, "tests/test.sh": REWARD.format("0.75")},
        metric="score" if how == "parameter" else "auto",
    )

    await attempt.evaluate()

    assert attempt.benchmark.metric_contract().primary == "score"
    assert attempt.result.metrics == {"score": 0.75}


async def test_json_goes_before_text_and_its_other_numbers_are_kept(tmp_path):
    both = """echo '{"reward": 1, "style": 0.5}' > $LOGS_DIR/verifier/reward.json"""
    attempt = Attempt(tmp_path, {"tests/test.sh": REWARD.format("0") + both})

    await attempt.evaluate()

    assert attempt.result.metrics == {"correct": True}
    assert attempt.result.extra["rewards"] == {"reward": 1.0, "style": 0.5}


async def test_a_fresh_session_has_the_tasks_files_where_the_agent_left_none(tmp_path):
    """Fails where the files of the task are laid over those that were restored."""
    attempt = Attempt(
        tmp_path,
        {"environment/src/a": "old", "environment/src/b": "old", "environment/-c d": "old"},
    )
    prepared = await attempt.prepare()
    for path in (attempt.session.root / "app").iterdir():
        attempt.session.shell(f"rm -rf -- '{path.name}'")
    attempt.session.shell("mkdir src && echo new > src/a")

    await attempt.score(prepared, evaluation_mode="fresh")

    app = attempt.session.root / "app"
    assert (app / "src/a").read_text() == "new\n"
    assert (app / "src/b").read_text() == (app / "-c d").read_text() == "old"
    assert not (app / ".agentcompass-context").exists()
    assert attempt.result.metrics == {"correct": True}


async def test_a_file_of_the_agents_where_the_task_has_a_folder_stays(tmp_path):
    attempt = Attempt(tmp_path, {"environment/src/a": "old"})
    prepared = await attempt.prepare()
    attempt.session.shell("rm -r src; echo mine > src")

    await attempt.score(prepared, evaluation_mode="fresh")

    assert (attempt.session.root / "app/src").read_text() == "mine\n"


def test_the_metric_asked_for_wins_over_the_tasks(tmp_path):
    make_task(tmp_path / "a", {})
    make_task(tmp_path / "b", {"task.toml": "[metadata]\ngraded = true"})

    def primary(**config):
        benchmark = TaskDirectory(TaskDirectory.Config(path=str(tmp_path), **config))
        benchmark.load_tasks(Path())
        return benchmark.metric_contract().primary

    assert primary(metric="correct") == "correct"
    assert primary() == "score"
    assert primary(sample_ids=("a",)) == "score"


def test_a_selection_is_made_and_a_typo_is_refused(tmp_path):
    for name in ("a", "b", "c"):
        make_task(tmp_path / name, {})

    def ids(sample_ids):
        config = TaskDirectory.Config(path=str(tmp_path), sample_ids=sample_ids)
        return [task.task_id for task in TaskDirectory(config).load_tasks(Path())]

    assert ids(None) == ["a", "b", "c"]
    assert ids(("c", "a")) == ["a", "c"]
    assert ids(()) == []
    with pytest.raises(UsageError, match="'d'"):
        ids(("d",))


def test_replies_are_those_beside_the_tasks(tmp_path):
    make_task(tmp_path / "a", {})
    config = TaskDirectory.Config(path=str(tmp_path))

    assert TaskDirectory(config).replies is None
    (tmp_path / "replies.jsonl").write_text("")
    assert TaskDirectory(config).replies == tmp_path / "replies.jsonl"


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({}, "path is required"),
        ({"path": " "}, "path is empty"),
        ({"path": "a\0b"}, "path is empty or has a NUL character"),
        ({"path": "~no-such-user/x"}, "path '~no-such-user/x': "),
        ({"path": 3}, "p.path: expected text"),
        ({"path": "x", "sample_ids": "a"}, "p.sample_ids: expected a list"),
        ({"path": "x", "sample_ids": [1]}, "expected text, got int 1"),
        ({"path": "x", "metric": "reward"}, "p.metric"),
        ({"path": "x", "k": 3}, "unknown key k"),
    ],
)
def test_parameters_that_cannot_be_are_refused(params, fault):
    with pytest.raises(ConfigInvalid) as caught:
        structure_settings(params, TaskDirectory.Config, path="p")

    assert fault in str(caught.value)


@pytest.mark.parametrize("benchmark", [TaskDirectory, Starter])
def test_every_parameter_has_help(benchmark):
    assert all(field.metadata["help"] for field in attrs.fields(benchmark.Config))


def test_the_shipped_data_is_in_the_package_or_else_in_the_checkout(tmp_path):
    package = tmp_path / "agentcompass" / "benchmarks"
    package.mkdir(parents=True)

    assert data_folder(package) == tmp_path / "benchmarks_data" / "starter"
    (package / "data" / "starter").mkdir(parents=True)
    assert data_folder(package) == package / "data" / "starter"


def test_the_shipped_tasks_load_without_a_fault():
    starter = Starter(Starter.Config())

    tasks = starter.load_tasks(Path("unused"))

    assert len(tasks) >= 8
    assert [(task.fault, task.warnings) for task in tasks] == [(None, ())] * len(tasks)
    assert starter.metric_contract().primary == "correct"
    assert starter.replies is not None
    assert starter.replies.is_file()
