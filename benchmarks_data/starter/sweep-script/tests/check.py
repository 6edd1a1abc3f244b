"""The checks: the script is run on folders that hold what partners upload."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
OLD = 1_600_000_000
NAMES = [
    "plain.csv",
    "two words.csv",
    " leading and trailing .csv",
    "tab\there.csv",
    "new\nline.csv",
    "*.csv",
    "[ab]?.csv",
    "back\\slash.csv",
    'quote\'s "twice".csv',
    "$HOME `id`.csv",
    "-n.csv",
    "--help.csv",
    ".hidden.csv",
    ".csv",
    "caf\u00e9.csv",
    "a;b&c|d.csv",
    "#.csv",
    "~.csv",
    "end\\.csv",
]


class Checks(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self.root = folder / "a root"  # a script that splits at the space stays within the folder
        self.inbox, self.archive = self.root / "in box", self.root / "the archive"
        self.inbox.mkdir(parents=True)

    def put(self, base, name, text=None):
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or f"content of {name}\n", encoding="utf-8")
        os.utime(path, (OLD, OLD))

    def sweep(self, *arguments, cwd=None):
        return subprocess.run(
            ["bash", str(APP / "sweep.sh"), *map(str, arguments)],
            env={"PATH": os.environ["PATH"], "TMPDIR": str(self.root), "LC_ALL": "C.UTF-8"},
            cwd=cwd or self.root,
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )

    def files(self, base):
        paths = (path for path in base.rglob("*") if path.is_file() or path.is_symlink())
        return sorted(str(path.relative_to(base)) for path in paths)

    def told(self, done, *, moved, failed=0):
        self.assertEqual(
            done.stdout.splitlines()[-1:], [f"moved {moved}, failed {failed}"], done.stderr
        )
        self.assertEqual(done.returncode, 1 if failed else 0)

    def arrived(self, *names):
        for name in names:
            path = self.archive / name
            self.assertEqual(path.read_text(encoding="utf-8"), f"content of {name}\n")
            self.assertEqual(int(path.stat().st_mtime), OLD, f"modification time of {name!r}")
            self.assertFalse((self.inbox / name).exists(), f"{name!r} is still in the inbox")

    def test_every_name_is_moved(self):
        names = [*NAMES, *(f"deep/.er one/{name}" for name in NAMES), "-d/\n/x.csv", "*/y.csv"]
        for name in names:
            self.put(self.inbox, name)
        self.told(self.sweep(self.inbox, self.archive), moved=len(names))
        self.arrived(*names)
        self.assertEqual(self.files(self.archive), sorted(names))

    def test_relative_folders_are_those_of_the_caller(self):
        for name in ("a.csv", "sub/b.csv"):
            self.put(self.inbox, name)
        self.told(self.sweep("in box", "the archive"), moved=2)
        self.arrived("a.csv", "sub/b.csv")

    def test_folders_whose_names_look_like_options(self):
        self.inbox, self.archive = self.root / "-in", self.root / "-out"
        self.put(self.inbox, "a.csv")
        self.told(self.sweep("-in", "-out"), moved=1)
        self.arrived("a.csv")

    def test_nothing_else_is_touched(self):
        self.put(self.root, "elsewhere/secret.csv")
        others = ["a.csv.part", "b.CSV", "csv", "c.txt", "sub/notes.md"]
        for name in [*others, "sub/real.csv"]:
            self.put(self.inbox, name)
        (self.inbox / "folder.csv").mkdir()
        (self.inbox / "empty").mkdir()
        (self.inbox / "link.csv").symlink_to(self.root / "elsewhere/secret.csv")
        (self.inbox / "linked").symlink_to(self.root / "elsewhere")
        self.told(self.sweep(self.inbox, self.archive), moved=1)
        self.assertEqual(self.files(self.archive), ["sub/real.csv"])
        self.assertEqual(self.files(self.inbox), sorted([*others, "link.csv", "linked"]))
        self.assertTrue((self.inbox / "folder.csv").is_dir() and (self.inbox / "empty").is_dir())
        self.assertTrue((self.root / "elsewhere/secret.csv").exists())

    def test_what_is_archived_is_never_overwritten(self):
        for name in ("a.csv", "same.csv", "sub/b.csv", "c.csv"):
            self.put(self.inbox, name)
        self.put(self.archive, "sub/b.csv", "older\n")
        self.put(self.archive, "same.csv")
        self.told(self.sweep(self.inbox, self.archive), moved=2, failed=2)
        self.arrived("a.csv", "c.csv")
        self.assertEqual((self.archive / "sub/b.csv").read_text(), "older\n")
        self.assertEqual(self.files(self.inbox), ["same.csv", "sub/b.csv"])

    def test_a_taken_name_of_another_kind_counts_as_existing(self):
        self.put(self.inbox, "a.csv")
        self.put(self.inbox, "dangling.csv")
        (self.archive / "a.csv").mkdir(parents=True)
        (self.archive / "dangling.csv").symlink_to(self.root / "nowhere")
        self.told(self.sweep(self.inbox, self.archive), moved=0, failed=2)
        self.assertEqual(self.files(self.inbox), ["a.csv", "dangling.csv"])
        self.assertEqual(list((self.archive / "a.csv").iterdir()), [])
        self.assertFalse((self.root / "nowhere").exists())

    def test_what_cannot_be_moved_stays_and_stops_nothing(self):
        for name in ("a.csv", "blocked/b.csv", "blocked/c.csv", "z.csv"):
            self.put(self.inbox, name)
        self.put(self.archive, "blocked", "a file where a folder is needed\n")
        self.told(self.sweep(self.inbox, self.archive), moved=2, failed=2)
        self.arrived("a.csv", "z.csv")
        self.assertEqual(self.files(self.inbox), ["blocked/b.csv", "blocked/c.csv"])

    def test_an_empty_inbox(self):
        self.told(self.sweep(self.inbox, self.archive), moved=0)

    def test_wrong_arguments_are_refused(self):
        self.put(self.root, "file")
        for arguments in (
            [],
            [self.inbox],
            [self.root / "none", self.archive],
            [self.root / "file", self.archive],
        ):
            self.assertEqual(self.sweep(*arguments).returncode, 2, arguments)
            self.assertFalse(self.archive.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
