"""What is run for a row of SWE-bench: its image, its evaluation script, its log's parser. Pure.

The script of a classic row is, command for command, what `make_eval_script_list_py` of swebench
4.1.0 makes; exit codes are recorded as `record_test_exit_code` of 5.0.2 does.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import attrs

from agentcompass.benchmarks._swebench_rows import END_MARK, START_MARK, Row

REPOSITORY = "/testbed"

_ACTIVATE = ("source /opt/miniconda3/bin/activate", "conda activate testbed")
_END_OF_PATCH = "EOF_114329324912"
_NO_TESTS = (
    *(".json", ".png", "csv", ".txt", ".md", ".jpg"),
    *(".jpeg", ".pkl", ".yml", ".yaml", ".toml"),
)
_HEADER = ("#!/bin/bash", "set -uxo pipefail")
_EXIT_CODE = "SWEBENCH_TEST_EXIT_CODE"


@attrs.frozen(kw_only=True)
class Commands:
    """How the tests of one version of a repository are run."""

    test_cmd: str
    install: str | None = None
    eval_commands: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Evaluation:
    """How one row is evaluated; `test_command` is what its tests are started with."""

    image: str
    script: str
    test_command: str
    log_parser: str


def evaluation_of(row: Row, *, image: str, repository: str = REPOSITORY) -> Evaluation:
    """The evaluation of `row`, its repository being in the folder `repository`.

    `image` is the pattern of the names of public images, with `{id}`. Raises `LookupError` where
    neither the row nor the table has the commands, or nobody has the parser.
    """
    script = _script_of_row(row, repository) or _classic_script(row, repository)
    start = next(index for index, line in enumerate(script) if START_MARK in line)
    end = next(index for index, line in enumerate(script) if END_MARK in line)
    return Evaluation(
        image=row.image or image.replace("{id}", row.instance_id.lower().replace("__", "_1776_")),
        script="\n".join([*_HEADER, *_with_exit_code(script, end)]) + "\n",
        test_command="\n".join(script[start + 1 : end]),
        log_parser=_parser(row.log_parser or _repositories()[row.repo]["log_parser"]),
    )


def _with_exit_code(script: Sequence[str], end: int) -> list[str]:
    """Tell the exit code of the tests after their end: that of the script is another one."""
    return [
        *script[:end],
        f"{_EXIT_CODE}=$?",
        script[end],
        f'echo ">>>>> Test Exit Code: ${_EXIT_CODE}"',
        *script[end + 1 :],
    ]


def _script_of_row(row: Row, repository: str) -> list[str]:
    if row.eval_script is None:
        return []
    lines = row.eval_script.strip().split("\n")
    return [_elsewhere(line, repository) for line in lines if line not in _HEADER]


def _elsewhere(line: str, repository: str) -> str:
    """The commands that name the folder of the public images, for another one."""
    if not line.startswith(("cd ", "git config ")):
        return line
    return re.sub(rf"{REPOSITORY}(?=/|\s|$)", lambda _: repository, line)


def _classic_script(row: Row, repository: str) -> list[str]:
    commands = _commands(row.repo, row.version)
    restore = f"git checkout {row.base_commit} {' '.join(_changed_files(row.test_patch))}"
    return [
        *_ACTIVATE,
        f"cd {repository}",
        *commands.eval_commands,
        f"git config --global --add safe.directory {repository}",
        f"cd {repository}",
        "git status",
        "git show",
        f"git -c core.fileMode=false diff {row.base_commit}",
        *_ACTIVATE,
        *([commands.install] if commands.install else []),
        restore,
        f"git apply -v - <<'{_END_OF_PATCH}'\n{row.test_patch}\n{_END_OF_PATCH}",
        f": '{START_MARK}'",
        " ".join([commands.test_cmd, *directives_of(row)]),
        f": '{END_MARK}'",
        restore,
    ]


def _commands(repo: str, version: str) -> Commands:
    if repo not in _repositories():
        raise LookupError(
            f"repo {repo!r} has no commands known here: its rows need eval_script and log_parser"
        )
    for group in _repositories()[repo]["commands"]:
        if version in group["versions"]:
            return Commands(**{k: v for k, v in group.items() if k != "versions"})
    raise LookupError(f"version {version!r} of {repo} has no commands known here")


def _parser(name: str) -> str:
    prefix, parsers = "parse_log_", _table()["parsers"]
    if not name.startswith(prefix) or name.removeprefix(prefix) not in parsers:
        raise LookupError(f"log_parser {name!r} is none of swebench 5.0.2")
    return name


def _repositories() -> Mapping[str, Any]:
    found: Mapping[str, Any] = _table()["repositories"]
    return found


@cache
def _table() -> Mapping[str, Any]:
    text = (files("agentcompass.benchmarks") / "_swebench_specs.json").read_text("utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


def directives_of(row: Row) -> list[str]:
    """What of a row's test patch the test command is told to run."""
    named = re.findall(r"diff --git a/.* b/(.*)", row.test_patch)
    tests = [name for name in named if not name.endswith(_NO_TESTS)]
    if row.repo != "django/django":
        return tests
    modules = [name.removesuffix(".py").removeprefix("tests/") for name in tests]
    return [name.replace("/", ".") for name in modules]


def _changed_files(patch: str) -> list[str]:
    """The files of a git patch that were there before it."""
    changed = []
    for section in re.split(r"^diff --git ", patch, flags=re.MULTILINE)[1:]:
        header = re.split(r"^@@ ", section, maxsplit=1, flags=re.MULTILINE)[0]
        if source := re.search(r"^--- a/(.*)$", header, re.MULTILINE):
            changed.append(source[1])
    return changed
