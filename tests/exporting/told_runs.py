"""Runs of the scripted world whose attempts have trajectories, and what is exported of them."""

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import attrs

from agentcompass.exporting.attempts import Source
from agentcompass.exporting.write import write_export
from agentcompass.records.request import AttemptPlan
from agentcompass.store.redact import Redactor
from tests.fakes import Script, Scripted, ScriptedBenchmark, World
from tests.summarizing.runs import run_on_disk

HALF = "\ud83d"
STARTED, FINISHED = "2026-11-29T14:00:00+00:00", "2026-11-29T14:00:02.500000+00:00"
TELEMETRY = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "cached_tokens": 60,
    "cost_usd": 0.5,
    "n_calls": 1,
}


def told(answer: str = "I look.", arguments: str = '{"command": "ls"}') -> dict[str, Any]:
    """A trajectory of one step: a call, and what it printed."""
    function = {"name": "bash", "arguments": arguments}
    step = {
        "step_id": 0,
        "system_prompt": "Be careful.",
        "user_content": "Mend it.",
        "tools": None,
        "assistant_content": {
            "content": answer,
            "reasoning_content": "hm",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        "observation": [
            {"role": "tool", "tool_call_id": "c1", "content": "a b"},
            {"role": "user", "content": "go on"},
        ],
        "metric": {"prompt_tokens_len": 3, "completion_tokens_len": 2, "stop_reason": "tool_calls"},
        "started_at": STARTED,
        "finished_at": FINISHED,
    }
    return {
        "schema_version": "ACTF_v1.0",
        "steps": [step],
        "started_at": STARTED,
        "finished_at": FINISHED,
    }


@attrs.define(eq=False)
class Telling(ScriptedBenchmark):
    """Gives each attempt a trajectory, by task id."""

    trajectories: dict[str, Any] = attrs.field(factory=dict)

    async def evaluate(
        self, task: Any, prepared: Any, result: Any, plan: Any, session: Any
    ) -> None:
        result.trajectory = self.trajectories.get(task.task_id, told())
        result.telemetry |= TELEMETRY
        await super().evaluate(task, prepared, result, plan, session)


def told_run(folder: Path, scripts: dict[str, Any], **options: Any) -> Path:
    """The directory of a run of these tasks, each with a script or one for each attempt."""
    world = World(
        {
            name: Scripted(task_id=name, scripts={n: [each] for n, each in _numbered(script)})
            for name, script in scripts.items()
        }
    )
    benchmark = Telling(world, trajectories=options.pop("trajectories", {}))
    attempts = options.pop("attempts", AttemptPlan())
    return run_on_disk(folder, world, benchmark=benchmark, attempts=attempts, **options)


def _numbered(script: Any) -> list[tuple[int, Script]]:
    return list(enumerate([script] if isinstance(script, Script) else script, start=1))


def exported(run: Path, target: Path, form: str, *secrets: str) -> Path:
    """What was written."""
    return write_export(Source(directory=run, redactor=Redactor(secrets)), target, form=form)


def inspect_log(run: Path, target: Path, *secrets: str) -> dict[str, Any]:
    """An exported log as one object, whichever of the two forms `target` asks for."""
    written = exported(run, target, "inspect", *secrets)
    if written.suffix == ".json":
        return json.loads(written.read_bytes())
    with ZipFile(written) as archive:
        names = [name for name in archive.namelist() if name.startswith("samples/")]
        log = json.loads(archive.read("header.json"))
        return {**log, "samples": [json.loads(archive.read(name)) for name in names]}


def index(folder: Path) -> list[dict[str, Any]]:
    """The lines of an index of trajectories."""
    return [json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines()]
