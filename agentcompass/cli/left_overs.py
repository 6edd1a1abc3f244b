"""What runs left open: found in the journals of run directories and by the providers' labels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import trio

from agentcompass.abilities import LeavesResources
from agentcompass.cli.output import tell
from agentcompass.config.components import build_component
from agentcompass.errors import AgentCompassError, EnvironmentFailed, UsageError
from agentcompass.registry import known
from agentcompass.store.atomic import Disk
from agentcompass.store.layout import RESOURCES
from agentcompass.store.owner import is_alive
from agentcompass.store.resources import forget, read_resources, save


@attrs.frozen(kw_only=True)
class LeftOver:
    """One open sandbox; `path` is its file in a journal, None where only a label tells of it."""

    id: str
    record: Mapping[str, Any]
    run_dir: str
    path: Path | None = None

    @property
    def is_in_use(self) -> bool | None:
        """Whether the run that opened it still runs; None where that is not known."""
        return is_alive(self.record.get("owner", ""))

    def shown(self) -> dict[str, Any]:
        """What `env list` prints."""
        known_already = {"schema_version", "run_dir", "id"}
        fields = {key: value for key, value in self.record.items() if key not in known_already}
        return {"id": self.id, "run_dir": self.run_dir, "in_use": self.is_in_use, **fields}


async def find(folder: Path | None) -> list[LeftOver]:
    """Everything below `folder`; None is the default results folder and all that has a label."""
    where = (folder or Path("results")).absolute()
    found = {entry.id: entry for entry in await trio.to_thread.run_sync(_journalled, where)}
    for record in await _labelled():
        run_dir = str(record.get("run_dir", ""))
        if folder is None or Path(run_dir).is_relative_to(where):
            entry = LeftOver(id=str(record["id"]), record=record, run_dir=run_dir)
            found.setdefault(entry.id, entry)
    return list(found.values())


async def close(entry: LeftOver) -> None:
    """Remove a sandbox and its entry. Raises `AgentCompassError`, which the entry then tells."""
    provider = _provider(str(entry.record.get("provider", "")))
    try:
        if not isinstance(provider, LeavesResources):
            raise UsageError(f"environment {entry.record.get('provider')!r} closes nothing")
        await provider.close_resource(entry.record.get("close_params") or {})
    except EnvironmentFailed as error:
        if entry.path is not None:
            failed = {**entry.record, "state": "release_failed", "error": str(error)}
            await trio.to_thread.run_sync(save, Disk(), entry.path, failed)
        raise
    # Where only a label told of it, its file may be there and damaged.
    path = entry.path or Path(entry.run_dir) / RESOURCES / f"{entry.id}.json"
    await trio.to_thread.run_sync(forget, path)


def _journalled(folder: Path) -> list[LeftOver]:
    return [
        LeftOver(id=path.stem, record=record, run_dir=str(path.parent.parent), path=path)
        for path, record in read_resources(folder)
    ]


async def _labelled() -> Sequence[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for provider_id in known("environment"):
        try:
            provider = _provider(provider_id)
            if isinstance(provider, LeavesResources):
                found += await provider.left_over()
        except AgentCompassError as error:
            tell(f"environment {provider_id} was not asked: {error}")
    return found


def _provider(provider_id: str) -> Any:
    return build_component("environment", provider_id, {}, path="--env-params")
