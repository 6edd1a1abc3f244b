"""Records as they are judged: the same is found, and refused, as where they are read whole."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.errors import RecordCorrupt, StoreError
from agentcompass.records.attempt import AttemptResult
from agentcompass.store.documents import index_document, result_document
from agentcompass.store.encode import dump
from agentcompass.store.layout import AttemptLayout
from agentcompass.store.outline import index_of, outline_of
from agentcompass.store.reading import read_result
from agentcompass.store.redact import Redactor
from tests.store.examples import result

RECORD = result_document(result(), Redactor())
HUGE = 10**30
ISSUE = {"severity": "error", "phase": "run", "code": "some_fault", "message": "it broke"}


def found(folder: Path, data: bytes) -> AttemptResult | str | None:
    """What is read of a result that is read whole, without its content; or what is said of it."""
    attempt = AttemptLayout(folder)
    attempt.result.write_bytes(data)
    try:
        whole = read_result(attempt)
    except StoreError as error:
        return str(error)
    empty: dict[str, Any] = {
        "trajectory": {}, "artifacts": {}, "analysis_result": {}, "meta": {}, "final_answer": None
    }  # fmt: skip
    return None if whole is None else attrs.evolve(whole, **empty)


def outlined(folder: Path, data: bytes) -> AttemptResult | str | None:
    try:
        got = outline_of(data, source=str(AttemptLayout(folder).result))
    except StoreError as error:
        return str(error)
    return None if got is None else got[1]


CHANGES: list[dict[str, Any]] = [
    {},
    {"status": "run_error", "issues": [ISSUE]},
    {"status": "unheard of"},
    {"metrics": {"correct": 1}},
    {"metrics": {"correct": "yes"}},
    {"metrics": {"correct": HUGE}},
    {"metrics": [True]},
    {"trajectory": {"tokens": [HUGE, -(2**63) - 1, 0.1, -0.0]}},
    {"trajectory": []},
    {"final_answer": "half of a pair: \ud800"},
    {"issues": [{**ISSUE, "severity": "grave"}]},
    {"issues": {}},
    {"retry_count": -1},
    {"retry_count": True},
    {"retry_count": 2.0},
    {"another": 1},
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("indent", [2, None])
def test_the_same_is_found_as_where_a_result_is_read_whole(
    tmp_path: Path, changes: dict[str, Any], indent: int | None
) -> None:
    record = {**RECORD, **changes}
    plain = json.dumps(record, indent=indent).encode()
    for data in (dump(record), plain):
        assert outlined(tmp_path, data) == found(tmp_path, data)


@pytest.mark.parametrize(
    "text",
    [
        *("", "null", "[]", "1", '{"retry_count": 1}', '{"status": "comp', "[" * 100_000),
        json.dumps(RECORD).replace('"DONE"', "1e999").replace("true", "NaN"),
        json.dumps({**RECORD, "final_answer": 0}).replace('"final_answer": 0', '"x": 1e999'),
        json.dumps({name: value for name, value in RECORD.items() if name != "meta"}),
    ],
    ids=range(10),
)
def test_what_is_no_sound_result_is_refused_in_the_same_words(tmp_path: Path, text: str) -> None:
    assert outlined(tmp_path, text.encode()) == found(tmp_path, text.encode())


def test_a_number_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    """Fails where a reader takes it for infinity and writes null in its place."""
    text = dump({**RECORD, "final_answer": 7}).replace(
        b'"final_answer": 7', b'"final_answer": 1e999'
    )
    with pytest.raises(RecordCorrupt, match="final_answer: expected a finite number"):
        outline_of(text, source="result.json")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_a_record_is_read_without_loss(answer: Any) -> None:
    """Fails where integers beyond 64 bits become floats."""
    data = dump({**RECORD, "final_answer": answer})
    got = outline_of(data, source="result.json")
    assert got is not None
    assert dump(got[0]) == data


@pytest.mark.parametrize("changes", [{}, {"attempts": {"1": "attempt-2"}}, {"task_id": 1}])
def test_an_index_is_checked_in_either_form(changes: dict[str, Any]) -> None:
    record = {**index_document("t", [1, 12]), **changes}
    said = []
    for data in (dump(record), json.dumps(record).encode()):
        try:
            said.append(str(index_of(data, source="task.json")))
        except RecordCorrupt as error:
            said.append(str(error))
    assert said[0] == said[1]
    assert (said[0] == "('t', [1, 12])") == (not changes)
