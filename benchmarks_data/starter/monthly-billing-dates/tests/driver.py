"""Answer questions about the agent's package: JSON calls on stdin, JSON answers on stdout."""

import json
import sys
from datetime import date

sys.path.insert(0, sys.argv[1])

from billing import add_months, due_dates, invoices, next_due  # noqa: E402


def answer(name, start, *rest):
    day = date.fromisoformat(start)
    if name == "add_months":
        return add_months(day, rest[0]).isoformat()
    if name == "next_due":
        return next_due(day, date.fromisoformat(rest[0]), every=rest[1]).isoformat()
    if name == "invoices":
        return [list(map(str, line)) for line in invoices("acme", day, 4900, *rest)]
    dates = due_dates(day, every=rest[1])
    return [next(dates).isoformat() for _ in range(rest[0])]


json.dump([answer(*call) for call in json.load(sys.stdin)], sys.stdout)
