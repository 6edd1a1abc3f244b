"""What every environment that runs real commands keeps: input, output, variables, limits."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from agentcompass.errors import EnvironmentFailed
from agentcompass.protocols import Session
from tests.contract.environment import OUTPUT_LIMIT, WITH_A_SHELL, Provider, opened

SOON = 20.0


@pytest.fixture(params=WITH_A_SHELL, ids=str)
def provider(request: pytest.FixtureRequest) -> Provider:
    return request.param


@pytest.fixture
async def session(provider: Provider) -> AsyncIterator[Session]:
    async with opened(provider) as session:
        yield session


async def test_commands_run_in_the_working_directory_unless_told(session):
    assert (await session.exec("pwd")).stdout == f"{session.workdir}\n"

    await session.write("sub/file", b"")

    assert (await session.exec("ls", cwd="sub")).stdout == "file\n"
    assert (await session.exec("ls", cwd="/app/sub")).stdout == "file\n"
    assert (await session.exec("pwd", cwd="/")).stdout == "/\n"


async def test_an_argument_list_needs_no_shell(session):
    arguments = ["*", "$HOME", "a b", "", "'\"\n", "--", "ü☃"]

    result = await session.exec(["printf", "[%s]", *arguments])

    assert result.stdout == "".join(f"[{argument}]" for argument in arguments)


async def test_text_is_read_by_a_shell_whatever_it_begins_with(session):
    assert (await session.exec("x=1; echo $((x + 1)) | cat")).stdout == "2\n"
    assert (await session.exec("-no-such; echo on")).stdout == "on\n"


async def test_stdin_is_at_its_end_unless_given(session):
    """Row 8: what copies stdin to a file does not wait for a terminal."""
    with trio.fail_after(SOON):
        result = await session.exec("cat > copy; wc -c < copy")

    assert result.stdout.strip() == "0"


@pytest.mark.parametrize("size", [1, 70_000, 5_000_000])
async def test_stdin_that_is_given_arrives_whole(session, size):
    data = os.urandom(size)

    await session.exec("cat > copy", stdin=data)

    assert await session.read("copy") == data


async def test_stdin_that_is_not_read_is_no_fault(session):
    assert (await session.exec("exit 4", stdin=b"x" * 1_000_000)).exit_code == 4


VALUES = {
    "EMPTY": "",
    "EQUALS": "a=b=c",
    "NEWLINE": "one\ntwo\n",
    "QUOTES": "'\"`$(echo no)\\",
    "UNICODE": "ü☃🙂",
    "LARGE": "x" * 100_000,
}


@pytest.mark.parametrize("way", ["plan", "exec"])
async def test_variables_arrive_exactly(provider, way):
    """Row 49; a variable that is empty differs from one that is not set."""
    plan, asked = (VALUES, None) if way == "plan" else ({}, VALUES)
    async with opened(provider, env_variables=plan) as session:
        for name, value in VALUES.items():
            result = await session.exec(f'printf %s "${{{name}-not set}}" > value', env=asked)
            assert result.ok
            assert (await session.read("value")).decode() == value
        result = await session.exec('printf %s "${UNSET-not set}"', env=asked)

    assert result.stdout == "not set"


async def test_a_commands_variables_win_over_the_plans_and_last_for_that_command(provider):
    async with opened(provider, env_variables={"NAME": "plan"}) as session:
        once = await session.exec("echo $NAME", env={"NAME": "exec"})
        later = await session.exec("echo $NAME")

    assert (once.stdout, later.stdout) == ("exec\n", "plan\n")


async def test_host_variables_stay_on_the_host(session, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "planted-secret")

    result = await session.exec("env; cat /proc/self/environ")

    assert "planted-secret" not in result.stdout


async def test_variables_are_on_no_command_line(session):
    result = await session.exec("cat /proc/$$/cmdline", env={"TOKEN": "planted" + "-secret"})

    assert "cat" in result.stdout
    assert "planted-secret" not in result.stdout


async def test_what_the_kernel_does_not_take_is_an_error_that_names_it(session):
    """Row 47: a clear error of the environment and not a failed command."""
    with pytest.raises(EnvironmentFailed, match="TOO_LARGE has 200000 bytes"):
        await session.exec("true", env={"TOO_LARGE": "x" * 200_000})
    with pytest.raises(EnvironmentFailed, match=r"argument 1 .* has 200000 bytes"):
        await session.exec(["echo", "x" * 200_000])


@pytest.mark.parametrize("size", [100_000, 131_071, 131_072, 400_000])
async def test_a_command_may_be_as_long_as_it_likes(session, size):
    """Row 47: 500 test ids of 400 bytes and more go by a file where they have to."""
    head, tail = "set -- ", "; echo $# $0-ran"

    result = await session.exec(head + "i " * ((size - len(head + tail)) // 2) + tail)

    assert result.exit_code == 0
    assert result.stdout.startswith(f"{(size - len(head + tail)) // 2} ")


@pytest.mark.parametrize("name", ["", "A=B", "A\0B"])
async def test_an_impossible_variable_is_an_error(session, name):
    with pytest.raises(EnvironmentFailed, match="name of an environment variable"):
        await session.exec("true", env={name: "x"})


async def test_a_lone_surrogate_in_a_command_costs_nobody_a_task(session):
    """Row 24: half an emoji in what a model wrote is run as it can be."""
    result = await session.exec("printf '%s' 'a\ud83db' | wc -c")

    assert result.stdout.strip() == "5"


@pytest.mark.parametrize(("signal", "code"), [("TERM", 143), ("KILL", 137), ("SEGV", 139)])
async def test_a_signal_is_128_and_its_number_and_no_timeout(session, signal, code):
    result = await session.exec(f"kill -{signal} $$", timeout_seconds=SOON)

    assert (result.exit_code, result.timed_out) == (code, False)


async def test_a_missing_program_and_a_bad_folder_are_told_apart_from_a_failure(session):
    await session.write("file", b"")
    with pytest.raises(EnvironmentFailed, match="no-such-program"):
        await session.exec(["no-such-program"])
    for cwd in ("missing", "/no/such/folder", "file"):
        with pytest.raises(EnvironmentFailed, match=rf"working directory.*{cwd}"):
            await session.exec("true", cwd=cwd)
    with pytest.raises(EnvironmentFailed, match="empty"):
        await session.exec([])

    assert (await session.exec("no-such-program")).exit_code == 127


async def test_bytes_that_are_not_utf8_are_replaced_and_change_nothing_else(session):
    """Row 38: also for 10 MB of noise; the bytes of a file stay what they are."""
    result = await session.exec(r"printf 'a\377\376\0b'; printf '\303' >&2; exit 5")
    noise = await session.exec("head -c 10000000 /dev/urandom")

    assert (result.stdout, result.stderr, result.exit_code) == ("a��\0b", "�", 5)
    assert noise.ok
    assert sum(noise.truncated_bytes) >= 10_000_000 - OUTPUT_LIMIT


@pytest.mark.parametrize("end", ["exit 0", "exit 3", "sleep 60"])
async def test_the_output_limit_holds_on_success_failure_and_timeout(session, end):
    """Row 40: the same cap and the same note, whichever way a command ends."""
    prints = f"echo first; yes | head -c 3000000; echo; echo last; {end}"

    out = await session.exec(prints, timeout_seconds=1)
    err = await session.exec(f"exec >&2; {prints}", timeout_seconds=1)

    for text, cut in ((out.stdout, out.truncated_bytes[0]), (err.stderr, err.truncated_bytes[1])):
        assert text.startswith("first\n")
        assert text.endswith("last\n")
        assert len(text.encode()) <= OUTPUT_LIMIT
        assert f"[... {cut} bytes left out here ...]" in text
    assert out.timed_out == (end == "sleep 60")


async def test_a_command_that_prints_for_ever_ends_when_its_time_is_up(session):
    """Row 6: its pipe is read all the time, and what is kept stays small."""
    with trio.fail_after(SOON):
        result = await session.exec("yes & yes >&2", timeout_seconds=0.5)

    assert result.timed_out
    assert len(result.stdout) <= OUTPUT_LIMIT
    assert len(result.stderr) <= OUTPUT_LIMIT


async def test_the_last_words_of_a_command_are_never_lost(session, provider):
    """What was written before the end is read, also while a child holds the pipe."""
    for number in range(30 if provider.image is None else 6):
        held = "sleep 60 & " if number % 2 else ""
        result = await session.exec(f"{held}head -c 60000 /dev/zero; printf end")
        assert result.stdout.endswith("\0end"), number


async def test_hundreds_of_commands_16_at_once_keep_their_own_output(session, provider):
    wrong = []
    turns = 20 if provider.image is None else 5  # an engine starts some ten a second

    async def work(worker: int) -> None:
        for turn in range(turns):
            mark = f"{worker}.{turn}"
            result = await session.exec(f"echo {mark}; echo e{mark} >&2; exit {turn}")
            if (result.stdout, result.stderr, result.exit_code) != (
                f"{mark}\n",
                f"e{mark}\n",
                turn,
            ):
                wrong.append((mark, result))

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for worker in range(16):
                nursery.start_soon(work, worker)

    assert wrong == []


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_no_descriptor_is_left_open(session):
    await session.exec("true")
    before = descriptors()
    for _ in range(20):
        await session.exec("echo x", stdin=b"y")
        await session.exec("sleep 60", timeout_seconds=0)

    assert descriptors() <= before


async def test_an_uploaded_script_can_be_run(session, tmp_path):
    (tmp_path / "run.sh").write_text("#!/bin/sh\necho from the script $1\n")
    (tmp_path / "run.sh").chmod(0o755)

    await session.upload(tmp_path, "bin")

    assert (await session.exec(["./bin/run.sh", "x"])).stdout == "from the script x\n"
