"""A task's health check: its sandbox is ready for the agent once the command succeeds."""

from typing import Any

import attrs
import trio

from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import Session
from agentcompass.records.environment import ExecResult
from agentcompass.records.validators import not_negative, positive


def _at_least_1(_instance: object, attribute: "attrs.Attribute[Any]", value: int) -> None:
    if value < 1:
        raise ValueError(f"{attribute.name} must be at least 1, not {value}")


@attrs.frozen(kw_only=True)
class HealthCheck:
    """A command and when to ask it, with Harbor's names and defaults; all but retries in seconds.

    In the start period failures do not count; afterwards `retries` in a row are the end.
    """

    command: str
    interval_sec: float = attrs.field(default=5.0, validator=not_negative)
    timeout_sec: float = attrs.field(default=30.0, validator=positive)
    start_period_sec: float = attrs.field(default=0.0, validator=not_negative)
    start_interval_sec: float = attrs.field(default=5.0, validator=positive)
    retries: int = attrs.field(default=3, validator=_at_least_1)


async def wait_until_healthy(check: HealthCheck, session: Session) -> None:
    """Return once the command ends with exit code 0.

    Raises `EnvironmentFailed` after `retries` failures in a row, so that it always ends.
    """
    counts_from = trio.current_time() + check.start_period_sec
    failures = 0
    while True:
        counts = trio.current_time() >= counts_from
        ended = await session.exec(check.command, timeout_seconds=check.timeout_sec)
        if ended.ok:
            return
        failures += counts
        if failures >= check.retries:
            raise EnvironmentFailed(_unhealthy(check, ended))
        await trio.sleep(check.interval_sec if counts else check.start_interval_sec)


def _unhealthy(check: HealthCheck, ended: ExecResult) -> str:
    how = f"took more than {check.timeout_sec:g} s"
    if not ended.timed_out:
        how = f"ended with exit code {ended.exit_code}"
    said = (ended.stderr.strip() or ended.stdout.strip())[-200:] or "it printed nothing"
    return (
        f"the sandbox did not become healthy: its health check `{check.command}` failed"
        f" {check.retries} times in a row, at last {how}: {said}"
    )
