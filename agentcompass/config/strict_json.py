"""JSON as people type it: the standard library's grammar, and no value that reads two ways."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_DEEPEST = 100
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s"\[\]{}:,]+', re.DOTALL)


class JsonInvalid(ValueError):
    """The text is not JSON, or not JSON with one meaning; says where."""

    def __init__(self, problem: str, text: str, position: int) -> None:
        line = text.count("\n", 0, position) + 1
        column = position - text.rfind("\n", 0, position)
        super().__init__(f"line {line} column {column}: {problem}")


class _Token(NamedTuple):
    text: str
    position: int


def parse(text: str) -> Any:
    """The value of `text`; `JsonInvalid` also for duplicate keys, NaN, infinities and 1e999."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise JsonInvalid(_lower_first(error.msg), text, error.pos) from None
    except RecursionError:
        raise JsonInvalid(f"nested deeper than {_DEEPEST}", text, 0) from None
    except ValueError as error:
        raise JsonInvalid(str(error), text, 0) from None
    _check(text)
    return value


def _check(text: str) -> None:
    """Look through the tokens of valid JSON for what the parser lets pass, and so cannot place."""
    tokens = [_Token(found.group(), found.start()) for found in _TOKEN.finditer(text)]
    for token in tokens:
        if token.text[0] not in '"[]{}:,' and not _finite(token.text):
            raise JsonInvalid(f"{token.text} is not a finite number", text, token.position)
    seen: dict[int, set[str]] = {}
    for owner, token in _keys(tokens, text):
        key = json.loads(token.text)
        if key in seen.setdefault(owner, set()):
            raise JsonInvalid(f"duplicate key {token.text}", text, token.position)
        seen[owner].add(key)


def _keys(tokens: list[_Token], text: str) -> Iterator[tuple[int, _Token]]:
    """Every key with the position of the object that holds it."""
    open_at: list[int] = []
    for token, following in zip(tokens, [*tokens[1:], _Token("", 0)], strict=True):
        if token.text in "[{":
            open_at.append(token.position)
            if len(open_at) > _DEEPEST:
                raise JsonInvalid(f"nested deeper than {_DEEPEST}", text, token.position)
        elif token.text in "]}":
            open_at.pop()
        elif following.text == ":":
            yield open_at[-1], token


def _finite(word: str) -> bool:
    whole = word.removeprefix("-").isdigit()
    return whole or word in ("true", "false", "null") or math.isfinite(float(word))


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
