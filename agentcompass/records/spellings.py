"""How a secret may be written, so that it is found wherever it stands. Pure."""

import base64
import json
import re
import sys
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

MASK = "********"
SHORTEST = 8  # a shorter secret would mask parts of ordinary words

_QUOTED = re.compile(r"(\\+|['\"/$`])")  # what Python, JSON and shells put backslashes before


class Spellings:
    """Every way in which some secrets may be written: `all`, the longest first.

    `pattern` finds them, also inside any number of quotations. A text that holds none of `hints`
    holds none of the secrets; to look for these is many times faster in a long text.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = frozenset(secrets)
        bases = known | {json.dumps(secret)[1:-1] for secret in known}
        # The longest go first, since one may hold another.
        self.all = sorted({form for s in known for form in spellings(s)}, key=_longest_first)
        self.hints = [*self.all, *map(_longest_plain, filter(_QUOTED.search, bases))]
        self._shortest = min(map(len, self.hints), default=sys.maxsize)
        self.pattern = re.compile(
            "|".join(_quoted_anyhow(s) if s in bases else re.escape(s) for s in self.all)
        )

    def masked(self, text: str) -> str:
        """`text` without the secrets; the very same where there is none."""
        if len(text) < self._shortest or not any(map(text.__contains__, self.hints)):
            return text
        while (masked := self.pattern.sub(MASK, text)) != text:  # a secret may hold asterisks
            text = masked
        return text


def spellings(secret: str) -> Iterator[str]:
    """How a secret may be written: as it is, escaped for JSON and URLs, inside base64."""
    yield secret
    for ascii_only in (True, False):
        once = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield from (once, json.dumps(once)[1:-1])  # the arguments of a tool call are JSON in JSON
    data = secret.encode("utf-8", "surrogatepass")
    yield quote(data, safe="")
    yield quote(data)
    yield quote_plus(data)
    for offset in range(3):
        yield from _in_base64(data, offset)


def _in_base64(data: bytes, offset: int) -> Iterator[str]:
    """The characters that depend on nothing but `data`, `offset` bytes into a group of three."""
    for encoder in (base64.b64encode, base64.urlsafe_b64encode):
        text = encoder(bytes(offset) + data).decode("ascii")
        end = (offset + len(data)) * 8 // 6
        part = text[(offset * 8 + 5) // 6 : end]
        if len(part) >= SHORTEST:
            yield part


def _quoted_anyhow(secret: str) -> str:
    """A pattern for the secret inside any number of quotations, each of which adds backslashes."""
    pattern = ""
    for piece in _QUOTED.split(secret):
        if piece.startswith("\\"):
            pattern += r"\\+"
        elif _QUOTED.match(piece) and not pattern.endswith(r"\\+"):
            pattern += r"\\*" + re.escape(piece)
        else:
            pattern += re.escape(piece)
    return pattern


def _longest_plain(secret: str) -> str:
    """The longest part of the secret that no quotation changes."""
    return max(_QUOTED.split(secret)[::2], key=len)


def _longest_first(text: str) -> tuple[int, str]:
    return -len(text), text
