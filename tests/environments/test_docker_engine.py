"""The client of the Engine API against an engine that answers oddly (cases.md 42 and 50)."""

import json

import pytest
import trio

from agentcompass.deadlines import CleanupClock
from agentcompass.environments._docker_command import Command
from agentcompass.environments._docker_connect import Endpoint
from agentcompass.environments._docker_engine import Engine, EngineRefused, EngineSilent
from agentcompass.environments._docker_exec import Runner
from agentcompass.environments._docker_left import labelled
from agentcompass.environments._docker_life import Life
from agentcompass.errors import EnvironmentFailed
from tests.loopback import Act, answer, cut, serve

COMMAND = Command(argv=("x",))


def frame(stream: int, data: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4) + data


def state(code: int | None, *, pid: int = 7) -> Act:
    return answer({"Running": code is None, "ExitCode": code, "Pid": pid})


async def run(*script: Act, command: Command = COMMAND):
    """What comes of a command on an engine that answers so once it has created it, one by one."""
    created = (
        answer({"Id": "e"}),
        answer({"State": {"Running": True, "OOMKilled": False, "StartedAt": None}}),
    )
    async with serve(*created, *script) as server, _engine(server) as e:
        runner = Runner(
            engine=e,
            life=Life(engine=e, name="c", program=None),
            shell=None,
            output_limit=1000,
            grace_seconds=0.1,
            cleanup=CleanupClock(5),
        )
        with trio.fail_after(20):
            try:
                return await runner.run(command, None)
            except EnvironmentFailed as error:  # the server's nursery would wrap it
                return error


class _engine:
    """An engine whose version is not asked for."""

    def __init__(self, server) -> None:
        self.engine = Engine(Endpoint("tcp://test", server.url))

    async def __aenter__(self) -> Engine:
        return self.engine

    async def __aexit__(self, *_) -> None:
        await self.engine.aclose()


async def test_the_code_is_waited_for_when_the_stream_is_over_first():
    """The engine says Running for some time more; None is never taken for 0."""
    body = frame(1, b"out") + frame(2, b"err") + frame(1, b"") + frame(1, b"put")

    result = await run(answer(body), state(None), state(None), state(None), state(3))

    assert (result.stdout, result.stderr, result.exit_code) == ("output", "err", 3)


async def test_a_command_that_was_not_started_says_which_program_or_folder_is_missing():
    for said, told in (
        ('exec: "x": executable file not found in $PATH', "'x': no such program"),
        ('chdir to cwd ("/y") set in config.json failed: no such file', "directory '/y': no such"),
        ('chdir to cwd ("/y") set in config.json failed: not a directory', "'/y': not a directory"),
        ("something else", "something else"),
    ):
        fault = await run(
            answer(frame(1, f"OCI runtime exec failed: {said}".encode())),
            state(126, pid=0),
            command=Command(argv=("x",), cwd="/y"),
        )

        assert isinstance(fault, EnvironmentFailed)
        assert told in str(fault)


async def test_code_126_of_a_command_that_ran_is_its_own():
    body = frame(1, b"OCI runtime exec failed: says the agent")

    result = await run(answer(body), state(126))

    assert result.exit_code == 126
    assert result.stdout.startswith("OCI runtime")


async def test_a_refusal_has_the_engines_words_and_status():
    async with serve(answer({"message": "no\nsuch thing"}, status=404)) as server:
        async with _engine(server) as engine:
            with pytest.raises(EngineRefused, match="Docker says: no such thing") as caught:
                await engine.call("GET", "/x")

    assert caught.value.status == 404


async def test_an_engine_that_breaks_off_is_named():
    async with serve(cut(b"{", size=50)) as server, _engine(server) as engine:
        with pytest.raises(EngineSilent, match=r"tcp://test does not answer"):
            await engine.call("GET", "/x")


async def test_an_answer_that_is_none_of_an_engine_is_named_with_its_question():
    async with serve(answer(b"<p>hello")) as server, _engine(server) as engine:
        with pytest.raises(EnvironmentFailed, match="GET /x as a Docker Engine: <p>hello"):
            await engine.call("GET", "/x")


async def test_a_container_that_is_being_removed_has_no_name_and_is_passed_over():
    """As the engine lists one for a moment (moby, `daemon/list.go`: dead ones have none)."""
    about = {"Labels": {}, "Created": 0}
    answers = answer([{**about, "Names": []}, {**about, "Names": ["/agentcompass-one"]}])
    async with serve(answers) as server, _engine(server) as engine:
        assert [entry["id"] for entry in await labelled(engine, "x")] == ["one"]


async def test_half_a_character_has_a_form_in_a_request():
    async with serve(answer({})) as server, _engine(server) as engine:
        await engine.call("POST", "/x", query={"path": "/a b/ü&"}, body={"Cmd": ["a\ud83db"]})

    assert server.asked[0].target == "/v1/x?path=/a%20b/%C3%BC%26"
    assert json.loads(server.asked[0].body) == {"Cmd": ["a\ud83db"]}


async def test_an_engine_that_is_too_old_is_refused_and_a_newer_one_is_spoken_to_in_its_words():
    for version, told in (("1.40", "20.10 or later"), ("1.41", "/v1.41/"), ("1.99", "/v1.47/")):
        about = answer({"ApiVersion": version, "Version": "x"})
        async with serve(about, answer({})) as server, _engine(server) as engine:
            if told.startswith("/"):
                await engine.connect()
                await engine.call("GET", "/x")
                assert told in server.asked[-1].target
            else:
                with pytest.raises(EnvironmentFailed, match=told):
                    await engine.connect()
