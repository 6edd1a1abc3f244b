"""How long to wait for an endpoint that has no room: pure, with the dice as an argument."""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_LONGEST = 60.0  # seconds of a wait that the endpoint did not ask for
_PATIENCE = 5  # waits for an endpoint that does not say how long


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110, 10.2.3), `now` being Unix time.

    A date in the past is 0; what makes no sense, a negative number too, is None.
    """
    if value is None:
        return None
    if _SECONDS.fullmatch(value.strip()):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - now)


def wait_before_try(number: int, asked: float | None, dice: float) -> float | None:
    """Seconds before the try after the `number`-th refusal (from 1); None is to give up.

    At least what was asked for, and at least half of 1, 2, 4 ... 60 s; `dice`, from 0 to 1, spreads
    callers that were refused together.
    """
    backoff = min(_LONGEST, 2.0 ** min(number - 1, 10)) * (1 + dice) / 2
    if asked is None:
        return backoff if number <= _PATIENCE else None
    return max(asked * (1 + dice / 10), backoff)
