"""What a reply to terminus2 says, in whichever format it was written."""

import math
from typing import Any

import attrs

LONGEST = 60.0  # seconds that one command may wait
_DEFAULT = 1.0


@attrs.frozen(kw_only=True)
class Keys:
    """Keystrokes to send, and the seconds to wait after them."""

    text: str
    seconds: float


@attrs.frozen(kw_only=True)
class Parsed:
    """A reply as it was read. Nothing of one with an `error` is executed.

    `is_whole` is false where something had to be mended or was missing at the end.
    """

    analysis: str = ""
    plan: str = ""
    commands: tuple[Keys, ...] = ()
    is_complete: bool = False
    error: str = ""
    warnings: tuple[str, ...] = ()
    is_whole: bool = True


class Unreadable(ValueError):
    """A reply from which nothing can be executed; the text says why, for the model to read."""


def seconds_of(given: Any, name: str, warnings: list[str]) -> float:
    """How long to wait after a command; what is no number is one second, with a warning."""
    if given is None:
        warnings.append(f"{name}: no duration is given, 1.0 is taken")
        return _DEFAULT
    try:
        value = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if math.isnan(value):
        warnings.append(f"{name}: its duration is not a number, 1.0 is taken")
        return _DEFAULT
    return min(max(value, 0.0), LONGEST)


def warn_of_open_lines(commands: list[Keys], warnings: list[str]) -> None:
    """Warn of keystrokes that the next ones would run into."""
    for number, keys in enumerate(commands[:-1], start=1):
        if keys.text and not keys.text.endswith("\n"):
            warnings.append(
                f"command {number} does not end with a newline: the next one is typed on its line"
            )
