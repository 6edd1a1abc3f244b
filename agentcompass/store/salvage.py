"""Plain values of what plug-ins leave: what JSON cannot hold is kept as its text, and told."""

import reprlib
from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.records.issue import Issue
from agentcompass.store.encode import DEEPEST, NotPlain, container, key_text, plain
from agentcompass.store.redact import Redactor, free_name

_LONGEST = 200  # characters of a text that stands for a value
_NAMED = 5  # places in one message
_ABOVE = 2  # levels that a document may have around what is made plain here

# Never fails at a `__repr__` that does; long enough that no secret is cut in two before masking.
_repr = reprlib.Repr()
_repr.maxother = _repr.maxstring = 10_000


@attrs.define(eq=False)
class Salvage:
    """Makes values plain, at any cost; `faults` are the values that were replaced."""

    redactor: Redactor
    faults: list[NotPlain] = attrs.field(factory=list, init=False)

    def plain(self, value: Any) -> Any:
        """As `encode.plain`, with a short text in the place of what that refuses."""
        return self._walk(value, (), ())

    def issue(self) -> Issue | None:
        """The warning that names what was replaced, or None."""
        if not self.faults:
            return None
        more = len(self.faults) - _NAMED
        named = [str(fault) for fault in self.faults[:_NAMED]]
        told = "; ".join([*named, *([f"and {more} more"] if more > 0 else [])])
        return Issue(
            severity="warning",
            phase="collect",
            code="value_not_json",
            message=f"kept as text: {told}",
        )

    def _walk(self, value: Any, path: tuple[Any, ...], above: tuple[int, ...]) -> Any:
        if id(value) in above:
            return self._text(value, "holds itself", path)
        try:
            return plain(value, depth=len(above) + _ABOVE)
        except NotPlain as error:
            if not error.path and not self._has_equal_names(value, above):
                return self._text(value, error.fault, path)
            if not error.path:
                self.faults.append(NotPlain(error.fault, ".".join(map(str, path))))
        inner, above = container(value), (*above, id(value))
        if isinstance(inner, list):
            return [self._walk(item, (*path, i), above) for i, item in enumerate(inner)]
        done: dict[str, Any] = {}
        for key, item in inner.items():
            name = free_name(self._key(key, path), done)
            done[name] = self._walk(item, (*path, key), above)
        return done

    def _has_equal_names(self, value: Any, above: tuple[int, ...]) -> bool:
        """Whether that is what is wrong with a value: all that can be with a mapping itself."""
        return isinstance(value, Mapping) and len(above) + _ABOVE <= DEEPEST

    def _key(self, key: Any, path: tuple[Any, ...]) -> str:
        try:
            return key_text(key)
        except NotPlain as error:
            return self._text(key, error.fault, path)

    def _text(self, value: Any, fault: str, path: tuple[Any, ...]) -> str:
        self.faults.append(NotPlain(fault, ".".join(map(str, path))))
        try:
            text = self.redactor.text(_repr.repr(value))
        except ValueError:  # an integer with too many digits
            text = f"<{type(value).__qualname__}>"
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
