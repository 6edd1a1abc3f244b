"""The checks: many generated listings, each compared with the rules of the instruction."""

import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime, timedelta
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
NAME = re.compile(r"db-(\d{8}-\d{4})\.dump", re.ASCII)


def taken_at(name):
    match = NAME.fullmatch(name)
    try:
        return datetime.strptime(match.group(1), "%Y%m%d-%H%M") if match else None
    except ValueError:
        return None


def week(moment):
    return moment.date() - timedelta(days=moment.weekday())


def month(moment):
    return moment.year * 12 + moment.month


def newest_of_each(moments, period):
    return {period(moment): moment for moment in sorted(moments)}


def deletable(names):
    dumps = sorted({taken_at(name) for name in names} - {None})
    if not dumps:
        return []
    today = dumps[-1]
    kept = {moment for moment in dumps if (today.date() - moment.date()).days < 7}
    weeks, months = newest_of_each(dumps, week), newest_of_each(dumps, month)
    kept |= {m for start, m in weeks.items() if (week(today) - start).days <= 28}
    kept |= {m for index, m in months.items() if month(today) - index < 12}
    return [f"db-{moment:%Y%m%d-%H%M}.dump" for moment in dumps if moment not in kept]


def answer(names):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(APP / "retention.py")],
            input="".join(name + "\n" for name in names),
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=20,
        )
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


def listing(seed, *, days, per_day):
    rng = random.Random(seed)
    newest = datetime(2021, 1, 1) + timedelta(minutes=rng.randrange(4 * 365 * 24 * 60))
    count = rng.randrange(1, days * per_day)
    moments = [newest - timedelta(minutes=rng.randrange(days * 24 * 60)) for _ in range(count)]
    names = [f"db-{moment:%Y%m%d-%H%M}.dump" for moment in [newest, *moments]]
    rng.shuffle(names)
    return names


NOISE = [
    "db-20251301-0400.dump",
    "db-20250230-0400.dump",
    "db-20250101-2460.dump",
    "db-latest.dump",
    "db-20250101-0400.dump.part",
    "old-db-20250101-0400.dump",
    "db-99991231-2359.dmp",
    "",
    "notes",
    "db-2025101-0400.dump",
    "db-20250101-0400xdump",
]


class Checks(unittest.TestCase):
    maxDiff = 2000

    def holds_for(self, names):
        self.assertEqual(answer(names), deletable(names))

    def test_a_year_of_dumps(self):
        for seed in range(4):
            self.holds_for(listing(seed, days=420, per_day=2))

    def test_a_few_dense_weeks(self):
        for seed in range(4):
            self.holds_for(listing(100 + seed, days=45, per_day=4))

    def test_dumps_with_long_gaps(self):
        for seed in range(4):
            self.holds_for(listing(200 + seed, days=1500, per_day=1)[:60])

    def test_lines_that_are_no_dumps_decide_nothing(self):
        names = listing(300, days=90, per_day=3)
        self.holds_for(NOISE + names + NOISE)

    def test_a_name_listed_twice_is_printed_once(self):
        names = listing(301, days=200, per_day=2)
        self.holds_for(names + names[::-1])

    def test_windows_across_a_new_year(self):
        start = datetime(2024, 12, 31, 23, 30)
        for ahead in range(0, 16, 5):
            days = [start + timedelta(days=ahead - back, hours=-back % 5) for back in range(400)]
            self.holds_for([f"db-{moment:%Y%m%d-%H%M}.dump" for moment in days])

    def test_an_empty_list_deletes_nothing(self):
        self.assertEqual(answer([]), [])
        self.assertEqual(answer(NOISE), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
