"""What one transfer brings: counted against its limits as it comes, less what it leaves out."""

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

import attrs

from agentcompass.errors import ArtifactOverBudget
from agentcompass.records.environment import Transfer, TransferLimits

Check = Callable[[], None]


def _pattern(exclude: Iterable[str]) -> re.Pattern[str]:
    globs = [f"*/{posixpath.normpath(glob)}" for glob in exclude]
    both = [form for glob in globs for form in (glob, f"{glob}/*")]
    return re.compile("|".join(map(fnmatch.translate, both)) or "(?!)")


@attrs.define(eq=False)
class Meter:
    """Counts entries and bytes; raises `ArtifactOverBudget` as soon as there are too many.

    `check` is called again and again and may raise to break off. `exclude` is as in
    `protocols.Session.download`.
    """

    check: Check
    exclude: Sequence[str] = ()
    limits: TransferLimits | None = None
    size_bytes: int = attrs.field(default=0, init=False)
    entries: int = attrs.field(default=0, init=False)
    skipped: list[str] = attrs.field(factory=list, init=False)
    _excluded: re.Pattern[str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._excluded = _pattern(self.exclude)

    def leaves_out(self, path: str) -> bool:
        """Whether `path`, relative to what is transferred, or a folder above it, is excluded."""
        return self._excluded.match(f"/{path}") is not None

    def entry(self) -> None:
        """Count an entry of whatever kind, before it is taken."""
        self.check()
        self.entries += 1
        if self.limits is not None and self.entries > self.limits.max_entries:
            raise ArtifactOverBudget(f"there are more than {self.limits.max_entries} entries")

    def expect(self, size: int) -> None:
        """Refuse at once a file that is said to have more bytes than may still come."""
        if self.limits is not None and self.size_bytes + size > self.limits.max_bytes:
            raise ArtifactOverBudget(f"there are more than {self.limits.max_bytes} bytes")

    def data(self, size: int) -> None:
        """Count bytes, before they are written."""
        self.check()
        self.expect(size)
        self.size_bytes += size

    def skip(self, path: str) -> None:
        """Note a special file that is passed over; it counts as an entry."""
        self.skipped.append(path)

    def transfer(self) -> Transfer:
        """What has come so far."""
        return Transfer(
            size_bytes=self.size_bytes, entries=self.entries, skipped=tuple(self.skipped)
        )
