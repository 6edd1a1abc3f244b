"""Survivors are found by the mark that they carry, wherever it is and whoever is their parent."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.marked import Marked, kill, marked, new_mark

PATH = "/usr/bin:/bin"
# what a process is before it is the program that a test has started
STARTERS = ("python", "sh", "setsid")


@contextmanager
def running(*command: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, env={"PATH": PATH, **variables}) as process:
        try:
            yield process
        finally:
            process.kill()


def until_there_are(count: int, mark: str) -> Sequence[Marked]:
    """So many by their final program: a process carries the mark before it runs that."""
    give_up_at = time.monotonic() + 20
    while len(found := [each for each in marked(mark) if each.program not in STARTERS]) != count:
        assert time.monotonic() < give_up_at, found
        time.sleep(0.01)
    return found


def test_a_mark_is_found_in_the_environment_and_on_the_command_line() -> None:
    mark = new_mark()
    with running("sleep", "60", MARK=mark) as one, running("tail", "-f", "/dev/null", mark) as two:
        found = until_there_are(2, mark)

        assert {(each.pid, each.program) for each in found} == {
            (one.pid, "sleep"),
            (two.pid, "tail"),
        }


def test_who_carries_another_mark_or_none_is_not_found() -> None:
    with running("sleep", "60", MARK=new_mark()), running("sleep", "60"):
        assert marked(new_mark()) == []


def test_the_killed_are_gone_also_before_they_are_reaped_and_killing_them_again_is_no_fault() -> (
    None
):
    mark = new_mark()
    with running("sleep", "60", MARK=mark):
        found = until_there_are(1, mark)
        kill(found)

        until_there_are(0, mark)
    kill(found)


def test_an_orphan_in_a_session_of_its_own_is_found() -> None:
    mark = new_mark()
    with running("sh", "-c", "(setsid sleep 60 &)", MARK=mark) as parent:
        parent.wait()
        found = until_there_are(1, mark)

        assert [each.program for each in found] == ["sleep"]
        kill(found)
