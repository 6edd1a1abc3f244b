"""What a public data set is: where it comes from, at which revision, and how it is known again."""

import re
from pathlib import PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

import attrs

from agentcompass.records.needs import Needs

_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _plain_id(_instance: object, _attribute: object, value: str) -> None:
    if not _ID.fullmatch(value):
        raise ValueError(f"id {value!r} cannot be a folder: only letters, digits and ._- are fine")


def _is_below(_instance: object, attribute: "attrs.Attribute[Any]", value: str) -> None:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or "\\" in value:
        raise ValueError(f"{attribute.name} {value!r} must be a path below the data set's folder")


@attrs.frozen(kw_only=True)
class DataFile:
    """One file of a data set: `name` below its folder, and the URL that it is fetched from.

    `sha256` is the SHA-256 of its bytes in lower-case hexadecimal digits, `size` their number.
    """

    name: str = attrs.field(validator=_is_below)
    url: str
    sha256: str
    size: int = attrs.field(validator=attrs.validators.ge(0))

    def __attrs_post_init__(self) -> None:
        """Refuse what could not be checked."""
        if not self.name or urlsplit(self.url).scheme not in ("http", "https"):
            raise ValueError(f"a file needs a name and an http(s) URL: {self.name!r}, {self.url!r}")
        if not _SHA256.fullmatch(self.sha256):
            raise ValueError(f"sha256 of {self.name!r} must be 64 hexadecimal digits")


@attrs.frozen(kw_only=True)
class GitTree:
    """A folder of a git repository at one commit, which is its own checksum.

    `url` is whatever git takes. `subfolder` is what the data set is of the repository, empty for
    all of it. Files that are kept with git-lfs are fetched by that program.
    """

    url: str
    commit: str
    subfolder: str = attrs.field(default="", validator=_is_below)

    def __attrs_post_init__(self) -> None:
        """Refuse a branch or a short commit: neither says what is fetched."""
        if not self.url or self.url.startswith("-") or not _COMMIT.fullmatch(self.commit):
            raise ValueError(f"a git tree needs a URL and a commit of 40 digits: {self.commit!r}")


@attrs.frozen(kw_only=True)
class DataSet:
    """A public data set; a benchmark names its own by the class attribute `data_set`.

    It lies in `<data_dir>/<id>/`. `source` is how it is fetched: files by HTTP, or a git tree.
    `revision` is what the source calls this state of it; `size` is how many bytes come over the
    network, None where that is not known. `looks_for` is what a user who has no network has to put
    there, for messages. `needs` is what reading it takes in the form in which it is fetched.
    """

    id: str = attrs.field(validator=_plain_id)
    title: str
    homepage: str
    licence: str
    source: tuple[DataFile, ...] | GitTree
    revision: str
    size: int | None = None
    looks_for: str
    needs: Needs | None = None

    @property
    def kind(self) -> Literal["files", "git"]:
        """How it is fetched."""
        return "git" if isinstance(self.source, GitTree) else "files"

    @property
    def checksum(self) -> str:
        """What it is known again by: the SHA-256 of each file, or the commit."""
        if isinstance(self.source, GitTree):
            return f"commit:{self.source.commit}"
        return "; ".join(f"{file.name} sha256:{file.sha256}" for file in self.source)
