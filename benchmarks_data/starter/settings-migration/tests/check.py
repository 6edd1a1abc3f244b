"""The checks: settings files that each try one rule, and what they have to become."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
DEFAULTS = {
    "version": 2,
    "listen": {"host": "127.0.0.1", "port": 8000},
    "database": None,
    "cache": {"ttl_seconds": 60, "max_bytes": None},
    "features": {},
    "allowed_hosts": [],
    "unknown": {},
}
DB = "[database]\nhost = db\nname = shop\n"


def migrate(text):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hidden.ini").write_text(text, encoding="utf-8")
        return subprocess.run(
            [sys.executable, str(APP / "migrate.py"), "hidden.ini"],
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=20,
        )


class Checks(unittest.TestCase):
    maxDiff = 2000

    def becomes(self, text, **changed):
        done = migrate(text)
        self.assertEqual(done.returncode, 0, f"{text}\n{done.stderr}")
        given = json.loads(done.stdout)
        self.assertEqual(given, {**DEFAULTS, **changed}, text)
        self.assertNotIsInstance(given["cache"]["ttl_seconds"], float)

    def refused(self, text, name):
        done = migrate(text)
        self.assertEqual((done.returncode, done.stdout), (1, ""), text)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(name, done.stderr)

    def test_an_empty_file_gives_the_defaults(self):
        self.becomes("")
        self.becomes("# nothing\n\n[server]\n[cache]\n[features]\n")

    def test_a_whole_file(self):
        self.becomes(
            "; production\n[server]\nlisten = 10.0.0.5:443\nallowed_hosts = a.example,b.example\n"
            "[cache]\nttl = 2d12h\nmax_size = 2G\n[database]\nhost = db.internal\nport = 6432\n"
            "name = shop\nuser = web\npassword = pw\n[features]\nfast = 1\nslow = FALSE\n"
            "[mail]\nsender = Shop <a@example.com>\nretries = 3\n",
            listen={"host": "10.0.0.5", "port": 443},
            allowed_hosts=["a.example", "b.example"],
            cache={"ttl_seconds": 216000, "max_bytes": 2 * 1024**3},
            database="postgresql://web:pw@db.internal:6432/shop",
            features={"fast": True, "slow": False},
            unknown={"mail.sender": "Shop <a@example.com>", "mail.retries": "3"},
        )

    def test_listen(self):
        for text, host, port in (
            ("localhost:1", "localhost", 1),
            ("[2001:db8::7]:65535", "2001:db8::7", 65535),
        ):
            self.becomes(f"[server]\nlisten = {text}\n", listen={"host": host, "port": port})
        for text in ("localhost", "a:0", "a:65536", ":80", "::1:80"):
            self.refused(f"[server]\nlisten = {text}\n", "server.listen")

    def test_lists(self):
        hosts = {"allowed_hosts": ["a", "b c", "d"]}
        self.becomes("[server]\nallowed_hosts = , a,b c ,, d,\n", **hosts)
        self.becomes("[server]\nallowed_hosts =\n")

    def test_durations(self):
        for text, seconds in (("90s", 90), ("5m", 300), ("1d1h1m1s", 90061), ("1d5s", 86405)):
            self.becomes(
                f"[cache]\nttl = {text}\n", cache={"ttl_seconds": seconds, "max_bytes": None}
            )
        for text in ("300", "", "30m1h", "1h1h", "1.5h", "1h30"):
            self.refused(f"[cache]\nttl = {text}\n", "cache.ttl")

    def test_sizes(self):
        for text, size in (("1000", 1000), ("3K", 3072), ("64M", 2**26)):
            self.becomes(
                f"[cache]\nmax_size = {text}\n", cache={"ttl_seconds": 60, "max_bytes": size}
            )
        for text in ("64 M", "1.5G", "10KB", "M"):
            self.refused(f"[cache]\nmax_size = {text}\n", "cache.max_size")

    def test_switches(self):
        self.becomes(
            "[features]\na = yes\nb = On\nc = TRUE\nd = 1\ne = no\nf = oFF\ng = false\nh = 0\n",
            features=dict(zip("abcdefgh", [True] * 4 + [False] * 4)),
        )
        for text in ("maybe", "2"):
            self.refused(f"[features]\nfine = on\nodd = {text}\n", "features.odd")

    def test_databases(self):
        self.becomes(DB, database="postgresql://db:5432/shop")
        self.becomes(DB + "user = web\n", database="postgresql://web@db:5432/shop")
        self.becomes(DB + "password = alone\n", database="postgresql://db:5432/shop")
        self.becomes(
            DB + "user = a@b/c\npassword = 50%off#x;y=z: ü~\n",
            database="postgresql://a%40b%2Fc:50%25off%23x%3By%3Dz%3A%20%C3%BC~@db:5432/shop",
        )
        self.becomes(
            "[database]\nhost = db\nname = my/shop?\n", database="postgresql://db:5432/my%2Fshop%3F"
        )
        self.refused("[database]\nname = shop\n", "database.host")
        self.refused("[database]\nhost = db\n", "database.name")
        self.refused(DB + "port = 65536\n", "database.port")

    def test_everything_else_is_unknown(self):
        self.becomes(
            "[server]\nworkers = 4\n[cache]\nkind = lru # not a comment\n[x.y]\nz = a = b\n"
            "[other]\npercent = %(ttl)s 100%\n" + DB + "pool = 5\n",
            database="postgresql://db:5432/shop",
            unknown={
                "server.workers": "4",
                "cache.kind": "lru # not a comment",
                "x.y.z": "a = b",
                "other.percent": "%(ttl)s 100%",
                "database.pool": "5",
            },
        )

    def test_a_section_called_default_is_one_like_any_other(self):
        self.becomes(
            "[DEFAULT]\nttl = 5\n[features]\na = on\n",
            features={"a": True},
            unknown={"DEFAULT.ttl": "5"},
        )

    def test_spaces_around_keys_and_before_comments(self):
        self.becomes(
            "[cache]\n   ; a comment\n\t# another\nttl=5s\nmax_size   =   7\n",
            cache={"ttl_seconds": 5, "max_bytes": 7},
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
