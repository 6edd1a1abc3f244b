"""The files of a scenario: its table, its plots, and all its numbers in `bench.json`."""

import json
import math
from pathlib import Path
from typing import Any

import attrs

from benchmarks.figures import Spread
from benchmarks.outcome import Outcome
from benchmarks.report import markdown

NAME = "bench.json"


def write(outcome: Outcome, folder: Path) -> None:
    """Write them; what the file of numbers says of other scenarios stays.

    Where matplotlib is not installed there are no plots.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = outcome.scenario.id
    (folder / f"{name}.md").write_text(markdown(outcome))
    numbers = folder / NAME
    before = json.loads(numbers.read_text()) if numbers.exists() else {}
    numbers.write_text(json.dumps({**before, name: _told(outcome)}, indent=1) + "\n")
    try:
        from benchmarks.plots import draw  # only at the end: nothing that is measured inherits it
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        return
    draw(outcome.scenario, outcome.found, folder)


def _told(outcome: Outcome) -> dict[str, Any]:
    return {
        "title": outcome.scenario.title,
        "machine": outcome.machine,
        "versions": outcome.versions,
        "rows": [attrs.asdict(row) for row in outcome.rows],
        "targets": [
            {
                "what": one.target.what,
                "at_most": one.target.at_most,
                "found": _finite(one.found) if one.found else None,
                "verdict": one.verdict,
            }
            for one in outcome.judged
        ],
    }


def _finite(one: Spread) -> dict[str, float | None]:
    """JSON knows no number without a bound."""
    told = attrs.asdict(one)
    return {name: value if math.isfinite(value) else None for name, value in told.items()}
