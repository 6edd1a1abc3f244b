"""The checks: the published tests, and the docstrings' promises for many start dates."""

import calendar
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from datetime import date, timedelta
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
HERE = Path(__file__).resolve().parent
START, END = date(2019, 1, 1), date(2032, 12, 31)


def shifted(day, months):
    index = day.year * 12 + day.month - 1 + months
    year, month = index // 12, index % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def dues(start, count, every):
    return [shifted(start, number * every).isoformat() for number in range(count)]


def python(*arguments, **options):
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def ask(calls):
    """The package answers in a process of its own, so that it cannot end the checks."""
    done = python("-I", HERE / "driver.py", APP, input=json.dumps(calls))
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def some_days(seed, count):
    rng = random.Random(seed)
    days = [START + timedelta(rng.randrange((END - START).days)) for _ in range(count)]
    ends = [date(2023, 1, 31), date(2024, 1, 31), date(2024, 2, 29), date(2024, 8, 31)]
    ends += [date(2025, 1, 29), date(2025, 1, 30), date(2023, 12, 31), date(2024, 5, 30)]
    return days + ends


class Checks(unittest.TestCase):
    maxDiff = 2000

    def answers(self, calls, expected):
        for call, got, want in zip(calls, ask(calls), expected):
            self.assertEqual(got, want, f"for {call}")

    def test_the_published_tests_pass_unchanged(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(APP / "billing", Path(folder, "billing"))
            shutil.copy(HERE / "test_billing.py", folder)
            done = python("-m", "unittest", "-v", "test_billing", cwd=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Ran 6 tests", done.stderr)

    def test_add_months_holds_its_day_or_takes_the_last(self):
        calls = [
            ["add_months", day.isoformat(), n] for day in some_days(1, 60) for n in (-13, 1, 25)
        ]
        wanted = [shifted(date.fromisoformat(day), n).isoformat() for _, day, n in calls]
        self.answers(calls, wanted)

    def test_due_dates_hold_the_day_of_the_start(self):
        calls = [
            ["due_dates", d.isoformat(), 30, every]
            for d in some_days(2, 60)
            for every in (1, 3, 12)
        ]
        wanted = [dues(date.fromisoformat(day), count, every) for _, day, count, every in calls]
        self.answers(calls, wanted)

    def test_next_due_agrees_with_the_due_dates(self):
        rng = random.Random(3)
        calls, wanted = [], []
        for start in some_days(3, 80):
            today = start + timedelta(rng.randrange(-40, 1200))
            every = rng.choice((1, 2, 12))
            calls.append(["next_due", start.isoformat(), today.isoformat(), every])
            wanted.append(next(d for d in dues(start, 60, every) if d >= today.isoformat()))
        self.answers(calls, wanted)

    def test_invoices_are_due_on_the_due_dates(self):
        days = some_days(4, 10)
        wanted = [
            [[f"acme-{n:04d}", due, "4900"] for n, due in enumerate(dues(day, 14, 1), 1)]
            for day in days
        ]
        self.answers([["invoices", day.isoformat(), 14] for day in days], wanted)


if __name__ == "__main__":
    unittest.main(verbosity=2)
