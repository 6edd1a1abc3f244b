"""Verdicts on logs: those of the package `swebench`, and what is no verdict at all.

tests/peer/test_swebench_package.py compares many more logs with the whole package.
"""

import re
import subprocess
import sys
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentcompass.benchmarks._swebench_grading import grade, without_tests
from agentcompass.benchmarks._swebench_rows import Row
from agentcompass.benchmarks._swebench_scripts import _table, evaluation_of
from agentcompass.benchmarks.swebench_verified import SWEbenchVerified
from agentcompass.errors import EvaluationFailed
from agentcompass.records.convert import structure_record
from tests.benchmarks.swebench_logs import FAIL, KEEP, PATCH, Case, log_of, odd, ordinary

ODD = {case.name: case for case in odd()}
ORDINARY = {case.name: case for case in ordinary()}

needs_package = pytest.mark.skipif(
    find_spec("swebench") is None, reason=SWEbenchVerified.needs.command
)


async def verdict(case: Case, *, patch: str = PATCH, log: str | None = None):
    row = structure_record(case.row, Row, source="row")
    evaluation = evaluation_of(row, image="none")
    return await grade(row, evaluation, log=case.log if log is None else log, changed=patch)


@needs_package
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("parse_log_pytest passed passed", "resolved"),
        ("parse_log_django passed failed", "tests_failed"),
        ("parse_log_sympy failed passed", "tests_failed"),
        # a test that is skipped is not a solution, and no harm either
        ("parse_log_django skipped passed", "tests_failed"),
        ("parse_log_django passed skipped", "resolved"),
        ("parse_log_pytest passed missing", "tests_failed"),
        ("expected failures", "resolved"),
        ("odd bytes", "resolved"),
        ("no end mark", "tests_cut_off"),
        ("tests timed out", "log_refused"),
        # printed by a patch, while the tests themselves failed
        ("passed, and a failing exit code", "results_without_failure"),
        ("nothing told", "no_test_results"),
        ("no network", "no_test_results"),
    ],
)
async def test_the_verdict_says_why(name: str, reason: str) -> None:
    """cases.md 68."""
    found = await verdict({**ORDINARY, **ODD}[name])

    assert found.reason == reason
    assert found.resolved == (reason == "resolved")


@needs_package
async def test_the_report_has_every_test_that_counts() -> None:
    found = await verdict(ORDINARY["parse_log_pytest passed failed"])

    assert found.report["tests_status"]["FAIL_TO_PASS"] == {"success": [FAIL], "failure": []}
    assert found.report["tests_status"]["PASS_TO_PASS"] == {"success": [], "failure": [KEEP]}


@needs_package
@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "the script ended before it came to them"),
        ("+ cd /testbed\nKilled\n", "the log ends: Killed"),
        (log_of("pytest: command not found", code=127), "exit code 127"),
        (log_of("", code=126), "exit code 126"),
        # the first code is what a test printed
        (log_of(">>>>> Test Exit Code: 1", code=127), "exit code 127"),
    ],
)
async def test_tests_that_could_not_start_give_no_verdict(log: str, said: str) -> None:
    with pytest.raises(EvaluationFailed, match=said) as caught:
        await verdict(ODD["nothing told"], log=log)

    assert caught.value.code == "verifier_not_started"


@needs_package
async def test_a_patch_that_takes_the_test_command_away_has_failed() -> None:
    removed = "diff --git a/pytest b/pytest\ndeleted file mode 100755\n"
    found = await verdict(ODD["nothing told"], log=log_of("", code=127), patch=removed)

    assert found.reason == "no_test_results"


@needs_package
async def test_tests_that_ran_have_a_verdict_whatever_their_exit_code() -> None:
    log = log_of(f"PASSED {KEEP}\nFAILED {FAIL}", code=127)

    assert (await verdict(ODD["nothing told"], log=log)).reason == "tests_failed"


def test_no_test_is_run_for_a_patch_that_is_empty_or_does_not_apply() -> None:
    empty, other = without_tests("empty_patch"), without_tests("patch_not_applied")

    assert (empty.resolved, empty.report["patch_exists"]) == (False, False)
    assert (other.resolved, other.report["patch_exists"]) == (False, True)
    assert not other.report["patch_successfully_applied"]


def test_the_package_is_installed_alone() -> None:
    assert SWEbenchVerified.needs.command == "pip install --no-deps swebench==5.0.2 unidiff"


def test_the_benchmark_imports_nothing_of_the_package() -> None:
    code = (
        "import sys; from agentcompass.benchmarks.swebench_verified import SWEbenchVerified\n"
        "print([name for name in sys.modules if name.startswith(('swebench', 'pyarrow'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@needs_package
def test_the_parsers_that_rows_may_name_are_those_of_the_package() -> None:
    source = distribution("swebench").locate_file("swebench/harness/log_parsers/__init__.py")
    names = re.findall(r'"parse_log_(\w+)":', Path(str(source)).read_text())

    assert names
    assert sorted(names) == _table()["parsers"]
