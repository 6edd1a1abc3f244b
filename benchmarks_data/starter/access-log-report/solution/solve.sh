#!/bin/bash
set -e
cd "${APP_DIR:-/app}"

cat > report.py <<'PY'
"""Report requests, errors and the 95th percentile per route of access logs, as JSON."""

import json
import re
import sys
from collections import defaultdict

QUOTED = r'"((?:[^"\\]|\\.)*)"'
LINE = re.compile(
    r"\S+ \S+ \S+ \[[^\]]+\] "
    r'"([A-Z]+) (\S+) HTTP/[0-9.]+" '
    rf"([0-9]{{3}}) (?:[0-9]+|-) {QUOTED} {QUOTED} ([0-9]+\.[0-9]{{3}})"
)


def route_of(method, target):
    path = target.split("?", 1)[0]
    segments = (":id" if re.fullmatch("[0-9]+", part) else part for part in path.split("/"))
    return f"{method} " + "/".join(segments)


def nearest_rank(values, percent):
    rank = -(-percent * len(values) // 100)
    return sorted(values)[rank - 1]


def main(names):
    times, errors, skipped = defaultdict(list), defaultdict(int), 0
    for name in names:
        with open(name, encoding="utf-8", errors="replace") as log:
            for line in log:
                match = LINE.fullmatch(line.rstrip("\n"))
                if not match:
                    skipped += 1
                    continue
                method, target, status, _, _, seconds = match.groups()
                route = route_of(method, target)
                times[route].append(round(float(seconds) * 1000))
                errors[route] += status.startswith("5")
    routes = {
        route: {"requests": len(taken), "errors": errors[route], "p95_ms": nearest_rank(taken, 95)}
        for route, taken in sorted(times.items())
    }
    json.dump({"skipped": skipped, "routes": routes}, sys.stdout, indent=2)
    print()


main(sys.argv[1:])
PY
python3 report.py logs/access.log.1 logs/access.log
