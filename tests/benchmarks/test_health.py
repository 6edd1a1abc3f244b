"""A sandbox is ready once its health check succeeds, and the wait for it has an end."""

import pytest
import trio

from agentcompass.benchmarks._health import HealthCheck, wait_until_healthy
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import ExecResult


class Checked:
    """A session whose health check gives `answers` in turn, the last one for ever."""

    def __init__(self, *answers, seconds=0.0):
        self.answers = list(answers)
        self.seconds = seconds
        self.asked = []

    async def exec(self, command, *, timeout_seconds):
        self.asked.append((trio.current_time(), command, timeout_seconds))
        await trio.sleep(min(self.seconds, timeout_seconds))
        if self.seconds > timeout_seconds:
            return ExecResult(exit_code=None, timed_out=True)
        code = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return ExecResult(exit_code=code, stderr="connection refused\n" if code else "")

    def times(self):
        return [round(at - self.asked[0][0], 3) for at, _, _ in self.asked]


async def test_the_first_success_is_enough(autojump_clock):
    session = Checked(1, 1, 0)

    await wait_until_healthy(HealthCheck(command="up", interval_sec=2), session)

    assert session.times() == [0, 2, 4]
    assert {asked[1:] for asked in session.asked} == {("up", 30.0)}


async def test_failures_in_a_row_are_the_end_and_said(autojump_clock):
    session = Checked(7)

    with pytest.raises(EnvironmentFailed) as caught:
        await wait_until_healthy(HealthCheck(command="curl localhost", retries=3), session)

    assert session.times() == [0, 5, 10]
    assert str(caught.value) == (
        "the sandbox did not become healthy: its health check `curl localhost` failed 3 times in a"
        " row, at last ended with exit code 7: connection refused"
    )


async def test_failures_in_the_start_period_do_not_count(autojump_clock):
    """Fails where the retries are counted from the beginning."""
    session = Checked(1, 1, 1, 1, 0)
    check = HealthCheck(command="up", start_period_sec=3, start_interval_sec=1, retries=2)

    await wait_until_healthy(check, session)

    assert session.times() == [0, 1, 2, 3, 8]


async def test_a_check_that_hangs_is_a_failure(autojump_clock):
    session = Checked(0, seconds=60)

    with pytest.raises(EnvironmentFailed, match="at last took more than 1 s: it printed nothing"):
        await wait_until_healthy(HealthCheck(command="up", timeout_sec=1, retries=2), session)

    assert session.times() == [0, 6]


@pytest.mark.parametrize(
    ("field", "value"),
    [("retries", 0), ("timeout_sec", 0), ("start_interval_sec", 0), ("interval_sec", -1)],
)
def test_what_would_never_end_or_never_ask_is_refused(field, value):
    with pytest.raises(ValueError, match=field):
        HealthCheck(command="up", **{field: value})
