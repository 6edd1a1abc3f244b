"""What tells one wire protocol from another: names, and functions between it and the neutral form.

The neutral form is OpenAI's chat form. An assistant message may also hold `reasoning_content`, text
to read, and `reasoning_details`, what the provider wants back word for word.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from agentcompass.records.model import Reply, Usage

Message = Mapping[str, Any]


class Assembler(Protocol):
    """Puts the events of a stream together to the body that would have come without a stream.

    `body` is what has come so far and `text` what of it can be read. `ended` is whether the last
    event has come, `usable` whether the answer is whole although it has not.
    """

    @property
    def body(self) -> Mapping[str, Any]: ...

    @property
    def text(self) -> str: ...

    @property
    def ended(self) -> bool: ...

    @property
    def usable(self) -> bool: ...

    def add(self, event: Mapping[str, Any]) -> None:
        """Take one event; raises `Unusable`."""
        ...

    def end(self) -> None:
        """Take note that the server says `[DONE]`."""
        ...


@attrs.frozen(kw_only=True)
class Dialect:
    """One wire protocol.

    `path` goes behind the base URL, without a beginning that stands there already (`overlap`).
    `owned` are fields of the body that are the harness's to set; `streaming` are those which a body
    that asks for a stream has too, unless `--model-params` set them.
    """

    path: str
    overlap: str = ""
    owned: Sequence[str]
    streaming: Mapping[str, Any]
    credentials: Callable[[str], Mapping[str, str]]
    ask: Callable[[Mapping[str, Any], Sequence[Message], Sequence[Message]], dict[str, Any]]
    usage: Callable[[Any], Usage]
    read: Callable[[Mapping[str, Any]], Reply]
    assembler: Callable[[], Assembler]
    wants_reasoning_back: bool = False


def bearer(key: str) -> Mapping[str, str]:
    """The key as most providers take it; no key, no header."""
    return {"Authorization": f"Bearer {key}"} if key else {}
