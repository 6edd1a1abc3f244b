"""Whole runs of SWE-bench on repositories of our own, on docker and on this host.

Three projects with three test runners: pytest, Django's and SymPy's.
"""

import json
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agentcompass import RequestFailed, async_run_evaluation
from agentcompass.benchmarks.swebench_verified import SWEbenchVerified
from tests.benchmarks.swebench_projects import CALC, PROJECTS, Made, write_rows
from tests.docker_engine import BOOKWORM, NO_ENGINE
from tests.whole_runs import Ran

pytestmark = pytest.mark.skipif(
    find_spec("swebench") is None, reason=SWEbenchVerified.needs.command
)

# A second way to the package's verdict: its parts, called one by one.
_PACKAGE = """
import json, sys, types, swebench
harness = types.ModuleType("swebench.harness")
harness.__path__ = [swebench.__path__[0] + "/harness"]
sys.modules["swebench.harness"] = harness
from swebench.harness import grading
from swebench.types import TestSpec
def resolved(fields, log):
    spec = TestSpec(image="", eval_script_list=[], **fields)
    states, found = grading.get_logs_eval(spec, log)
    report = grading.get_eval_tests_report(states, fields)
    return found and grading.get_resolution_status(report) == "RESOLVED_FULL"
print(json.dumps([resolved(*pair) for pair in json.load(sys.stdin)]))
"""


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> list[Made]:
    """With their mirrors in `repos` beside them."""
    folder = tmp_path_factory.mktemp("swebench")
    (folder / "repos").mkdir()
    made = [project.make(folder / project.name) for project in PROJECTS]
    for one in made:
        one.mirror(folder / "repos")
    return made


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pytest for containers, without what is compiled."""
    folder = tmp_path_factory.mktemp("packages")
    for package in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for file in distribution(package).files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.locate(), folder / file)
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`python3` is this one; `python`, by which classic scripts install a repository, is none."""
    folder = tmp_path_factory.mktemp("bin")
    for name, does in (("python3", f'exec {sys.executable} "$@"'), ("python", "exit 1")):
        (folder / name).write_text(f"#!/bin/sh\n{does}\n")
        (folder / name).chmod(0o755)
    return folder


def rows_of(projects: list[Made]) -> list[dict[str, Any]]:
    """Two rows of each project: its reference resolves one, and breaks a good test of the other."""
    return [
        made.row(f"{made.project.name}__{patch}", patch=patch, image=BOOKWORM)
        for made in projects
        for patch in ("fix", "breaks")
    ]


async def run(folder: Path, rows: list[dict[str, Any]], *, harness: str, **settings: Any) -> Ran:
    given = {
        "model": "none",
        "results_dir": str(folder / "results"),
        "data_dir": str(write_rows(folder, rows)),
        "progress": "none",
        "task_concurrency": 3,
        **settings,
    }
    try:
        done = await async_run_evaluation(benchmark="swebench_verified", harness=harness, **given)
    except RequestFailed as error:
        return Ran(error.result, error)
    return Ran(done)


def on_docker(projects: list[Made], packages: Path) -> dict[str, Any]:
    """The image of the tests, with pytest; it has no repository, so that mirrors are copied."""
    return {
        "environment": "docker",
        "environment_params": {
            "workdir": "/testbed",
            "mounts": [f"{packages}:/opt/packages:ro"],
            "env_variables": {"PYTHONPATH": "/opt/packages", "PYTHONDONTWRITEBYTECODE": "1"},
        },
        "benchmark_params": {"repos_dir": str(projects[0].folder.parent / "repos")},
    }


def on_host(projects: list[Made], programs: Path) -> dict[str, Any]:
    variables = {"PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin"}
    return {
        "environment": "host_process",
        "environment_params": {"env_variables": variables},
        "benchmark_params": {"repos_dir": str(projects[0].folder.parent / "repos")},
    }


def verdicts(ran: Ran) -> dict[str, tuple[bool, str]]:
    """Of each attempt, which has no issue."""
    assert {
        name: attempt["issues"] for name, attempt in ran.attempts.items() if attempt["issues"]
    } == {}
    return {
        name: (attempt["metrics"]["correct"], attempt["meta"]["benchmark"]["verdict"])
        for name, attempt in ran.attempts.items()
    }


def packages_verdicts(rows: list[dict[str, Any]], ran: Ran, folder: Path) -> dict[str, bool]:
    """What the package says of the logs that the attempts kept."""
    names = [row["instance_id"] for row in rows]
    for name in names:
        (folder / name).write_text(ran.attempts[name]["artifacts"]["test_output"])
    asked = [(fields_of(row), str(folder / row["instance_id"])) for row in rows]
    command = [sys.executable, "-c", _PACKAGE]
    done = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    return dict(zip(names, json.loads(done.stdout), strict=True))


def fields_of(row: dict[str, Any]) -> dict[str, Any]:
    """Those of the package's TestSpec."""
    names = {"django/django": "parse_log_django", "sympy/sympy": "parse_log_sympy"}
    return {
        "instance_id": row["instance_id"],
        "repo": row["repo"],
        "version": row["version"],
        "FAIL_TO_PASS": json.loads(row["FAIL_TO_PASS"]),
        "PASS_TO_PASS": json.loads(row["PASS_TO_PASS"]),
        "log_parser": row.get("log_parser") or names[row["repo"]],
    }


EXPECTED = {
    **{f"{project.name}__fix": (True, "resolved") for project in PROJECTS},
    **{f"{project.name}__breaks": (False, "tests_failed") for project in PROJECTS},
}


async def assert_judged_as_by_the_package(
    ran: Ran, rows: list[dict[str, Any]], folder: Path
) -> None:
    assert verdicts(ran) == EXPECTED
    assert packages_verdicts(rows, ran, folder) == {
        name: resolved for name, (resolved, _) in EXPECTED.items()
    }


@pytest.mark.docker
@NO_ENGINE
async def test_on_docker_the_reference_resolves_and_one_that_breaks_a_test_does_not(
    tmp_path: Path, projects: list[Made], packages: Path
) -> None:
    rows = rows_of(projects)
    ran = await run(tmp_path, rows, harness="oracle", **on_docker(projects, packages))

    await assert_judged_as_by_the_package(ran, rows, tmp_path)


@pytest.mark.docker
@NO_ENGINE
async def test_on_docker_an_agent_that_does_nothing_resolves_nothing(
    tmp_path: Path, projects: list[Made], packages: Path
) -> None:
    rows = rows_of(projects)[:1]
    ran = await run(tmp_path, rows, harness="nop", **on_docker(projects, packages))

    assert verdicts(ran) == {"calc__fix": (False, "empty_patch")}


async def test_on_this_host_the_verdicts_are_the_same(
    tmp_path: Path, projects: list[Made], programs: Path
) -> None:
    rows = rows_of(projects)
    ran = await run(tmp_path, rows, harness="oracle", **on_host(projects, programs))
    await assert_judged_as_by_the_package(ran, rows, tmp_path)

    [patch] = ran.directory.glob("details/*/calc__fix*/attempt-1/artifacts/logs/artifacts/*.patch")
    assert "+    return a + b" in patch.read_text()
    report = ran.attempts["calc__fix"]["artifacts"]["report"]
    assert report["tests_status"]["FAIL_TO_PASS"]["success"] == list(CALC.fail_to_pass)

    idle = await run(tmp_path / "idle", rows[::2], harness="nop", **on_host(projects, programs))
    assert set(verdicts(idle).values()) == {(False, "empty_patch")}


async def test_tests_that_run_out_of_time_do_not_pass_and_what_they_printed_is_kept(
    tmp_path: Path, projects: list[Made], programs: Path
) -> None:
    """cases.md 41."""
    row = rows_of(projects)[0]
    row["eval_script"] = row["eval_script"].replace("python3 -m", "echo so far; sleep 600; :")
    limit = {"execution_params": {"evaluation_timeout_seconds": 3}}
    ran = await run(tmp_path, [row], harness="oracle", **limit, **on_host(projects, programs))
    attempt = ran.attempts["calc__fix"]

    assert attempt["metrics"] == {"correct": False}
    assert ran.issues("calc__fix") == [("error", "evaluate", "evaluate_failed")]
    assert "evaluate timeout: exceeded 3 s" in attempt["issues"][0]["message"]
    assert "so far" in attempt["artifacts"]["cut_off"]["stdout"]


async def test_tests_that_cannot_start_and_a_broken_row_give_no_verdict_and_the_rest_goes_on(
    tmp_path: Path, projects: list[Made], programs: Path
) -> None:
    good, broken, unstartable = (
        projects[0].row(name) for name in ("good", "broken", "unstartable")
    )
    broken["base_commit"] = "main"
    good["eval_script"] = good["eval_script"].replace("python3 -m", r"printf '\377\0'; python3 -m")
    unstartable["eval_script"] = broken["eval_script"].replace("python3 -m", "no-such-command")
    ran = await run(
        tmp_path, [good, broken, unstartable], harness="oracle", **on_host(projects, programs)
    )

    assert ran.attempts["good"]["metrics"] == {"correct": True}
    assert "\ufffd\0" in ran.attempts["good"]["artifacts"]["test_output"]  # cases.md 38
    assert ran.attempts["unstartable"]["metrics"] == {}
    assert ran.issues("unstartable") == [("error", "evaluate", "verifier_not_started")]
    assert "127" in ran.attempts["unstartable"]["issues"][0]["message"]
    assert ran.issues("broken") == [("fatal", "setup", "task_invalid")]
    assert "rows.jsonl row 2: base_commit 'main'" in ran.attempts["broken"]["issues"][0]["message"]
