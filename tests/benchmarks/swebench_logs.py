"""Logs of evaluation scripts as the test runners of SWE-bench write them, well and badly ended."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import attrs

FAIL, KEEP = "tests/test_it.py::test_fail", "tests/test_it.py::test_keep"
PATCH = "diff --git a/it.py b/it.py\n--- a/it.py\n+++ b/it.py\n@@ -1 +1 @@\n-1\n+2\n"
STATES = ("passed", "failed", "error", "skipped", "missing")

_PYTEST = {
    "passed": "PASSED {}",
    "failed": "FAILED {} - assert 1 == 2",
    "error": "ERROR {}",
    "skipped": "SKIPPED [1] {}: why",
}
_DJANGO = {
    "passed": "{} (tests.T) ... ok",
    "failed": "{} (tests.T) ... FAIL",
    "error": "{} (tests.T) ... ERROR",
    "skipped": "{} (tests.T) ... skipped 'why'",
}
_SYMPY = {"passed": "{} ok", "failed": "{} F", "error": "{} E", "skipped": "{} s"}
_SEABORN = {
    "passed": "{} PASSED [ 50%]",
    "failed": "FAILED {} - assert 1 == 2",
    "error": "ERROR {}",
    "skipped": "{} SKIPPED [ 50%]",
}


@attrs.frozen(kw_only=True)
class Runner:
    """How one runner tells the states of tests, and the names of the two tests that count."""

    parser: str
    lines: dict[str, str]
    names: tuple[str, str] = (FAIL, KEEP)
    ids: tuple[str, str] = (FAIL, KEEP)


_SHORT = ("test_fail", "test_keep")
RUNNERS = (
    *(
        Runner(parser=f"parse_log_{name}", lines=_PYTEST)
        for name in ("pytest", "pytest_v2", "pytest_options", "matplotlib")
    ),
    Runner(
        parser="parse_log_django",
        lines=_DJANGO,
        names=_SHORT,
        ids=("test_fail (tests.T)", "test_keep (tests.T)"),
    ),
    Runner(parser="parse_log_sympy", lines=_SYMPY, names=_SHORT, ids=_SHORT),
    Runner(parser="parse_log_seaborn", lines=_SEABORN),
)


@attrs.frozen(kw_only=True)
class Case:
    """One log, and the row that it is of."""

    name: str
    runner: Runner
    log: str

    @property
    def row(self) -> dict[str, Any]:
        """Of the newer kind."""
        return {
            "instance_id": "made__up-1",
            "repo": "made/up",
            "base_commit": "0" * 40,
            "version": "1",
            "problem_statement": "it is at fault",
            "test_patch": PATCH,
            "FAIL_TO_PASS": [self.runner.ids[0]],
            "PASS_TO_PASS": [self.runner.ids[1]],
            "image": "made-up",
            "eval_script": ": '>>>>> Start Test Output'\npytest\n: '>>>>> End Test Output'\n",
            "log_parser": self.runner.parser,
            "eval_type": "pass_and_fail",
        }


def log_of(told: str, *, code: int) -> str:
    """What an evaluation script prints around `told`, its tests ending with `code`."""
    return (
        "+ cd /testbed\n+ git apply -v -\nApplied patch tests/test_it.py cleanly.\n"
        f"+ : '>>>>> Start Test Output'\n+ pytest\n{told}\n+ SWEBENCH_TEST_EXIT_CODE={code}\n"
        "+ : '>>>>> End Test Output'\n"
        f"+ echo '>>>>> Test Exit Code: {code}'\n>>>>> Test Exit Code: {code}\n"
    )


def ordinary() -> Iterator[Case]:
    """Both tests in every pair of states, told by every runner."""
    for runner, states in product(RUNNERS, product(STATES, STATES)):
        told = "\n".join(
            runner.lines[state].format(name)
            for state, name in zip(states, runner.names, strict=True)
            if state != "missing"
        )
        code = int(bool({"failed", "error"} & set(states)))
        name = f"{runner.parser} {states[0]} {states[1]}"
        yield Case(name=name, runner=runner, log=log_of(told, code=code))


_BOTH = f"PASSED {FAIL}\nPASSED {KEEP}"
_ODD: dict[str, Callable[[], str]] = {
    "no end mark": lambda: log_of(_BOTH, code=0).partition("+ SWEBENCH")[0],
    "tests timed out": lambda: log_of(f"{_BOTH}\n>>>>> Tests Timed Out", code=0),
    "passed, and a failing exit code": lambda: log_of(_BOTH, code=1),
    "nothing told": lambda: log_of("Traceback (most recent call last):\nSyntaxError", code=1),
    "printed marks": lambda: log_of(
        f"{_BOTH}\n+ : '>>>>> End Test Output'\n>>>>> Test Exit Code: 0\nFAILED {FAIL}", code=1
    ),
    "no network": lambda: log_of("curl: (6) Could not resolve host: pypi.org", code=1),
    "expected failures": lambda: log_of(f"XFAIL {FAIL}\nXFAIL {KEEP}", code=0),
    "odd bytes": lambda: log_of(f"\ufffd\0\x1b[31m\r\nPASSED {FAIL}\r\nPASSED {KEEP}\r", code=0),
}


def odd() -> Iterator[Case]:
    """What is no ordinary end."""
    for name, log in _ODD.items():
        yield Case(name=name, runner=RUNNERS[0], log=log())
