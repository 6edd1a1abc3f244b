"""run.log: its lines, its day, whose records it takes, and that the host notices nothing."""

import logging
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio

from agentcompass.errors import StoreError
from agentcompass.progress.console import EVERY_LINE
from agentcompass.store.log import run_log
from agentcompass.store.redact import MASK, Redactor

KEY = "sk-test-ABCDEFGH12345678"

ours = logging.getLogger("agentcompass.engine.request")
package = logging.getLogger("agentcompass")
theirs = logging.getLogger("httpx")


def open_log(*paths: Path, level: str = "DEBUG", redactor: Redactor | None = None) -> ExitStack:
    return run_log(*paths, level=level, redactor=redactor or Redactor({KEY}))  # type: ignore[return-value]


def messages(path: Path) -> list[str]:
    """Without the line that tells the day."""
    return [line[55:] for line in path.read_text().splitlines()[1:]]


@pytest.fixture(autouse=True)
def unchanged_logging() -> Iterator[None]:
    """Whatever a test does, the process's logging is then as it was."""
    loggers = (logging.getLogger(), package, ours, theirs)
    state = [(log.level, log.propagate, list(log.handlers), list(log.filters)) for log in loggers]
    yield
    after = [(log.level, log.propagate, list(log.handlers), list(log.filters)) for log in loggers]
    assert after == state


def test_a_line_has_time_level_name_and_message_in_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    with open_log(path):
        ours.info("task %s started", "a")
        package.warning("odd")
        logging.getLogger("httpx").warning("slow")

    lines = path.read_text().splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d INFO     engine\.request {23}task a started", lines[1])
    assert re.fullmatch(r"\d\d:\d\d:\d\d WARNING  agentcompass {25}odd", lines[2])
    assert re.fullmatch(r"\d\d:\d\d:\d\d WARNING  httpx {32}slow", lines[3])


def test_a_record_of_many_lines_looks_like_as_many_records(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    with open_log(path):
        ours.debug("a\nb", extra=EVERY_LINE)
        ours.debug("c\nd")

    assert messages(path) == ["a", "b", "c", ""]
    assert [line[9:55] for line in path.read_text().splitlines()[1:3]] == [
        f"DEBUG    {'engine.request':<36} "
    ] * 2


def test_the_day_and_the_zone_are_told_when_the_file_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        with open_log(tmp_path / "run.log"):
            pass
    finally:
        monkeypatch.undo()
        time.tzset()

    line = (tmp_path / "run.log").read_text()
    assert re.fullmatch(
        r"[\d:]{8} INFO +store\.log +\d{4}-\d\d-\d\d; times are JST \(UTC\+0900\)\n", line
    )


def test_the_day_is_told_again_after_each_midnight(tmp_path: Path) -> None:
    with open_log(tmp_path / "run.log"):
        for days in (0, 0, 1, 1, 3):
            record = ours.makeRecord(ours.name, logging.INFO, "f", 1, "x", (), None)
            record.created += days * 86_400
            ours.handle(record)

    assert [text == "x" for text in messages(tmp_path / "run.log")] == [
        *(True, True, False, True, True, False, True)
    ]


def test_an_existing_file_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    for text in ("first", "second"):
        with open_log(path):
            ours.info(text)

    assert [line[55:] for line in path.read_text().splitlines()[1::2]] == ["first", "second"]


@pytest.mark.parametrize(
    ("level", "taken"),
    [
        ("DEBUG", ["d", "i", "w", "their w", "their e"]),
        ("INFO", ["i", "w", "their w", "their e"]),
        ("WARNING", ["w", "their w", "their e"]),
        ("ERROR", ["their e"]),
    ],
)
def test_the_level_is_that_of_the_file_and_others_begin_at_warning(
    tmp_path: Path, level: str, taken: list[str]
) -> None:
    with open_log(tmp_path / "run.log", level=level):
        ours.debug("d")
        ours.info("i")
        ours.warning("w")
        theirs.info("their i")
        theirs.warning("their w")
        theirs.error("their e")

    lines = (tmp_path / "run.log").read_text().splitlines()
    assert [line[55:] for line in lines if "times are" not in line] == taken
    assert ("times are" in "".join(lines)) == (level in ("DEBUG", "INFO"))


def test_a_second_file_gets_the_same_lines(tmp_path: Path) -> None:
    with open_log(tmp_path / "run.log", tmp_path / "copy.log"):
        ours.info("both")

    assert (tmp_path / "run.log").read_text() == (tmp_path / "copy.log").read_text()


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"none/run\.log: No such file"):
        with open_log(tmp_path / "run.log", tmp_path / "none" / "run.log"):
            pass


async def test_runs_at_the_same_time_each_have_their_own_records(tmp_path: Path) -> None:
    """Fails when a handler takes what it is not asked about: a run's tasks and threads inherit."""

    async def request(name: str) -> None:
        with open_log(tmp_path / name):
            async with trio.open_nursery() as nursery:
                for number in range(3):
                    nursery.start_soon(task, f"{name}{number}")

    async def task(name: str) -> None:
        ours.info(name)
        await trio.testing.wait_all_tasks_blocked()
        await trio.to_thread.run_sync(lambda: theirs.warning(f"{name} thread"))

    async with trio.open_nursery() as nursery:
        for name in "ab":
            nursery.start_soon(request, name)

    for name in "ab":
        expected = [f"{name}{n}{end}" for n in range(3) for end in ("", " thread")]
        assert sorted(messages(tmp_path / name)) == expected


def test_a_run_inside_a_run_keeps_its_records_to_itself(tmp_path: Path) -> None:
    with open_log(tmp_path / "outer"):
        ours.info("before")
        with open_log(tmp_path / "inner", level="ERROR"):
            ours.error("inside")
        ours.debug("after")
    ours.error("too late")

    assert messages(tmp_path / "outer") == ["before", "after"]
    assert (tmp_path / "inner").read_text()[55:] == "inside\n"


def test_what_other_threads_of_the_host_say_is_not_taken(tmp_path: Path) -> None:
    with open_log(tmp_path / "run.log"):
        thread = threading.Thread(target=lambda: theirs.error("not about this run"))
        thread.start()
        thread.join()

    assert messages(tmp_path / "run.log") == []


def test_messages_and_tracebacks_lose_their_secrets(tmp_path: Path) -> None:
    with open_log(tmp_path / "run.log"):
        ours.info("key %s", KEY)
        try:
            raise ValueError(f"no access with {KEY}")
        except ValueError:
            ours.exception("failed, password=hunter2")

    text = (tmp_path / "run.log").read_text()
    assert KEY not in text
    assert "hunter2" not in text
    assert f"ValueError: no access with {MASK}" in text
    assert "Traceback (most recent call last)" in text


def test_odd_text_and_arguments_that_do_not_fit_are_still_written(tmp_path: Path) -> None:
    with open_log(tmp_path / "run.log"):
        ours.info("half an emoji \ud83d, é")
        ours.info("%d tasks", "many")

    assert messages(tmp_path / "run.log") == ["half an emoji \\ud83d, é", "%d tasks ('many',)"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
def test_a_full_disk_does_not_reach_who_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_log(Path("/dev/full"), tmp_path / "run.log"):
        ours.info("goes on")

    assert messages(tmp_path / "run.log") == ["goes on"]
    assert capsys.readouterr().err == ""


class Collector(logging.Handler):
    """What a host program would have seen."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record.getMessage())


def _say_everything() -> None:
    child = logging.getLogger("agentcompass.models")
    for logger in (package, ours, child, theirs, logging.getLogger("host")):
        for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            logger.log(level, "%s %d", logger.name, level)


@pytest.mark.parametrize("place", ["root", "package", "both", "child"])
@pytest.mark.parametrize("package_level", [logging.NOTSET, logging.INFO, logging.ERROR])
@pytest.mark.parametrize("child_level", [logging.NOTSET, logging.DEBUG])
@pytest.mark.parametrize("propagate", [True, False])
def test_the_host_sees_what_it_would_have_seen(
    tmp_path: Path, place: str, package_level: int, child_level: int, propagate: bool
) -> None:
    """Fails when lowering the level of the package's logger floods the handlers of the host."""
    collector = Collector()
    child = logging.getLogger("agentcompass.models")
    where = {
        "root": [logging.getLogger()],
        "package": [package],
        "both": [logging.getLogger(), package],
        "child": [child],
    }[place]
    with ExitStack() as undo:
        for logger in where:
            logger.addHandler(collector)
            undo.callback(logger.removeHandler, collector)
        for logger, level in ((package, package_level), (child, child_level)):
            undo.callback(logger.setLevel, logger.level)
            logger.setLevel(level)
        undo.callback(setattr, package, "propagate", True)
        package.propagate = propagate
        _say_everything()
        alone, collector.seen = collector.seen, []
        with open_log(tmp_path / "run.log"), open_log(tmp_path / "run2.log", level="ERROR"):
            _say_everything()

    assert sorted(collector.seen) == sorted(alone)


LAST_RESORT = """
import logging, sys
from pathlib import Path
from agentcompass.progress.console import EVERY_LINE
from agentcompass.store.log import run_log
from agentcompass.store.redact import Redactor
ours, theirs = logging.getLogger("agentcompass.engine"), logging.getLogger("theirs")
def say():
    for logger in (ours, theirs):
        logger.info("i %s", logger.name)
        logger.warning("w %s", logger.name)
if len(sys.argv) == 1:
    say()
else:
    with run_log(Path(sys.argv[1]), level="DEBUG", redactor=Redactor()):
        say()
"""


async def test_a_host_without_any_logging_still_sees_warnings_on_stderr(tmp_path: Path) -> None:
    """Fails when the presence of a run log switches off logging's last resort."""
    outputs = []
    for arguments in ([], [str(tmp_path / "run.log")]):
        command = [sys.executable, "-c", LAST_RESORT, *arguments]
        done = await trio.run_process(command, capture_stderr=True, env=dict(os.environ))
        outputs.append(done.stderr)

    assert outputs[0] == outputs[1] == b"w agentcompass.engine\nw theirs\n"
    assert messages(tmp_path / "run.log") == [
        *("i agentcompass.engine", "w agentcompass.engine", "w theirs")
    ]
