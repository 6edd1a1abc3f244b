"""The checks: the cleaned repository is the original one with each token replaced, and no more."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
HERE = Path(__file__).resolve().parent
TOKEN = re.compile(rb"acmepay_live_[0-9a-z]*")
REDACTED = b"REDACTED"
MARK = b"acmepay_live_"


def git(repository, *arguments, data=None):
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": str(CONFIG),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
    done = subprocess.run(
        ["git", "-C", str(repository), *arguments],
        input=data,
        env=environment,
        capture_output=True,
        timeout=60,
    )
    if done.returncode:
        raise AssertionError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
    return done.stdout


class History:
    """What a repository tells, without its object ids: two of them can be compared."""

    def __init__(self, repository):
        self.repository = repository
        self._meaning = {}

    def refs(self):
        lines = git(self.repository, "show-ref").decode().splitlines()
        pairs = (line.split(" ", 1) for line in lines)
        return {
            ref: self.meaning(oid)
            for oid, ref in pairs
            if ref.startswith(("refs/heads/", "refs/tags/"))
        }

    def meaning(self, oid):
        if oid not in self._meaning:
            kind = git(self.repository, "cat-file", "-t", oid).decode().strip()
            told = getattr(self, f"_{kind}")(oid)
            self._meaning[oid] = f"{kind} " + hashlib.sha256(told).hexdigest()
        return self._meaning[oid]

    def _blob(self, oid):
        return TOKEN.sub(REDACTED, git(self.repository, "cat-file", "blob", oid))

    def _tree(self, oid):
        entries = git(self.repository, "ls-tree", "-z", oid).decode().split("\0")
        told = []
        for entry in filter(None, entries):
            mode, _, rest = entry.split(" ", 2)
            child, name = rest.split("\t", 1)
            told.append(f"{mode} {name} {self.meaning(child)}")
        return "\n".join(told).encode()

    def _commit(self, oid):
        return self._with_links(git(self.repository, "cat-file", "commit", oid))

    def _tag(self, oid):
        return self._with_links(git(self.repository, "cat-file", "tag", oid))

    def _with_links(self, raw):
        """Headers and message, with what they link to in place of its id."""
        head, _, message = raw.partition(b"\n\n")
        lines = []
        for line in head.split(b"\n"):
            name, _, value = line.partition(b" ")
            if name in (b"tree", b"parent", b"object"):
                value = self.meaning(value.decode()).encode()
            lines.append(name + b" " + value)
        return TOKEN.sub(REDACTED, b"\n".join(lines) + b"\n\n" + message)


def original(folder):
    git(folder, "init", "-q", "original")
    repository = Path(folder, "original")
    git(repository, "fast-import", "--quiet", data=(HERE / "payments.fast-export").read_bytes())
    return repository


class Checks(unittest.TestCase):
    maxDiff = 3000

    def setUp(self):
        self.repository = APP / "payments"
        self.assertTrue((self.repository / ".git").is_dir(), "there is no repository in payments/")

    def test_the_history_is_the_same_but_for_the_token(self):
        with tempfile.TemporaryDirectory() as folder:
            wanted = History(original(folder)).refs()
        self.assertEqual(History(self.repository).refs(), wanted)

    def test_no_stored_object_holds_the_token(self):
        self.assertFalse((self.repository / ".git/objects/info/alternates").exists())
        objects = git(self.repository, "cat-file", "--batch-all-objects", "--batch")
        self.assertEqual(objects.count(MARK), 0)

    def test_no_other_file_of_the_repository_holds_the_token(self):
        files = (path for path in self.repository.rglob("*") if path.is_file())
        self.assertEqual([str(path) for path in files if MARK in path.read_bytes()], [])

    def test_the_repository_is_sound(self):
        git(self.repository, "fsck", "--full", "--strict")

    def test_main_is_checked_out_and_clean(self):
        head = git(self.repository, "symbolic-ref", "HEAD").decode().strip()
        self.assertEqual(head, "refs/heads/main")
        self.assertEqual(git(self.repository, "status", "--porcelain"), b"")


if __name__ == "__main__":
    if shutil.which("git") is None:
        sys.exit(127)
    with tempfile.TemporaryDirectory() as home:
        CONFIG = Path(home, "gitconfig")
        CONFIG.write_text("[safe]\n\tdirectory = *\n[core]\n\thooksPath = /dev/null\n")
        unittest.main(verbosity=2)
