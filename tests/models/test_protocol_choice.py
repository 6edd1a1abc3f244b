"""Which protocol a request speaks: the first wanted one that the harness speaks too."""

from pathlib import Path

import pytest

from agentcompass.errors import UsageError
from agentcompass.harnesses.mini_swe_agent import MiniSweAgent
from agentcompass.preflight import prepare_job
from agentcompass.records.request import ComponentSpec, ModelSpec, ProcessOptions, RunRequest
from agentcompass.registry import known, load


async def chosen(
    folder: Path,
    wanted: str | tuple[str, ...],
    harness: str = "mini_swe_agent",
    **params: object,
) -> str:
    """The protocol of a prepared job."""
    spec = ModelSpec(id="m", base_url="http://x/v1", api_protocol=wanted, params=params)
    request = RunRequest(
        benchmark=ComponentSpec(id="starter"),
        harness=ComponentSpec(id=harness),
        model=spec,
    )
    job = await prepare_job(request, ProcessOptions(results_dir=str(folder)))
    assert job.model is not None
    return job.model.id


@pytest.mark.parametrize(
    ("wanted", "protocol"),
    [
        ("", "openai-chat"),
        ("auto", "openai-chat"),
        ("anthropic", "anthropic"),
        ("openai-responses", "openai-responses"),
        (("anthropic", "openai-chat"), "anthropic"),
        (("auto", "openai-responses"), "openai-responses"),
    ],
)
async def test_the_first_wanted_one_that_the_harness_speaks(tmp_path, wanted, protocol):
    assert await chosen(tmp_path, wanted) == protocol


async def test_a_fault_of_a_setting_is_told_before_anything_is_created(tmp_path):
    with pytest.raises(UsageError, match="system is the harness's to set"):
        await chosen(tmp_path, "anthropic", system="x")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("protocol", known("model"))
def test_every_protocol_is_named_as_it_is_asked_for(protocol: str):
    model = load("model", protocol)

    assert model.id == protocol
    assert model.description


async def test_replay_stands_for_whatever_protocol_a_harness_speaks(tmp_path, monkeypatch):
    monkeypatch.setattr(MiniSweAgent, "protocols", ("anthropic",))

    assert await chosen(tmp_path, "replay") == "replay"
    assert await chosen(tmp_path, ("openai-chat", "replay")) == "replay"
    assert await chosen(tmp_path, "") == "anthropic"


@pytest.mark.parametrize("program", ["claude_code", "codex"])
async def test_what_a_program_says_to_its_model_is_neither_recorded_nor_replayed(tmp_path, program):
    with pytest.raises(UsageError, match=f"record: harness '{program}' runs a program that calls"):
        await chosen(tmp_path, "", program, record=True)
    with pytest.raises(UsageError, match=f"harness '{program}' speaks .*, not replay"):
        await chosen(tmp_path, "replay", program)

    assert list(tmp_path.iterdir()) == []
