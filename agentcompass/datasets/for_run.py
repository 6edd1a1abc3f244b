"""The data set of one run: there before its tasks are loaded, and on record."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import trio

from agentcompass.datasets.place import Place
from agentcompass.errors import DataUnavailable
from agentcompass.records.data_set import DataSet
from agentcompass.records.needs import Needs


@attrs.frozen(kw_only=True)
class RunData:
    """A benchmark's data set; `may_fetch` is its parameter `download`."""

    place: Place
    may_fetch: bool

    def check(self) -> None:
        """Raise `DataUnavailable` where there is no data and none may be fetched. Blocking."""
        state = self.place.state()
        if self.may_fetch or state in ("complete", "your own"):
            return
        data_set, target = self.place.data_set, self.place.target
        there = f"no data set {data_set.id!r} in {target}"
        if state == "other revision":
            there = f"{target} has not the revision {data_set.revision} of {data_set.id!r}"
        raise DataUnavailable(
            f"{there}, and the parameter download is false; fetch it by `agentcompass data fetch"
            f" {data_set.id}`, or {self.place.by_hand()}"
        )

    def needs(self) -> Needs | None:
        """What reading it takes; nothing that is known of what the user put there. Blocking."""
        return None if self.place.state() == "your own" else self.place.data_set.needs

    async def ready(self) -> None:
        """Fetch what is missing; raises `DataUnavailable` also for what was changed since."""
        from agentcompass.datasets.fetch import fetch, require_unchanged  # most runs have no data

        await trio.to_thread.run_sync(require_unchanged, self.place)
        if await trio.to_thread.run_sync(self.place.state) in ("missing", "other revision"):
            await fetch(self.place)

    def record(self) -> Mapping[str, Any]:
        """What was measured on, for run_info.json; what the user put there is nobody's revision."""
        data_set = self.place.data_set
        if self.place.state() != "complete":
            return {"id": data_set.id, "path": str(self.place.target)}
        return {
            "id": data_set.id,
            "path": str(self.place.target),
            "revision": data_set.revision,
            "checksum": data_set.checksum,
        }


def run_data(benchmark: Any, data_dir: Path, *, may_fetch: bool) -> RunData | None:
    """The data set that `benchmark` names by `data_set`; None where it names none."""
    data_set = getattr(benchmark, "data_set", None)
    if not isinstance(data_set, DataSet):
        return None
    return RunData(place=Place(data_dir=data_dir, data_set=data_set), may_fetch=may_fetch)
