"""The artifacts of one attempt on their way to the host, all on one budget."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import trio
from trio.from_thread import check_cancelled

from agentcompass.engine.artifact_entries import depth, overlap
from agentcompass.engine.digest import digest_tree
from agentcompass.engine.issues import leaf_of
from agentcompass.engine.secret_scan import SecretScan
from agentcompass.errors import ArtifactOverBudget, EnvironmentFailed
from agentcompass.protocols import Session
from agentcompass.records.artifacts import ArtifactEntry, ArtifactManifest
from agentcompass.records.environment import Transfer, TransferLimits
from agentcompass.records.request import ArtifactLimits


@attrs.define(eq=False, kw_only=True)
class Collection:
    """Downloads `entries` to `folder`; at any time they say what has become of each.

    `skipped` are the special files that were passed over, by their paths in the sandbox.
    """

    session: Session
    folder: Path
    limits: ArtifactLimits
    entries: list[ArtifactEntry]
    scan: SecretScan
    skipped: list[str] = attrs.field(factory=list, init=False)
    _size_bytes: int = attrs.field(default=0, init=False)
    _count: int = attrs.field(default=0, init=False)
    _operation: str = attrs.field(default="download", init=False)
    _error_type: str | None = attrs.field(default=None, init=False)

    async def collect(self) -> None:
        """Download each entry and take its digest.

        Raises `EnvironmentFailed`, and `ArtifactOverBudget` for bytes and entries.
        """
        # What lies inside another comes after it: its folder may have come as a link.
        for index in sorted(range(len(self.entries)), key=lambda i: depth(self.entries[i])):
            await self._take(index)

    def break_off(self, error: BaseException) -> None:
        """Let the entries say that `error` has ended the collection."""
        cancelled = isinstance(error, trio.Cancelled)
        self._error_type = type(leaf_of(error)).__name__
        for index, entry in enumerate(self.entries):
            if entry.status == "collecting":
                status = "cancelled" if cancelled else "failed"
                self._set(index, status=status, error_type=self._error_type)
            elif entry.status == "pending":
                self._set(index, status="not_collected")

    def manifest(self, reference: str) -> ArtifactManifest:
        """What there is; `reference` is `folder` relative to the run directory."""
        return ArtifactManifest(
            directory=reference,
            complete=self._error_type is None,
            entries=tuple(self.entries),
            error_type=self._error_type,
            failed_operation=self._operation if self._error_type else None,
        )

    async def _take(self, index: int) -> None:
        changing = [index, *self._collected_around(index)]
        for other in changing:
            self._set(other, status="collecting")
        self._operation = "download"
        try:
            came = await self._download(self.entries[index])
        except FileNotFoundError:
            self._set(index, status="missing")
            changing.remove(index)
        else:
            self._count_in(self.entries[index], came)
            if await trio.to_thread.run_sync(self._is_left_out, self.entries[index], came):
                self._set(index, status="excluded")
                changing.remove(index)
        self._operation = "validate"
        for other in changing:
            await self._digest(other)

    def _collected_around(self, index: int) -> list[int]:
        """Entries whose files the one at `index` may change, since it overlaps with them."""
        entry = self.entries[index]
        return [
            other
            for other, there in enumerate(self.entries)
            if there.status == "collected" and overlap(entry, there)
        ]

    async def _download(self, entry: ArtifactEntry) -> Transfer:
        await trio.to_thread.run_sync(_make_way, self.folder, entry.destination)
        limits = TransferLimits(
            max_bytes=self.limits.max_mb * 2**20 - self._size_bytes,
            max_entries=self.limits.max_files - self._count,
        )
        target = self.folder / entry.destination
        try:
            return await self.session.download(
                entry.source, target, exclude=entry.exclude, limits=limits
            )
        except ArtifactOverBudget as error:
            raise ArtifactOverBudget(
                f"artifact {entry.source!r} exceeds what artifact_limits leave it, of"
                f" {self.limits.max_mb} MB and {self.limits.max_files} entries in all: {error}"
            ) from None

    def _count_in(self, entry: ArtifactEntry, came: Transfer) -> None:
        self._size_bytes += came.size_bytes
        self._count += came.entries
        self.skipped.extend(f"{entry.source}/{name}" for name in came.skipped)

    def _is_left_out(self, entry: ArtifactEntry, came: Transfer) -> bool:
        """Whether nothing came, not even an empty folder, though it is there."""
        return not came.entries and not (self.folder / entry.destination).is_dir()

    async def _digest(self, index: int) -> None:
        entry = self.entries[index]
        local = self.folder / entry.destination

        def work() -> dict[str, Any]:
            if local.is_symlink():
                raise OSError("it came as a link")
            return attrs.asdict(digest_tree(local, check=check_cancelled, watch=self.scan))

        try:
            found = await trio.to_thread.run_sync(work)
        except OSError as error:
            raise EnvironmentFailed(
                f"artifact {entry.source!r} cannot be used: {error}", phase="collect"
            ) from error
        self._set(index, status="collected", **found)

    def _set(self, index: int, **fields: Any) -> None:
        self.entries[index] = attrs.evolve(self.entries[index], **fields)


def _make_way(folder: Path, destination: str) -> None:
    """Take away links above a destination: they would lead out of the artifacts folder."""
    place = folder
    for name in Path(destination).parts[:-1]:
        place /= name
        if place.is_symlink():
            place.unlink()


def first_few(names: Sequence[str]) -> str:
    """A list as it is told to people: the first ones, and how many there are beyond."""
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
