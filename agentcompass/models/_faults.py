"""What a failed call becomes: one `ModelFailed`, weighed by its status, with an excerpt."""

import json
import re
from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.errors import ContextTooLong, ModelFailed, Severity

_EXCERPT = 200  # characters
_READ = 64 * 1024  # bytes of a body that an excerpt may come from
_VOID = frozenset({401, 402, 403, 429})  # says nothing of the model: the task's score is void
_BUSY = frozenset({429, 529})
_NO_CREDIT = re.compile(r"insufficient_quota|billing", re.IGNORECASE)  # waiting will not mend it
_TOO_LONG = re.compile(
    r"context_length_exceeded|context (?:length|window|size|limit)|prompt is too long"
    r"|input is too long",
    re.IGNORECASE,
)
_NEEDS_STREAM = re.compile(
    r"stream.{0,40}\b(?:must be|required?|only|please|mandatory)\b"
    r"|\b(?:must|only|requires?|please)\b.{0,40}\bstream",
    re.IGNORECASE | re.DOTALL,
)
# What an error on status 200, as in a stream, would have been as a status of its own.
_STATUS: Mapping[Any, int] = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "overloaded_error": 529,
}


class ModelTimeout(ModelFailed):
    """A call outlasted `request_timeout`."""

    code = "model_timeout"


class RateLimited(ModelFailed):
    """The endpoint has no room now; `retry_after` is the seconds that it asks to wait, if any."""

    def __init__(
        self, message: str, *, status_code: int, retry_after: float | None, partial: str = ""
    ) -> None:
        super().__init__(message, severity="fatal", status_code=status_code, partial=partial)
        self.retry_after = retry_after


class StreamRequired(ModelFailed):
    """The endpoint refused a call because it only streams."""


def severity_of(status: int) -> Severity:
    """FATAL for no access, no credit, a rate limit and a broken server; ERROR for all else."""
    return "fatal" if status in _VOID or status >= 500 else "error"


@attrs.frozen
class Redactor:
    """Masks known secrets in text that others wrote; short ones would mask ordinary words."""

    secrets: tuple[str, ...] = attrs.field(repr=False)

    def __call__(self, text: str) -> str:
        """The text with every secret of at least 8 characters masked."""
        for secret in self.secrets:
            if len(secret) >= 8:
                text = text.replace(secret, "********")
        return text

    def line(self, text: str) -> str:
        """The first 200 characters on one line, masked before they are cut."""
        return self(" ".join(text.split()))[:_EXCERPT]

    def excerpt(self, body: bytes) -> str:
        """What a body says, in one short line."""
        return self.line(_said(body[:_READ])) or "(an empty body)"


def refused(
    status: int, body: bytes, redact: Redactor, *, retry_after: float | None, location: str
) -> ModelFailed:
    """The fault of an answer with an HTTP status other than 200."""
    said = redact.excerpt(body)
    if location and 300 <= status < 400:
        said = f"redirected to {redact.line(location)}, which is not followed: {said}"
    message = f"HTTP {status}: {said}"
    if 400 <= status < 500 and _NEEDS_STREAM.search(said):
        return StreamRequired(message, severity=severity_of(status), status_code=status)
    return _weighed(status, message, retry_after=retry_after)


def reported(error: Any, body: bytes, redact: Redactor, *, partial: str) -> ModelFailed:
    """The fault of an error object inside an answer with status 200."""
    said = redact.line(error_line(error) or "") or redact.excerpt(body)
    message = f"HTTP 200, but the body is an error: {said}"
    return _weighed(_status_in(error), message, partial=partial)


def error_line(error: Any) -> str | None:
    """`code: message` of an error object; None where there is no message."""
    if not isinstance(error, Mapping) or not isinstance(error.get("message"), str):
        return None
    code = error.get("code") or error.get("type")
    return f"{code}: {error['message']}" if code else str(error["message"])


def _weighed(
    status: int, message: str, *, retry_after: float | None = None, partial: str = ""
) -> ModelFailed:
    busy = status in _BUSY or (status == 503 and retry_after is not None)
    if busy and not _NO_CREDIT.search(message):
        return RateLimited(message, status_code=status, retry_after=retry_after, partial=partial)
    too_long = status < 500 and status not in _VOID and _TOO_LONG.search(message)
    kind = ContextTooLong if too_long else ModelFailed
    return kind(message, severity=severity_of(status), status_code=status, partial=partial)


def _status_in(error: Any) -> int:
    if not isinstance(error, Mapping):
        return 200
    for name in (error.get("code"), error.get("type")):
        if type(name) is int and 400 <= name < 600:
            return name
        if isinstance(name, str) and name in _STATUS:
            return _STATUS[name]
    return 200


def _said(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    error = parsed.get("error") if isinstance(parsed, Mapping) else None
    return error_line(error) or text
