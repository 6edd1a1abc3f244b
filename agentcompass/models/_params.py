"""The model parameters that are ours and never reach a request's body."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentcompass.models._prices import price_faults

_DEFAULT_TIMEOUT = 600.0
_LONGEST = 1e9  # seconds
# What is not of the model, and where it is asked for.
ELSEWHERE = {
    "budget": """--execution-params '{"attempt_budget": {"max_total_tokens": ...}}'""",
}


@attrs.frozen(kw_only=True)
class Common:
    """The parameters that every protocol has; `faults` checks them."""

    request_timeout: float = attrs.field(
        default=_DEFAULT_TIMEOUT,
        metadata={
            "help": "One whole call, with its waits for an endpoint without room; 0 is no limit.",
            "unit": "s",
        },
    )
    record: bool = attrs.field(
        default=False,
        metadata={"help": "Write every call into the run directory, to be replayed."},
    )


@attrs.frozen(kw_only=True)
class OverHttp(Common):
    """Those of a protocol over HTTP; whatever is not named here goes into the request's body."""

    adaptive_concurrency: bool = attrs.field(
        default=False, metadata={"help": "Fewer calls at once while the endpoint refuses."}
    )
    prices: Mapping[str, float] | None = attrs.field(
        default=None,
        metadata={
            "help": "US dollars for a million tokens: input and output, and where they differ from"
            " input cached_input and cache_write; null is the table that ships."
        },
    )


OURS = frozenset({field.name for field in attrs.fields(OverHttp)} | {"path", "budget"})


def request_timeout(params: Mapping[str, Any]) -> float | None:
    """Seconds that one call may take, 600 by default; None, asked for by 0, is no limit."""
    seconds = params.get("request_timeout", _DEFAULT_TIMEOUT)
    return float(seconds) or None


def body_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """What goes into a request's body, unchanged."""
    return {name: value for name, value in params.items() if name not in OURS}


def faults(params: Mapping[str, Any]) -> list[str]:
    """What is wrong with our own parameters, or not built yet."""
    found = [
        f"--model-params: {name} is an option of the execution: {option}"
        for name, option in ELSEWHERE.items()
        if name in params
    ]
    seconds = params.get("request_timeout", _DEFAULT_TIMEOUT)
    if type(seconds) not in {int, float} or not 0 <= seconds <= _LONGEST:
        found.append(
            "--model-params: request_timeout is in seconds, from 0 (no limit) to 1e9, "
            f"not {seconds!r}"
        )
    adaptive = params.get("adaptive_concurrency", False)
    if not isinstance(adaptive, bool):
        found.append(f"--model-params: adaptive_concurrency is true or false, not {adaptive!r}")
    if not isinstance(record := params.get("record", False), bool):
        found.append(f"--model-params: record is true or false, not {record!r}")
    return found + price_faults(params.get("prices"))
