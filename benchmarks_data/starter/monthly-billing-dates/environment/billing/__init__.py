"""Recurring invoices: when they are due and what they come to."""

from billing.invoice import Invoice, invoices
from billing.schedule import add_months, due_dates, next_due

__all__ = ["Invoice", "add_months", "due_dates", "invoices", "next_due"]
