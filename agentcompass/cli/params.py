"""Values on the command line: JSON, numbers and `name=value`, read strictly."""

import re
from collections.abc import Iterable
from typing import Any

import asyncclick as click

from agentcompass.errors import UsageError

_WHOLE = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)


def refuse(param: click.Parameter | None, problem: str) -> UsageError:
    """The error for a value, naming its option."""
    name = param.opts[-1] if param is not None else "value"
    return UsageError(f"{name}: {problem}")


class Whole(click.ParamType):  # type: ignore[type-arg]
    """An integer in decimal digits."""

    name = "n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read `8`; `1_000`, `1.5` and `true` are refused."""
        if not _WHOLE.fullmatch(str(value)):
            raise refuse(param, f"expected an integer, got {value!r}")
        return int(value)


class Number(click.ParamType):  # type: ignore[type-arg]
    """A finite decimal number."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read `8`, `1.5` or `1e-3`; `1.5s`, `nan` and `inf` are refused."""
        if not _NUMBER.fullmatch(str(value)):
            raise refuse(param, f"expected a number, got {value!r}")
        return float(value)


class Named(click.ParamType):  # type: ignore[type-arg]
    """`name=value`, the value being of another type."""

    def __init__(self, inner: Whole | Number) -> None:
        self.inner = inner
        self.name = f"provider={inner.name}"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Read `docker=8`; `docker=8=9` and `=8` are refused."""
        name, equals, text = str(value).partition("=")
        if not name.strip() or not equals:
            raise refuse(param, f"expected {self.name}, got {value!r}")
        return name.strip(), self.inner.convert(text, param, ctx)


class Json(click.ParamType):  # type: ignore[type-arg]
    """JSON of one type, an object or a list of text, exactly as the standard has it."""

    name = "json"

    def __init__(self, kind: type[dict[str, Any]] | type[list[Any]]) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the value; what is wrong is said with line and column."""
        found = parse_json(value, param)
        if found is None and self.kind is list:
            return []  # null, too, retries FATAL only
        if not isinstance(found, self.kind):
            wanted = "an object" if self.kind is dict else "a list"
            raise refuse(param, f"expected {wanted} in JSON, got {_json_name(found)}")
        return found


class Protocol(click.ParamType):  # type: ignore[type-arg]
    """A protocol's name, or a JSON list of names in order of preference."""

    name = "protocol"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read `openai-chat`, `auto` or `["anthropic", "openai-chat"]`."""
        return parse_json(value, param) if str(value).lstrip().startswith("[") else value


def parse_json(text: str, param: click.Parameter | None) -> Any:
    """The value of JSON text that a user typed."""
    from agentcompass.config.strict_json import JsonInvalid, parse

    try:
        return parse(text)
    except JsonInvalid as error:
        hint = "; a file is read by --config" if text.startswith("@") else ""
        raise refuse(param, f"invalid JSON at {error}{hint}") from None


def as_mapping(pairs: Iterable[tuple[str, Any]], option: str) -> dict[str, Any]:
    """Repeated `name=value` options as one mapping; a name may be given once."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise UsageError(f"{option}: {name} is given twice")
        found[name] = value
    return found


def _json_name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")
