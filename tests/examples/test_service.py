"""The example service of docs/examples/service: under load on virtual time, and over a socket."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest
import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from starlette.applications import Starlette

from agentcompass.engine.limits import provider_limiter
from agentcompass.environments._fake_ledger import Ledger
from agentcompass.progress.event_file import read_events
from docs.examples.service import service as service_program
from docs.examples.service.service import ENDED_KEPT, Service, make_app
from tests.embedded import MARKER, counted, rules, settings
from tests.virtual import on_virtual_time
from tests.whole_runs import read

MANY = 50
LIMIT = 7


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with counted(tmp_path / "plug-in", monkeypatch) as ledger:
        yield ledger


@attrs.define
class Client:
    """Asks a service in this very loop, without a socket: only trio's clock passes."""

    app: Starlette

    async def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://service", trust_env=False
        ) as client:
            return await client.request(method, path, json=body, timeout=None)

    async def start(self, given: dict[str, Any]) -> str:
        """The id of a new evaluation."""
        answer = await self.ask("POST", "/evaluations", given)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def events(self, name: str) -> list[dict[str, Any]]:
        """Its events, once it has ended."""
        answer = await self.ask("GET", f"/evaluations/{name}/events")
        return [json.loads(line) for line in answer.text.splitlines()]

    async def stall(self, name: str) -> None:
        """Ask for its events, and take none of them."""

        async def receive() -> dict[str, Any]:
            await trio.sleep_forever()
            raise AssertionError

        async def send(_message: Any) -> None:
            await trio.sleep_forever()

        path = f"/evaluations/{name}/events"
        scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b""}
        await self.app(scope, receive, send)


def asked(**more: Any) -> dict[str, Any]:
    """What a client posts: an agent with a scripted model, at work for some seconds."""
    given = settings(Path("unused"), tasks=1, seconds=5, file_log_level="ERROR")
    del given["results_dir"]
    model = {"harness": "mini_swe_agent", "model": "replay", "model_api_protocol": "replay"}
    return {**given, **model, **more}


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


@on_virtual_time
async def test_fifty_at_once_keep_the_limits_and_leave_nothing_behind(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 7, shows 2."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    told: dict[str, dict[str, Any]] = {}
    before = trio.lowlevel.current_statistics().tasks_living, open_files(), children()

    async def follow(client: Client, number: int) -> None:
        name = await client.start(asked(provider_limits={"counted": LIMIT}))
        if number % 5 == 0:
            await trio.sleep(number % 4)  # before it can have ended
            answer = await client.ask("DELETE", f"/evaluations/{name}")
            assert answer.json()["ended"]
        events = await client.events(name)
        shown = (await client.ask("GET", f"/evaluations/{name}")).json()
        assert shown["ended"]
        assert shown["progress"]["status"] == (events[-1]["status"] if events else "created")
        told[name] = shown

    async with trio.open_nursery() as nursery:
        client = Client(make_app(Service(nursery, str(tmp_path / "out"))))
        async with trio.open_nursery() as clients:
            for number in range(MANY):
                clients.start_soon(follow, client, number)
        assert nursery.child_tasks == frozenset()

    gc.collect()
    assert (trio.lowlevel.current_statistics().tasks_living, open_files(), children()) == before
    assert list((tmp_path / "temporary").iterdir()) == []
    assert (ledger.live, ledger.peak_live) == ([], LIMIT)
    assert len(ledger.opened) == len(ledger.closed) >= MANY - MANY // 5
    assert provider_limiter("counted").borrowed_tokens == 0
    cancelled = [shown for shown in told.values() if "error" in shown]
    assert (len(told), len(cancelled)) == (MANY, MANY // 5)
    assert all(shown["error"].startswith("cancelled by its program") for shown in cancelled)
    begun = {shown["run_dir"]: shown for shown in told.values() if shown["run_dir"]}
    assert set(begun) == {str(path.parent) for path in (tmp_path / "out").rglob("run_info.json")}
    for directory, shown in begun.items():
        assert read(Path(directory) / "run_info.json")["status"] == shown["progress"]["status"]
        assert shown["progress"]["status"] in ("completed", "cancelled")


@on_virtual_time
async def test_a_client_that_stops_reading_does_not_slow_its_run(tmp_path: Path) -> None:
    """Issue 7, shows 3, through the service; what it missed is told to who asks again."""
    ends = []
    for number in range(2):
        async with trio.open_nursery() as nursery:
            service = Service(nursery, str(tmp_path / "out"))
            client = Client(make_app(service))
            began = trio.current_time()
            name = await client.start(asked(event_buffer=10))
            if number:
                nursery.start_soon(client.stall, name)
            await service.evaluations[name].result()
            ends.append(trio.current_time() - began)
            gap, *rest = await client.events(name)
            nursery.cancel_scope.cancel()
    written = list(read_events(service.evaluations[name].run_dir / "progress.jsonl"))

    assert ends[0] == pytest.approx(ends[1])
    assert (gap["event"], gap["dropped"]) == ("events_dropped", len(written) - 10)
    assert [event["event"] for event in rest] == [event.event for event in written[-10:]]
    assert gap["snapshot"]["total_tasks"] == 1


@on_virtual_time
async def test_a_service_that_ends_cleans_up_what_runs(tmp_path: Path, ledger: Ledger) -> None:
    async with trio.open_nursery() as nursery:
        client = Client(make_app(Service(nursery, str(tmp_path / "out"))))
        for _ in range(3):
            await client.start(asked())
        await trio.sleep(2)
        nursery.cancel_scope.cancel()

    found = [read(path)["status"] for path in (tmp_path / "out").rglob("run_info.json")]
    assert found == ["cancelled"] * 3
    assert ledger.live == []


@on_virtual_time
async def test_what_cannot_be_is_refused_with_the_reason(tmp_path: Path) -> None:
    async with trio.open_nursery() as nursery:
        client = Client(make_app(Service(nursery, str(tmp_path / "out"))))
        for body, reason in (
            (asked(harness="nope"), "'nope' is not known"),
            (asked(results_dir="/elsewhere"), "without results_dir"),
            ([], "expected an object"),
        ):
            answer = await client.ask("POST", "/evaluations", body)
            assert answer.status_code == 400
            assert reason in answer.json()["error"]
        missing = await client.ask("GET", "/evaluations/nope")
        assert missing.status_code == 404
        assert missing.json() == {"error": "404: there is no evaluation 'nope'"}
        name = await client.start(asked(benchmark_params={"sample_ids": ["no-such-task"]}))
        assert await client.events(name) == []
        shown = (await client.ask("GET", f"/evaluations/{name}")).json()

    assert "no-such-task" in shown["error"]
    assert not (tmp_path / "out").exists()


@on_virtual_time
async def test_of_those_that_ended_the_latest_are_kept(tmp_path: Path) -> None:
    async with trio.open_nursery() as nursery:
        service = Service(nursery, str(tmp_path / "out"))
        client = Client(make_app(service))
        name = await client.start(asked())
        ended = service.evaluations[name]
        await ended.result()
        service.evaluations.update({str(n): ended for n in range(ENDED_KEPT)})
        last = await client.start(asked())
        await service.evaluations[last].result()

    assert len(service.evaluations) == ENDED_KEPT
    assert name not in service.evaluations
    assert last in service.evaluations


@on_virtual_time
async def test_a_bug_in_one_evaluation_is_told_and_ends_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_given: object) -> None:
        raise ZeroDivisionError("a bug")

    async with trio.open_nursery() as nursery:
        service = Service(nursery, str(tmp_path / "out"))
        client = Client(make_app(service))
        sound = await client.start(asked())
        await anext(service.evaluations[sound].events())
        await trio.sleep(2)
        monkeypatch.setattr("agentcompass.engine.request.selection_record", broken)
        name = await client.start(asked())
        await client.events(name)
        await service.evaluations[sound].result()
        shown = (await client.ask("GET", f"/evaluations/{name}")).json()

    assert shown["error"] == "ZeroDivisionError: a bug"
    assert f"evaluation {name} met a bug" in caplog.text


@on_virtual_time
async def test_whatever_bytes_a_client_sends_it_is_answered(tmp_path: Path) -> None:
    """Fails when JSON that is too deep, or text that UTF-8 cannot hold, is an error of ours."""
    async with trio.open_nursery() as nursery:
        transport = httpx.ASGITransport(app=make_app(Service(nursery, str(tmp_path / "out"))))
        client = httpx.AsyncClient(transport=transport, base_url="http://service")
        for body, reason in (
            (b"{nope", "the body is no JSON"),
            (b"", "the body is no JSON"),
            (b'"\xff"', "the body is no JSON"),
            (b"[" * 100_000, "the body is no JSON"),
            (b"null", "expected an object"),
            (rb'{"\ud800": 1}', "unknown keyword"),
        ):
            answer = await client.post("/evaluations", content=body)
            assert (answer.status_code, reason in answer.json()["error"]) == (400, True)


async def test_over_a_socket_it_starts_follows_and_cancels(tmp_path: Path) -> None:
    config = Config()
    config.bind = ["127.0.0.1:0"]
    config.loglevel = "ERROR"
    given = asked(environment_params={"exec": rules(0)})
    slow = asked(environment_params={"exec": rules(50)})
    async with trio.open_nursery() as nursery:
        service = Service(nursery, str(tmp_path / "out"))
        app: Any = make_app(service)
        [url] = await nursery.start(partial(serve, app, config))
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
            name = (await client.post("/evaluations", json=given)).json()["id"]
            async with client.stream("GET", f"/evaluations/{name}/events") as answer:
                events = [json.loads(line)["event"] async for line in answer.aiter_lines()]
            held = (await client.post("/evaluations", json=slow)).json()["id"]
            with trio.fail_after(30):
                await anext(service.evaluations[held].events())  # it has begun
            async with client.stream("GET", f"/evaluations/{held}/events"):
                pass  # a client that is gone before the run is
            cancelled = (await client.delete(f"/evaluations/{held}")).json()
        nursery.cancel_scope.cancel()

    assert (events[0], events[-1]) == ("run_started", "run_finished")
    assert cancelled["progress"]["status"] == "cancelled"
    assert cancelled["error"].startswith("cancelled by its program")


async def address(log: trio.abc.ReceiveStream) -> str:
    """The one that hypercorn says it listens on."""
    said = b""
    while not (found := re.search(rb"Running on (http://[0-9.:]+)", said)):
        said += await log.receive_some()
    return found[1].decode()


async def test_as_a_program_it_cleans_up_whatever_signals_follow_the_first(tmp_path: Path) -> None:
    command = [sys.executable, service_program.__file__, "127.0.0.1:0", str(tmp_path / "out")]
    slow = asked(
        environment="fake",
        environment_params={"exec": [{"match": MARKER, "seconds": 50}], "hangs": ["close"]},
        execution_params={"cleanup_grace_seconds": 1},
        env_open_qps={},
    )
    with trio.fail_after(60):
        process = await trio.lowlevel.open_process(command, stderr=subprocess.PIPE)
        assert process.stderr is not None
        url = await address(process.stderr)
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
            name = (await client.post("/evaluations", json=slow)).json()["id"]
            while "run_harness" not in (await client.get(f"/evaluations/{name}")).text:  # noqa: ASYNC110
                await trio.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        await trio.sleep(0.3)
        for number in (signal.SIGTERM, signal.SIGINT):
            process.send_signal(number)
        await process.wait()
        await process.stderr.aclose()

    [info] = (tmp_path / "out").rglob("run_info.json")
    assert (process.returncode, read(info)["status"]) == (0, "cancelled")
