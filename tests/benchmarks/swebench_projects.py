"""Made-up projects for SWE-bench: repositories with a fault, its fix, a test runner, and rows.

Each has commits before the base commit, the fix and a tag after it, and one way of its own to run
tests. `calc` has a row of the newer kind, with its script; the others have classic rows, for which
the commands of django and sympy are used.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

_IDENTITY = {
    **{
        f"GIT_{who}_{what}": "made@up"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
    **{f"GIT_{who}_DATE": "2024-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")},
}


def git(folder: Path, *arguments: str) -> str:
    """What git prints, with no settings of this host."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env={**plain, **_IDENTITY, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


@attrs.frozen(kw_only=True)
class Project:
    """A repository by its states; `later` is what comes after the base commit beside the fix."""

    name: str
    repo: str
    version: str
    base: Mapping[str, str]
    fix: Mapping[str, str]
    breaks: Mapping[str, str]
    tests: Mapping[str, str]
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    test_command: str = ""
    log_parser: str = ""

    def make(self, folder: Path) -> "Made":
        """The repository in `folder`, at the commit with the fix, and what a row says of it."""
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet", "--initial-branch=main", ".")
        _commit(folder, {"README": "first\n"}, "first")
        git(folder, "tag", "v1.0")
        base = _commit(folder, self.base, "base")
        patches = {}
        for what in ("breaks", "tests", "fix"):
            _write(folder, getattr(self, what))
            git(folder, "add", "--all")
            patches[what] = git(folder, "diff", "--cached", "--binary")
            git(folder, "reset", "--quiet", "--hard")
        _commit(folder, {**self.fix, **self.tests}, "the fix")
        git(folder, "tag", "v2.0")
        git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
        return Made(project=self, folder=folder, base=base, patches=patches)


@attrs.frozen(kw_only=True)
class Made:
    """A project as it is on disk."""

    project: Project
    folder: Path
    base: str
    patches: Mapping[str, str]

    def row(self, instance_id: str, *, patch: str = "fix", **more: Any) -> dict[str, Any]:
        """A row whose reference is the patch of that name."""
        project = self.project
        row = {
            "instance_id": instance_id,
            "repo": project.repo,
            "base_commit": self.base,
            "version": project.version,
            "problem_statement": f"{project.name} is at fault",
            "hints_text": "look closely",
            "patch": self.patches[patch],
            "test_patch": self.patches["tests"],
            "FAIL_TO_PASS": json.dumps(project.fail_to_pass),
            "PASS_TO_PASS": json.dumps(project.pass_to_pass),
        }
        return {**row, **(self._newer() if project.test_command else {}), **more}

    def _newer(self) -> dict[str, Any]:
        tests = self.patches["tests"]
        script = [
            *("#!/bin/bash", "set -uxo pipefail", "cd /testbed"),
            f"git apply -v - <<'EOF_1'\n{tests}\nEOF_1",
            ": '>>>>> Start Test Output'",
            self.project.test_command,
            ": '>>>>> End Test Output'",
            f"git checkout {self.base} -- .",
        ]
        return {
            "eval_script": "\n".join(script) + "\n",
            "log_parser": self.project.log_parser,
            "eval_type": "pass_and_fail",
        }

    def mirror(self, folder: Path) -> None:
        """A bare mirror, where the benchmark looks for it."""
        name = f"{self.project.repo.replace('/', '__')}.git"
        subprocess.run(
            ["git", "clone", "--quiet", "--mirror", str(self.folder), str(folder / name)],
            check=True,
        )


def _commit(folder: Path, files: Mapping[str, str], message: str) -> str:
    _write(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD").strip()


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
        path.chmod(0o755 if text.startswith("#!") else 0o644)


def write_rows(data_dir: Path, rows: list[dict[str, Any]]) -> Path:
    """A data folder with these rows as JSON lines."""
    folder = data_dir / "swebench_verified"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return data_dir


_CALC = "def add(a, b):\n    return a {} b\n\n\ndef sub(a, b):\n    return a {} b\n"
_CALC_TESTS = """import pytest
from calc import add, sub


def test_sub():
    assert sub(3, 1) == 2


@pytest.mark.parametrize("text", ["a b", "a c"])
def test_words(text):
    assert text
"""

CALC = Project(
    name="calc",
    repo="made/calc",
    version="1",
    base={"calc.py": _CALC.format("-", "-"), "tests/test_calc.py": _CALC_TESTS},
    fix={"calc.py": _CALC.format("+", "-")},
    breaks={"calc.py": _CALC.format("+", "+")},
    tests={"tests/test_calc.py": f"{_CALC_TESTS}\n\ndef test_add():\n    assert add(1, 2) == 3\n"},
    fail_to_pass=("tests/test_calc.py::test_add",),
    # the second is cut at its blank, as hundreds of the public ones are
    pass_to_pass=("tests/test_calc.py::test_sub", "tests/test_calc.py::test_words[a"),
    test_command="python3 -m pytest -rA -p no:cacheprovider tests/test_calc.py",
    log_parser="parse_log_pytest_v2",
)

_WEB = "def title(text):\n    return text{}\n\n\ndef lower(text):\n    return text.{}()\n"
_RUNTESTS = """#!/usr/bin/env python3
import sys, unittest
sys.path[:0] = [".", "tests"]
names = [name for name in sys.argv[1:] if name.endswith("tests")]
suite = unittest.defaultTestLoader.loadTestsFromNames(names)
sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
"""
_WEB_TESTS = """import unittest
from pages import lower, title


class WebTests(unittest.TestCase):
    def test_lower(self):
        "Small letters."
        self.assertEqual(lower("A"), "a")
"""

WEB = Project(
    name="web",
    repo="django/django",
    version="4.2",
    base={
        "pages.py": _WEB.format("", "lower"),
        "tests/runtests.py": _RUNTESTS,
        "tests/web/tests.py": _WEB_TESTS,
    },
    fix={"pages.py": _WEB.format(".title()", "lower")},
    breaks={"pages.py": _WEB.format(".title()", "upper")},
    tests={
        "tests/web/tests.py": f"{_WEB_TESTS}\n"
        '    def test_title(self):\n        self.assertEqual(title("a b"), "A B")\n'
    },
    fail_to_pass=("test_title (web.tests.WebTests.test_title)",),
    pass_to_pass=("Small letters.",),
)

_SUMS = "def total(xs):\n    return {}\n\n\ndef most(xs):\n    return {}(xs)\n"
_BIN_TEST = """#!/usr/bin/env python3
import runpy, sys
sys.path.insert(0, ".")
failed = 0
for path in [name for name in sys.argv[1:] if name.endswith(".py")]:
    for name, test in runpy.run_path(path).items():
        if name.startswith("test_"):
            try:
                test()
                print(name, "ok", flush=True)
            except AssertionError:
                failed = 1
                print(name, "F", flush=True)
sys.exit(failed)
"""
_SUMS_TESTS = "from sums import most, total\n\n\ndef test_most():\n    assert most([1, 3]) == 3\n"

SUMS = Project(
    name="sums",
    repo="sympy/sympy",
    version="1.12",
    base={
        "sums.py": _SUMS.format("xs[0]", "max"),
        "bin/test": _BIN_TEST,
        "sums/tests/test_sums.py": _SUMS_TESTS,
    },
    fix={"sums.py": _SUMS.format("sum(xs)", "max")},
    breaks={"sums.py": _SUMS.format("sum(xs)", "min")},
    tests={
        "sums/tests/test_sums.py": f"{_SUMS_TESTS}\n\n"
        "def test_total():\n    assert total([1, 3]) == 4\n"
    },
    fail_to_pass=("test_total",),
    pass_to_pass=("test_most",),
)

PROJECTS = (CALC, WEB, SUMS)
