"""Each harness on `starter` tasks, by each protocol that it speaks, with a server that listens."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import trio

from agentcompass.registry import load
from tests.docker_engine import BOOKWORM, NO_ENGINE
from tests.harnesses.solving import TONGUES, check_played, played
from tests.loopback_models import PROTOCOLS
from tests.whole_runs import Ran

# On docker they are mounted, on host_process found on the PATH.
PROGRAM = Path(__file__).with_name("talking_program.py")
NAMES = ("claude", "codex")
ON_DOCKER = {
    "environment": "docker",
    "environment_params": {
        "image": BOOKWORM,
        "pull": "never",
        "mounts": [f"{PROGRAM}:/usr/local/bin/{name}:ro" for name in NAMES],
    },
}
HAS_TMUX = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
TASKS = ("sweep-script", "monthly-billing-dates")
PAIRS = [
    (harness, protocol)
    for harness in TONGUES
    for protocol in PROTOCOLS
    if protocol in load("harness", harness).protocols
]
assert len(PAIRS) == 11


# Who talks to the model from here does so in the same way whatever the environment is.
PAIRS_ON_DOCKER = [
    ("openai_chat", "openai-chat"),
    ("mini_swe_agent", "openai-responses"),
    ("terminus2", "anthropic"),
    ("claude_code", "anthropic"),
    ("codex", "openai-responses"),
]


@pytest.mark.parametrize(
    ("where", "pairs"),
    [
        pytest.param({"environment": "host_process"}, PAIRS, id="host_process", marks=HAS_TMUX),
        pytest.param(
            ON_DOCKER, PAIRS_ON_DOCKER, id="docker", marks=[pytest.mark.docker, NO_ENGINE]
        ),
    ],
)
async def test_every_harness_that_acts_solves_a_starter_task_over_every_protocol(
    where: dict[str, Any],
    pairs: list[tuple[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        (tmp_path / name).symlink_to(PROGRAM)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    ran: list[tuple[Ran, str, str]] = []

    async def one(harness: str, protocol: str, task: str) -> None:
        params = {"sample_ids": [task]}
        folder = tmp_path / "results" / harness / protocol
        made = await played(folder, harness, protocol, benchmark_params=params, **where)
        ran.append((made, harness, task))

    async with trio.open_nursery() as nursery:
        for number, pair in enumerate(pairs):
            nursery.start_soon(one, *pair, TASKS[number % 2])

    assert len(ran) == len(pairs)
    for made, harness, task in ran:
        check_played(made, harness, task)
