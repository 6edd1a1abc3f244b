"""run.log: what the program says while a run is open, in that run's own file.

A run's records are told from those of others in the process by a context variable, which trio's
tasks and threads inherit. The host program's logging is left as it is: what it would have seen
without a run log it still sees, and nothing more.
"""

import datetime as dt
import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from agentcompass.progress.console import headed
from agentcompass.store.atomic import named_errors
from agentcompass.store.host_logging import PACKAGE, RunHandler, listening
from agentcompass.store.redact import Redactor

_current: ContextVar[object] = ContextVar("run_log", default=None)


@contextmanager
def run_log(*paths: Path, level: str, redactor: Redactor) -> Iterator[None]:
    """Append the records from `level` on, made in this context and its children, to `paths`.

    Records of other packages are taken from WARNING on. Raises `StoreError` where a file cannot
    be opened.
    """
    lowest = logging.getLevelNamesMapping()[level.upper()]
    with ExitStack() as stack:
        lines = _Lines(redactor, lowest)
        stack.callback(lines.close)
        for path in paths:
            lines.open(path)
        lines.note_day(time.time())
        own, foreign = _Handler(lines, foreign=False), _Handler(lines, foreign=True)
        own.setLevel(lowest)
        foreign.setLevel(max(lowest, logging.WARNING))
        stack.enter_context(listening(own, foreign, level=lowest))
        token = _current.set(lines)
        try:
            yield
        finally:
            _current.reset(token)


class _Lines:
    """The log files of one run. Every line is one append: nothing waits in a buffer for a crash."""

    def __init__(self, redactor: Redactor, lowest: int) -> None:
        self._redactor, self._lowest = redactor, lowest
        self._form = _Form()
        self._files: list[int] = []
        self._day: tuple[int, ...] = ()

    def open(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with named_errors(path):
            self._files.append(os.open(path, flags, 0o666))

    def close(self) -> None:
        while self._files:
            os.close(self._files.pop())

    def add(self, record: logging.LogRecord) -> None:
        self.note_day(record.created)
        self._write(record)

    def note_day(self, moment: float) -> None:
        """Say which day it is, and in which zone, since the lines have only the time."""
        day = time.localtime(moment)[:3]
        if self._day != day:
            self._day = day
            if self._lowest <= logging.INFO:
                self._write(_day_record(dt.datetime.fromtimestamp(moment).astimezone()))

    def _write(self, record: logging.LogRecord) -> None:
        try:
            text = self._form.format(record)
        except (TypeError, ValueError, KeyError):  # arguments that do not fit their message
            record.message = f"{record.msg} {record.args}"
            text = self._form.formatMessage(record)
        data = self._redactor.text(text).encode("utf-8", "backslashreplace") + b"\n"
        for file in self._files:
            with suppress(OSError):  # a full disk ends no run, and its log cannot say so
                os.write(file, data)


class _Form(logging.Formatter):
    """`HH:MM:SS LEVEL    logger-name   message` in local time (docs/run-directory.md)."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        name = record.name.removeprefix(f"{PACKAGE}.")
        moment = self.formatTime(record, "%H:%M:%S")
        return headed(f"{moment} {record.levelname:<8} {name:<36} ", record)


def _day_record(now: dt.datetime) -> logging.LogRecord:
    text = f"{now:%Y-%m-%d}; times are {now:%Z} (UTC{now:%z})"
    record = logging.LogRecord(__name__, logging.INFO, __file__, 0, text, None, None)
    record.created = now.timestamp()
    return record


class _Handler(RunHandler):
    """Takes the records of one run: of this package, or the `foreign` ones."""

    def __init__(self, lines: _Lines, *, foreign: bool) -> None:
        super().__init__()
        self._lines, self._foreign = lines, foreign

    def filter(self, record: logging.LogRecord) -> bool:
        """Leave out other runs, and what the other handler takes."""
        ours = record.name == PACKAGE or record.name.startswith(f"{PACKAGE}.")
        return _current.get() is self._lines and ours is not self._foreign

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        self._lines.add(record)
