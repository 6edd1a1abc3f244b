"""The checks: kv, built from the agent's sources, answers like a dictionary."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
BUILD = ["gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", "kv", "main.c", "table.c"]


def expected(commands):
    store = {}
    for command in commands:
        verb, *words = command.split(" ", 2)
        if verb == "SET":
            store[words[0]] = words[1]
            yield "ok"
        elif verb == "GET":
            yield store.get(words[0], "(nil)")
        elif verb == "DEL":
            yield "deleted" if store.pop(words[0], None) is not None else "(nil)"
        else:
            yield str(len(store))


def some_commands(seed, *, keys, count, deletes=3):
    rng = random.Random(seed)
    names = [f"k{rng.randrange(10**6)}" for _ in range(keys)]
    verbs = ["SET"] * 3 + ["GET"] * 4 + ["DEL"] * deletes + ["COUNT"]
    for number in range(count):
        verb, name = rng.choice(verbs), rng.choice(names)
        yield {"SET": f"SET {name} v{number} x", "COUNT": "COUNT"}.get(verb, f"{verb} {name}")
    yield from (f"GET {name}" for name in names)


class Checks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        for source in [*APP.glob("*.c"), *APP.glob("*.h")]:
            shutil.copy(source, cls.folder)
        environment = {"PATH": os.environ["PATH"], "TMPDIR": cls.folder}
        done = subprocess.run(
            BUILD, cwd=cls.folder, env=environment, capture_output=True, text=True, timeout=60
        )
        if done.returncode:
            raise AssertionError(done.stderr)

    def answers(self, commands, timeout=20):
        commands = list(commands)
        done = subprocess.run(
            ["./kv"],
            input="".join(line + "\n" for line in commands),
            cwd=self.folder,
            env={},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        got, wanted = done.stdout.splitlines(), list(expected(commands))
        self.assertEqual(len(got), len(wanted), "number of answers")
        for number, (command, one, other) in enumerate(zip(commands, got, wanted), start=1):
            self.assertEqual(one, other, f"answer {number}, to {command}")

    def test_short_sessions(self):
        for seed in range(40):
            self.answers(some_commands(seed, keys=7, count=80))

    def test_sessions_around_growth(self):
        for seed in range(20):
            self.answers(some_commands(100 + seed, keys=60, count=1500, deletes=2))

    def test_many_keys(self):
        self.answers(some_commands(200, keys=20000, count=80000))

    def test_every_order_of_deletion_in_a_small_table(self):
        for seed in range(40):
            names = [f"s{seed}-{number}" for number in range(6)]
            order = random.Random(seed).sample(names, 6)
            lines = [f"SET {name} {name}" for name in names]
            for gone in order:
                lines += [f"DEL {gone}", "COUNT", *(f"GET {name}" for name in names)]
            self.answers(lines)

    def test_keys_that_come_and_go_for_days(self):
        lines = ["SET stays here"]
        for number in range(100000):
            lines += [f"SET t{number} {number}", f"DEL t{number}"]
        self.answers([*lines, "GET stays", "GET t5", "COUNT", "SET t5 again", "GET t5"])

    def test_absent_keys_are_answered_after_many_deletions(self):
        lines = [f"SET a{number} {number}" for number in range(3000)]
        lines += [f"DEL a{number}" for number in range(2999)]
        lines += [f"GET b{number}" for number in range(60000)]
        self.answers([*lines, "GET a2999", "COUNT"])


if __name__ == "__main__":
    if shutil.which("gcc") is None:
        sys.exit(127)
    unittest.main(verbosity=2)
