"""A reply in JSON: read as it is, or mended where one can tell what was meant."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentcompass.harnesses._terminus_reply import (
    Keys,
    Parsed,
    Unreadable,
    seconds_of,
    warn_of_open_lines,
)

_FIELDS = ("analysis", "plan", "commands")
_TRIES = 50  # places at which a reply may begin
_SHOWN = 100  # characters of what is not JSON
_TRUE = frozenset({"true", "1", "yes"})
_CLOSERS = {"{": "}", "[": "]"}


def parse_json(text: str) -> Parsed:
    """What the reply says; never raises."""
    try:
        return _read(text)
    except Unreadable as error:
        fault = str(error)
    for how, mended in _mended(text):
        try:
            parsed = _read(mended)
        except Unreadable:
            continue
        note = f"the reply was not as it should be and was corrected: {how}"
        return attrs.evolve(parsed, warnings=(note, *parsed.warnings), is_whole=False)
    return Parsed(error=fault, is_whole=False)


def _read(text: str) -> Parsed:
    found = _first_object(text, text.find("{"))
    if found is None:
        raise Unreadable("the reply holds no JSON object")
    warnings = _around(text, *found)
    fields = _load(text[slice(*found)])
    _check_order(fields, warnings)
    is_complete = _is_true(fields.get("task_complete"), warnings)
    try:
        commands = _commands(fields["commands"], warnings)
    except Unreadable as error:
        if not is_complete:
            raise
        warnings.append(str(error))
        commands = []
    return Parsed(
        analysis=str(fields["analysis"]),
        plan=str(fields["plan"]),
        commands=tuple(commands),
        is_complete=is_complete,
        warnings=tuple(warnings),
    )


def _first_object(text: str, start: int) -> tuple[int, int] | None:
    """Where the object that begins at `start` ends, by its braces outside of strings."""
    for depth, end in _walk(text, start):
        if not depth:
            return start, end
    return None


def _walk(text: str, start: int) -> Iterator[tuple[list[str], int]]:
    """The brackets that are open after each bracket, and the position behind it."""
    is_open: list[str] = []
    for match in re.finditer(
        r'"(?:[^"\\]|\\.)*"|[][{}]|"', text[start:] if start >= 0 else "", re.S
    ):
        bracket = match[0]
        if bracket == '"':  # a string that does not end
            return
        if bracket in _CLOSERS:
            is_open.append(bracket)
        elif bracket in ("}", "]") and is_open:
            is_open.pop()
        if bracket[0] != '"':
            yield is_open, start + match.end()


def _around(text: str, start: int, end: int) -> list[str]:
    found = (("before", text[:start]), ("after", text[end:]))
    return [f"there is text {where} the JSON object" for where, part in found if part.strip()]


def _load(text: str) -> Mapping[str, Any]:
    try:
        fields = json.loads(text, strict=False, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        shown = text if len(text) <= 2 * _SHOWN else text[:_SHOWN] + "..."
        raise Unreadable(f"the JSON is not valid: {error}: {shown!r}") from error
    if missing := [name for name in _FIELDS if name not in fields]:
        raise Unreadable(f"required fields are missing: {', '.join(missing)}")
    if not isinstance(fields["commands"], list):
        raise Unreadable("the field commands must be an array")
    return fields  # type: ignore[no-any-return]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _check_order(fields: Mapping[str, Any], warnings: list[str]) -> None:
    warnings += [
        f"the field {name} should be text"
        for name in ("analysis", "plan")
        if not isinstance(fields[name], str)
    ]
    order = [name for name in fields if name in _FIELDS]
    if order != list(_FIELDS):
        warnings.append(f"the fields come as {', '.join(order)}, not as {', '.join(_FIELDS)}")


def _is_true(given: Any, warnings: list[str]) -> bool:
    if isinstance(given, str):
        return given.strip().lower() in _TRUE
    if given is not None and not isinstance(given, bool):
        warnings.append("the field task_complete should be true or false")
    return given is True


def _commands(given: Sequence[Any], warnings: list[str]) -> list[Keys]:
    commands = [_command(item, f"command {n}", warnings) for n, item in enumerate(given, start=1)]
    warn_of_open_lines(commands, warnings)
    return commands


def _command(given: Any, name: str, warnings: list[str]) -> Keys:
    if not isinstance(given, Mapping):
        raise Unreadable(f"{name} must be an object")
    if not isinstance(given.get("keystrokes"), str):
        raise Unreadable(f"{name} needs a field keystrokes that holds text")
    if unknown := sorted(given.keys() - {"keystrokes", "duration"}):
        warnings.append(f"{name} has unknown fields: {', '.join(unknown)}")
    return Keys(text=given["keystrokes"], seconds=seconds_of(given.get("duration"), name, warnings))


def _mended(text: str) -> Iterator[tuple[str, str]]:
    """What the reply may have been meant to be, and how it differs."""
    start = text.find("{")
    is_open: list[str] = []
    end = 0
    for is_open, end in _walk(text, start):  # noqa: B007  # the last ones count
        pass
    if is_open and '"' not in text[end:].replace('\\"', ""):
        closers = "".join(_CLOSERS[bracket] for bracket in reversed(is_open))
        yield "brackets were missing at its end", text.rstrip().rstrip(",") + closers
    for _ in range(_TRIES):
        start = text.find("{", start + 1)
        if start < 0:
            return
        if (found := _first_object(text, start)) is not None:
            yield "the JSON object was taken out of other text", text[slice(*found)]
