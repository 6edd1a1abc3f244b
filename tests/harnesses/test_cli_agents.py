"""claude_code and codex with programs that stand for theirs, in a session of host_process."""

import json
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from agentcompass.deadlines import deadline
from agentcompass.errors import EnvironmentFailed, HarnessFailed, PhaseTimeout
from agentcompass.harnesses._cli_agent import CliAgent
from agentcompass.harnesses.claude_code import ClaudeCode, ClaudeCodeConfig
from agentcompass.harnesses.codex import Codex, CodexConfig
from agentcompass.protocols import Session
from agentcompass.records.atif import AtifAgent, atif_document
from agentcompass.records.environment import EnvironmentPlan
from agentcompass.records.request import ModelSpec
from agentcompass.records.task import RunResult
from tests import atif_schema
from tests.contract.environment import HOST_PROCESS, opened
from tests.harnesses.seams import context
from tests.processes import alive, new_mark
from tests.whole_runs import run

KEY = "sk-test-ABCDEFGH12345678"
MODEL = ModelSpec(id="org/m", base_url="http://127.0.0.1:9/v1", api_key=KEY)
HARNESSES = {
    "claude": ClaudeCode(ClaudeCodeConfig(max_turns=7)),
    "codex": Codex(CodexConfig(reasoning_effort="low")),
}

# Each fake says its version, notes how it was started, and prints what the test has laid out.
FAKE = """\
#!/bin/sh
[ "$1" = --version ] && { echo "1.2.3 (fake)"; exit; }
here=$(pwd)
printf '%s\\n' "$@" > "$here/argv"; env > "$here/env"; cat > "$here/stdin"
tr '\\0' '\\n' < /proc/$$/cmdline > "$here/cmdline"
. "$SCRIPT_OF_FAKE"
"""


@attrs.define(eq=False)
class Machine:
    """A session whose PATH has the fake programs, which do what `script` says."""

    session: Session
    bin: Path
    script: Path

    def has(self, name: str) -> None:
        (self.bin / name).write_text(FAKE)
        (self.bin / name).chmod(0o755)

    def does(self, *events: Any, then: str = "") -> None:
        lines = "\n".join(json.dumps(event) for event in events)
        self.script.write_text(f"cat <<'END-OF-EVENTS'\n{lines}\nEND-OF-EVENTS\n{then}\n")

    async def note(self, name: str) -> str:
        return (await self.session.read(name)).decode()


@asynccontextmanager
async def machine(folder: Path, **variables: str) -> AsyncIterator[Machine]:
    binaries = folder / "bin"
    binaries.mkdir()
    given = {
        "PATH": f"{binaries}:/usr/bin:/bin",
        "SCRIPT_OF_FAKE": str(folder / "script"),
        **variables,
    }
    async with opened(HOST_PROCESS, env_variables=given) as session:
        made = Machine(session, binaries, folder / "script")
        made.does()
        yield made


def agent(name: str, session: Session, **plan: Any) -> CliAgent:
    given = attrs.evolve(context(prompt="Mend 'it' é."), model=MODEL)
    environment = EnvironmentPlan(id="host_process")
    given = attrs.evolve(given, plan=attrs.evolve(given.plan, environment=environment, **plan))
    return HARNESSES[name].start(session, given)


async def play(name: str, host: Machine) -> RunResult:
    result = RunResult(task_id="t")
    async with agent(name, host.session) as started:
        await started.run(result)
        await started.collect(result)
    if result.trajectory["steps"]:
        atif_schema.check(atif_document(result.trajectory, AtifAgent(name=name, version="1")))
    return result


def use(name: str, command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}


def says(message_id: str, *blocks: Any, usage: Any = None, stop: str | None = None) -> Any:
    message = {"id": message_id, "role": "assistant", "content": list(blocks)}
    return {"type": "assistant", "message": {**message, "usage": usage, "stop_reason": stop}}


def gives(name: str, content: Any) -> Any:
    block = {"type": "tool_result", "tool_use_id": name, "content": content}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


CLAUDE = (
    {"type": "system", "subtype": "init", "tools": ["Bash"]},
    says("m1", {"type": "thinking", "thinking": "hm"}),
    says("m1", {"type": "text", "text": "I look."}),
    says("m1", use("t1", "ls"), usage={"input_tokens": 5, "cache_read_input_tokens": 3}),
    gives("t1", "a.txt"),
    says("m2", use("t2", "cat a.txt"), use("t3", "pwd"), usage={"output_tokens": 2}),
    gives("t3", [{"type": "text", "text": "/app"}]),
    gives("t2", "text"),
    says("m3", {"type": "text", "text": "Done."}, stop="end_turn"),
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "Done.",
        "total_cost_usd": 0.25,
        "usage": {"input_tokens": 20, "cache_read_input_tokens": 30, "output_tokens": 9},
    },
)


async def test_claude_codes_events_become_the_result(tmp_path: Path):
    async with machine(tmp_path) as host:
        host.has("claude")
        host.does(*CLAUDE)
        result = await play("claude", host)

    assert (result.final_answer, result.issues) == ("Done.", [])
    first, second, third = result.trajectory["steps"]
    assert first["user_content"] == "Mend 'it' é."
    assert first["assistant_content"]["content"] == "I look."
    assert first["assistant_content"]["reasoning_content"] == "hm"
    assert [o["content"] for o in first["observation"]] == ["a.txt"]
    assert [o["content"] for o in second["observation"]] == ["/app", "text"]
    assert third["metric"]["stop_reason"] == "stop"
    assert first["metric"]["prompt_tokens_len"] == 8
    assert first["metric"]["llm_infer_ms"] is None
    told = {name: result.telemetry[name] for name in ("n_calls", "prompt_tokens", "cached_tokens")}
    assert told == {"n_calls": 3, "prompt_tokens": 50, "cached_tokens": 30}
    assert result.telemetry["cost_usd"] is None
    assert result.telemetry["reported_cost_usd"] == 0.25
    assert result.artifacts["claude"]["version"] == "1.2.3 (fake)"


def item(kind: str, name: str, **fields: Any) -> Any:
    return {"type": "item.completed", "item": {"id": name, "type": kind, **fields}}


CODEX = (
    {"type": "thread.started", "thread_id": "x"},
    {"type": "turn.started"},
    item("reasoning", "i0", text="hm"),
    {"type": "item.started", "item": {"id": "i1", "type": "command_execution"}},
    item("command_execution", "i1", command="ls", aggregated_output="a.txt\n", exit_code=0),
    item("file_change", "i2", changes=[{"path": "a", "kind": "add"}], status="completed"),
    item("error", "i3", message="not much"),
    item("agent_message", "i4", text="Done."),
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 20, "cached_input_tokens": 5, "output_tokens": 9},
    },
)


async def test_codexs_events_become_the_result(tmp_path: Path):
    async with machine(tmp_path) as host:
        host.has("codex")
        host.does(*CODEX)
        result = await play("codex", host)

    assert (result.final_answer, result.issues) == ("Done.", [])
    first, second = result.trajectory["steps"]
    calls = first["assistant_content"]["tool_calls"]
    assert [json.loads(call["function"]["arguments"]) for call in calls] == [
        {"command": "ls"},
        {"changes": [{"path": "a", "kind": "add"}]},
    ]
    assert [o["content"] for o in first["observation"]] == ["a.txt\n\nexit code 0", "completed"]
    assert second["assistant_content"]["content"] == "Done."
    assert result.telemetry["prompt_tokens"] == 20
    assert result.telemetry["completion_tokens"] == 9
    assert result.telemetry["calls_without_usage"] == 0


async def test_replies_that_a_server_numbers_alike_stay_apart(tmp_path: Path):
    look = says("m", {"type": "text", "text": "I look."}, use("t1", "ls"))
    async with machine(tmp_path) as host:
        host.has("claude")
        host.does(look, gives("t1", "a"), says("m", {"type": "text", "text": "Done."}))
        result = await play("claude", host)

    said = [step["assistant_content"]["content"] for step in result.trajectory["steps"]]
    assert said == ["I look.", "Done."]


@pytest.mark.parametrize("name", HARNESSES)
async def test_the_prompt_and_the_key_are_in_no_argument_and_the_files_are_private(
    tmp_path: Path, name: str
):
    seen: list[tuple[str, int, bytes]] = []

    async with machine(tmp_path) as host:
        host.has(name)
        started = agent(name, host.session)
        async with started:
            await started.run(RunResult(task_id="t"))
            folder = Path(started.setup.folder)
            for path in (folder, *folder.rglob("*")):
                data = path.read_bytes() if path.is_file() else b""
                seen.append((path.name, stat.S_IMODE(path.stat().st_mode), data))
            argv, stdin = await host.note("argv"), await host.note("stdin")
            cmdline = await host.note("cmdline")
            assert not folder.is_relative_to(host.session.workdir)
            await started.collect(RunResult(task_id="t", telemetry={"n_calls": 0}))
            assert not folder.exists()

    assert stdin == "Mend 'it' é."
    assert "org/m" in argv
    assert not {KEY, "Mend"} & set((argv + cmdline).split())
    assert KEY not in argv + cmdline
    assert {mode for _, mode, _ in seen} <= {0o700, 0o600}
    assert any(KEY.encode() in data for _, _, data in seen) is (name == "claude")


async def test_what_the_program_makes_has_ordinary_modes(tmp_path: Path):
    async with machine(tmp_path) as host:
        host.has("codex")
        host.does(then="touch made")
        await play("codex", host)
        made = Path(host.session.workdir) / "made"
        assert stat.S_IMODE(made.stat().st_mode) == 0o644


async def test_each_program_is_told_where_its_model_is(tmp_path: Path):
    async with machine(tmp_path) as host:
        for name in HARNESSES:
            host.has(name)
        host.does(then='cp "$CODEX_HOME/config.toml" . || cp "$8" .; cp "${10}" . ; true')
        await play("codex", host)
        codex, variables = await host.note("config.toml"), await host.note("env")
        await play("claude", host)
        argv = (await host.note("argv")).splitlines()
        claude = json.loads(await host.note("settings.json"))

    assert 'model_provider = "agentcompass"' in codex
    assert 'base_url = "http://127.0.0.1:9/v1"' in codex
    assert 'model_reasoning_effort = "low"' in codex
    assert f"CODEX_API_KEY={KEY}" in variables
    assert claude["env"]["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9"
    assert claude["env"]["ANTHROPIC_AUTH_TOKEN"] == KEY
    assert argv[argv.index("--max-turns") + 1] == "7"


@pytest.mark.parametrize(
    ("name", "events", "issue"),
    [
        (
            "claude",
            [{"type": "result", "subtype": "error_max_turns", "is_error": True}],
            ("warning", "harness_limit_reached"),
        ),
        (
            "claude",
            [{"type": "result", "is_error": True, "result": "API Error: 401 no"}],
            ("fatal", "model_failed"),
        ),
        (
            "claude",
            [{"type": "result", "is_error": True, "result": "no", "api_error_status": 400}],
            ("error", "model_failed"),
        ),
        (
            "codex",
            [{"type": "turn.failed", "error": {"message": "unexpected status 503 down"}}],
            ("fatal", "model_failed"),
        ),
        ("codex", [], ("error", "harness_failed")),
        ("claude", [*CLAUDE[:4], {"type": "result"}], None),
    ],
)
async def test_how_it_ended_is_an_issue(tmp_path: Path, name: str, events: Any, issue: Any):
    end = "echo broken >&2; exit 3" if issue else "exit 0"
    async with machine(tmp_path) as host:
        host.has(name)
        host.does(*events, then=end)
        result = await play(name, host)

    found = [(one.severity, one.code) for one in result.issues]
    assert found == ([issue] if issue else [])
    if issue:
        assert result.artifacts[name] == {
            "version": "1.2.3 (fake)",
            "exit_code": 3,
            "stderr": "broken\n",
        }


@pytest.mark.parametrize(("then", "issues"), [([], ["model_failed"]), (CODEX[-2:], [])])
async def test_a_model_that_codex_still_waited_for_is_told(tmp_path: Path, then: Any, issues: Any):
    waits = {"type": "error", "message": "Reconnecting... (Connection failed)"}
    async with machine(tmp_path) as host:
        host.has("codex")
        host.does(*CODEX[:2], waits, *then)
        result = await play("codex", host)

    assert [found.code for found in result.issues] == issues


@pytest.mark.parametrize("name", HARNESSES)
async def test_what_was_printed_before_the_deadline_is_kept(tmp_path: Path, name: str):
    events = {"claude": CLAUDE[:5], "codex": CODEX[:5]}[name]
    mark = new_mark()
    async with machine(tmp_path, MARK=mark) as host:
        host.has(name)
        half = 'printf \'{"type": "assist\'; touch begun; sleep 1000 & sleep 1000'
        host.does(*events, then=half)
        result = RunResult(task_id="t")
        started = agent(name, host.session)
        async with started:
            with pytest.raises(PhaseTimeout), deadline(3, stretch="run_harness"):
                await started.run(result)
            assert alive(mark) == []
            await started.collect(result)

    (step,) = result.trajectory["steps"]
    assert [o["content"].split()[0] for o in step["observation"]] == ["a.txt"]
    assert result.final_answer is None
    assert result.artifacts[name]["exit_code"] is None


async def test_lines_of_any_length_and_lines_that_are_no_events_break_nothing(tmp_path: Path):
    long = says("m1", {"type": "text", "text": "x" * 2_000_000})
    odd = ["text", 7, None, {"type": "assistant"}, {"type": "user", "message": 3}, says("m2", 1)]
    async with machine(tmp_path) as host:
        host.has("claude")
        host.does(long, *odd, then="printf 'no newline'")
        result = await play("claude", host)

    assert "characters left out" in result.trajectory["steps"][0]["assistant_content"]["content"]


@pytest.mark.parametrize("name", HARNESSES)
async def test_on_ones_own_machine_nothing_is_installed(tmp_path: Path, name: str):
    async with machine(tmp_path) as host:
        started = agent(name, host.session)
        with pytest.raises(EnvironmentFailed, match=f"{name} is not in the environment"):
            async with started:
                pass


async def test_elsewhere_it_is_installed_with_npm(tmp_path: Path):
    async with machine(tmp_path) as host:
        npm = host.bin / "npm"
        npm.write_text(f'#!/bin/sh\necho "$@" > npm-argv\nmv {tmp_path}/later {host.bin}/codex\n')
        npm.chmod(0o755)
        host.has("later")
        (host.bin / "later").rename(tmp_path / "later")
        host.does(*CODEX)
        started = agent("codex", host.session)
        started.setup.seconds = 30.0
        async with started:
            await started.run(result := RunResult(task_id="t"))
            await started.collect(result)
        argv = await host.note("npm-argv")

    assert argv == "install -g @openai/codex@latest\n"
    assert result.final_answer == "Done."


async def test_an_installation_that_takes_too_long_is_told(tmp_path: Path):
    async with machine(tmp_path) as host:
        (host.bin / "npm").write_text("#!/bin/sh\necho fetching >&2; sleep 1000\n")
        (host.bin / "npm").chmod(0o755)
        started = agent("codex", host.session)
        started.setup.seconds = 0.5
        with pytest.raises(
            EnvironmentFailed, match=r"not installed in 0\.5 s.*install_timeout.*fetc"
        ):
            async with started:
                pass


async def test_another_version_than_the_one_asked_for_is_not_taken(tmp_path: Path):
    async with machine(tmp_path) as host:
        host.has("codex")
        started = agent("codex", host.session)
        started.setup.version = "1.2.4"
        with pytest.raises(
            EnvironmentFailed, match=r"codex 1\.2\.4 \(in place of 1\.2\.3 \(fake\)\) is"
        ):
            async with started:
                pass
        (host.bin / "npm").write_text("#!/bin/sh\n")
        (host.bin / "npm").chmod(0o755)
        started.setup.seconds = 30.0
        with pytest.raises(EnvironmentFailed, match="which the PATH has not"):
            async with started:
                pass
        for version in ("1.2.3", "latest", "^2.0.0"):  # only what is exact is compared
            started.setup.version = version
            await started.setup.ready()


async def test_a_program_that_cannot_start_says_why(tmp_path: Path):
    async with machine(tmp_path) as host:
        (host.bin / "codex").write_text("#!/usr/bin/env no-node-here\n")
        (host.bin / "codex").chmod(0o755)
        with pytest.raises(EnvironmentFailed, match=r"codex cannot be started: .*no-node-here"):
            async with agent("codex", host.session):
                pass


async def test_without_a_model_neither_starts(tmp_path: Path):
    async with machine(tmp_path) as host:
        for harness in HARNESSES.values():
            with pytest.raises(HarnessFailed, match="needs a model"):
                harness.start(host.session, context())
        await trio.lowlevel.checkpoint()


async def test_model_parameters_that_the_program_is_not_given_are_named(tmp_path: Path):
    async with machine(tmp_path) as host:
        host.has("codex")
        host.does(*CODEX)
        started = agent("codex", host.session)
        started.model = attrs.evolve(MODEL, params={"top_p": 1, "seed": 7})
        async with started:
            await started.run(result := RunResult(task_id="t"))
            await started.collect(result)

    (issue,) = result.issues
    assert (issue.severity, issue.code) == ("warning", "model_params_unused")
    assert issue.message.endswith("without seed, top_p")


# A program that gives away its key.
TELLTALE = f"""#!{sys.executable}
import json, sys
if "--version" not in sys.argv:
    settings = json.load(open(sys.argv[sys.argv.index("--settings") + 1]))
    text = "the key is " + settings["env"]["ANTHROPIC_AUTH_TOKEN"]
    block = {{"type": "text", "text": text}}
    print(json.dumps({{"type": "assistant", "message": {{"id": "m", "content": [block]}}}}))
    print(json.dumps({{"type": "result", "result": "Done."}}))
"""


async def test_a_whole_run_keeps_the_key_to_itself(tmp_path: Path, monkeypatch: Any):
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "claude"
    fake.write_text(TELLTALE)
    fake.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(ClaudeCode, "protocols", ("openai-chat",))
    ran = await run(
        tmp_path / "run",
        {"t": {}},
        harness="claude_code",
        model="org/m",
        model_base_url="http://127.0.0.1:9/v1",
        model_api_key=KEY,
    )

    record = ran.attempts["t"]
    assert (record["final_answer"], record["issues"]) == ("Done.", [])
    assert record["trajectory"]["steps"][0]["assistant_content"]["content"] == "the key is ********"
    assert len(list(ran.directory.rglob("trajectory.atif.json"))) == 1
    written = [path for path in ran.directory.rglob("*") if path.is_file()]
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
