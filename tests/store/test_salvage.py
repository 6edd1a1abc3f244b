"""What JSON cannot hold costs its own value alone, and is named (cases 25 and 26)."""

from typing import Any

import attrs
import pytest
from hypothesis import given

from agentcompass.records.task import RunResult
from agentcompass.store.documents import (
    evaluation_document,
    published_document,
    result_document,
    retry_document,
)
from agentcompass.store.encode import encode, plain
from agentcompass.store.redact import Redactor
from agentcompass.store.salvage import Salvage
from tests import strategies
from tests.store.examples import HEADER, KEY, checkpoint, result, retry

redactor = Redactor({KEY})


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Chatty:
    def __repr__(self) -> str:
        return f"<client of {KEY} {'x' * 5000}>"


def itself() -> dict[str, Any]:
    value: dict[str, Any] = {"name": "loop"}
    value["again"] = [value, value]
    return value


def deep(levels: int) -> Any:
    value: Any = "leaf"
    for _ in range(levels):
        value = {"in": value}
    return value


@pytest.mark.parametrize(
    ("value", "text", "place"),
    [
        (float("nan"), "nan", "meta.benchmark.odd: the number nan"),
        (object, "<class 'object'>", "meta.benchmark.odd: a value of type type"),
        ({"in": [1, 1j]}, {"in": [1, "1j"]}, "meta.benchmark.odd.in.1: a value of type complex"),
        ({("a", 1): 2}, {"('a', 1)": 2}, "meta.benchmark.odd: ('a', 1) cannot be the name"),
        ({1: "a", "1": "b"}, {"1": "a", "1 (2)": "b"}, "meta.benchmark.odd: two of the names"),
        pytest.param(
            10**5000, "<int>", "meta.benchmark.odd: a number of more than 4300 digits", id="huge"
        ),
        ({len}, "{<built-in function len>}", "meta.benchmark.odd: a value of type"),
    ],
)
def test_a_value_is_replaced_by_its_text_and_named(value: Any, text: Any, place: str) -> None:
    record = result_document(
        result(meta={"benchmark": {"odd": value, "note": "kept"}}, final_answer={"a": 1}), redactor
    )
    [issue] = record["issues"]

    assert record["meta"]["benchmark"] == {"odd": text, "note": "kept"}
    assert (record["metrics"], record["final_answer"]) == ({"correct": True}, {"a": 1})
    assert (issue["severity"], issue["code"]) == ("warning", "value_not_json")
    assert f"kept as text: {place}" in issue["message"]
    assert encode(record)


@pytest.mark.parametrize("section", ["artifacts", "trajectory", "meta"])
def test_a_whole_section_with_equal_names_stays_one(section: str) -> None:
    record = result_document(result(**{section: {1: "a", "1": "b"}}), redactor)

    assert record[section].items() >= {"1": "a", "1 (2)": "b"}.items()
    assert f"{section}: two of the names" in record["issues"][0]["message"]


def test_a_repr_that_fails_or_tells_too_much_is_no_danger() -> None:
    record = result_document(result(trajectory={"rude": Rude(), "chatty": Chatty()}), redactor)

    assert record["trajectory"]["rude"].startswith("<Rude instance")
    assert record["trajectory"]["chatty"].startswith("<client of ******** xxx")
    assert len(record["trajectory"]["chatty"]) == 200


def test_what_holds_itself_is_cut_where_it_comes_again() -> None:
    record = result_document(result(artifacts={"loop": itself()}), redactor)
    [first, second] = record["artifacts"]["loop"]["again"]

    assert record["artifacts"]["loop"]["name"] == "loop"
    assert first.startswith("{")
    assert second == first
    assert "artifacts.loop.again.0: holds itself" in record["issues"][0]["message"]


def test_what_is_too_deep_is_cut_at_a_depth_that_can_be_written() -> None:
    section = evaluation_document(
        checkpoint(run_result=RunResult(task_id="t", extra={"deep": deep(300)})), "a", redactor
    )

    assert encode({"evaluation": section})
    assert section["run_result"]["extra"]["deep"]["in"]["in"]["in"]
    assert [issue["code"] for issue in section["run_result"]["issues"]] == ["value_not_json"]


def test_of_many_values_a_few_are_named() -> None:
    record = result_document(result(trajectory={"steps": [object()] * 9}), redactor)

    assert record["issues"][0]["message"].endswith("; and 4 more")
    assert record["issues"][0]["message"].count("trajectory.steps.") == 5


def test_every_document_of_an_attempt_is_written(caplog: pytest.LogCaptureFixture) -> None:

    odd = {"value": object()}
    discarded = attrs.evolve(retry().discarded_result, extra=odd)
    told = retry_document(attrs.evolve(retry(), discarded_result=discarded), redactor)
    index = published_document(attrs.evolve(HEADER, ground_truth=odd), [1], redactor)

    assert "value_not_json" in [issue["code"] for issue in told["issues"]]
    assert index["ground_truth"]["value"].startswith("<object object")
    assert "ground_truth.value: a value of type object" in caplog.text
    assert encode(told)
    assert encode(index)


@given(strategies.values)
def test_plain_values_are_left_alone(value: Any) -> None:
    salvage = Salvage(redactor)

    assert salvage.plain(value) == plain(value)
    assert salvage.issue() is None
