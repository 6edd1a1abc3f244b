"""Ends a command-line agent once what it tells of its own calls is more than it may spend."""

import logging
from collections.abc import Awaitable, Callable

import attrs
import trio

from agentcompass.errors import BudgetExhausted, EnvironmentFailed, ExecutionError
from agentcompass.harnesses._cli_program import Program, Transcript, issue
from agentcompass.records.allowance import Allowance
from agentcompass.records.model import Usage
from agentcompass.records.task import RunResult

LOOK_SECONDS = 5.0  # between looks at what it has printed

log = logging.getLogger(__name__)


def warn(program: Program) -> None:
    """Say how far the program can be held to a budget."""
    if program.tells_usage_at_the_end:
        what = "tells what its calls took only at its end, which is when its budget is looked at"
    else:
        what = f"calls the model itself, and its budget is looked at every {LOOK_SECONDS:g} s"
    log.warning("%s %s", program.command, what)


def calls_in(transcript: Transcript) -> list[Usage]:
    """All in one where the program says so, with the cost as it reckons it, else reply by reply."""
    if transcript.usage is None:
        return [step.usage for step in transcript.steps]
    return [attrs.evolve(transcript.usage, cost_usd=transcript.telemetry.get("reported_cost_usd"))]


async def within(
    allowance: Allowance | None,
    work: Callable[[], Awaitable[None]],
    read: Callable[[], Awaitable[Transcript]],
) -> None:
    """Do `work` as long as what `read` finds can be paid; raises `BudgetExhausted` beyond that."""
    if allowance is None or not allowance.limited:
        await work()
        return
    allowance.check()
    faults: list[ExecutionError] = []
    async with trio.open_nursery() as nursery:

        async def watch() -> None:
            faults.append(await _until_used_up(allowance, read))
            nursery.cancel_scope.cancel()

        nursery.start_soon(watch)
        try:
            await work()
        except ExecutionError as error:  # alone, and in no group
            faults.append(error)
        nursery.cancel_scope.cancel()
    if faults:
        raise faults[0]


async def _until_used_up(
    allowance: Allowance, read: Callable[[], Awaitable[Transcript]]
) -> BudgetExhausted:
    while True:
        await trio.sleep(LOOK_SECONDS)
        try:
            allowance.spent(calls_in(await read()))
            allowance.check()
        except EnvironmentFailed as error:
            log.debug("what was printed so far cannot be read: %s", error)
        except BudgetExhausted as error:
            return error


def settle(allowance: Allowance | None, transcript: Transcript, result: RunResult) -> None:
    """Note what it all took, and warn where that is more than it might spend."""
    if allowance is None:
        return
    allowance.spent(calls_in(transcript))
    ended_for_it = any(found.code.endswith(BudgetExhausted.code) for found in result.issues)
    if (fault := allowance.fault) is not None and not ended_for_it:
        result.add_issue(issue("warning", BudgetExhausted.code, f"it ended by itself; {fault}"))
