"""A recorded run replays with the network closed: the same trajectories, metrics and retries."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from agentcompass.errors import ConfigInvalid
from tests.loopback import Act, Exchange, answer, cut, hang, serve
from tests.loopback_models import BODIES, PROTOCOLS, Said
from tests.whole_runs import MARKER, Ran, read, run

KEY = "sk-test-ABCDEFGH12345678"
TIMES = {"started_at", "finished_at", "llm_infer_ms", "env_action_ms"}
# A terminal's prompt has the name of the sandbox, another one each time, and comes when it will.
TOML = """[environment.env]\nPROMPT_COMMAND = "PS1="\n"""
TASKS = {name: {"instruction.md": f"Do {name}.\n", "task.toml": TOML} for name in ("one", "two")}
QUICK = {"retry_min_delay_seconds": 0.001, "retry_max_delay_seconds": 0.002}


def calls(command: str) -> Said:
    call = ("call_1", "bash", json.dumps({"command": command}))
    return Said(text="I act.", thought="Hm.", calls=[call], finish="tool_calls")


def types(*keys: str, done: bool = False) -> Said:
    commands = [{"keystrokes": key, "duration": 0.7} for key in keys]
    said = {"analysis": "a", "plan": "p", "commands": commands, "task_complete": done}
    return Said(text=json.dumps(said))


# What a harness is told first, and once it has seen what came of that.
TONGUES = {
    "openai_chat": (Said(text="forty-two"), Said(text="forty-two")),
    "mini_swe_agent": (calls("echo se''en"), calls(f"echo {MARKER}; echo done")),
    "terminus2": (types("clear; echo se''en\n"), types(done=True)),
}


def model(protocol: str, harness: str, *first: Act) -> Act:
    """Answers with the acts `first`, then as the harness understands it."""
    acts = list(first)

    async def act(exchange: Exchange) -> None:
        said = TONGUES[harness]["seen" in exchange.asked.body.decode()]
        await (acts.pop(0) if acts else answer(BODIES[protocol](said)))(exchange)

    return act


async def recorded(folder: Path, protocol: str, harness: str, *first: Act, **settings: Any) -> Ran:
    async with serve(model(protocol, harness, *first)) as server:
        ran = await run(
            folder,
            TASKS,
            harness,
            **{
                "model": "m",
                "model_base_url": server.url,
                "model_api_key": KEY,
                "model_api_protocol": protocol,
                "model_params": {"record": True, "prices": {"input": 1, "output": 2}},
                "run_id": "recorded",
                **settings,
            },
        )
    written = [path for path in ran.directory.rglob("*") if path.is_file()]
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    return ran


async def replayed(folder: Path, of: Path, harness: str, **settings: Any) -> Ran:
    params = {"path": str(of), **settings.pop("model_params", {})}
    given = {"model": "m", "model_api_protocol": "replay", "model_params": params}
    return await run(folder, TASKS, harness, **given, run_id="replayed", **settings)


def attempts(directory: Path) -> Mapping[tuple[str, str], Any]:
    return {
        (read(path.parent.parent / "task.json")["task_id"], path.parent.name): read(path)
        for path in directory.glob("details/*/*/attempt-*/result.json")
    }


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: timeless(item) for name, item in value.items() if name not in TIMES}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def told(record: Mapping[str, Any]) -> bytes:
    """What a replay repeats of an attempt, as bytes."""
    kept = ("trajectory", "final_answer", "metrics", "issues", "status", "retry_count")
    return json.dumps({name: timeless(record[name]) for name in kept}).encode()


def check_same(first: Ran, again: Ran, *, attempts_of_all: int) -> None:
    one, other = attempts(first.directory), attempts(again.directory)
    assert one.keys() == other.keys()
    assert len(one) == attempts_of_all
    for key, record in one.items():
        assert told(other[key]) == told(record)
        then, now = (taken(result) for result in (record, other[key]))
        assert now == {**then, "replayed": True}
    names = ("metrics.json", "summary.md")
    assert [(again.directory / n).read_bytes() for n in names] == [
        (first.directory / n).read_bytes() for n in names
    ]
    assert again.status == first.status
    then, now = (read(ran.directory / "run_info.json")["spent"] for ran in (first, again))
    assert now == {**then, "replayed": True}


def taken(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the model's calls took, as it is recorded."""
    found: Mapping[str, Any] = record["meta"]["harness"]["telemetry"]["model"]
    return found


@pytest.mark.parametrize("harness", TONGUES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_run_replays_to_the_same_bytes(tmp_path: Path, protocol: str, harness: str):
    one = {"benchmark_params": {"path": str(tmp_path / "tasks"), "sample_ids": ["one"]}}
    first = await recorded(tmp_path, protocol, harness, **one)
    again = await replayed(tmp_path, first.directory, harness, **one)

    check_same(first, again, attempts_of_all=1)
    for record in attempts(first.directory).values():
        assert record["issues"] == []
        assert taken(record)["cost_usd"] > 0


async def test_an_empty_path_is_no_path(tmp_path: Path):
    with pytest.raises(ConfigInvalid, match="path must be text, not ''"):
        await replayed(tmp_path, Path("x"), "mini_swe_agent", model_params={"path": ""})


async def test_attempts_faults_and_retries_repeat(tmp_path: Path):
    """Two executions fail for good, one with half an answer, and one has to wait."""
    settings: Any = {"k": 2, "max_retries": 2, "task_concurrency": 1, "execution_params": QUICK}
    busy = answer({}, status=429, Retry_After="0")
    acts = (answer({"error": "no"}, status=503), cut(b"{"), answer({}, status=402), busy)
    first = await recorded(tmp_path, "openai-chat", "mini_swe_agent", *acts, **settings)
    again = await replayed(tmp_path, first.directory, "mini_swe_agent", **settings)

    check_same(first, again, attempts_of_all=4)
    records = attempts(first.directory).values()
    assert sorted(record["retry_count"] for record in records) == [0, 0, 1, 1]
    assert sum(taken(record)["waits"] for record in records) == 1
    assert {issue["severity"] for record in records for issue in record["issues"]} == {"error"}
    assert retries(again.directory) == retries(first.directory)


def retries(directory: Path) -> list[Any]:
    """The issues of every execution that was done again."""
    return sorted(
        [issue["message"] for issue in read(path)["issues"]]
        for path in directory.glob("details/*/*/attempt-*/retries/*.json")
    )


async def test_a_recorded_replay_replays(tmp_path: Path):
    first = await recorded(tmp_path, "anthropic", "mini_swe_agent")
    again = await replayed(
        tmp_path, first.directory, "mini_swe_agent", model_params={"record": True}
    )
    twice = await run(
        tmp_path,
        TASKS,
        "mini_swe_agent",
        model="m",
        model_api_protocol="replay",
        model_params={"path": str(again.directory), "strict": True},
        run_id="twice",
    )

    check_same(first, twice, attempts_of_all=2)


async def test_an_observation_that_differs_is_a_warning_and_strictly_fatal(tmp_path: Path):
    (tmp_path / "world").write_text("then")
    look = answer(BODIES["openai-chat"](calls(f"cat {tmp_path}/world; echo se''en")))
    first = await recorded(tmp_path, "openai-chat", "mini_swe_agent", look, look)
    (tmp_path / "world").write_text("now")
    again = await replayed(tmp_path, first.directory, "mini_swe_agent")

    assert (again.status, again.issues("one")) == ("completed", [("warning", "run", DIFFERS)])
    (issue,) = again.attempts["one"]["issues"]
    assert issue["message"].startswith(
        "step 2 of task 'one', attempt 1 differs from the recorded request: message 4 of 4 (tool)"
    )
    metrics = [ran.directory / "metrics.json" for ran in (first, again)]
    assert metrics[0].read_bytes() == metrics[1].read_bytes()

    strict = await run(
        tmp_path,
        TASKS,
        "mini_swe_agent",
        model="m",
        model_api_protocol="replay",
        model_params={"path": str(first.directory), "strict": True},
        run_id="strict",
    )
    assert (strict.status, strict.issues("one")) == ("failed", [("fatal", "run", "replay_failed")])


DIFFERS = "replay_differs"


async def test_a_call_that_a_deadline_cut_off_is_on_record_and_the_work_is_scored(tmp_path: Path):
    first = await recorded(
        tmp_path,
        "openai-chat",
        "mini_swe_agent",
        hang,
        hang,
        execution_params={"run_timeout_seconds": 0.5, "run_timer_compensation_seconds": 0},
    )
    again = await replayed(tmp_path, first.directory, "mini_swe_agent")

    assert first.issues("one") == [("error", "run", "run_failed")]
    assert again.issues("one") == [("error", "run", "replay_cut_off")]
    for ran in (first, again):
        assert ran.attempts["one"]["metrics"] == first.attempts["two"]["metrics"]
    assert taken(again.attempts["one"])["failed_calls"] == 1


async def test_a_killed_run_replays_as_far_as_it_came_and_whole_once_it_was_continued(
    tmp_path: Path,
):
    async with serve(_hangs_once_two_is_under_way(tmp_path)) as server:
        killed = await trio.to_thread.run_sync(_run_and_kill, tmp_path, server.url)
        first = await recorded(
            tmp_path,
            "openai-chat",
            "mini_swe_agent",
            reuse=True,
            run_id="continued",
            model_base_url=server.url,
            task_concurrency=1,
        )
    assert read(first.directory / "run_info.json")["reuse_counts"]["reused"] == 1
    again = await replayed(tmp_path, first.directory, "mini_swe_agent")
    assert again.status == "completed"
    one, other = attempts(first.directory), attempts(again.directory)
    assert {k: timeless(v["trajectory"]) for k, v in one.items()} == {
        k: timeless(v["trajectory"]) for k, v in other.items()
    }
    assert len(one) == 2

    (torn,) = killed.glob("details/running/two--*/attempt-1/exchanges.jsonl")
    torn.write_bytes(torn.read_bytes() + b'{"schema_version": "agentcompass.exch')
    half = await run(
        tmp_path,
        TASKS,
        "mini_swe_agent",
        model="m",
        model_api_protocol="replay",
        model_params={"path": str(killed)},
        run_id="half",
    )
    assert half.issues("one") == []
    assert half.issues("two") == [("fatal", "run", "replay_failed")]
    assert "for step 2 of task 'two', attempt 1" in half.attempts["two"]["issues"][0]["message"]
    assert "its last line was never finished" in (half.directory / "run.log").read_text()


def _hangs_once_two_is_under_way(folder: Path) -> Act:
    """Solves task `one`; the second call of task `two` hangs, until that has been killed for."""
    solve = model("openai-chat", "mini_swe_agent")

    async def act(exchange: Exchange) -> None:
        body = exchange.asked.body.decode()
        if "Do two" in body and "seen" in body and not (folder / "hung").exists():
            (folder / "hung").touch()
            await hang(exchange)
        else:
            await solve(exchange)

    return act


def _run_and_kill(folder: Path, url: str) -> Path:
    """The directory of a run that kill -9 ended once the model hung."""
    code = (
        "import sys, json, trio; from pathlib import Path; from tests.whole_runs import run;"
        "from tests.whole.test_record_and_replay import TASKS;"
        "settings = {'harness': 'mini_swe_agent', **json.loads(sys.argv[2])};"
        "trio.run(lambda: run(Path(sys.argv[1]), TASKS, **settings))"
    )
    settings = {
        "model": "m",
        "model_base_url": url,
        "model_api_key": KEY,
        "model_api_protocol": "openai-chat",
        "model_params": {"record": True},
        "run_id": "killed",
        "task_concurrency": 1,
    }
    process = subprocess.Popen([sys.executable, "-c", code, str(folder), json.dumps(settings)])
    try:
        for _ in _until(folder / "hung"):
            assert process.poll() is None
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    (info,) = folder.glob("results/*/killed/run_info.json")
    return info.parent


def _until(path: Path) -> Iterator[None]:
    """Ticks, some seconds at most, until there is such a file."""
    for _ in range(600):
        if path.exists():
            return
        yield
        time.sleep(0.05)
    raise AssertionError(f"{path.name} did not come")
