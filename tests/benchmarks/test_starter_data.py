"""Each task of `starter` fails untouched, is proved by its solution, scores its replies as pinned.

Nothing of the engine is used here: the scripts run as they would in a sandbox, which gives Harbor's
folders in the environment.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

DATA = Path(__file__).parents[2] / "benchmarks_data" / "starter"
TASKS = sorted(path.parent.name for path in DATA.glob("*/task.toml"))
REPLIES: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "replies.jsonl").read_text().splitlines()
]
# The interpreter itself comes first: a version manager's shim would cost more than the tasks.
PATH = os.pathsep.join([str(Path(sys.base_prefix, "bin")), os.environ["PATH"]])
MARKER = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

# Verdicts of the shipped replies at attempts 1 and 2: 9 of 12 at k = 1.
VERDICTS = {
    "access-log-report": (0, 0),
    "backup-retention": (1, 1),
    "c-hash-table": (1, 1),
    "monthly-billing-dates": (0, 1),
    "nginx-vhost": (1, 1),
    "regional-revenue": (1, 1),
    "scrub-git-history": (1, 1),
    "settings-migration": (1, 1),
    "single-flight-cache": (0, 0),
    "subscription-sql": (1, 1),
    "sweep-script": (1, 1),
    "telemetry-decoder": (1, 1),
}


class Ran(NamedTuple):
    code: int
    output: str


class Sandbox:
    """A task's folders on the bare host, and nothing of the caller's environment but PATH."""

    def __init__(self, task: str, root: Path) -> None:
        self.folder = DATA / task
        self.app, self.logs = root / "app", root / "logs"
        hidden = shutil.ignore_patterns("Dockerfile", "__pycache__")
        shutil.copytree(self.folder / "environment", self.app, ignore=hidden)
        for name in ("home", "tmp"):
            (root / name).mkdir()
        self.environment = {
            "PATH": PATH,
            "HOME": str(root / "home"),
            "TMPDIR": str(root / "tmp"),
            "APP_DIR": str(self.app),
            "LOGS_DIR": str(self.logs),
            "TESTS_DIR": str(self.folder / "tests"),
            "SOLUTION_DIR": str(self.folder / "solution"),
        }

    def bash(self, *arguments: str) -> Ran:
        done = subprocess.run(
            ["bash", *arguments],
            cwd=self.app,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        )
        return Ran(done.returncode, done.stdout)

    def reward(self) -> int:
        ran = self.bash(str(self.folder / "tests" / "test.sh"))
        print(ran.output)
        return int((self.logs / "verifier" / "reward.txt").read_text())


@pytest.fixture
def sandbox(task: str, tmp_path: Path) -> Sandbox:
    return Sandbox(task, tmp_path)


def reply_for(task: str, attempt: int) -> dict[str, Any]:
    """The line of this attempt, else the one of any attempt."""
    lines = [line for line in REPLIES if line["task_id"] == task]
    exact = [line for line in lines if line.get("attempt") == attempt]
    return (exact or [line for line in lines if "attempt" not in line])[0]


def commands_of(message: dict[str, Any]) -> list[str]:
    functions = [call["function"] for call in message["tool_calls"]]
    assert {function["name"] for function in functions} == {"bash"}
    return [json.loads(function["arguments"])["command"] for function in functions]


def play(sandbox: Sandbox, reply: dict[str, Any]) -> list[Ran]:
    return [
        sandbox.bash("-c", command)
        for message in reply["messages"]
        for command in commands_of(message)
    ]


@pytest.mark.parametrize("task", TASKS)
def test_an_untouched_task_earns_nothing(sandbox: Sandbox) -> None:
    assert sandbox.reward() == 0


@pytest.mark.parametrize("task", TASKS)
def test_the_solution_earns_the_reward(sandbox: Sandbox) -> None:
    ran = sandbox.bash(str(sandbox.folder / "solution" / "solve.sh"))

    assert ran.code == 0, ran.output
    assert sandbox.reward() == 1


def test_every_task_starts_its_checks_in_the_same_way() -> None:
    assert len({(DATA / task / "tests" / "test.sh").read_text() for task in TASKS}) == 1


# A check that reads files, one that runs a script, and one that imports what the agent left.
@pytest.mark.parametrize("task", ["nginx-vhost", "telemetry-decoder", "monthly-billing-dates"])
def test_planted_files_do_not_decide_the_verdict(sandbox: Sandbox) -> None:
    """What a verdict could be stolen with: modules in the working directory, an old reward file."""
    for module in ("unittest", "json", "subprocess", "sitecustomize", "check"):
        (sandbox.app / f"{module}.py").write_text("import os\nos._exit(0)\n")
    reward = sandbox.logs / "verifier" / "reward.txt"
    reward.parent.mkdir(parents=True)
    reward.write_text("1\n")

    assert sandbox.reward() == 0


@pytest.mark.parametrize(
    ("task", "attempt"),
    [(task, 1) for task in TASKS]
    + [(task, 2) for task, (one, two) in VERDICTS.items() if one != two],
)
def test_the_replies_score_as_pinned(sandbox: Sandbox, task: str, attempt: int) -> None:
    ran = play(sandbox, reply_for(task, attempt))

    assert ran[-1] == Ran(0, MARKER + "\n")
    assert sandbox.reward() == VERDICTS[task][attempt - 1]


def test_every_task_has_replies_and_a_pinned_verdict() -> None:
    assert {line["task_id"] for line in REPLIES} == set(TASKS) == set(VERDICTS)
    assert all("attempt" not in reply_for(task, 99) for task in TASKS)


def test_the_replies_are_openai_messages_that_each_call_a_tool() -> None:
    for line in REPLIES:
        assert set(line) - {"attempt"} == {"task_id", "messages", "delay_seconds"}
        ids = [call["id"] for message in line["messages"] for call in message["tool_calls"]]
        assert len(ids) == len(set(ids))
        for message in line["messages"]:
            assert set(message) == {"role", "content", "tool_calls"}
            assert message["role"] == "assistant"
            assert message["content"]
            assert commands_of(message)


def test_only_the_last_command_of_a_reply_submits() -> None:
    for line in REPLIES:
        commands = [c for message in line["messages"] for c in commands_of(message)]
        assert [MARKER in command for command in commands].index(True) == len(commands) - 1


def test_the_tasks_are_of_many_kinds() -> None:
    files = [tomllib.loads((DATA / task / "task.toml").read_text()) for task in TASKS]

    assert len(TASKS) >= 10
    assert len({file["metadata"]["category"] for file in files}) >= 4
    assert {"1.0", "1.1", "1.4"} <= {
        file.get("schema_version", file.get("version")) for file in files
    }


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_the_files_of_the_format_and_names_no_machine_path(task: str) -> None:
    folder = DATA / task
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    wanted = {"instruction.md", "task.toml", "environment/Dockerfile", "tests/test.sh"}
    assert wanted | {"solution/solve.sh"} <= names
    assert not re.search(
        r"/(app|tests|logs|root|home|work)\b", (folder / "instruction.md").read_text()
    )
