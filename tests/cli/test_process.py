"""The command line as a process: imports, exit codes, signals, streams (cases.md 74 and 80)."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from tests.cli.process import RUN, call, environment, finish, start, wait_for

HEAVY = ("httpx", "docker", "yaml", "rich", "attrs", "attr", "trio", "asyncclick", "anyio")
PLUG_INS = (
    "agentcompass.benchmarks.",
    "agentcompass.harnesses.",
    "agentcompass.environments.",
    "agentcompass.models.",
    "toy_components",
)


@pytest.fixture
def command(toys, tmp_path):
    return lambda *arguments, **extra: call(*arguments, toys=toys, cwd=tmp_path, **extra)


@pytest.fixture
def started(toys, tmp_path):
    return lambda *arguments, **extra: start(*arguments, toys=toys, cwd=tmp_path, **extra)


def imported_by(arguments, toys, tmp_path):
    """Every module that is there when the command ends."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sorted(sys.modules), sep='\\n', file=sys.stderr))\n"
        f"sys.argv = ['agentcompass', *{list(arguments)!r}]\n"
        "from agentcompass.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(toys),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stderr.split()


def test_nothing_that_was_loaded_is_looked_through_for_garbage_on_the_way_out(toys, tmp_path):
    """It would take a tenth of a second after every run, and after every deadline."""
    code = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(len(gc.get_objects()) < 1000, file=sys.stderr))\n"
        "sys.argv = ['agentcompass', 'list', 'harness']\n"
        "from agentcompass.__main__ import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment(toys), cwd=tmp_path, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "True\n")


def test_the_version_is_told_without_importing_anything_heavy(command, toys, tmp_path):
    assert command("--version").out.startswith("agentcompass ")

    modules = imported_by(["--version"], toys, tmp_path)

    assert "agentcompass.__main__" in modules
    assert not [name for name in modules if name.split(".")[0] in HEAVY]
    assert not [name for name in modules if name.startswith(PLUG_INS)]


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["config", "show", "--help"]])
def test_help_imports_no_plug_in_and_nothing_it_does_not_need(arguments, toys, tmp_path):
    modules = imported_by(arguments, toys, tmp_path)

    assert "asyncclick" in modules
    assert not {"httpx", "docker", "yaml", "rich"} & {name.split(".")[0] for name in modules}
    assert not [name for name in modules if name.startswith(PLUG_INS)]


def test_the_command_runs_on_trio(command):
    ended = command(*RUN, "--progress", "none", fake="complete")

    assert ended.code == 0, ended.err


@pytest.mark.parametrize(
    ("fake", "code"), [("complete", 0), ("fail", 1), ("usage", 2), ("timeout", 124)]
)
def test_the_exit_code_tells_how_it_ended(command, fake, code):
    ended = command(*RUN, fake=fake)

    assert ended.code == code
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)
def test_a_signal_cancels_and_cleans_up(started, tmp_path, number, code):
    process = started(*RUN, fake="hang")
    wait_for(tmp_path / "results" / "fake")
    time.sleep(0.2)

    process.send_signal(number)
    ended = finish(process)

    assert ended.code == code
    assert (tmp_path / "results" / "fake" / "cleaned").exists()
    name = signal.Signals(number).name
    assert f"{name}: cancelling, cleaning up for at most 30 s" in ended.err
    assert ended.err.splitlines()[-1] == (
        f"Error: cancelled by {name}; what had finished is in results/fake"
    )
    assert ended.out == ""


def test_a_second_signal_waits_and_a_third_ends_at_once(started, tmp_path):
    process = started(*RUN, fake="stubborn")
    wait_for(tmp_path / "results" / "fake")
    time.sleep(0.2)

    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert process.poll() is None
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    ended = finish(process)

    assert time.monotonic() - began < 10
    assert ended.code == 130
    assert "still cleaning up; a third signal ends at once" in ended.err
    assert ended.err.splitlines()[-1].endswith("of this run may be left; see results/fake")


def test_a_bug_has_a_traceback_without_secrets(command):
    ended = command(*RUN, "--model-api-key", "sk-hush-hush", fake="bug")

    assert ended.code == 1
    assert "KeyError: 'a bug with ******** in it'" in ended.err
    assert "sk-hush-hush" not in ended.err
    assert ended.err.splitlines()[-1].startswith("This is a fault of agentcompass")


def test_a_reader_that_goes_away_does_not_fail_the_run(started):
    process = started(*RUN, fake="complete")
    process.stdout.close()

    assert process.wait(timeout=30) == 0
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()


@pytest.mark.parametrize("arguments", [RUN, ("list", "benchmark"), ("config", "show")])
def test_closed_streams_do_not_fail_a_command(arguments, toys, tmp_path):
    code = subprocess.run(
        [
            "sh",
            "-c",
            'exec "$@" >&- 2>&-',
            "sh",
            sys.executable,
            "-m",
            "tests.cli.fake_evaluate",
            *arguments,
        ],
        env=environment(toys, FAKE_RUN="complete"),
        cwd=tmp_path,
        timeout=30,
        check=False,
    ).returncode

    assert code == 0


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_a_poor_locale_degrades_to_escapes(command, tmp_path, locale):
    (tmp_path / "config.yaml").write_text("benchmarks: {toy: {path: 日本🧭}}\n", encoding="utf-8")

    ended = command(*RUN, fake="complete", **locale)
    shown = command("config", "show", **locale)

    assert ended.code == 0, ended.err
    assert "zw" in ended.err
    assert "\\U0001f9ed" in ended.err
    assert shown.code == 0, shown.err
    assert "\\u65e5\\u672c\\U0001f9ed" in shown.out
    assert command("config", "docs", "env", "toybox", **locale).code == 0


def test_off_a_terminal_there_are_whole_lines_and_no_escape_codes(command):
    ended = command(*RUN, "--progress", "auto", fake="complete", FORCE_COLOR="1")

    assert "\x1b" not in ended.out + ended.err
    assert ended.err.endswith("\n")
    assert "Traceback" not in ended.err


def test_on_a_terminal_the_run_is_drawn_and_the_result_is_a_table(toys, tmp_path):
    far, near = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.fake_evaluate", *RUN],
        env=environment(toys, FAKE_RUN="complete", TERM="xterm", COLUMNS="100", LINES="30"),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=near,
        stderr=near,
    )
    os.close(near)
    pieces = []
    with suppress(OSError):  # the end of a terminal is an error
        while piece := os.read(far, 65536):
            pieces.append(piece)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", b"".join(pieces).decode())
    os.close(far)

    assert process.wait(timeout=30) == 0
    assert "2/2" in text
    assert "┃ Metric" in text
    assert "│ Correct (native@1) │ 0.5000 │" in text
    assert text.rstrip().endswith("Run directory: results/fake")
