"""A planted secret is in no byte of a run, on no console and in no process's arguments."""

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from agentcompass.engine.tree import run_job
from agentcompass.records.progress import ProgressEvent
from agentcompass.store.redact import Redactor
from tests.cli.process import environment, finish, wait_for
from tests.fakes import MemoryStore, Script, Scripted, World, make_job
from tests.loopback import Exchange, Server, answer, serve
from tests.virtual import on_virtual_time
from tests.whole import leaky
from tests.whole_runs import runs, write_tasks

# What every planted secret holds; where this is not, in any form, no secret is. Each worker has its
# own: tests look at every process, and some are given a key on a command line.
CORE = f"PLANTED7d1f9c{os.environ.get('PYTEST_XDIST_WORKER', '')}"
ODD = "it's\"{}\\x"
ENTRY_POINTS = f"""
[agentcompass.benchmarks]
leaky = {leaky.__name__}:LeakyBenchmark
[agentcompass.harnesses]
leaky = {leaky.__name__}:LeakyHarness
[agentcompass.environments]
leaky = {leaky.__name__}:LeakyEnvironment
"""


def secret(place: str) -> str:
    return f"k/+{CORE}-{place}=="


def hidden_forms() -> Iterator[bytes]:
    """The core as it is, and what base64 makes of its inner bytes at each offset."""
    yield CORE.encode()
    for offset in range(3):
        text = base64.b64encode(bytes(offset) + CORE.encode()).decode()
        yield text[4:-4].encode()


FORMS = tuple(hidden_forms())


def leaks(data: bytes) -> list[str]:
    """Where a secret stands, with what is around it."""
    found = [(form, data.find(form)) for form in FORMS if form in data]
    return [repr(data[max(0, at - 90) : at + len(form) + 30]) for form, at in found]


@attrs.frozen(kw_only=True)
class Planted:
    """A folder to run in, and the secrets by the place where each is planted."""

    folder: Path
    secrets: Mapping[str, str]
    more: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def variables(self) -> Mapping[str, str]:
        return {
            "PLANTED": str(self.folder / "planted.json"),
            "OPENAI_API_KEY": self.secrets["host"],
            "SOME_PASSWORD": self.secrets["reference"],
            "PYTHONPATH": f"{environment(self.folder)['PYTHONPATH']}:{self.folder / 'plugins'}",
            **self.more,
        }


PLACES = ("flag", "query", "bench", "harness", "env", "config", "reference", "host", "task")


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    info = tmp_path / "plugins" / "leaky-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: leaky\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    secrets = {place: secret(place) for place in PLACES}
    secrets["config"] = ODD.format(CORE)
    (tmp_path / "planted.json").write_text(json.dumps(list(secrets.values())))
    variables = {"FROM_CONFIG_TOKEN": secrets["config"]}
    config = {
        "environments": {"leaky": {"env_variables": variables}},
        "runtime": {"log_file": "all.log"},
    }
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    return Planted(folder=tmp_path, secrets=secrets)


def arguments(
    planted: Planted,
    *more: str,
    benchmark: Mapping[str, Any] | None = None,
    env: Mapping[str, Any] | None = None,
) -> list[str]:
    """A run with a secret in every place that can have one."""
    keys = planted.secrets
    params = {"judge": {"api_key": keys["bench"]}, **(benchmark or {})}
    variables = {"SERVICE_TOKEN": keys["env"]}
    sandbox = {"env_variables": variables, "password": "${SOME_PASSWORD}", **(env or {})}
    delays = {"retry_min_delay_seconds": 0.01, "retry_max_delay_seconds": 0.01}
    return [
        *("run", "leaky", "leaky", "m", "--env", "leaky", "--model-api-key", keys["flag"]),
        *("--model-base-url", f"http://127.0.0.1:1/v1?api_key={keys['query']}"),
        *("--benchmark-params", json.dumps(params)),
        *("--harness-params", json.dumps({"token": keys["harness"]})),
        *("--env-params", json.dumps(sandbox)),
        *("--max-retries", "1", "--retry-pattern-list", '["retry me"]'),
        *("--execution-params", json.dumps(delays)),
        *("--log-level", "DEBUG", *more),
    ]


def start(planted: Planted, *argv: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "agentcompass", *argv],
        cwd=planted.folder,
        env=environment(planted.folder, **planted.variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def check(planted: Planted, process: "subprocess.Popen[bytes]") -> tuple[int, str]:
    """Look into everything that the process wrote; its exit code, and what it said."""
    ended = finish(process)
    assert not leaks(ended.out.encode())
    assert not leaks(ended.err.encode())
    files = [path for path in planted.folder.glob("results/**/*") if path.is_file()]
    for path in (*files, planted.folder / "all.log"):
        if path.exists() and "artifacts" not in path.parts:  # what an agent left keeps its bytes
            assert not leaks(path.read_bytes()), path
    return ended.code, ended.err


def test_no_layer_lets_a_secret_out(planted: Planted) -> None:
    """Completed, FATAL and ERROR tasks, with retries; then reused, shown and counted again."""
    code, err = check(planted, start(planted, *arguments(planted)))
    [run] = planted.folder.glob("results/*/*/")

    assert code == 1, err
    assert "********" in err
    assert len(list(run.glob("details/*/*/attempt-1/result.json"))) == 2 * len(leaky.LAYERS) + 3
    assert len(list(run.glob("details/*/*/attempt-1/retries/*.json"))) > len(leaky.LAYERS)
    assert {path.parts[-3] for path in run.glob("details/*/*/task.json")} == {
        *("normal", "error", "fatal"),
    }
    assert leaks(b"".join(path.read_bytes() for path in run.glob("details/**/env.txt")))
    code, err = check(planted, start(planted, *arguments(planted, "--reuse")))
    assert "taken over" in err
    assert check(planted, start(planted, "summary", str(run)))[0] == 0
    assert check(planted, start(planted, "config", "show"))[0] == 0


def test_a_run_out_of_time_lets_no_secret_out(planted: Planted) -> None:
    only = {"only": ["good", "hang"]}
    argv = arguments(planted, "--timeout-seconds", "2", benchmark=only)
    code, err = check(planted, start(planted, *argv))

    assert code == 124, err
    assert list(planted.folder.glob("results/*/*/details/running/*/attempt-1/checkpoint.json"))


def test_a_run_that_is_interrupted_lets_no_secret_out(planted: Planted) -> None:
    process = start(planted, *arguments(planted, benchmark={"only": ["hang"]}))
    wait_for(planted.folder / "hangs")
    process.send_signal(signal.SIGINT)
    code, err = check(planted, process)

    assert code == 130, err


@pytest.mark.parametrize(
    ("code", "benchmark", "env", "more"),
    [
        (2, {"breaks": "load"}, {}, []),
        (None, {"breaks": "load_bug"}, {}, []),
        (2, {"breaks": "config"}, {}, []),
        (2, {}, {"breaks": "preflight"}, []),
        (2, {"judge": {"api_key": ["SECRET"]}}, {}, []),
        (2, {"judge": {"api_kye": "SECRET"}}, {}, []),
        (2, {}, {"password": {"old": "SECRET"}}, []),
        (2, {}, {"env_variables": {"A_TOKEN": 5, "B_TOKEN": "SECRET"}}, []),
        (2, {}, {}, ["--model-base-url", "user:SECRET@host"]),
        (2, {}, {}, ["--model-base-url", "http://user:SECRET@host/v1"]),
        (2, {}, {}, ["--model-api-key", "SECRET with white space"]),
        (2, {}, {}, ["--model-params", '{"api_key": "SECRET", "stream": "SECRET"}']),
        (2, {}, {}, ["--harness-params", '{"token": "SECRET", "token": "SECRET"}']),
        (2, {}, {}, ["--harness-params", '{"token": "SECRET" oops}']),
        (2, {}, {}, ["--harness-params", '{"token": "SECRET"']),
        (2, {}, {}, ["--k", "SECRET"]),
    ],
)
def test_what_is_refused_lets_no_secret_out(
    planted: Planted, code: int | None, benchmark: object, env: object, more: list[str]
) -> None:
    """A secret of the environment, of its setting's name, or in what cannot even be read."""

    def filled(value: object) -> Any:
        return json.loads(json.dumps(value).replace("SECRET", planted.secrets["host"]))

    argv = arguments(planted, *filled(more), benchmark=filled(benchmark), env=filled(env))
    found, err = check(planted, start(planted, *argv))

    assert found == code or (code is None and found), err
    assert not list(planted.folder.glob("results/*/*"))


@attrs.frozen
class Processes:
    """The command lines of all processes, looked at again and again."""

    go: Path
    seen: set[bytes] = attrs.field(factory=set)

    async def watch(self) -> None:
        """Let the agent's command, which waits for `go`, go on once it has been seen."""
        while True:
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    self.seen.add(path.read_bytes())
            if any(b"until test -e" in line for line in self.seen):
                self.go.touch()
            await trio.sleep(0.02)


async def echo(server: Server, exchange: Exchange) -> None:
    """Refuse, and say in body and headers all that came."""
    headers = server.asked[-1].headers
    body = {"error": {"message": f"no: {headers}", "code": headers.get("authorization")}}
    sent = {name: headers[name] for name in ("authorization",) if name in headers}
    await answer({**body, "headers": headers}, status=500, **sent)(exchange)


@pytest.mark.parametrize("credentials", ["key", "url"])
async def test_an_agent_that_prints_and_a_server_that_echoes_let_no_secret_out(
    planted: Planted, credentials: str
) -> None:
    keys, processes = planted.secrets, Processes(planted.folder / "go")
    task = {"task.toml": f"[environment.env]\nTASK_TOKEN = {json.dumps(keys['task'])}\n"}
    path = write_tasks(planted.folder / "tasks", {"t": task})
    wait = f"until test -e {processes.go}; do sleep 0.02; done"
    said = runs(f"env; export -p; set -x; : $SERVICE_TOKEN; env >&2; set +x; {wait}")

    async def refuse(exchange: Exchange) -> None:
        await echo(server, exchange)

    async with serve(said, refuse, said, refuse) as server:
        url = server.url
        if credentials == "url":
            url = url.replace("//", f"//user:{keys['reference'].replace('/', '%2F')}@")
        key = ["--model-api-key", "${OPENAI_API_KEY}"] if credentials == "key" else []
        argv = [
            *("run", "task_directory", "mini_swe_agent", "m", "--env", "host_process", *key),
            *("--model-base-url", url if credentials == "key" else "${BASE_URL}"),
            *("--benchmark-params", json.dumps({"path": str(path)})),
            *("--env-params", '{"env_variables": {"SERVICE_TOKEN": "${SOME_PASSWORD}"}}'),
            *("--max-retries", "1", "--log-level", "DEBUG", "--model-params", '{"record": true}'),
            *("--execution-params", '{"retry_min_delay_seconds": 0, "retry_max_delay_seconds": 0}'),
        ]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(processes.watch)
            process = start(attrs.evolve(planted, more={"BASE_URL": url}), *argv)
            code, err = await trio.to_thread.run_sync(check, planted, process)
            nursery.cancel_scope.cancel()

    assert code == 1, err
    assert len(server.asked) == 4
    [recorded] = planted.folder.glob("results/*/*/details/*/*/attempt-1/exchanges.jsonl")
    assert recorded.read_bytes().count(b"\n") == 4
    assert leaks(str(server.asked[-1].json()).encode()), "the agent has seen none"
    assert processes.go.exists(), "no command of the agent was seen"
    assert not [line for line in processes.seen if leaks(line)]


@on_virtual_time
async def test_who_is_told_of_events_is_told_no_secret() -> None:
    """A fault that a harness notes itself has passed no mask before."""
    world = World({"t": Scripted(task_id="t", scripts={1: [Script(agent="error")]})})
    told: list[ProgressEvent] = []
    job = make_job(world, MemoryStore())
    await run_job(attrs.evolve(job, reporters=(told.append,), redactor=Redactor(["rate limit"])))

    assert "********" in repr(told)
    assert "rate limit" not in repr(told)
