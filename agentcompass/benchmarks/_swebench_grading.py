"""The verdict of SWE-bench on one log: that of the package `swebench`, and why it is so."""

import json
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import attrs
import trio

from agentcompass.benchmarks._swebench_rows import END_MARK, START_MARK, Row
from agentcompass.benchmarks._swebench_scripts import Evaluation
from agentcompass.errors import EvaluationFailed
from agentcompass.records.needs import Needs

# Alone: what the package needs for all else is 460 MB.
NEEDS = Needs(packages=("swebench==5.0.2", "unidiff"), dependencies=False)

Reason = Literal[
    "resolved",
    "tests_failed",
    "empty_patch",
    "patch_not_applied",
    "tests_cut_off",
    "no_test_results",
    "results_without_failure",
    "log_refused",
]

_GRADER = Path(__file__).with_name("_swebench_grader_main.py")
_EXIT_CODE = re.compile(r">>>>> Test Exit Code:\s*(-?\d+)")
# By POSIX: found but not executable, not found.
_COULD_NOT_START = (126, 127)


@attrs.frozen(kw_only=True)
class Verdict:
    """Whether a patch resolves its task, why (not), and the report as the package writes it."""

    reason: Reason
    report: Mapping[str, Any]

    @property
    def resolved(self) -> bool:
        """What counts."""
        return bool(self.report["resolved"])


def without_tests(reason: Literal["empty_patch", "patch_not_applied"]) -> Verdict:
    """The verdict on a patch for which no test is run."""
    exists = reason != "empty_patch"
    report = {
        "patch_is_None": not exists,
        "patch_exists": exists,
        "patch_successfully_applied": False,
        "resolved": False,
    }
    return Verdict(reason=reason, report=report)


async def grade(row: Row, evaluation: Evaluation, *, log: str, changed: str) -> Verdict:
    """The verdict on what the evaluation script has printed.

    `changed` are the lines of the patch that name the files it changes.
    Raises `EvaluationFailed` where the tests could not start, which says nothing of the patch, or
    the package cannot grade.
    """
    report = await _report(row, evaluation, log)
    parsed = report.pop("parsed")
    if START_MARK not in log:
        raise _not_started("the script ended before it came to them", log)
    code = _exit_code(log)
    if not parsed and code in _COULD_NOT_START and not _touches(changed, evaluation.test_command):
        raise _not_started(f"their command ended with exit code {code}", log)
    return Verdict(reason=_reason(report, log, parsed), report=report)


def _not_started(reason: str, log: str) -> EvaluationFailed:
    last = next((line for line in reversed(log.splitlines()) if line.strip()), "")
    return EvaluationFailed(
        f"the tests could not start: {reason}; the log ends: {last.strip()[:200]}",
        code="verifier_not_started",
    )


def _touches(changed: str, command: str) -> bool:
    """Whether a patch changes a file that the command names: then the fault is the patch's."""
    names = re.findall(r"^diff --git a/(.*) b/\1$", changed, re.MULTILINE)
    return any(re.search(rf"(?:^|[\s/]){re.escape(name)}(?:\s|$)", command) for name in names)


def _exit_code(log: str) -> int | None:
    # Told after the last end mark: what came before may be a test's own print.
    found = _EXIT_CODE.search(log.rpartition(END_MARK)[2])
    return int(found[1]) if found else None


def _reason(report: Mapping[str, Any], log: str, parsed: int) -> Reason:
    """Why: a log that the package takes for none is looked at here, its tags do not decide."""
    if report["resolved"]:
        return "resolved"
    if report["patch_successfully_applied"]:
        return "tests_failed"
    if END_MARK not in log:
        return "tests_cut_off"
    if re.search(r">>>>> (?:Patch Apply Failed|Reset Failed|Tests Errored|Tests Timed Out)", log):
        return "log_refused"
    return "results_without_failure" if parsed else "no_test_results"


async def _report(row: Row, evaluation: Evaluation, log: str) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".log") as file:
        file.write(log)
        file.flush()
        request = {"spec": _spec(row, evaluation), "log": file.name}
        done = await trio.run_process(
            [sys.executable, "-P", "-X", "utf8", str(_GRADER)],
            stdin=json.dumps(request).encode(),
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise EvaluationFailed(f"swebench cannot grade: {''.join(said)}", code="grader_failed")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _spec(row: Row, evaluation: Evaluation) -> dict[str, Any]:
    return {
        "instance_id": row.instance_id,
        "image": evaluation.image,
        "eval_script_list": [],
        "repo": row.repo,
        "version": row.version,
        "FAIL_TO_PASS": list(row.FAIL_TO_PASS),
        "PASS_TO_PASS": list(row.PASS_TO_PASS),
        "log_parser": evaluation.log_parser,
        "eval_type": row.eval_type,
    }
