"""The checks: the answer is the one that the data gives."""

import json
import os
import unittest
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
HERE = Path(__file__).resolve().parent


class Checks(unittest.TestCase):
    def setUp(self):
        self.right = json.loads((HERE / "answer.json").read_text())
        self.given = json.loads((APP / "answer.json").read_text())

    def test_the_region(self):
        self.assertEqual(self.given["region"], self.right["region"])

    def test_the_number_of_orders(self):
        self.assertEqual(self.given["orders"], self.right["orders"])

    def test_the_net_revenue_to_the_cent(self):
        given, right = float(self.given["net_revenue_eur"]), self.right["net_revenue_eur"]
        self.assertAlmostEqual(given, right, delta=0.0051)


if __name__ == "__main__":
    unittest.main(verbosity=2)
