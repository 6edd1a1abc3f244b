"""Scores a patch in a fresh session: applies it, runs the evaluation script, keeps its log."""

import math
import tempfile
from pathlib import Path

import attrs
import trio

from agentcompass.benchmarks._swebench_grading import Verdict, grade, without_tests
from agentcompass.benchmarks._swebench_repository import AS_THEY_ARE, FAULTS, PATCH
from agentcompass.benchmarks._swebench_rows import Row
from agentcompass.benchmarks._swebench_scripts import Evaluation
from agentcompass.errors import EvaluationFailed
from agentcompass.protocols import Session
from agentcompass.records.issue import Issue
from agentcompass.records.task import RunResult

_FOLDER = "/logs/verifier"
_SCRIPT, _LOG = f"{_FOLDER}/eval.sh", f"{_FOLDER}/test_output.txt"

# Whether there is a patch, and of which files; it may be larger than this host's memory.
_LOOK = """
export LC_ALL=C
patch="${LOGS_DIR:-/logs}/artifacts/model.patch"
[ -f "$patch" ] || exit 3
grep -aq '[^[:space:]]' "$patch" || exit 4
grep -a '^diff --git ' "$patch" || :
"""
_NO_PATCH, _EMPTY = 3, 4
# First as it was taken, without git's conversions; then the ways to apply a patch in the order of
# `run_evaluation` of swebench 5.0.2, each on the files as they were, and what it takes for applied
# at last.
_APPLY = f"""
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
patch="${{LOGS_DIR:-/logs}}/artifacts/model.patch"
raw="$(mktemp -d)"
git init --quiet --bare --template= "$raw"
git --git-dir="$raw" config core.bare false
mkdir -p "$raw/info"
echo '{AS_THEY_ARE}' > "$raw/info/attributes"
GIT_DIR="$raw" GIT_WORK_TREE="$PWD" git apply --verbose "$patch" && exit 0
first=yes
for way in 'git apply --verbose' 'git apply --verbose --3way' 'git apply --verbose --reject' \\
        'patch --batch --forward --fuzz=5 -p1 -i'; do
    [ "$first" ] || {{ git checkout -- . ; git clean -fd; }}
    first=
    $way "$patch" && exit 0
done
git apply --check --reverse "$patch"
"""
_MOST = 32 * 2**20  # bytes of a log; a few MB are usual
# What is printed goes to a file, for it may be more than an exec keeps, and is shown meanwhile, for
# the script may be cut off. `set -x` prints the marks of the tests to stderr. Each job is a process
# group (-m), so that tests that print without end are ended before they fill the disk.
_EVALUATE = f"""
set -m
folder="${{LOGS_DIR:-/logs}}/verifier"
log="$folder/test_output.txt"
too_long() {{ [ "$(wc -c < "$log")" -gt {_MOST} ]; }}
: > "$log"
tail -f "$log" & shown=$!
bash "$folder/eval.sh" > "$log" 2>&1 & tests=$!
while sleep 1; do
    ! too_long || kill -KILL -- "-$tests"
done & watch=$!
wait "$tests"
kill -- "-$watch" "-$shown"
! too_long || truncate -s {_MOST} "$log"
"""
_KEPT = 4 * 2**20  # characters of a log in the result


@attrs.frozen(kw_only=True)
class Scoring:
    """One row to be scored in `session`, where its repository is laid out."""

    session: Session
    row: Row
    evaluation: Evaluation

    async def score(self, result: RunResult) -> Verdict:
        """The verdict; log and transcript go into `result.artifacts`.

        Raises `EvaluationFailed` where there is no patch, or the tests could not start.
        """
        changed = await self._changed()
        await self._tell_faults(result)
        if changed is None:
            return without_tests("empty_patch")
        applied = await self.session.exec(["bash", "-c", _APPLY])
        result.artifacts["patch_output"] = _bounded(applied.stdout + applied.stderr)
        if not applied.ok:
            return without_tests("patch_not_applied")
        log = await self._run_tests()
        result.artifacts["test_output"] = _bounded(log)
        verdict = await grade(self.row, self.evaluation, log=log, changed=changed)
        if verdict.reason == "no_test_results":
            result.add_issue(_no_results())
        return verdict

    async def _changed(self) -> str | None:
        """The lines of the patch that name files; None where the patch is empty."""
        look = await self.session.exec(["bash", "-c", _LOOK])
        if look.exit_code == _NO_PATCH:
            raise EvaluationFailed(
                f"there is no patch at {PATCH}: the task's own collection command makes it, which"
                " execution.artifact_collect replaces",
                code="patch_missing",
            )
        return None if look.exit_code == _EMPTY else look.stdout

    async def _tell_faults(self, result: RunResult) -> None:
        try:
            faults = (await self.session.read(FAULTS)).decode("utf-8", "replace")
        except FileNotFoundError:
            faults = ""
        if faults.strip():
            result.add_issue(_incomplete(faults))

    async def _run_tests(self) -> str:
        await self.session.write(_SCRIPT, self.evaluation.script.encode())
        await self.session.exec(["bash", "-c", _EVALUATE], timeout_seconds=math.inf)
        with tempfile.TemporaryDirectory(prefix="agentcompass-log-") as folder:
            log = trio.Path(folder, "test_output.txt")
            try:
                await self.session.download(_LOG, Path(log))
            except FileNotFoundError as error:
                raise EvaluationFailed(
                    f"the tests could not start: there is no {_LOG}", code="verifier_not_started"
                ) from error
            return (await log.read_bytes()).decode("utf-8", "replace")


def _incomplete(faults: str) -> Issue:
    return Issue(
        severity="warning",
        phase="collect",
        code="patch_incomplete",
        message=f"some of what the agent left is not in its patch: {faults.strip()[:500]}",
    )


def _no_results() -> Issue:
    return Issue(
        severity="warning",
        phase="evaluate",
        code="no_test_results",
        message="the log has no result of any test, which officially counts as not resolved; it is"
        " in artifacts.test_output of the result",
    )


def _bounded(text: str) -> str:
    if len(text) <= _KEPT:
        return text
    half = _KEPT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
