"""The checks: the published logs and generated ones, each compared with its own tally."""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
HERE = Path(__file__).resolve().parent
AGENTS = ["curl/8.5.0", 'Probe \\"deep\\" 2', "Mozilla/5.0 (X11; Linux x86_64)", "-"]


class Log:
    """Lines of an access log, and what a right report says about them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines, self.times, self.errors, self.skipped = [], {}, {}, 0
        self.now = datetime(2025, 7, 30, 23, 0, tzinfo=timezone.utc)

    def request(self, method, target, route, *, millis, status=200):
        self.now += timedelta(seconds=self.rng.randrange(1, 90))
        size = self.rng.choice(["-", str(self.rng.randrange(10, 99999))])
        user = self.rng.choice(["-", "-", "mina"])
        self.lines.append(
            f"203.0.113.{self.rng.randrange(1, 255)} - {user}"
            f' [{self.now:%d/%b/%Y:%H:%M:%S} +0000] "{method} {target} HTTP/1.1" {status} {size}'
            f' "{self.rng.choice(["-", "https://shop.example/?a=1"])}"'
            f' "{self.rng.choice(AGENTS)}" {millis / 1000:.3f}'
        )
        self.times.setdefault(route, []).append(millis)
        self.errors[route] = self.errors.get(route, 0) + (500 <= status <= 599)

    def noise(self, line):
        self.lines.append(line)
        self.skipped += 1

    def report(self):
        routes = {
            route: {
                "requests": len(times),
                "errors": self.errors[route],
                "p95_ms": sorted(times)[(95 * len(times) + 99) // 100 - 1],
            }
            for route, times in self.times.items()
        }
        return {"skipped": self.skipped, "routes": routes}


def answer(*logs):
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{number}.log" for number in range(len(logs))]
        for name, lines in zip(names, logs):
            Path(folder, name).write_text("".join(line + "\n" for line in lines))
        done = subprocess.run(
            [sys.executable, str(APP / "report.py"), *names],
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=20,
        )
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Checks(unittest.TestCase):
    maxDiff = 3000

    def holds_for(self, log):
        half = len(log.lines) // 2
        self.assertEqual(answer(log.lines[:half], log.lines[half:]), log.report())

    def test_the_published_logs(self):
        logs = [(HERE / name).read_text().split("\n")[:-1] for name in ("a.log", "b.log")]
        self.assertEqual(answer(*logs), json.loads((HERE / "published.json").read_text()))

    def test_the_percentile_is_one_of_the_times_at_the_right_rank(self):
        for count in (1, 10, 19, 20, 21, 40, 99, 100):
            log = Log(count)
            for millis in log.rng.sample(range(1, 4000), count):
                log.request("GET", "/slow", "GET /slow", millis=millis)
            self.holds_for(log)

    def test_routes_fold_ids_and_drop_queries(self):
        log = Log(1)
        for target, route in (
            ("/", "/"),
            ("/?q=1", "/"),
            ("/a/1", "/a/:id"),
            ("/a/22/b/007", "/a/:id/b/:id"),
            ("/a/2x", "/a/2x"),
            ("/v2/a", "/v2/a"),
            ("/a/1?next=/b/2", "/a/:id"),
            ("/a/1/", "/a/:id/"),
            ("/caf%C3%A9/9", "/caf%C3%A9/:id"),
            ("/4", "/:id"),
            ("/a?x?y=1", "/a"),
        ):
            for method in ("GET", "POST", "DELETE"):
                log.request(method, target, f"{method} {route}", millis=log.rng.randrange(1, 900))
        self.holds_for(log)

    def test_only_5xx_are_errors(self):
        log = Log(2)
        for status in (200, 304, 404, 499, 500, 502, 503, 599, 301):
            log.request("GET", "/x", "GET /x", millis=5, status=status)
        self.holds_for(log)

    def test_other_lines_are_counted_and_left_out(self):
        log = Log(3)
        for number in range(30):
            log.request("GET", f"/a/{number}", "GET /a/:id", millis=number + 1)
        whole = log.lines[0]
        log.noise("")
        log.noise("-- MARK --")
        log.noise(whole[:70])
        log.noise(whole.rsplit(" ", 1)[0])
        log.noise(whole.replace('"GET /a/0 HTTP/1.1"', '"-"'))
        self.holds_for(log)

    def test_a_busy_day(self):
        log = Log(4)
        for _ in range(1500):
            number = log.rng.randrange(1, 5000)
            target, route = log.rng.choice(
                [
                    (f"/api/orders/{number}?full=1", "/api/orders/:id"),
                    ("/search?q=a+b", "/search"),
                    (f"/api/users/{number}/cart", "/api/users/:id/cart"),
                    ("/", "/"),
                ]
            )
            status = log.rng.choice([200, 200, 200, 404, 500, 503])
            log.request(
                "GET", target, f"GET {route}", millis=log.rng.randrange(1, 3000), status=status
            )
        self.holds_for(log)


if __name__ == "__main__":
    unittest.main(verbosity=2)
