"""What a subscription is billed, invoice by invoice."""

from collections import namedtuple
from itertools import islice

from billing.schedule import due_dates

Invoice = namedtuple("Invoice", "number due cents")


def invoices(customer, start, cents, count, every=1):
    """Return the first `count` invoices of a subscription, numbered from 1."""
    dates = islice(due_dates(start, every), count)
    return [
        Invoice(f"{customer}-{number:04d}", due, cents) for number, due in enumerate(dates, start=1)
    ]
