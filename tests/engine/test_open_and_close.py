"""Whatever becomes of an attempt, what was opened for it is closed."""

from collections.abc import Mapping
from typing import Any

import pytest
import trio

from agentcompass.engine.tree import run_job
from agentcompass.environments.fake import FakeConfig, FakeEnvironment
from tests.fakes import MemoryStore, Script, Scripted, World, make_job
from tests.virtual import on_virtual_time

# How many sessions are opened for three tasks, by what becomes of them.
ENDINGS: Mapping[str, tuple[int, dict[str, Any]]] = {
    "success": (3, {}),
    "an agent's error": (3, {"script": {"agent": "error"}}),
    "an agent's fatal fault": (3, {"script": {"agent": "fatal"}}),
    "a harness's bug": (3, {"script": {"agent": "bug"}}),
    "a verifier of its own": (6, {"mode": "fresh"}),
    "a verifier's error": (6, {"mode": "fresh", "script": {"scoring": "error"}}),
    "a verifier's bug": (6, {"mode": "fresh", "script": {"scoring": "bug"}}),
    "an agent out of time": (
        3,
        {
            "script": {"run_seconds": 99.0},
            "execution": {"run_timeout_seconds": 1.0, "run_timer_compensation_seconds": 0.0},
        },
    ),
    "a verifier out of time": (
        6,
        {
            "mode": "fresh",
            "script": {"score_seconds": 99.0},
            "execution": {"evaluation_timeout_seconds": 1.0},
        },
    ),
    "retries": (9, {"script": {"agent": "fatal"}, "execution": {"max_retries": 2}}),
    "retries of scoring": (
        9,
        {
            "mode": "fresh",
            "script": {"scoring": "error"},
            "execution": {"max_retries": 1, "retry_pattern_list": ("no verdict",)},
        },
    ),
    "the request's deadline": (
        3,
        {"script": {"run_seconds": 99.0}, "execution": {"timeout_seconds": 5.0}},
    ),
    "a cancellation": (3, {"script": {"run_seconds": 99.0}, "cancelled_after": 5.0}),
    "a cancellation while it is opened": (0, {"cancelled_after": 0.2}),
    "an opening that fails": (
        3,
        {
            "config": {"fails": {"open": "no room"}, "fail_times": 2},
            "execution": {"max_retries": 2},
        },
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
@on_virtual_time
async def test_as_many_sessions_are_closed_as_were_opened(ending: str) -> None:
    """cases.md 17; fails where a session is not closed on that way out."""
    opened, how = ENDINGS[ending]
    fake = await run(**how)

    assert len(fake.ledger.opened) == opened
    assert len(fake.ledger.closed) == opened
    assert fake.ledger.live == []


@pytest.mark.parametrize("mode", ["none", "fresh"])
@on_virtual_time
async def test_every_session_is_told_that_it_is_to_be_kept(mode: str) -> None:
    """cases.md 17: of the agent and of the verifier."""
    fake = await run(mode=mode, execution={"keep_environment": True})

    assert {request.role for request in fake.ledger.opened} == (
        {"agent"} if mode == "none" else {"agent", "verifier"}
    )
    assert all(request.keep for request in fake.ledger.opened)


async def run(
    *,
    mode: Any = "none",
    script: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    execution: Mapping[str, Any] | None = None,
    cancelled_after: float = 1e6,
) -> FakeEnvironment:
    scripts = {1: [Script(**(script or {}))]}
    tasks = {
        name: Scripted(task_id=name, provider="fake", mode=mode, scripts=scripts) for name in "abc"
    }
    fake = FakeEnvironment(FakeConfig(open_seconds=0.5, close_seconds=0.5, **(config or {})))
    job = make_job(World(tasks), MemoryStore(), providers=[fake], **(execution or {}))
    with trio.move_on_after(cancelled_after):
        await run_job(job)
    return fake
