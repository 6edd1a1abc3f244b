"""Records of an earlier run as they are judged: checked whole, and kept without what they hold.

A record in the form in which this store writes is known to be sound without a model of it being
built; any other one goes through `store.reading`, which says what is wrong with it.
"""

from contextlib import suppress
from typing import Any, get_args

import attrs
import orjson

from agentcompass.records.attempt import AttemptResult
from agentcompass.records.task import RunStatus
from agentcompass.store.encode import decode
from agentcompass.store.reading import as_index, as_result, has_no_result

_AS_WRITTEN = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
_FIELDS = frozenset(field.name for field in attrs.fields(AttemptResult))
_OBJECTS = ("metrics", "trajectory", "artifacts", "analysis_result", "meta")
_STATUSES = get_args(RunStatus)


def index_of(data: bytes, *, source: str) -> tuple[str, list[int]]:
    """The id of a task and the numbers of its attempts; raises `StoreError` naming the fields."""
    record = _as_written(data)
    return as_index(decode(data, source=source) if record is None else record, source=source)


def outline_of(data: bytes, *, source: str) -> tuple[dict[str, Any], AttemptResult] | None:
    """A result as it is written, and what judging and counting need of it.

    None where there is none but a count of retries; raises `RecordCorrupt` naming the fields.
    """
    record = _as_written(data)
    if isinstance(record, dict) and _is_plain(record):
        metrics, retries = record["metrics"], record["retry_count"]
        outline = AttemptResult(status=record["status"], metrics=metrics, retry_count=retries)
        return record, outline
    record = decode(data, source=source)
    if has_no_result(record):
        return None
    return record, _without_content(as_result(record, source=source))


def _as_written(data: bytes) -> Any:
    """What `data` holds, or None where that is not known to have been read without loss.

    orjson turns integers beyond 64 bits into floats; what it writes again as it was is sound.
    """
    with suppress(ValueError, TypeError):
        record = orjson.loads(data)
        if orjson.dumps(record, option=_AS_WRITTEN) == data:
            return record
    return None


def _is_plain(record: dict[str, Any]) -> bool:
    """Whether it is a result without issues, of which nothing has to be converted."""
    return (
        record.keys() == _FIELDS
        and all(type(record[name]) is dict for name in _OBJECTS)
        and all(type(value) in (bool, float) for value in record["metrics"].values())
        and record["issues"] == []
        and record["status"] in _STATUSES
        and type(record["retry_count"]) is int
        and record["retry_count"] >= 0
    )


def _without_content(result: AttemptResult) -> AttemptResult:
    return AttemptResult(
        status=result.status,
        metrics=result.metrics,
        issues=result.issues,
        retry_count=result.retry_count,
    )
