"""Where a data set lies, and what is there: fetched, the user's own, or nothing. Blocking."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs

from agentcompass.errors import DataUnavailable
from agentcompass.records.data_set import DataSet

SCHEMA = "agentcompass.data_set.v1"
# Written last, before the folder gets its name: what has it was fetched to the end. Hidden and
# without a suffix, so that nobody takes it for a part of the data.
MARKER = ".agentcompass-data"

State = Literal["complete", "other revision", "your own", "missing"]


@attrs.frozen(kw_only=True)
class Place:
    """The folder of one data set below `data_dir`."""

    data_dir: Path
    data_set: DataSet

    @property
    def target(self) -> Path:
        """Where the data set is, once it is whole."""
        return self.data_dir / self.data_set.id

    @property
    def staging(self) -> Path:
        """Where it is while it is fetched; what a broken download left is used again."""
        return self.data_dir / f".{self.data_set.id}.partial"

    @property
    def aside(self) -> Path:
        """Where a replaced data set waits for its end."""
        return self.data_dir / f".{self.data_set.id}.old"

    def state(self) -> State:
        """What is in `target`; raises `DataUnavailable` where that cannot be read."""
        marker = read_marker(self.target)
        if marker is None:
            return "your own" if _has_content(self.target) else "missing"
        same = marker.get("checksum") == self.data_set.checksum
        return "complete" if same else "other revision"

    def by_hand(self) -> str:
        """How the data set gets here where it cannot be fetched."""
        return (
            f"by hand: put {self.data_set.looks_for}, of {self.data_set.homepage} at revision"
            f" {self.data_set.revision}, into {self.target}"
        )


def write_marker(folder: Path, data_set: DataSet, files: Mapping[str, Any]) -> None:
    """Note that `folder` holds all of `data_set`; `files` are as `check.inventory` has them."""
    record = {
        "schema_version": SCHEMA,
        "id": data_set.id,
        "revision": data_set.revision,
        "checksum": data_set.checksum,
        "files": files,
    }
    with (folder / MARKER).open("w", encoding="utf-8") as file:
        json.dump(record, file, indent=1, ensure_ascii=True)
        file.flush()
        os.fsync(file.fileno())


def read_marker(folder: Path) -> dict[str, Any] | None:
    """What `write_marker` wrote; None where there is no marker."""
    path = folder / MARKER
    try:
        record = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DataUnavailable(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataUnavailable(f"{path} is damaged: {error}; remove {folder}") from error
    if not isinstance(record, dict) or record.get("schema_version") != SCHEMA:
        raise DataUnavailable(f"{path} is not of this version; remove {folder}")
    return record


def _has_content(folder: Path) -> bool:
    try:
        return any(_visible(folder.iterdir()))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DataUnavailable(f"{folder} cannot be read: {error.strerror}") from error


def _visible(entries: Iterable[Path]) -> Iterable[Path]:
    return (entry for entry in entries if not entry.name.startswith("."))
