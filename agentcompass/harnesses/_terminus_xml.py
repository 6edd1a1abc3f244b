"""A reply in XML-like tags, whose contents are taken as they are: no entity is decoded."""

import re
from collections.abc import Iterator

import attrs

from agentcompass.harnesses._terminus_reply import (
    Keys,
    Parsed,
    Unreadable,
    seconds_of,
    warn_of_open_lines,
)

_OPEN, _CLOSE = "<response>", "</response>"
_TAG, _TAG_END = "<keystrokes", "</keystrokes>"
_SECTIONS = ("analysis", "plan", "commands")
_COMPLETE = re.compile(r"<task_complete>\s*true\s*</task_complete>")
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")
_ENTITIES = ("&lt;", "&gt;", "&amp;", "&quot;", "&apos;")


@attrs.frozen
class _Typed:
    """One keystrokes tag: its attributes, and where in the reply its content stands."""

    attributes: str
    start: int
    end: int


def parse_xml(text: str) -> Parsed:
    """What the reply says; never raises."""
    try:
        return _read(text)
    except Unreadable as error:
        return Parsed(error=str(error), is_whole=False)


def _read(text: str) -> Parsed:
    warnings: list[str] = []
    typed = list(_tags(text))
    bare = _without(text, typed)
    start, end = _response(bare, warnings)
    content = bare[start : end if end >= 0 else None]
    is_complete = _COMPLETE.search(content) is not None
    inside = _commands_section(content)
    if inside is None and not is_complete:
        raise Unreadable("there is no <commands> section")
    first, last = inside or (0, 0)
    own = [tag for tag in typed if start + first <= tag.start and tag.end <= start + last]
    commands = list(_commands(text, own, warnings))
    warn_of_open_lines(commands, warnings)
    _check_sections(content, warnings)
    return Parsed(
        analysis=_section(content, "analysis"),
        plan=_section(content, "plan"),
        commands=tuple(commands),
        is_complete=is_complete,
        warnings=tuple(warnings),
        is_whole=end >= 0,
    )


def _tags(text: str) -> Iterator[_Typed]:
    """Every keystrokes tag with an end, in one pass."""
    at = 0
    while (start := text.find(_TAG, at)) >= 0:
        inside = text.find(">", start) + 1
        end = text.find(_TAG_END, inside)
        if not inside or (end < 0 and text[inside - 2] != "/"):
            return
        if text[inside - 2] == "/":
            end = inside
        yield _Typed(text[start + len(_TAG) : inside - 1].removesuffix("/"), inside, end)
        at = end


def _without(text: str, typed: list[_Typed]) -> str:
    """The reply with blanks for what is typed, which may hold any tag."""
    pieces, at = [], 0
    for tag in typed:
        pieces += [text[at : tag.start], " " * (tag.end - tag.start)]
        at = tag.end
    return "".join((*pieces, text[at:]))


def _response(bare: str, warnings: list[str]) -> tuple[int, int]:
    """Where the first response begins and ends; -1 is no end."""
    opened = bare.find(_OPEN)
    if opened < 0:
        raise Unreadable("there is no <response> tag")
    start = opened + len(_OPEN)
    end = bare.find(_CLOSE, start)
    if end < 0:
        warnings.append("the </response> tag was missing and was added")
    after = bare[end + len(_CLOSE) :] if end >= 0 else ""
    found = (("before", bare[:opened]), ("after", after))
    warnings += [f"there is text {where} the response" for where, part in found if part.strip()]
    if _OPEN in after:
        warnings.append("there is more than one response: only the first one counts")
    return start, end


def _commands_section(content: str) -> tuple[int, int] | None:
    """Where the commands stand; None where there are none."""
    if re.search(r"<commands\s*/>", content):
        return 0, 0
    start = content.find("<commands>")
    end = content.find("</commands>", start)
    return None if start < 0 else (start, end if end >= 0 else len(content))


def _section(content: str, name: str) -> str:
    _, _, rest = content.partition(f"<{name}>")
    inside, closed, _ = rest.partition(f"</{name}>")
    return inside.strip() if closed else ""


def _check_sections(content: str, warnings: list[str]) -> None:
    places = {name: content.find(f"<{name}") for name in _SECTIONS}
    warnings += [f"there is no <{name}> section" for name, at in places.items() if at < 0]
    order = sorted((name for name in _SECTIONS if places[name] >= 0), key=places.__getitem__)
    if order != [name for name in _SECTIONS if name in order]:
        warnings.append(f"the sections come as {', '.join(order)}, not as {', '.join(_SECTIONS)}")


def _commands(text: str, typed: list[_Typed], warnings: list[str]) -> Iterator[Keys]:
    said = [text[tag.start : tag.end] for tag in typed]
    warnings += [
        f"{entity} is typed as it stands, and not converted"
        for entity in _ENTITIES
        if any(entity in keys for keys in said)
    ]
    for number, (tag, keys) in enumerate(zip(typed, said, strict=True), start=1):
        name = f"command {number}"
        given = {key: value.strip("\"'") for key, value in _ATTRIBUTE.findall(tag.attributes)}
        if unknown := sorted(given.keys() - {"duration"}):
            warnings.append(f"{name} has unknown attributes: {', '.join(unknown)}")
        yield Keys(text=keys, seconds=seconds_of(given.get("duration"), name, warnings))
