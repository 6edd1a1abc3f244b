"""What ended an attempt early: a limit, which leaves a score, or a fault; pure.

On record there is an issue for either. A limit is told by its code, its amount by the message.
"""

import re
from collections.abc import Mapping
from typing import Any

from agentcompass.exporting.text import as_text
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.issue import Issue, gravest

_AMOUNT = re.compile(r"(?:exceeded|after|of) ([0-9.]+(?:e[+-]?[0-9]+)?) (?:s|tokens|US)")
_BUDGETS = ("budget_exhausted", "run_budget_exhausted")


def ended_by(result: AttemptResult) -> dict[str, Any]:
    """Fields `limit` and `error` of a sample, None where there is none."""
    weighty = [issue for issue in result.issues if issue.severity != "warning"]
    limits = [issue for issue in weighty if _limit_type(issue)]
    worst = gravest(issue for issue in weighty if issue not in limits)
    return {
        "limit": _limit(limits[0]) if limits else None,
        "error": None if worst is None else _error(worst, result.artifacts),
    }


def _limit_type(issue: Issue) -> str:
    """Inspect's name of the kind of limit, or an empty string."""
    if issue.severity != "error" or issue.phase != "run":
        return ""
    if issue.code in _BUDGETS:
        return "cost" if "US dollars" in issue.message else "token"
    # The asyncio implementation has this code also for other faults.
    return "time" if issue.code == "run_failed" and "Timeout" in issue.message else ""


def _limit(issue: Issue) -> dict[str, Any]:
    said = _AMOUNT.search(issue.message)
    amount = float(said[1]) if said else 0.0
    return {"type": _limit_type(issue), "limit": amount, "reason": issue.text}


def _error(issue: Issue, artifacts: Mapping[str, Any]) -> dict[str, Any]:
    trace = as_text(artifacts.get("execution_diagnostics")) or issue.message
    return {"message": issue.text, "traceback": trace, "traceback_ansi": trace}
