"""Scores a task in a session: lays out its tests, runs test.sh, reads the reward that it left."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from agentcompass.benchmarks import _rewards
from agentcompass.errors import EvaluationFailed
from agentcompass.protocols import Session
from agentcompass.records.environment import ExecResult

# Harbor's folders. A session that maps them to its own tells commands where, by these variables.
TESTS, LOGS = "/tests", "/logs/verifier"
_IN_SHELL = '"${TESTS_DIR:-/tests}" "${LOGS_DIR:-/logs}/verifier"'

# Whatever the agent put there is gone, a link itself and not what it leads to; folders that it
# closed to its own user are opened first. Both are empty folders again, or it fails.
_EMPTY_FOLDERS = f"""
for folder in {_IN_SHELL}; do
    [ -L "$folder" ] || chmod -R u+rwX -- "$folder" 2>/dev/null
    rm -rf -- "$folder"
    mkdir -p -- "$folder" && [ ! -L "$folder" ] && [ -z "$(ls -A -- "$folder")" ] || exit 1
done
"""
_OPEN_FOLDERS = f"chmod a+rwX -- {_IN_SHELL}"
_RUN_TESTS = 'bash "${TESTS_DIR:-/tests}/test.sh"'

_FORMS = (
    (_rewards.JSON_NAME, _rewards.rewards_from_json),
    (_rewards.TEXT_NAME, _rewards.reward_from_text),
)
_MOST = 65_536
_NOT_PLAIN = 10
# Says by its exit code which of the forms is there, and whether it is a plain file: no provider
# reads a link, a pipe or an endless file alike.
_LOOK_FOR_REWARD = f"""
number=0
for name in {" ".join(name for name, _ in _FORMS)}; do
    number=$((number + 1)); file="${{LOGS_DIR:-/logs}}/verifier/$name"
    [ -e "$file" ] || [ -L "$file" ] || continue
    [ -f "$file" ] && [ ! -L "$file" ] && [ "$(wc -c < "$file")" -le {_MOST} ] && exit $number
    exit $((number + {_NOT_PLAIN}))
done
exit 0
"""

# By POSIX: found but not executable, not found. Of bash itself, or of what test.sh needs to start.
_COULD_NOT_START = (126, 127)
_TAIL = 10_000


@attrs.frozen(kw_only=True)
class Verifier:
    """How one task is scored: its tests on the host, their variables, and who runs them."""

    tests_dir: Path
    env: Mapping[str, str] = attrs.field(factory=dict)
    user: str | None = None

    async def lay_out(self, session: Session) -> None:
        """Empty the folders of the verdict, whatever the agent put there, and bring in the tests.

        Raises `EvaluationFailed` where they cannot be emptied.
        """
        script = _EMPTY_FOLDERS if self.user is None else f"{_EMPTY_FOLDERS}{_OPEN_FOLDERS}\n"
        emptied = await session.exec(script)
        if not emptied.ok:
            raise EvaluationFailed(
                f"{TESTS} and {LOGS} could not be emptied: {_last_line(emptied)}",
                code="verifier_not_started",
            )
        await session.upload(self.tests_dir, TESTS)

    async def run(self, session: Session) -> ExecResult:
        """Run test.sh in the working directory, for as long as the phase may last."""
        return await session.exec(
            _RUN_TESTS, env=self.env, timeout_seconds=math.inf, user=self.user
        )


async def read_rewards(session: Session, ended: ExecResult) -> dict[str, float]:
    """The numbers in reward.json, or else reward.txt; the exit code of test.sh is no verdict.

    Raises `EvaluationFailed`, code `reward_invalid`, `reward_missing`, or `verifier_not_started`.
    """
    looked = await session.exec(_LOOK_FOR_REWARD)
    for number, (name, parse) in enumerate(_FORMS, 1):
        if looked.exit_code == number:
            return parse(await session.read(f"{LOGS}/{name}"))
        if looked.exit_code == number + _NOT_PLAIN:
            raise _rewards.RewardInvalid(f"{name} is not a plain file of at most {_MOST} bytes")
    raise _no_reward(ended)


def _no_reward(ended: ExecResult) -> EvaluationFailed:
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
