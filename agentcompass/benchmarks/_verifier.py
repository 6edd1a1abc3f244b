"""Scores a task in a session: lays out its tests, runs test.sh, reads the reward that it left."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from agentcompass.benchmarks import _rewards
from agentcompass.benchmarks._bootstrap import bootstrap_failure
from agentcompass.errors import EvaluationFailed
from agentcompass.protocols import Session
from agentcompass.records.environment import ExecResult

# Harbor's folders. A session that maps them to its own tells commands where, by these variables.
TESTS, LOGS = "/tests", "/logs/verifier"
_TESTS, _LOGS = '"${TESTS_DIR:-/tests}"', '"${LOGS_DIR:-/logs}/verifier"'

# Whatever the agent put there is gone, a link itself and not what it leads to; folders that it
# closed to its own user are opened first. Both are empty folders again, or it fails.
_EMPTY = """
for folder in {}; do
    [ -L "$folder" ] || chmod -R u+rwX -- "$folder" 2>/dev/null
    rm -rf -- "$folder"
    mkdir -p -- "$folder" && [ ! -L "$folder" ] && [ -z "$(ls -A -- "$folder")" ] || exit 1
done
"""
_EMPTY_FOLDERS, _EMPTY_LOGS = _EMPTY.format(f"{_TESTS} {_LOGS}"), _EMPTY.format(_LOGS)
_OPEN_FOLDERS = f"chmod a+rwX -- {_TESTS} {_LOGS}\n"
_HAS_TESTS = '[ -f "${TESTS_DIR:-/tests}/test.sh" ]'
_RUN_TESTS = 'bash "${TESTS_DIR:-/tests}/test.sh"'

_FORMS = (
    (_rewards.JSON_NAME, _rewards.rewards_from_json),
    (_rewards.TEXT_NAME, _rewards.reward_from_text),
)
_MOST = 65_536
_REPORT = "ctrf.json"
# Says what is there under each name. Only plain files are read: no provider reads a link, a pipe
# or an endless file alike.
_LOOK = f"""
for name in {" ".join(name for name, _ in _FORMS)} {_REPORT}; do
    file="${{LOGS_DIR:-/logs}}/verifier/$name"
    if [ -L "$file" ]; then kind=link
    elif [ -d "$file" ]; then kind=folder
    elif [ -f "$file" ]; then
        kind=plain; [ "$(wc -c < "$file")" -le {_MOST} ] || kind=large
    elif [ -e "$file" ]; then kind=special
    else continue
    fi
    echo "$name $kind"
done
"""
_NOT_PLAIN = {
    "link": "is a symbolic link, not a file",
    "folder": "is a folder, not a file",
    "special": "is a pipe, a socket or a device, not a file",
    "large": f"cannot be read, or has more than {_MOST} bytes",
}

# By POSIX: found but not executable, not found. Of bash itself, or of what test.sh needs to start.
_COULD_NOT_START = (126, 127)
_TAIL = 10_000


@attrs.frozen(kw_only=True)
class Verifier:
    """How one task is scored: its tests on the host, their variables, and who runs them.

    What a later folder of `tests_dirs` has replaces what an earlier one has. `in_image` says that
    the session's image may have the tests already, and nothing of the agent's is in it.
    """

    tests_dirs: tuple[Path, ...]
    env: Mapping[str, str] = attrs.field(factory=dict)
    user: str | None = None
    in_image: bool = False

    async def lay_out(self, session: Session) -> None:
        """Empty the folders of the verdict, whatever the agent put there, and bring in the tests.

        Raises `EvaluationFailed` where they cannot be emptied.
        """
        ready = self.in_image and (await session.exec(_HAS_TESTS)).ok
        script = _EMPTY_LOGS if ready else _EMPTY_FOLDERS
        if self.user is not None:
            script += _OPEN_FOLDERS
        await _or_not_started(session, script)
        for folder in () if ready else self.tests_dirs:
            await session.upload(folder, TESTS)

    async def take_away(self, session: Session) -> None:
        """Leave nothing of the tests or of a solution to an agent that comes next."""
        await _or_not_started(session, f'{_EMPTY_FOLDERS}rm -rf -- "${{SOLUTION_DIR:-/solution}}"')

    async def run(self, session: Session) -> ExecResult:
        """Run test.sh in the working directory, for as long as the phase may last."""
        return await session.exec(
            _RUN_TESTS, env=self.env, timeout_seconds=math.inf, user=self.user
        )


async def _or_not_started(session: Session, script: str) -> None:
    emptied = await session.exec(script)
    if not emptied.ok:
        raise EvaluationFailed(
            f"{TESTS} and {LOGS} could not be emptied: {_last_line(emptied)}",
            code="verifier_not_started",
        )


@attrs.frozen(kw_only=True)
class Verdict:
    """Numbers by name as a verifier wrote them; `ignored` is a file that it wrote beside them."""

    rewards: Mapping[str, float]
    ignored: str | None = None


async def read_verdict(session: Session, ended: ExecResult) -> Verdict:
    """The numbers in reward.json, or else reward.txt; the exit code of test.sh is no verdict.

    Nor is a 0 that was written where the tests could not run.

    Raises `EvaluationFailed`, code `reward_invalid`, `reward_missing`, or `verifier_not_started`.
    """
    looked = await session.exec(_LOOK)
    there = dict(line.split() for line in looked.stdout.splitlines())
    found = [(name, parse) for name, parse in _FORMS if name in there]
    # A report of single tests is written only by tests that ran.
    untested = None if _REPORT in there else bootstrap_failure(f"{ended.stdout}\n{ended.stderr}")
    if not found:
        raise _no_reward(ended, untested)
    name, parse = found[0]
    if there[name] != "plain":
        raise _rewards.RewardInvalid(f"{name} {_NOT_PLAIN[there[name]]}")
    rewards = parse(await session.read(f"{LOGS}/{name}"))
    if untested is not None and not any(rewards.values()):
        raise _could_not_test(untested)
    return Verdict(rewards=rewards, ignored=found[1][0] if len(found) > 1 else None)


def _could_not_test(reason: str) -> EvaluationFailed:
    return EvaluationFailed(
        f"the verifier could not bring in what its tests need: {reason}",
        code="verifier_not_started",
    )


def _no_reward(ended: ExecResult, untested: str | None) -> EvaluationFailed:
    if untested is not None:
        return _could_not_test(untested)
    how = "was cut off" if ended.timed_out else f"ended with exit code {ended.exit_code}"
    said = f"; it said: {line}" if (line := _last_line(ended)) else ""
    if ended.exit_code in _COULD_NOT_START:
        return EvaluationFailed(
            f"the verifier could not start: test.sh {how}{said}", code="verifier_not_started"
        )
    return EvaluationFailed(
        f"test.sh {how} and left neither {_rewards.JSON_NAME} nor {_rewards.TEXT_NAME}"
        f" in {LOGS}{said}",
        code="reward_missing",
    )


def _last_line(ended: ExecResult) -> str:
    lines = (ended.stderr.strip() or ended.stdout.strip()).splitlines()
    return lines[-1].strip()[:200] if lines else ""


def transcript(ended: ExecResult) -> dict[str, Any]:
    """What is kept of a verifier's run: its exit code, seconds and the ends of its two outputs."""
    return {
        "exit_code": ended.exit_code,
        "seconds": round(ended.seconds, 3),
        "stdout": ended.stdout[-_TAIL:],
        "stderr": ended.stderr[-_TAIL:],
    }
