"""What a model tells of its endpoint: few events, and nothing left out at the end."""

from pathlib import Path
from typing import Any

import pytest
import trio

from agentcompass.errors import ModelFailed
from agentcompass.models._adaptive import Gate, Window
from agentcompass.models._traffic import Traffic
from agentcompass.progress.event_file import read_events
from agentcompass.progress.tracker import Tracker
from agentcompass.records.model import EndpointTraffic
from agentcompass.store.encode import plain
from tests.loopback import answer, serve
from tests.loopback_models import Said, whole
from tests.models.talking import ASK, model_of
from tests.whole_runs import read, run, submits

FULL = answer({"error": {"message": "full"}}, status=429, Retry_After="0")


def traffic(gate: Gate | None = None) -> tuple[Traffic, list[EndpointTraffic]]:
    told: list[EndpointTraffic] = []
    return Traffic(endpoint="x", gate=gate, tell=told.append), told


async def test_a_storm_of_waits_is_told_in_counts(autojump_clock: trio.abc.Clock) -> None:
    of_one, told = traffic()
    of_one.begin()
    for _ in range(100):
        of_one.waiting()
        await trio.sleep(0.05)
    of_one.end()

    assert len(told) <= 7
    assert told[0].waits == 1
    assert told[-1].waits == 100


async def test_every_change_of_the_limit_is_told_and_nothing_else(
    autojump_clock: trio.abc.Clock,
) -> None:
    gate = Gate(Window(8, 8))
    of_one, told = traffic(gate)
    of_one.begin()
    for _ in range(8):
        async with gate.admitted():
            pass
    assert told == []

    gate._refused(0)
    for _ in range(5):
        async with gate.admitted():
            pass
    of_one.end()
    gate.resize(2)

    assert [(each.calls_at_once, each.most_at_once) for each in told] == [(4, 8), (5, 8)]


@pytest.mark.parametrize("adaptive", [True, False])
async def test_a_model_tells_of_its_waits_and_of_its_window(adaptive: bool) -> None:
    told: list[EndpointTraffic] = []
    async with serve(FULL, whole("openai-chat", Said())) as server:
        model = model_of("openai-chat", server.url, adaptive_concurrency=adaptive)
        model.listen(told.append)
        async with model:
            await model.conversation("t", 1).complete(ASK)

    last = told[-1]
    assert server.url.endswith(f"{last.endpoint}/v1")
    assert "secret" not in last.endpoint
    assert (last.waits, last.seconds_waited > 0) == (1, True)
    assert (last.calls_at_once, last.most_at_once) == ((2, 4) if adaptive else (None, None))


async def test_an_endpoint_that_never_refuses_is_not_told_of() -> None:
    told: list[EndpointTraffic] = []
    async with serve(whole("openai-chat", Said())) as server:
        model = model_of("openai-chat", server.url, adaptive_concurrency=True)
        model.listen(told.append)
        async with model:
            await model.conversation("t", 1).complete(ASK)

    assert told == []


async def test_a_user_of_the_endpoint_that_has_left_hears_no_more() -> None:
    told: list[EndpointTraffic] = []
    async with serve(FULL) as server:
        first = model_of("openai-chat", server.url, adaptive_concurrency=True)
        second = model_of("openai-chat", server.url, adaptive_concurrency=True, request_timeout=0.1)
        first.listen(told.append)
        async with second:
            async with first:
                pass
            told.clear()
            with pytest.raises(ModelFailed):
                await second.conversation("t", 1).complete(ASK)

    assert told == []


async def test_a_run_shows_the_waits_and_the_window_in_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """progress.json is what the events come to; the terminal has it on a line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with serve(FULL, FULL, submits()) as server:
        ran = await run(
            tmp_path,
            {"t": {}},
            harness="mini_swe_agent",
            model="m",
            model_base_url=server.url,
            model_api_protocol="openai-chat",
            model_params={"adaptive_concurrency": True},
            task_concurrency=8,
            progress="plain",
        )
    endpoint = server.url.removeprefix("http://").removesuffix("/v1")
    events = list(read_events(ran.directory / "progress.jsonl"))
    tracker = Tracker(run_id="r", benchmark="b", harness="h", environment="e", model="m")
    for event in events:
        tracker.apply(event)
    shown: Any = read(ran.directory / "progress.json")["model_traffic"][endpoint]
    said = capsys.readouterr().err

    assert ran.status == "completed"
    assert plain(tracker.snapshot())["model_traffic"] == {endpoint: shown}
    assert (shown["calls_at_once"], shown["most_at_once"], shown["waits"]) == (2, 8, 2)
    assert f"model at {endpoint}: 4 of 8 calls at once" in said
    assert f"model at {endpoint}: 2 of 8 calls at once, 1 wait for room" in said
    assert ", 2 waits for the model" in said
    assert "waiting" not in said
    log = (ran.directory / "run.log").read_text()
    assert "waiting" in log
    assert f"model at {endpoint}: in the end 2 waits, " in log
    assert " s; 2 of 8 calls at once" in log
    assert "model calls took total_tokens None" in log
    assert f"model_traffic endpoint={endpoint} calls_at_once=4 most_at_once=8" in log
