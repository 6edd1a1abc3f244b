"""Due dates of recurring invoices."""

from datetime import date
from itertools import islice


def add_months(day, months):
    """Return the date `months` months after `day` (before it, when negative).

    It has the day of the month of `day`; in a month too short for that, the month's last day.
    """
    index = day.year * 12 + day.month - 1 + months
    return date(index // 12, index % 12 + 1, day.day)


def due_dates(start, every=1):
    """Yield the due dates of a subscription, the first on `start`, then every `every` months.

    Each falls on the day of the month on which the subscription started; in a month too short
    for that, on the month's last day.
    """
    due = start
    while True:
        yield due
        due = add_months(due, every)


def first_due_dates(start, count, every=1):
    """Return the first `count` due dates as a list."""
    return list(islice(due_dates(start, every), count))


def next_due(start, today, every=1):
    """Return the first due date that is not before `today`."""
    return next(due for due in due_dates(start, every) if due >= today)
