"""No provider is trusted to keep a deadline, and none can hold the run up at its end."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from agentcompass.deadlines import CleanupClock, deadline
from agentcompass.engine.job import Run
from agentcompass.engine.sessions import KILL_SECONDS, BoundedSession, OpenSession
from agentcompass.errors import EnvironmentFailed, PhaseTimeout
from agentcompass.protocols import Session, SessionRequest
from agentcompass.records.environment import EnvironmentPlan, ExecResult
from agentcompass.records.metrics import binary_contract
from agentcompass.records.run_info import MetricBasis, declared
from tests.fakes import (
    MemoryStore,
    Script,
    Scripted,
    ScriptedEnvironment,
    ScriptedSession,
    World,
    make_job,
)
from tests.virtual import on_virtual_time


@attrs.define(eq=False)
class Deaf(ScriptedSession):
    """Takes a timeout and ignores it."""

    seconds: float = 3600.0
    heard: list[float | None] = attrs.field(factory=list)

    async def exec(self, command: str | Sequence[str], **options: Any) -> ExecResult:
        self.heard.append(options["timeout_seconds"])
        await trio.sleep(self.seconds)
        return ExecResult(exit_code=0)

    async def upload(self, source: Path, target: str) -> None:
        await trio.sleep_forever()


def deaf(seconds: float = 3600.0, limit: float | None = 1.0) -> tuple[Deaf, BoundedSession]:
    session = Deaf(World({}), "P", None, seconds=seconds)  # type: ignore[arg-type]
    return session, BoundedSession(session, "P", "t1", limit)


@on_virtual_time
async def test_an_operation_that_never_answers_is_ended_by_the_engine() -> None:
    _, session = deaf()
    with pytest.raises(EnvironmentFailed, match=r"P upload operation timeout for task 't1'.*1 s"):
        await session.upload(Path("/x"), "/y")

    assert trio.current_time() == 1


@on_virtual_time
async def test_an_exec_that_ignores_its_timeout_is_ended_by_the_engine() -> None:
    session, bounded = deaf()
    with pytest.raises(EnvironmentFailed, match="P exec operation timeout"):
        await bounded.exec("sleep 3600")

    assert session.heard == [1.0]
    assert trio.current_time() == 1 + KILL_SECONDS


@on_virtual_time
async def test_an_exec_with_a_deadline_is_bounded_by_that_alone() -> None:
    session, bounded = deaf(seconds=50.0, limit=1.0)

    assert (await bounded.exec("build", timeout_seconds=60.0)).ok
    assert (await bounded.exec("verify", timeout_seconds=math.inf)).ok
    assert session.heard == [60.0, None]


@attrs.define(eq=False)
class Slow(ScriptedSession):
    """Never done; says at a timeout what it printed."""

    async def exec(self, command: str | Sequence[str], **options: Any) -> ExecResult:
        await trio.sleep(options["timeout_seconds"])
        return ExecResult(exit_code=None, stdout="so far", timed_out=True)


@pytest.mark.parametrize("timeout", [None, math.inf, 60.0])
@on_virtual_time
async def test_what_a_command_printed_before_its_phase_ended_is_kept(timeout: float | None) -> None:
    """cases.md 41; the phase's deadline still says what it ends, and when."""
    told: list[tuple[str, str]] = []
    bounded = BoundedSession(
        Slow(World({}), "P", None),  # type: ignore[arg-type]
        "P",
        "t1",
        50.0,
        lambda command, ended: told.append((command, ended.stdout)),
    )
    with pytest.raises(PhaseTimeout, match="evaluate timeout: exceeded 10 s"):
        with deadline(10.0, stretch="evaluate"):
            await bounded.exec("make test\nmore", timeout_seconds=timeout)

    assert told == [("make test", "so far")]
    assert trio.current_time() == 10


@on_virtual_time
async def test_a_commands_own_deadline_that_comes_first_is_its_own() -> None:
    told: list[object] = []
    bounded = BoundedSession(
        Slow(World({}), "P", None),  # type: ignore[arg-type]
        "P",
        "t1",
        50.0,
        lambda *cut_off: told.append(cut_off),
    )
    with deadline(10.0, stretch="evaluate"):
        assert (await bounded.exec("make", timeout_seconds=9.0)).timed_out

    assert told == []
    assert trio.current_time() == 9


@on_virtual_time
async def test_no_operation_timeout_is_no_bound() -> None:
    session, bounded = deaf(seconds=1e6, limit=None)

    assert (await bounded.exec("long")).ok
    assert session.heard == [None]


@on_virtual_time
async def test_an_exec_out_of_operation_timeout_is_fatal_and_names_the_command() -> None:
    class Slow(Deaf):
        async def exec(self, command: str | Sequence[str], **options: Any) -> ExecResult:
            return ExecResult(exit_code=None, timed_out=True)

    session = BoundedSession(Slow(World({}), "P", None), "P", "t1", 2.0)  # type: ignore[arg-type]

    with pytest.raises(EnvironmentFailed, match=r"exceeded 2 s: make all"):
        await session.exec("make all\nmore")
    assert (await session.exec("make all", timeout_seconds=9.0)).timed_out


BASIS = MetricBasis(metrics=declared(binary_contract()))


def make_run(world: World, grace: float = 1.0) -> Run:
    return Run(
        job=make_job(world, MemoryStore()),
        store=MemoryStore(),
        cleanup=CleanupClock(grace),
        basis=BASIS,
    )


def opened(run: Run, faults: list[str]) -> Any:
    return OpenSession(
        run,
        EnvironmentPlan(id="P"),
        task_id="t",
        attempt=1,
        role="agent",
        on_close_fault=faults.append,
    )


@on_virtual_time
async def test_a_close_that_never_returns_is_cut_off_and_told() -> None:
    world = World({"t": Scripted(task_id="t", scripts={1: [Script(close_seconds=math.inf)]})})
    faults: list[str] = []
    async with opened(make_run(world), faults):
        pass

    assert trio.current_time() == 1
    assert len(faults) == 1
    assert "may be left over" in faults[0]


@pytest.mark.parametrize("script", [Script(close_seconds=math.inf), Script()])
@on_virtual_time
async def test_what_may_be_left_over_is_named(script: Script) -> None:
    class Named(ScriptedSession):
        name = "box-7"

        async def aclose(self) -> None:
            await super().aclose()
            raise EnvironmentFailed("busy")

    class Boxes(ScriptedEnvironment):
        async def open(self, request: SessionRequest) -> Session:
            await super().open(request)
            return Named(self.world, self.id, request)

    world = World({"t": Scripted(task_id="t", scripts={1: [script]})})
    run = Run(
        job=make_job(world, MemoryStore(), providers=[Boxes(world, "P")]),
        store=MemoryStore(),
        cleanup=CleanupClock(1.0),
        basis=BASIS,
    )
    faults: list[str] = []
    async with opened(run, faults):
        pass

    assert [fault.startswith("the environment box-7 ") for fault in faults] == [True]


@on_virtual_time
async def test_a_cancelled_body_still_closes_within_the_grace() -> None:
    world = World({"t": Scripted(task_id="t", scripts={1: [Script(close_seconds=0.5)]})})
    faults: list[str] = []
    with trio.move_on_after(3):
        async with opened(make_run(world), faults):
            await trio.sleep_forever()

    assert trio.current_time() == 3.5
    assert (world.opened, world.closed, faults) == (1, 1, [])


@on_virtual_time
async def test_the_start_deadline_begins_when_the_open_is_sent() -> None:
    script = {1: [Script(open_seconds=5)]}
    world = World({name: Scripted(task_id=name, scripts=script) for name in ("a", "b")})
    provider = ScriptedEnvironment(world, "P", sandbox_start_timeout=6.0)
    job = make_job(world, MemoryStore(), providers=[provider], env_open_qps={"P": 0.1})
    run = Run(job=job, store=MemoryStore(), cleanup=CleanupClock(1.0), basis=BASIS)

    async def use(name: str) -> None:
        async with OpenSession(
            run,
            EnvironmentPlan(id="P"),
            task_id=name,
            attempt=1,
            role="agent",
            on_close_fault=lambda _: None,
        ):
            pass

    async with trio.open_nursery() as nursery:
        nursery.start_soon(use, "a")
        nursery.start_soon(use, "b")

    assert trio.current_time() == 15  # 10 s of pace, and 5 s of opening, do not add up to 6


@on_virtual_time
async def test_a_start_that_takes_too_long_says_so_as_users_match_it() -> None:
    world = World({"t": Scripted(task_id="t", scripts={1: [Script(open_seconds=5)]})})
    provider = ScriptedEnvironment(world, "P", sandbox_start_timeout=2.0)
    job = make_job(world, MemoryStore(), providers=[provider])
    run = Run(job=job, store=MemoryStore(), cleanup=CleanupClock(1.0), basis=BASIS)
    with pytest.raises(EnvironmentFailed, match=r"(?i)sandbox.*timeout"):
        async with opened(run, []):
            pass

    assert trio.current_time() == 2
    assert world.opened == world.closed
