"""Errors reach the program that asked, also from another process."""

import pickle

import pytest

from agentcompass import errors
from agentcompass.errors import AgentCompassError, ConfigInvalid, RequestFailed

KINDS = sorted(
    (kind for kind in vars(errors).values() if isinstance(kind, type)),
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if issubclass(kind, AgentCompassError)])
def test_an_error_says_the_same_in_another_process(kind: type[AgentCompassError]) -> None:
    """Fails when an error is made anew from its message by what is no message."""
    error = ConfigInvalid(["a: no", "b: no"]) if kind is ConfigInvalid else kind("a: no")
    arrived = pickle.loads(pickle.dumps(error))

    assert (type(arrived), str(arrived), vars(arrived)) == (kind, str(error), vars(error))


def test_its_result_comes_with_it() -> None:
    error = RequestFailed("gone", result={"summary": {"overview": "1 of 2"}})

    assert pickle.loads(pickle.dumps(error)).result == error.result
