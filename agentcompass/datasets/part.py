"""A file while it arrives: its beginning on the disk, hashed as it grows. Blocking."""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

_BLOCK = 1 << 20  # bytes read at once of what is already there


class Part:
    """The beginning of `target`, in `<target>.partial`; what an earlier process wrote counts.

    `<target>.partial.etag` holds the validator (ETag or date) of the answer that it is from, by
    which a server knows whether the rest still belongs to it (RFC 9110, section 13.1.5).
    `is_continued` is whether it is of more than one answer.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.partial")
        self._validator = target.with_name(f"{self.path.name}.etag")
        self._file: BinaryIO | None = None
        self.size = 0
        self.is_continued = False
        self._digest = hashlib.sha256()

    def open(self) -> None:
        """Read what is there; `close` has to follow."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        self._file.seek(0)
        while block := self._file.read(_BLOCK):
            self._count(block)
        self.is_continued = self.size > 0

    def close(self) -> None:
        """Close the file, and leave none that is empty."""
        if self._file is not None:
            self._file.close()
        if not self.size:
            self.discard()

    @property
    def sha256(self) -> str:
        """Of what is there so far, in hexadecimal digits."""
        return self._digest.hexdigest()

    @property
    def validator(self) -> str:
        """What the server called the file that this is the beginning of; empty if nothing."""
        try:
            return self._validator.read_text("ascii")
        except (OSError, UnicodeDecodeError):
            return ""

    def append(self, block: bytes) -> None:
        """Write what comes next; raises `OSError` where the disk is full."""
        assert self._file is not None
        self._file.write(block)
        self._count(block)

    def restart(self, validator: str = "") -> None:
        """Begin anew, with the file that `validator` names."""
        assert self._file is not None
        self._file.truncate(0)
        self.is_continued = False
        self.size, self._digest = 0, hashlib.sha256()
        self._validator.write_text(validator, "ascii")

    def complete(self) -> None:
        """Give the file its name, once all of it is on the disk."""
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        self.path.rename(self.target)
        self._validator.unlink(missing_ok=True)

    def discard(self) -> None:
        """Leave nothing."""
        self.path.unlink(missing_ok=True)
        self._validator.unlink(missing_ok=True)

    def _count(self, block: bytes) -> None:
        self.size += len(block)
        self._digest.update(block)
