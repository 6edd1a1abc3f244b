"""Requests that repeat what stood in the one before, written without it; and made whole again."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from agentcompass.store.encode import dump, plain

# What a value is known by: a list by its items, so that one which has grown is recognised.
Digests = Mapping[str, str | list[str]]


def mark(value: Any) -> str:
    """A digest of a value; raises `NotPlain` for what JSON has no form for."""
    data = dump(plain(value), sort_keys=True, indent=False)
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def digests(whole: Mapping[str, Any]) -> Digests:
    """The digests of what a request holds, by name."""
    return {
        name: [mark(item) for item in value] if isinstance(value, list | tuple) else mark(value)
        for name, value in whole.items()
    }


def shortened(whole: Mapping[str, Any], now: Digests, before: Digests) -> dict[str, Any]:
    """`{"kept": {name: n}, "new": {...}}`: the first n items of a list are as they were before.

    n is null where all of a value is. `now` are the digests of `whole`, `before` those of what is
    left out.
    """
    kept: dict[str, int | None] = {}
    new: dict[str, Any] = {}
    for name, value in whole.items():
        same = _same(now[name], before.get(name))
        if same is not None:
            kept[name] = same
            new[name] = value[same:]
        elif now[name] == before.get(name):
            kept[name] = None
        else:
            new[name] = value
    return {"kept": kept, "new": new}


def whole_again(short: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """What was shortened; `before` is the whole request before it."""
    found = dict(short["new"])
    for name, count in short["kept"].items():
        found[name] = before[name] if count is None else [*before[name][:count], *found[name]]
    return found


def _same(now: str | list[str], before: str | list[str] | None) -> int | None:
    """How many items a list has in common with the beginning of the one before, if any."""
    if not isinstance(now, list) or not isinstance(before, list) or now == before:
        return None
    return _common(now, before) or None


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
