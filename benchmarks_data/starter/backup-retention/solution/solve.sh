#!/bin/bash
cd "${APP_DIR:-/app}" || exit 1

cat > retention.py <<'PY'
"""Print the dumps that may be deleted, oldest first; file names come on standard input."""

import re
import sys
from datetime import datetime, timedelta

NAME = re.compile(r"db-([0-9]{8})-([0-9]{4})\.dump")


def read_dumps(lines):
    dumps = {}
    for line in lines:
        name = line.rstrip("\n")
        match = NAME.fullmatch(name)
        if not match:
            continue
        try:
            dumps[datetime.strptime("".join(match.groups()), "%Y%m%d%H%M")] = name
        except ValueError:
            continue  # looks like a dump, but the date does not exist
    return dumps


def monday(moment):
    return moment.date() - timedelta(days=moment.weekday())


def months(moment):
    return moment.year * 12 + moment.month


def kept(dumps):
    newest = max(dumps)
    by_week = {monday(moment): moment for moment in sorted(dumps)}
    by_month = {months(moment): moment for moment in sorted(dumps)}
    keep = {moment for moment in dumps if (newest.date() - moment.date()).days <= 6}
    keep.update(m for start, m in by_week.items() if (monday(newest) - start).days <= 4 * 7)
    keep.update(m for index, m in by_month.items() if months(newest) - index <= 11)
    return keep


def main():
    dumps = read_dumps(sys.stdin)
    keep = kept(dumps) if dumps else set()
    for moment in sorted(dumps):
        if moment not in keep:
            print(dumps[moment])


main()
PY
python3 retention.py < dumps.txt | tail -n 3
