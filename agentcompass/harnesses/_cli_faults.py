"""What a command-line agent's own words for a failed model call weigh. Pure."""

import re

from agentcompass.errors import Severity
from agentcompass.harnesses._cli_program import issue
from agentcompass.records.issue import Issue

_STATUS = re.compile(r"(?:status(?: code)?|HTTP|API Error)[:\s]+(\d{3})\b", re.IGNORECASE)
_VOID = frozenset({401, 402, 403, 429})  # says nothing of the model: the task's score is void
_SHOWN = 500  # characters


def model_fault(said: str) -> Issue:
    """FATAL for no access, no credit, a rate limit and a broken server; ERROR for all else."""
    found = _STATUS.search(said)
    status = int(found[1]) if found else 0
    severity: Severity = "fatal" if status in _VOID or status >= 500 else "error"
    prefix = f"HTTP {status}: " if status and not said.startswith("HTTP ") else ""
    return issue(severity, "model_failed", prefix + " ".join(said.split())[:_SHOWN])
