"""What is secret never reaches a file, an event, a log line or the console.

A value that is known to be secret is masked wherever it stands, in the spellings that it takes in
JSON, in URLs and in base64, however often it was quoted. A name alone masks what stands under it
only where it is the name of a credential; free text also by the forms that credentials take there.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from agentcompass.records.credentials import is_secret_name
from agentcompass.records.spellings import MASK, SHORTEST, Spellings
from agentcompass.store.read_back import built_in

_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_NAME = r"(?:api[_-]?key|token|secret|password|credential)[\"']?[ \t]*[:=][ \t]*[\"']?"
_VALUE = r"[^\s\"',;&)\]}]+"
# Each keeps its first group and masks the rest of what it matches. Text that holds none of the
# words before it has nothing to match, which is many times faster to see.
_FORMS = tuple(
    (words, re.compile(form, re.IGNORECASE))
    for words, form in (
        (("bearer",), rf"(\bbearer\s+){_VALUE}"),
        (("basic",), rf"(\bauthorization[\"']?[ \t]*[:=][ \t]*[\"']?basic[ \t]+){_VALUE}"),
        (
            ("key", "token", "secret", "password", "credential"),
            rf"({_NAME})(?!\$\{{|bearer\b|basic\b){_VALUE}",
        ),
        (("@",), r"(://)[^\s/@\"']+(?=@)"),
        (("sk-",), r"(\b)sk-[a-z0-9_-]{12,}"),
    )
)

# As Python writes it, and orjson perhaps otherwise.
_FLOAT = re.compile(r"-?[0-9]+(\.[0-9]+|(\.[0-9]+)?e[-+][0-9]+)")
_ESCAPED = re.compile(r'["\\\x00-\x1f]')  # what does not stand in JSON as it is
_HOLDERS = frozenset({dict, list, tuple})
_MANY = 1000  # traces; to compare each of more with each takes longer than it saves


class Redactor:
    """Masks the known `secrets` (those of fewer than 8 characters only by name).

    Masking twice changes nothing. What has nothing to mask is returned as it is, not copied.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: frozenset[str] = frozenset()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask these as well from now on."""
        self._known |= {secret for secret in secrets if len(secret) >= SHORTEST}
        self._spellings = Spellings(self._known)
        self._read = lru_cache(4096)(self._read_name)  # the same few come again and again
        self._traces = _minimal({_trace(hint) for hint in self._spellings.hints})
        self._shortest = min(map(len, self._traces), default=sys.maxsize)
        self._encoded = [form.encode("utf-8", "surrogatepass") for form in self._spellings.all]

    def text(self, text: str) -> str:
        """Free text, such as a message or a traceback, without secrets of any recognised form."""
        text = self._spellings.masked(text)
        lowered = text.lower()
        is_ascii = text.isascii()  # other letters may count as these ones where case is ignored
        for words, form in _FORMS:
            if not is_ascii or any(map(lowered.__contains__, words)):
                text = form.sub(rf"\1{MASK}", text)
        return text

    def known(self, value: Any) -> Any:
        """A value without the known secrets; names mean nothing here."""
        if not self._known or self._lacks_known(value):
            return value
        return self._walk(value, by_name=False)

    @property
    def longest(self) -> int:
        """The bytes of the longest spelling of a known secret; 0 where none is known."""
        return max(map(len, self._encoded), default=0)

    def known_in(self, data: bytes) -> bool:
        """Whether a known secret stands in `data`, in any of its spellings."""
        return any(map(data.__contains__, self._encoded))

    def record(self, value: Any) -> Any:
        """A value without the known secrets and without what stands under a credential's name.

        Empty text, None, true and false stay, and so does a whole `${NAME}`.
        """
        if not self._lacks_known(value):
            return self._walk(value, by_name=True)
        # Where only names matter, no text is looked through for secrets again.
        return _knows_none._walk(value, by_name=True) if _has_secret_name(value) else value

    def _lacks_known(self, value: Any) -> bool:
        """Whether `value` is a structure that certainly holds no known secret.

        A look at its JSON text tells in far less time than one at each of its strings.
        """
        if type(value) not in _HOLDERS:
            return False
        data = built_in(value)
        return data is not None and (
            len(data) < self._shortest or not any(map(data.__contains__, self._traces))
        )

    def _walk(self, value: Any, *, by_name: bool) -> Any:
        kind = type(value)
        if kind is str:
            return self._spellings.masked(value)
        if value is None or kind is bool:
            return value
        if kind is dict or isinstance(value, Mapping):
            return self._mapping(value, by_name=by_name)
        if kind is list or kind is tuple:
            return _each(value, lambda item: self._walk(item, by_name=by_name))
        return MASK if (kind is int or kind is float) and str(value) in self._known else value

    def _mapping(self, value: Mapping[Any, Any], *, by_name: bool) -> Mapping[Any, Any]:
        done: dict[Any, Any] = {}
        same = True
        for key, item in value.items():
            name, is_secret = self._read(key) if isinstance(key, str) else (key, False)
            # A token beside its log-probability is a word that the model said.
            hide = by_name and is_secret and not (key == "token" and "logprob" in value)
            masked = self._walk(item, by_name=by_name and not hide)
            masked = _hide(masked) if hide else masked
            same = same and masked is item and name == key
            done[free_name(name, done) if name in done else name] = masked
        return value if same else done

    def _read_name(self, name: str) -> tuple[str, bool]:
        """A name without the known secrets, and whether it is that of a credential."""
        return self._spellings.masked(name), is_secret_name(name)


def _trace(hint: str) -> bytes:
    """What certainly stands in the JSON text of all that holds `hint`, perhaps as a number."""
    if _FLOAT.fullmatch(hint):
        return b""
    return max(_ESCAPED.split(hint), key=len).encode("utf-8", "surrogatepass")


def _minimal(traces: Collection[bytes]) -> list[bytes]:
    """Those that hold no other one: where none of these stands, none of all does."""
    if len(traces) > _MANY:
        return list(traces)
    return [a for a in traces if not any(b in a for b in traces if b != a)]


def _has_secret_name(value: Any) -> bool:
    """Whether a name in a structure that is `built_in` is that of a credential."""
    if type(value) is dict:
        if any(map(is_secret_name, value)):
            return True
        value = value.values()
    for item in value:  # noqa: SIM110  # a generator would take twice the time
        if type(item) in _HOLDERS and _has_secret_name(item):
            return True
    return False


def _hide(value: Any) -> Any:
    """Mask every leaf of what stands under a credential's name."""
    if isinstance(value, Mapping):
        hidden = {key: _hide(item) for key, item in value.items()}
        return value if all(hidden[key] is value[key] for key in value) else hidden
    if isinstance(value, list | tuple):
        return _each(value, _hide)
    if value is None or isinstance(value, bool) or value in ("", MASK):
        return value
    return value if isinstance(value, str) and _REFERENCE.fullmatch(value) else MASK


def _each(values: list[Any] | tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    if not values:
        return values
    changed = [change(item) for item in values]
    if all(new is old for new, old in zip(changed, values, strict=True)):
        return values
    return changed


def free_name(name: Any, taken: Mapping[Any, Any]) -> Any:
    """`name`, numbered where something else has made two names equal."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


_knows_none = Redactor()
