"""The checks: each promise is tried with many threads, in a process of its own."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
HERE = Path(__file__).resolve().parent


def seen(scenario):
    done = subprocess.run(
        [sys.executable, "-I", str(HERE / "driver.py"), str(APP), scenario],
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Checks(unittest.TestCase):
    def test_one_load_serves_all_who_ask(self):
        self.assertEqual(seen("one_load_serves_all"), [["a1"] * 12, 1, "a1", 1])

    def test_none_is_a_value_like_any_other(self):
        self.assertEqual(seen("none_is_a_value"), [None, None, 1, 1])

    def test_keys_do_not_wait_for_each_other(self):
        self.assertEqual(seen("keys_do_not_wait_for_each_other"), list("AAABBBCCCDDD"))

    def test_kept_values_are_served_during_a_load(self):
        self.assertEqual(seen("kept_values_are_served_during_a_load"), ["KEPT", "SLOW"])

    def test_a_failure_reaches_all_who_wait(self):
        self.assertEqual(seen("a_failure_reaches_all_who_wait"), [["ValueError: no a"] * 8, 1, 0])

    def test_a_failure_is_not_kept(self):
        wanted = [["OSError: down"], ["OSError: down"], ["a3"], ["a3"], 3]
        self.assertEqual(seen("a_failure_is_not_kept"), wanted)

    def test_invalidate_does_not_wait_or_disturb(self):
        self.assertEqual(seen("invalidate_does_not_wait_or_disturb"), [None] + ["a1"] * 5)

    def test_invalidation_under_load_breaks_nothing(self):
        self.assertEqual(seen("invalidation_under_load_breaks_nothing"), [[None] * 7, []])


if __name__ == "__main__":
    unittest.main(verbosity=2)
