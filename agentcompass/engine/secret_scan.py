"""Finds known secrets in the contents of files that go by."""

from collections.abc import Iterator
from pathlib import Path

import attrs

from agentcompass.store.redact import Redactor


@attrs.frozen(eq=False)
class SecretScan:
    """Watches files (`digest.Watch`); `found` are those, in order, that hold a known secret."""

    redactor: Redactor
    found: dict[Path, None] = attrs.field(factory=dict, init=False)

    def __call__(self, file: Path, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Hand on the contents of `file`; they cost nothing where no secret is known."""
        return self._watched(file, blocks) if self.redactor.longest else blocks

    def _watched(self, file: Path, blocks: Iterator[bytes]) -> Iterator[bytes]:
        held = b""  # since a secret may lie across two blocks
        for block in blocks:
            if file not in self.found:
                held += block
                if self.redactor.known_in(held):
                    self.found[file] = None
                held = held[-self.redactor.longest :]
            yield block
