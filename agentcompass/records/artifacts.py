"""What was collected from a sandbox, and where it lies: the artifact manifest, schema 1."""

from typing import Literal, get_args

import attrs

ARTIFACT_SCHEMA = 1

EntryStatus = Literal[
    "pending",
    "collecting",
    "collected",
    "missing",
    "excluded",
    "failed",
    "cancelled",
    "not_collected",
]

_LEFT_OUT = {"omit_none": True}


@attrs.frozen(kw_only=True)
class ArtifactEntry:
    """One collected path: `source` in the sandbox, `destination` below the artifacts folder.

    `status` is one of `EntryStatus`: at the end `collected`, `missing` (not in the sandbox) or
    `excluded` (there, and left out by `exclude`); where the download broke off, the entry at which
    it did is `failed` or `cancelled`, with `error_type`, and those after it are `not_collected`.
    `sha256` is that of `digest_tree`. Digest, size in bytes and count are known once the entry is
    collected.
    """

    source: str
    destination: str
    exclude: tuple[str, ...] = ()
    service: str | None = None
    status: str = attrs.field(
        default="pending", validator=attrs.validators.in_(get_args(EntryStatus))
    )
    kind: Literal["file", "directory"] | None = attrs.field(default=None, metadata=_LEFT_OUT)
    sha256: str | None = attrs.field(default=None, metadata=_LEFT_OUT)
    size_bytes: int | None = attrs.field(default=None, metadata=_LEFT_OUT)
    file_count: int | None = attrs.field(default=None, metadata=_LEFT_OUT)
    error_type: str | None = attrs.field(default=None, metadata=_LEFT_OUT)


@attrs.frozen(kw_only=True)
class ArtifactManifest:
    """Every entry of one attempt; `directory` is relative to the run directory.

    It is `complete` unless the download broke off: by `error_type`, in `failed_operation`
    (`download` or `validate`, when digests are taken).
    """

    schema_version: int = attrs.field(
        default=ARTIFACT_SCHEMA, validator=attrs.validators.in_((ARTIFACT_SCHEMA,))
    )
    directory: str
    complete: bool = False
    entries: tuple[ArtifactEntry, ...] = ()
    error_type: str | None = attrs.field(default=None, metadata=_LEFT_OUT)
    failed_operation: str | None = attrs.field(default=None, metadata=_LEFT_OUT)
