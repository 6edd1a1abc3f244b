"""The runs of one launch as others see them, from the files below a results folder."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from agentcompass.errors import StoreError
from agentcompass.progress.watched import WatchedRun, changed_at, runs_below, watched_run
from agentcompass.store.atomic import read_record
from agentcompass.store.layout import RunLayout


@attrs.define(eq=False)
class WatchedLaunch:
    """Reads the requests of a launch that have begun, by name. Every method blocks."""

    directory: Path
    orchestration_id: str
    runs: dict[str, WatchedRun] = attrs.field(factory=dict, init=False)
    _seen: set[Path] = attrs.field(factory=set, init=False)

    def look(self) -> None:
        """Take note of the requests that have begun since, in their order."""
        new = [path for path in runs_below(self.directory) if path not in self._seen]
        self._seen.update(new)
        found = {path: _place(path) for path in new}
        for path in sorted(found, key=lambda path: (_index(found[path]), changed_at(path))):
            if found[path].get("orchestration_id") == self.orchestration_id:
                name = str(found[path].get("request_name"))
                self.runs[name] = WatchedRun(RunLayout(path.parent))


def watched(directory: Path) -> WatchedRun | WatchedLaunch:
    """The run in `directory`, or in a results folder the latest launch, if a launch is the latest.

    Raises `UsageError` where there is neither, naming the latest run below.
    """
    newest = None if RunLayout(directory).run_info.exists() else _newest(directory)
    of_launch = "" if newest is None else _place(newest).get("orchestration_id")
    if not isinstance(of_launch, str) or not of_launch:
        return watched_run(directory)
    launch = WatchedLaunch(directory, of_launch)
    launch.look()
    return launch


def _index(place: Mapping[str, Any]) -> float:
    value = place.get("request_index")
    return value if isinstance(value, int | float) else math.inf  # of a damaged file: last


def _newest(directory: Path) -> Path | None:
    return max(runs_below(directory), key=changed_at, default=None)


def _place(path: Path) -> Mapping[str, Any]:
    """Where the request of a run stands in its launch; empty where that is not on record."""
    try:
        record = read_record(path)
        metadata = record["request"]["metadata"]
    except (StoreError, TypeError, KeyError):
        return {}
    return metadata if isinstance(metadata, Mapping) else {}
