"""terminus2 in a real tmux, on host_process and docker, and what becomes of it at the end."""

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from agentcompass.errors import EnvironmentFailed, HarnessFailed
from agentcompass.harnesses._terminus_reply import Keys
from agentcompass.harnesses._terminus_terminal import Seen, Terminal
from agentcompass.protocols import Session
from tests import atif_schema
from tests.contract.environment import HOST_PROCESS, WITH_A_SHELL, Provider, opened
from tests.loopback import Server, completion, serve
from tests.processes import alive, new_mark, wait_for_alive
from tests.whole_runs import Ran, read, run

everywhere = pytest.mark.parametrize("provider", WITH_A_SHELL, ids=str)


@pytest.fixture(autouse=True)
def tmux(request: pytest.FixtureRequest) -> None:
    """Skip what needs the tmux of this host; an image has its own."""
    is_on_docker = request.node.get_closest_marker("docker") is not None
    if shutil.which("tmux") is None and not is_on_docker:
        pytest.skip("tmux is not installed")


def a_terminal(session: Session, **options: Any) -> Terminal:
    given = {"cwd": None, "user": None, "width": 160, "height": 40, "install_seconds": 0.0}
    return Terminal(session=session, **{**given, **options})


@asynccontextmanager
async def started(provider: Provider = HOST_PROCESS, **options: Any) -> AsyncIterator[Terminal]:
    async with opened(provider) as session:
        terminal = a_terminal(session, **options)
        await terminal.start()
        await send(terminal, "PS1='> '\n", until="> ")
        yield terminal


async def send(terminal: Terminal, *texts: str, until: str) -> str:
    """Type, and look until `until` was seen: everything that was shown."""
    seen = (await terminal.type([Keys(text=text, seconds=0.05) for text in texts])).text
    with trio.fail_after(30):
        while until not in seen:
            seen += "\n" + (await terminal.type([Keys(text="", seconds=0.1)])).text
    return seen


@everywhere
async def test_what_is_typed_is_run_and_what_it_prints_is_shown(provider: Provider):
    async with started(provider) as terminal:
        shown = await send(terminal, "echo $((6 * 7))\n", until="\n42\n")

    assert shown.startswith("New terminal output:\n> echo $((6 * 7))")


async def test_folder_and_variables_stay_from_turn_to_turn():
    async with started() as terminal:
        await send(terminal, "cd / && word=kept\n", until="> ")
        shown = await send(terminal, 'echo "$PWD-$word"\n', until="/-kept")

    assert "/-kept" in shown


@everywhere
async def test_of_20000_lines_the_ends_are_shown_and_the_rest_is_counted(provider: Provider):
    async with started(provider) as terminal:
        shown = await send(terminal, "seq 1 20000; printf '%s\\n' don''e\n", until="done\n")

    assert "bytes of output are left out here" in shown
    assert "19999\n20000\n" in shown


@everywhere
async def test_the_history_is_larger_than_tmux_gives_by_itself(provider: Provider):
    async with started(provider) as terminal:
        await send(terminal, "seq 1 20000\n", until="\n20000\n")
        kept = await terminal._exec('t capture-pane -p -t "$pane" -S - | head -n 50')

    assert "\n7\n8\n9\n" in kept.stdout


@everywhere
async def test_a_cleared_screen_is_shown_whole(provider: Provider):
    async with started(provider) as terminal:
        await send(terminal, "seq 1 500\n", until="\n500\n")
        cleared = await send(terminal, "clear\n", "echo af''ter\n", until="after\n")

    assert "499" not in cleared
    assert "Terminal screen:" in cleared


async def test_a_program_that_draws_on_the_screen_is_shown_as_it_looks(tmp_path: Path):
    file = tmp_path / "numbers"
    file.write_text("".join(f"line {number}\n" for number in range(500)))
    async with started() as terminal:
        first = await send(terminal, f"less {file}\n", until="line 30\n")
        last = await send(terminal, "G", until="line 499")
        after = await send(terminal, "q", "echo ba''ck\n", until="back\n")

    assert first.count("Terminal screen:") >= 1
    assert "line 3\n" not in last
    assert "line 499" not in after


@everywhere
async def test_the_screen_of_top_is_shown_while_it_draws_and_gone_afterwards(provider: Provider):
    async with started(provider) as terminal:
        drawn = await send(terminal, "top -d 0.2\n", until="PID USER")
        after = await send(terminal, "q", "echo ba''ck\n", until="back\n")

    assert "load average" in drawn
    assert "back" in after


@pytest.mark.skipif(shutil.which("vi") is None, reason="vi is not installed")
async def test_an_editor_can_be_used():
    async with started() as terminal:
        await send(terminal, "vi note\n", until="note")
        await send(terminal, "ione\ntwo;", "Escape", until="two;")
        await send(terminal, ":wq\n", "cat note | tr a-z A-Z\n", until="TWO;")
        written = await terminal.session.read("note")

    assert written == b"one\ntwo;\n"


@everywhere
async def test_a_pasted_heredoc_of_200_kb_arrives_whole(provider: Provider):
    lines = "".join(f"{number} é'\"\\$`; {'x' * 60}\n" for number in range(2700))
    assert len(lines.encode()) > 200_000
    async with started(provider) as terminal:
        await send(terminal, f"cat > big <<'END'\n{lines}END\necho writ''ten\n", until="written")
        arrived = await terminal.session.read("big")

    assert arrived.decode() == lines


@everywhere
async def test_control_keys_reach_the_program_in_front(provider: Provider):
    async with started(provider) as terminal:
        await send(terminal, "sleep 1000\n", until="sleep 1000")
        await send(terminal, "C-c", "echo in''terrupted\n", until="interrupted")
        await send(terminal, "cat > typed\n", "a\n", "C-d", "echo en''ded\n", until="ended")
        assert await terminal.session.read("typed") == b"a\n"
        await send(terminal, "Up", "Up", "C-a", "echo ", "Enter", until="echo cat > typed")


@everywhere
async def test_other_scripts_and_pictures_come_through(provider: Provider):
    async with started(provider) as terminal:
        shown = await send(terminal, "echo 'é 漢字 ☃ 🙂;'\n", until="\né 漢字 ☃ 🙂;")

    assert "echo 'é 漢字 ☃ 🙂;'" in shown


@everywhere
async def test_a_shell_that_ended_is_followed_by_a_new_one(provider: Provider):
    async with started(provider) as terminal:
        shown = await send(terminal, "exit\n", until="a new one was started")
        again = await send(terminal, "echo ag''ain\n", until="again\n")

    assert "exit" in shown
    assert "again" in again


@pytest.mark.parametrize("signal", ["KILL", "STOP"])
async def test_a_terminal_that_does_not_answer_is_started_anew(signal: str):
    async with started(patience_seconds=3) as terminal:
        await terminal.session.exec(f"kill -{signal} {terminal._pid}")
        seen = await terminal.type([Keys(text="echo lost\n", seconds=0)])
        again = await send(terminal, "echo ag''ain\n", until="again\n")

    assert "did not answer" in seen.text
    assert "again" in again


@everywhere
async def test_a_wedged_shell_holds_up_no_turn(provider: Provider):
    async with started(provider) as terminal:
        await send(terminal, "trap '' INT; cat /dev/zero > /dev/null\n", until="/dev/null")
        with trio.fail_after(20):
            seen: Seen = await terminal.type([Keys(text="C-c", seconds=0.1)])

    assert "Terminal screen:" in seen.text or "New terminal output:" in seen.text


async def test_what_runs_in_the_terminal_ends_with_the_session_and_not_before():
    mark = new_mark()
    async with opened(HOST_PROCESS, env_variables={"MARK": mark}) as session:
        terminal = a_terminal(session)
        await terminal.start()
        await terminal.type([Keys(text="sleep 1000 & setsid sleep 1000 &\n", seconds=0)])
        await wait_for_alive(mark, 4)  # tmux, its shell, and two that sleep
        folder = Path(session.workdir).parent

    assert alive(mark) == []
    assert not folder.exists()


TOOLS = ("sh", "bash", "sleep", "tail", "cat", "rm", "ln")


def tools(folder: Path, *more: str) -> str:
    """A PATH with these tools, and no tmux."""
    for name in (*TOOLS, *more):
        (folder / name).symlink_to(shutil.which(name) or name)
    return str(folder)


async def test_on_ones_own_machine_tmux_is_asked_for_and_not_installed(tmp_path: Path):
    async with opened(HOST_PROCESS, env_variables={"PATH": tools(tmp_path)}) as session:
        with pytest.raises(EnvironmentFailed, match="tmux is not in the environment"):
            await a_terminal(session).start()


async def test_elsewhere_tmux_is_installed(tmp_path: Path):
    path = tools(tmp_path)
    manager = tmp_path / "apt-get"
    manager.write_text(
        f'#!/bin/sh\n[ "$1" = update ] || ln -s {shutil.which("tmux")} {path}/tmux\n'
    )
    manager.chmod(0o755)
    async with opened(HOST_PROCESS, env_variables={"PATH": path}) as session:
        terminal = a_terminal(session, install_seconds=30.0)
        await terminal.start()
        await send(terminal, "echo he''re\n", until="here\n")


async def test_a_terminal_that_cannot_come_back_is_the_agents_fault(tmp_path: Path):
    path = tools(tmp_path, "tmux")
    async with opened(HOST_PROCESS, env_variables={"PATH": path}) as session:
        terminal = a_terminal(session)
        await terminal.start()
        (tmp_path / "tmux").unlink()
        with pytest.raises(HarnessFailed, match="lost") as caught:
            await terminal.type([])

    assert (caught.value.severity, caught.value.code) == ("error", "terminal_lost")


def does(*keys: str, done: bool = False) -> Any:
    commands = [{"keystrokes": key, "duration": 0.3} for key in keys]
    said = {"analysis": "a", "plan": "p", "commands": commands, "task_complete": done}
    return completion(json.dumps(said))


async def whole(folder: Path, *acts: Any, **settings: Any) -> tuple[Ran, Server]:
    test = 'cp answer.txt "$LOGS_DIR/verifier/reward.txt"\n'
    async with serve(*acts) as server:
        ran = await run(
            folder,
            {"t": {"tests/test.sh": test}},
            harness="terminus2",
            model="m",
            model_base_url=server.url,
            model_api_protocol="openai-chat",
            **settings,
        )
    return ran, server


async def test_a_task_is_solved_in_the_terminal_and_scored(tmp_path: Path, monkeypatch: Any):
    monkeypatch.chdir(tmp_path)
    acts = (does("echo 1 > answer.txt\n"), does(done=True), does(done=True))
    ran, server = await whole(tmp_path, *acts)

    record = ran.attempts["t"]
    assert (record["metrics"], record["issues"]) == ({"correct": True}, [])
    assert len(server.asked) == 3
    [file] = ran.directory.rglob("trajectory.atif.json")
    atif_schema.check(read(file))
    assert read(file)["agent"]["name"] == "terminus2"


async def test_at_the_deadline_the_work_is_scored_and_the_trajectory_kept(
    tmp_path: Path, monkeypatch: Any
):
    monkeypatch.chdir(tmp_path)
    acts = (does("echo 1 > answer.txt\n"), does("sleep 60\n"), does(""))
    limits = {"run_timeout_seconds": 2, "run_timer_compensation_seconds": 0}
    ran, _ = await whole(tmp_path, *acts, execution_params=limits)

    record = ran.attempts["t"]
    assert record["metrics"] == {"correct": True}
    assert ran.issues("t")[0][:2] == ("error", "run")
    assert record["trajectory"]["steps"]
    assert len(list(ran.directory.rglob("trajectory.atif.json"))) == 1
