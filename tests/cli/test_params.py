"""Values on the command line are exact, or refused with option and place (cases.md 12, 71, 73)."""

import asyncclick as click
import pytest

from agentcompass.cli.params import Json, Named, Number, Protocol, Whole, as_mapping
from agentcompass.errors import UsageError

OPTION = click.Option(["--it"])


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Whole(), "8", 8),
        (Whole(), "-1", -1),
        (Number(), "1.5", 1.5),
        (Number(), "8", 8.0),
        (Number(), "1e-3", 0.001),
        (Number(), ".5", 0.5),
        (Named(Whole()), "docker=8", ("docker", 8)),
        (Named(Number()), "my-box=0.5", ("my-box", 0.5)),
        (Json(dict), '{"a": {"b": [1, "\\u00e9: ,=\\""]}}', {"a": {"b": [1, 'é: ,="']}}),
        (Json(list), '["(?i)rate.?limit"]', ["(?i)rate.?limit"]),
        (Json(list), "null", []),
        (Protocol(), "openai-chat", "openai-chat"),
        (Protocol(), ' ["a", "b"]', ["a", "b"]),
    ],
)
def test_a_value_is_read_exactly(kind, text, value):
    found = kind.convert(text, OPTION, None)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (Whole(), "1.5", "--it: expected an integer, got '1.5'"),
        (Whole(), "1_000", "--it: expected an integer"),
        (Whole(), "٣", "--it: expected an integer"),
        (Whole(), "", "--it: expected an integer, got ''"),
        (Whole(), "true", "--it: expected an integer"),
        (Whole(), "9" * 30, "--it: expected an integer"),
        (Number(), "1.5s", "--it: expected a number, got '1.5s'"),
        (Number(), "500ms", "--it: expected a number"),
        (Number(), "1m30s", "--it: expected a number"),
        (Number(), "nan", "--it: expected a number, got 'nan'"),
        (Number(), "inf", "--it: expected a number"),
        (Number(), "", "--it: expected a number"),
        (Named(Whole()), "docker=8=9", "--it: expected an integer, got '8=9'"),
        (Named(Whole()), "docker", "--it: expected provider=n, got 'docker'"),
        (Named(Whole()), "=8", "--it: expected provider=n, got '=8'"),
        (Named(Number()), "docker=", "--it: expected a number, got ''"),
        (Json(dict), "[1]", "--it: expected an object in JSON, got a list"),
        (Json(dict), "null", "--it: expected an object in JSON, got null"),
        (Json(dict), '"a"', "--it: expected an object in JSON, got text"),
        (Json(dict), "5", "--it: expected an object in JSON, got a number"),
        (Json(list), "{}", "--it: expected a list in JSON, got an object"),
        (Json(dict), "{'a': 1}", "--it: invalid JSON at line 1 column 2: expecting property name"),
        (Json(dict), '{"a": 1} x', "--it: invalid JSON at line 1 column 10: extra data"),
        (Json(dict), '{"a": 1, "a": 2}', "--it: invalid JSON at line 1 column 10: duplicate key"),
        (Json(dict), '{"a": NaN}', "--it: invalid JSON at line 1 column 7: NaN is not a finite"),
        (Json(dict), "a: 1", "--it: invalid JSON at line 1 column 1: expecting value"),
        (Json(dict), "@file", "--it: .* column 1: expecting value; a file is read by --config"),
        (Json(dict), "", "--it: invalid JSON at line 1 column 1: expecting value"),
        (Protocol(), '["a"', "--it: invalid JSON at line 1 column 5"),
    ],
)
def test_what_is_not_exactly_a_value_is_refused(kind, text, message):
    with pytest.raises(UsageError, match=message):
        kind.convert(text, OPTION, None)


def test_a_provider_is_named_once():
    assert as_mapping([("a", 1), ("b", 2)], "--it") == {"a": 1, "b": 2}
    with pytest.raises(UsageError, match="--it: a is given twice"):
        as_mapping([("a", 1), ("a", 2)], "--it")
