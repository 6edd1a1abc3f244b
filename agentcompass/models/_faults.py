"""What a failed call becomes: one `ModelFailed`, weighed by its status, with an excerpt."""

import json
from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.errors import ModelFailed, Severity

_EXCERPT = 200  # characters
_READ = 64 * 1024  # bytes of a body that an excerpt may come from
_VOID = frozenset({401, 402, 403, 429})  # says nothing of the model: the task's score is void


class ModelTimeout(ModelFailed):
    """A call outlasted `request_timeout`."""

    code = "model_timeout"


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

    def excerpt(self, body: bytes) -> str:
        """The first 200 characters of a body on one line, masked before they are cut."""
        text = _said(body[:_READ])
        return self(" ".join(text.split()))[:_EXCERPT] or "(an empty body)"


def refused(status: int, body: bytes, redact: Redactor) -> ModelFailed:
    """The fault of an answer with an HTTP status other than success."""
    message = f"HTTP {status}: {redact.excerpt(body)}"
    return ModelFailed(message, severity=severity_of(status), status_code=status)


def error_line(error: Any) -> str | None:
    """`code: message` of an error object in OpenAI's form; None where there is no message."""
    if not isinstance(error, Mapping) or not isinstance(error.get("message"), str):
        return None
    code = error.get("code") or error.get("type")
    return f"{code}: {error['message']}" if code else str(error["message"])


def _said(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    error = parsed.get("error") if isinstance(parsed, Mapping) else None
    return error_line(error) or text
