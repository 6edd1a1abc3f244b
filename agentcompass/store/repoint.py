"""Changes to records whose files move: as bytes, so that long records need not be read."""

from agentcompass.errors import RecordCorrupt
from agentcompass.store.encode import decode, encode


def repointed(data: bytes, before: str, after: str) -> bytes:
    """A record whose artifacts move from folder `before` to `after`, relative to their runs."""
    return data.replace(_reference(before), _reference(after))


def _reference(folder: str) -> bytes:
    # Inside a JSON string a quote is escaped, so this only ever matches a field of that name.
    return f'"directory": "{folder}'.encode()


def without_scheduler(data: bytes) -> bytes:
    """A checkpoint with only what a later run can use."""
    if b'\n  "scheduler": ' not in data:  # a section stands there, and no string holds a line end
        return data
    record = decode(data, source="checkpoint.json")
    if not isinstance(record, dict):
        raise RecordCorrupt("checkpoint.json: expected an object")
    record.pop("scheduler", None)
    return encode(record)
