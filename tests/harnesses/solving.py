"""A model that solves `starter` tasks: it plays their solutions to whichever harness asks."""

import json
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from agentcompass import async_run_evaluation
from agentcompass.benchmarks.starter import data_folder
from tests import atif_schema
from tests.docker_engine import gateway
from tests.loopback import Act, Exchange, answer, serve
from tests.loopback_models import Said, asked_for_stream
from tests.whole_runs import MARKER, Ran, read

KEY = "sk-test-ABCDEFGH12345678"
DATA = data_folder(Path(str(resources.files("agentcompass.benchmarks"))))
ANSWER = "It is done."
_SOLVED = "all-of-it-is-solved"
# What a script prints at its end; the words do not stand in the script itself.
_SAYS_SO = "echo all-of-it-is''-solved"

# What a harness is told, by the script that solves the task, and by what it asked.
Tongue = Callable[[str, str], Said]


def calls(tool: str, **arguments: str) -> Said:
    """A call of a tool."""
    call = ("call_1", tool, json.dumps(arguments))
    return Said(text="I act.", calls=[call], finish="tool_calls")


def types(*keys: str, done: bool = False) -> Said:
    """Keystrokes, as terminus2 reads them."""
    commands = [{"keystrokes": key, "duration": 0.3} for key in keys]
    said = {"analysis": "a", "plan": "p", "commands": commands, "task_complete": done}
    return Said(text=json.dumps(said))


def _mini(script: str, asked: str) -> Said:
    return calls("bash", command=f"echo {MARKER}; echo {ANSWER}" if _SOLVED in asked else script)


def _terminus(script: str, asked: str) -> Said:
    if _SOLVED in asked:
        return types(done=True)
    if "END-OF-IT" in asked:  # typed, and still running
        return types("")
    return types(f"bash <<'END-OF-IT'\n{script}\nEND-OF-IT\n")


def calling(tool: str, field: str) -> Tongue:
    """Of a program whose tool `tool` runs the command in its argument `field`."""

    def tongue(script: str, asked: str) -> Said:
        return Said(text=ANSWER) if _SOLVED in asked else calls(tool, **{field: script})

    return tongue


TONGUES: Mapping[str, Tongue] = {
    "openai_chat": lambda script, asked: Said(text=ANSWER),
    "mini_swe_agent": _mini,
    "terminus2": _terminus,
    "claude_code": calling("Bash", "command"),
    "codex": calling("shell", "command"),
}


def solves(protocol: str, tongue: Tongue) -> Act:
    """Solve the task whose instruction is in the request, and say so once that has been seen."""

    async def act(exchange: Exchange) -> None:
        asked = exchange.asked.body.decode()
        if not asked:  # programs also look whether there is a server
            await answer({})(exchange)
            return
        said = tongue(f"{_script_for(asked)}\n{_SAYS_SO}", asked)
        await asked_for_stream(protocol, said)(exchange)

    return act


def _script_for(asked: str) -> str:
    for task in DATA.glob("*/instruction.md"):
        # As it stands in JSON, whether or not what is beyond ASCII is escaped there.
        if json.dumps(task.read_text()[:60])[1:-1] in asked:
            return (task.parent / "solution" / "solve.sh").read_text()
    return "true"


async def played(
    results: Path, harness: str, protocol: str, *, tongue: Tongue | None = None, **settings: Any
) -> Ran:
    """A run whose model solves each task; on docker its server listens where containers are."""
    host = gateway() if settings["environment"] == "docker" else "127.0.0.1"
    async with serve(solves(protocol, tongue or TONGUES[harness]), host=host) as server:
        ran = Ran(
            await async_run_evaluation(
                benchmark="starter",
                harness=harness,
                model="org/m",
                model_base_url=server.url,
                model_api_key=KEY,
                model_api_protocol=protocol,
                results_dir=str(results),
                progress="none",
                **settings,
            )
        )
    assert all(KEY in str(asked.headers) for asked in server.asked if asked.body)
    return ran


def check_played(ran: Ran, harness: str, task: str) -> None:
    """The task is solved, by all but who only talks, and on record; the key is not."""
    record = ran.attempts[task]
    solved = {"correct": harness != "openai_chat"}
    assert (record["metrics"], record["issues"]) == (solved, []), (harness, record)
    if harness != "terminus2":  # whose answer is its work
        assert record["final_answer"].strip() == ANSWER
    steps = record["trajectory"]["steps"]
    assert record["meta"]["harness"]["telemetry"]["n_calls"] == len(steps) > 0
    (file,) = ran.directory.rglob("trajectory.atif.json")
    atif_schema.check(read(file))
    written = [path for path in ran.directory.rglob("*") if path.is_file()]
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
