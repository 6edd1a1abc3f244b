"""The peer's own `summary` on exported runs gives our numbers.

Needs the peer (PyPI agentcompass 1.0.1, Python 3.12, 1 GB installed) in an environment of its own,
whose interpreter AGENTCOMPASS_PEER_PYTHON names. `make peer PEER_VENV=FOLDER` makes the environment
in FOLDER, once, and runs these tests.
"""

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcompass import RequestFailed, run_evaluation
from agentcompass.exporting import peer
from agentcompass.records.metrics import binary_contract
from agentcompass.records.request import AttemptPlan
from agentcompass.store.atomic import read_record
from tests.exporting.told_runs import exported
from tests.fakes import Script, Scripted, ScriptedBenchmark, World
from tests.summarizing.runs import run_on_disk, summarized
from tests.summarizing.test_peer import near

PYTHON = os.environ.get("AGENTCOMPASS_PEER_PYTHON", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="AGENTCOMPASS_PEER_PYTHON is not set: run `make peer`"),
]

TREE = {"overall": {"aggregation": "weighted", "children": {"a": {"weight": 3}, "b": {}, "é/": {}}}}
# How an attempt may go, more or less often.
FAULTS = {
    "clean": ("",),
    "errors": ("", "", "error"),
    "fatal": ("", "", "", "error", "fatal", "bug"),
}
AGGREGATIONS: dict[str, dict[str, Any]] = {
    "micro": {},
    "mean": {"aggregation_mode": "category_mean"},
    "tree": {"category_hierarchy": TREE},
}
PLANS = {"k1": (1, "avg"), "k3avg": (3, "avg"), "k3pass": (3, "pass")}
SCRIPTED = [f"{a}-{b}-{c}" for a in PLANS for b in FAULTS for c in AGGREGATIONS]

# One task that the replies solve at once, one from the second attempt on, one never.
SAMPLES = ["nginx-vhost", "monthly-billing-dates", "single-flight-cache"]
MEAN = {"sample_ids": SAMPLES, "aggregation_mode": "category_mean"}
STARTER: dict[str, dict[str, Any]] = {
    "replay": {},
    "k2avg": {"k": 2, "benchmark_params": MEAN},
    "k2pass": {"k": 2, "attempt_strategy": "pass"},
    "out-of-time": {
        "execution_params": {"run_timeout_seconds": 0.01, "run_timer_compensation_seconds": 0}
    },
    "no-operation-ends": {"environment_params": {"operation_timeout": 1e-6}},
}


@attrs.frozen
class Measuring(ScriptedBenchmark):
    """Reports a number beside its verdict."""

    async def evaluate(
        self, task: Any, prepared: Any, result: Any, plan: Any, session: Any
    ) -> None:
        await super().evaluate(task, prepared, result, plan, session)
        result.metrics["steps"] = result.extra["attempt"] / 3


def scripted_run(folder: Path, name: str) -> Path:
    plan, faults, aggregation = name.split("-")
    chance = random.Random(name)

    def script() -> Script:
        fault, verdict = (chance.choice(FAULTS[faults]) for _ in "ab"), chance.random() < 0.5
        agent, scoring = fault
        return Script(agent=agent, scoring=scoring, verdict=verdict)

    tasks = [
        Scripted(
            task_id=f"t {number}/é",
            scripts={attempt: [script()] for attempt in (1, 2, 3)},
            category=category,
        )
        for number, category in enumerate(["a", "a", "b", "b", "b", "é/", "é/"] * 2)
    ]
    world = World({task.task_id: task for task in tasks})
    contract = binary_contract().with_auxiliary("steps", "scalar", precision=2)
    benchmark = Measuring(world, contract=contract, **AGGREGATIONS[aggregation])
    k, strategy = PLANS[plan]
    attempts = AttemptPlan(k=k, strategy=strategy)
    return run_on_disk(folder, world, benchmark=benchmark, attempts=attempts)


def starter_run(folder: Path, name: str) -> Path:
    try:
        done = run_evaluation(
            **{
                "benchmark": "starter",
                "harness": "mini_swe_agent",
                "model": "replay",
                "model_api_protocol": "replay",
                "benchmark_params": {"sample_ids": SAMPLES},
                "results_dir": str(folder),
                "progress": "none",
                **STARTER[name],
            }
        )
    except RequestFailed as error:
        done = error.result
    return Path(done["paths"]["output_dir"])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Runs of ours, each with its copy after the peer summarized it; all by one call of it."""
    root = tmp_path_factory.mktemp("runs")
    ours = {name: scripted_run(root / name, name) for name in SCRIPTED}
    ours |= {name: starter_run(root / name, name) for name in STARTER}
    both = {name: (run, root / "copies" / name) for name, run in ours.items()}
    for run, copy in both.values():
        exported(run, copy, "peer")
    peer_summary([copy for _, copy in both.values()], root)
    return both


def peer_summary(copies: list[Path], folder: Path) -> None:
    done = subprocess.run(
        [PYTHON, Path(__file__).with_name("peer_summary.py"), *copies],
        cwd=folder,
        # Without it the peer waits for a price list from the network.
        env={"HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def without_extra(report: dict[str, Any]) -> dict[str, Any]:
    return {name: near(part) for name, part in report.items() if name != "extra"}


@pytest.mark.parametrize("name", [*SCRIPTED, *STARTER])
def test_the_peer_gives_our_numbers(runs: dict[str, tuple[Path, Path]], name: str) -> None:
    ours, copy = runs[name]
    assert read_record(copy / "run_info.json")["metric_artifacts"]["source"] == "summary"

    # The translation leaves values and counts alone.
    assert without_extra(read_record(copy / "metrics.json")) == (
        without_extra(peer.metrics(read_record(ours / "metrics.json")))
    )
    # Our summary says more, on lines of its own.
    said = (ours / "summary.md").read_text().splitlines()
    for line in (copy / "summary.md").read_text().splitlines():
        assert line in said


@pytest.mark.parametrize("name", [*SCRIPTED, *STARTER])
def test_what_the_peer_wrote_is_still_a_run_of_ours(
    runs: dict[str, tuple[Path, Path]], name: str
) -> None:
    ours, copy = runs[name]

    assert summarized(copy)["markdown"] == (ours / "summary.md").read_text()
    assert summarized(copy)["metrics"] == json.loads((ours / "metrics.json").read_text())


def test_the_runs_are_of_every_kind(runs: dict[str, tuple[Path, Path]]) -> None:
    """Fails where the faults above do not come about."""
    states = {path.parent.name for ours, _ in runs.values() for path in ours.glob("details/*/*")}

    assert states == {"normal", "error", "fatal"}
