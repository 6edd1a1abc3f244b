"""The checks: the query runs on the sample and on generated rows; a count by hand is compared."""

import os
import random
import sqlite3
import unittest
from datetime import date, timedelta
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
HERE = Path(__file__).resolve().parent
COLUMNS = ["month", "customers", "mrr_cents", "churned"]
ENDS = [date(2024 + m // 12, m % 12 + 1, 1) - timedelta(days=1) for m in range(13)]


def database():
    made = sqlite3.connect(":memory:")
    made.executescript((HERE / "schema.sql").read_text())
    return made


def active(rows, end):
    return [row for row in rows if row[4] <= end and (row[5] is None or row[5] > end)]


def monthly(row, prices, end):
    amount = prices[row[2]] * row[3]
    if row[6] is not None and row[7] is not None and end < row[7]:
        amount = amount * (100 - row[6]) // 100
    return amount


def report(base):
    prices = dict(base.execute("SELECT code, cents_per_seat FROM plans"))
    rows = base.execute(
        "SELECT s.* FROM subscriptions s"
        " JOIN customers c ON c.id = s.customer_id WHERE NOT c.internal"
    ).fetchall()
    before = {row[1] for row in active(rows, ENDS[0].isoformat())}
    for end in (day.isoformat() for day in ENDS[1:]):
        now = active(rows, end)
        customers = {row[1] for row in now}
        yield (
            end[:7],
            len(customers),
            sum(monthly(r, prices, end) for r in now),
            len(before - customers),
        )
        before = customers


def some_day(rng):
    """A day near the ends of months twice as often as elsewhere."""
    if rng.random() < 0.5:
        return rng.choice(ENDS) + timedelta(days=rng.randrange(-1, 3))
    return date(2023, 9, 1) + timedelta(days=rng.randrange(560))


def subscription(rng, number, customers):
    start = some_day(rng)
    end = rng.choice([None, max(start, some_day(rng)).isoformat()])
    until = (start + timedelta(days=rng.randrange(1, 200))).isoformat()
    discount = rng.choice(
        [(None, None), (rng.randrange(1, 100), until), (rng.choice([0, 100, 33]), until)]
    )
    if rng.random() < 0.3:
        discount = (discount[0], discount[1] and rng.choice(ENDS).isoformat())
    plan = rng.choice(["basic", "team", "business"])
    return (
        number,
        rng.randrange(1, customers + 1),
        plan,
        rng.randrange(1, 30),
        start.isoformat(),
        end,
        *discount,
    )


def filled(seed, *, customers, subscriptions):
    rng, base = random.Random(seed), database()
    people = [(n, f"Customer {n}", int(rng.random() < 0.15)) for n in range(1, customers + 1)]
    base.executemany("INSERT INTO customers VALUES (?, ?, ?)", people)
    prices = [(code, rng.randrange(101, 5000)) for code in ("basic", "team", "business")]
    base.executemany("INSERT INTO plans VALUES (?, ?)", prices)
    rows = [subscription(rng, number, customers) for number in range(1, subscriptions + 1)]
    base.executemany("INSERT INTO subscriptions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return base


class Checks(unittest.TestCase):
    maxDiff = 3000

    def holds_for(self, base):
        wanted = list(report(base))
        base.commit()
        base.execute("PRAGMA query_only = ON")
        cursor = base.execute((APP / "query.sql").read_text())
        self.assertEqual([column[0] for column in cursor.description or []], COLUMNS)
        self.assertEqual(cursor.fetchall(), wanted)
        base.close()

    def test_the_sample(self):
        base = database()
        base.executescript((HERE / "sample.sql").read_text())
        self.holds_for(base)

    def test_few_customers_with_many_subscriptions(self):
        for seed in range(15):
            self.holds_for(filled(seed, customers=4, subscriptions=25))

    def test_many_customers(self):
        for seed in range(15):
            self.holds_for(filled(100 + seed, customers=80, subscriptions=120))

    def test_no_rows_at_all(self):
        self.holds_for(filled(200, customers=3, subscriptions=0))
        self.holds_for(database())


if __name__ == "__main__":
    unittest.main(verbosity=2)
