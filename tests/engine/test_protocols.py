"""A real agent solves a task by each protocol, whole and streamed, and its reasoning goes back."""

import json
from pathlib import Path

import pytest

from tests.loopback import Exchange, serve
from tests.loopback_models import PROTOCOLS, Said, streamed, whole
from tests.whole_runs import MARKER, run


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def command(text: str, call: str) -> Said:
    arguments = json.dumps({"command": text})
    return Said(text=None, thought="hm", calls=[(call, "bash", arguments)], finish="tool_calls")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_agent_works_by_every_protocol(
    tmp_path: Path, protocol: str, stream: bool
) -> None:
    replies = [command("echo one > two; cat two", "a"), command(f"echo {MARKER}; cat two", "b")]

    async def act(exchange: Exchange) -> None:
        said = replies[len(server.asked) - 1]
        await (streamed if stream else whole)(protocol, said)(exchange)

    async with serve(act) as server:
        ran = await run(
            tmp_path,
            {"t": {}},
            harness="mini_swe_agent",
            model="claude-sonnet-4-5",
            model_base_url=server.url,
            model_api_key="sk-test-12345678",
            model_api_protocol=protocol,
            model_params={"stream": True} if stream else {},
        )
    record = ran.attempts["t"]
    spent = record["meta"]["harness"]["telemetry"]["model"]

    assert record["issues"] == []
    assert record["final_answer"] == "one\n"
    assert (spent["calls"], spent["prompt_tokens"], spent["cached_tokens"]) == (2, 200, 80)
    assert spent["cost_usd"] == pytest.approx(2 * (60 * 3 + 40 * 0.3 + 20 * 15) / 1e6)
    if protocol != "openai-chat":
        assert "hm" in json.dumps(server.asked[1].json())
