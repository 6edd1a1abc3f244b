"""How an evaluation ended, as each of those who ask is told."""

from pathlib import Path
from typing import Any

import pytest

from agentcompass.endings import cut_off, own_error
from agentcompass.errors import (
    AgentCompassError,
    ConfigInvalid,
    RequestCancelled,
    RequestError,
    RequestFailed,
    RequestTimeout,
    UsageError,
)


def ended(status: str) -> dict[str, Any]:
    return {"metadata": {"status": status}}


def test_what_had_completed_was_not_cut_off() -> None:
    assert cut_off(ended("completed"), Path("/runs/1")) is None


@pytest.mark.parametrize(
    ("result", "kind", "message"),
    [
        ({}, RequestCancelled, "cancelled by its program"),
        (ended("cancelled"), RequestCancelled, "cancelled by its program"),
        (ended("failed"), RequestFailed, "it had failed when it was cancelled by its program"),
        (ended("timed_out"), RequestTimeout, "it had timed out when it was cancelled by its p"),
    ],
)
def test_how_it_had_ended_by_then_is_its_error(
    result: dict[str, Any], kind: type[RequestError], message: str
) -> None:
    error = cut_off(result, Path("/runs/1"))

    assert type(error) is kind
    assert str(error).startswith(message)
    assert str(error).endswith("; what had finished is in /runs/1")
    assert error.result == result


def test_an_error_of_ones_own_says_the_same_and_shares_nothing() -> None:
    error = RequestFailed("gone", result={"paths": {"output_dir": "x"}})
    error.__cause__ = KeyError("why")
    own = own_error(error)
    assert isinstance(own, RequestFailed)
    own.result["paths"].clear()

    assert (str(own), own.__cause__) == ("gone", error.__cause__)
    assert error.result == {"paths": {"output_dir": "x"}}


class NeedsMore(UsageError):
    """As a plug-in may define one."""

    def __init__(self, *, place: str) -> None:
        super().__init__(f"not at {place}")
        self.place = place


@pytest.mark.parametrize("error", [ConfigInvalid(["a: no", "b: no"]), NeedsMore(place="home")])
def test_however_an_error_is_made_it_can_be_copied(error: AgentCompassError) -> None:
    own = own_error(error)

    assert own is not error
    assert (type(own), str(own), vars(own)) == (type(error), str(error), vars(error))
