from datetime import date
from unittest import TestCase

from billing import invoices, next_due
from billing.schedule import add_months, first_due_dates


class Schedule(TestCase):
    def test_a_month_later_is_the_same_day(self):
        self.assertEqual(add_months(date(2024, 3, 14), 1), date(2024, 4, 14))

    def test_months_carry_into_years(self):
        self.assertEqual(add_months(date(2023, 11, 5), 3), date(2024, 2, 5))
        self.assertEqual(add_months(date(2024, 1, 5), -1), date(2023, 12, 5))

    def test_due_dates_are_evenly_spaced(self):
        self.assertEqual(
            first_due_dates(date(2024, 1, 10), 3, every=3),
            [date(2024, 1, 10), date(2024, 4, 10), date(2024, 7, 10)],
        )

    def test_a_short_month_is_due_on_its_last_day(self):
        self.assertEqual(
            first_due_dates(date(2024, 1, 31), 2), [date(2024, 1, 31), date(2024, 2, 29)]
        )

    def test_next_due_is_never_in_the_past(self):
        self.assertEqual(next_due(date(2024, 1, 10), date(2024, 3, 11)), date(2024, 4, 10))


class Invoices(TestCase):
    def test_invoices_are_numbered_from_one(self):
        first, second = invoices("acme", date(2024, 5, 2), 4900, count=2)
        self.assertEqual(first, ("acme-0001", date(2024, 5, 2), 4900))
        self.assertEqual(second.number, "acme-0002")
