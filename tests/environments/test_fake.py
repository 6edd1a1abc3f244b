"""The fake does what its script says, in virtual time, and keeps account of it."""

import math

import attrs
import pytest
import trio

from agentcompass.deadlines import deadline
from agentcompass.environments.fake import (
    ExecRule,
    FakeConfig,
    FakeEnvironment,
    FakeScript,
)
from agentcompass.errors import ConfigInvalid, EnvironmentFailed
from agentcompass.records.convert import structure_settings
from agentcompass.records.environment import ExecResult, NetworkPolicy
from tests import virtual
from tests.contract.environment import request

HOUR = 3600.0


def structured(params: dict[str, object]) -> FakeConfig:
    return structure_settings(params, FakeConfig, path="environment.params")


async def test_it_is_scripted_by_plain_parameters(autojump_clock):
    config = structured(
        {
            "open_seconds": 1,
            "close_seconds": 2.5,
            "exec": [
                {"match": "^make", "stdout": "made", "stderr": "warned", "exit_code": 2},
                {"match": "test", "seconds": 30, "writes": {"/logs/verifier/reward.txt": "1"}},
            ],
            "files": {"/app/given": "text"},
        }
    )
    session = await FakeEnvironment(config).open(request())

    assert trio.current_time() == 1
    assert await session.read("given") == b"text"
    made = await session.exec(["make", "all"])
    assert (made.stdout, made.stderr, made.exit_code) == ("made", "warned", 2)
    assert (await session.exec("anything else")).ok
    assert (await session.exec("run tests")).seconds == 30
    assert await session.read("/logs/verifier/reward.txt") == b"1"
    await session.aclose()

    assert trio.current_time() == 1 + 30 + 2.5


async def test_each_session_may_have_a_script_of_its_own(autojump_clock):
    seconds = iter([5.0, 0.0])
    fake = FakeEnvironment(script_for=lambda asked: FakeScript(open_seconds=next(seconds)))

    await fake.open(request())
    await fake.open(request())

    assert fake.ledger.open_times == [0, 5]
    assert trio.current_time() == 5


async def test_a_handler_is_asked_before_the_rules(autojump_clock):
    def handle(asked):
        return ExecResult(exit_code=9, seconds=HOUR) if "slow" in asked.text else None

    fake = FakeEnvironment(FakeConfig(exec=(ExecRule(stdout="by rule"),)), handler=handle)
    session = await fake.open(request())

    assert (await session.exec("quick")).stdout == "by rule"
    assert (await session.exec("slow", env={"A": "b"}, stdin=b"x")).exit_code == 9

    assert trio.current_time() == HOUR
    asked = fake.ledger.commands[-1]
    assert (asked.text, asked.env, asked.stdin) == ("slow", {"A": "b"}, b"x")


async def test_a_command_ends_at_its_timeout_unless_it_ignores_it(autojump_clock):
    rules = (ExecRule(stdout="partial", seconds=HOUR, writes={"late": "x"}),)
    keeps = await FakeEnvironment(FakeConfig(exec=rules)).open(request())
    ignores = await FakeEnvironment(FakeConfig(exec=rules, ignores_timeouts=True)).open(request())

    result = await keeps.exec("x", timeout_seconds=10)
    assert (result.timed_out, result.exit_code, result.stdout) == (True, None, "partial")
    assert trio.current_time() == 10
    with pytest.raises(FileNotFoundError):
        await keeps.read("late")

    assert (await ignores.exec("x", timeout_seconds=10)).ok
    assert trio.current_time() == 10 + HOUR


POINTS = {
    "exec": lambda session: session.exec("x"),
    "read": lambda session: session.read("x"),
    "write": lambda session: session.write("x", b""),
    "set_network_policy": lambda session: session.set_network_policy(NetworkPolicy()),
    "close": lambda session: session.aclose(),
}


@pytest.mark.parametrize("point", ["open", *POINTS])
async def test_any_operation_can_fail_and_work_again(point):
    config = structured({"fails": {point: "rate limit"}, "fail_times": 1, "files": {"x": ""}})
    fake = FakeEnvironment(config)
    if point == "open":
        with pytest.raises(EnvironmentFailed, match="rate limit"):
            await fake.open(request())
        assert fake.ledger.live == []
        await fake.open(request())
        return

    session = await fake.open(request())
    with pytest.raises(EnvironmentFailed, match="rate limit"):
        await POINTS[point](session)
    await POINTS[point](session)


@pytest.mark.parametrize("point", POINTS)
async def test_any_operation_can_hang(autojump_clock, point):
    session = await FakeEnvironment(structured({"hangs": [point]})).open(request())

    with pytest.raises(EnvironmentFailed, match=r"operation timeout: exceeded 3600 s"):
        with deadline(HOUR, stretch="operation", error=EnvironmentFailed):
            await POINTS[point](session)

    assert trio.current_time() == HOUR


async def test_the_ledger_counts_from_the_opening_that_was_sent(autojump_clock):
    fake = FakeEnvironment(FakeConfig(open_seconds=10, close_seconds=10))

    async def use(seconds: float) -> None:
        with trio.move_on_after(seconds):
            session = await fake.open(request())
            await session.aclose()

    async with trio.open_nursery() as nursery:
        for seconds in (5, 25, 25):
            nursery.start_soon(use, seconds)

    ledger = fake.ledger
    assert ledger.peak_live == 3
    assert len(ledger.opened) == 2
    assert len(ledger.closed) == 2
    assert ledger.live == []
    assert ledger.open_times == [0, 0, 0]


async def test_a_closing_that_was_cut_off_can_be_tried_again(autojump_clock):
    fake = FakeEnvironment(FakeConfig(close_seconds=10))
    session = await fake.open(request())
    with trio.move_on_after(1):
        await session.aclose()
    assert len(fake.ledger.live) == 1

    await session.aclose()
    await session.aclose()

    assert fake.ledger.live == []
    assert len(fake.ledger.closed) == 1


def test_the_virtual_clock_jumps_over_hours_of_it():
    async def main() -> float:
        config = FakeConfig(operation_seconds=HOUR, exec=(ExecRule(seconds=HOUR),))
        session = await FakeEnvironment(config).open(request())
        await session.write("x", b"")
        await session.exec("x")
        return trio.current_time()

    assert virtual.run(main) == 2 * HOUR


@pytest.mark.parametrize(
    "params",
    [
        {"open_seconds": -1},
        {"open_seconds": math.nan},
        {"exec": [{"match": "("}]},
        {"exec": [{"regex": "x"}]},
        {"hangs": ["opne"]},
        {"fails": {"opne": "x"}},
        {"fail_times": -1},
        {"unknown": 1},
    ],
)
def test_a_bad_script_is_refused(params):
    with pytest.raises(ConfigInvalid, match=next(iter(params))):
        structured(params)


def test_it_claims_to_give_what_a_plan_asks_for_unless_told_otherwise():
    assert {"image", "cpu", "user"} <= FakeEnvironment().capabilities.gives
    none = attrs.evolve(FakeEnvironment().capabilities, gives=frozenset())

    assert FakeEnvironment(capabilities=none).capabilities.gives == frozenset()
