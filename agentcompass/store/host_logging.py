"""Lets run logs hear more of this package than the host asked for, unnoticed by the host.

While a run log is open the package's logger lets every level through that some run log wants. The
handlers of the host program still get exactly the records that they would get without run logs:
those on the package's own loggers are filtered, those above are called from here, and where there
is none at all, logging's handler of last resort.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PACKAGE = "agentcompass"
_BELOW = f"{PACKAGE}."

_package = logging.getLogger(PACKAGE)
_root = logging.getLogger()
_lock = threading.Lock()
_taps: list["_Tap"] = []  # none or one, shared by every open run log


class RunHandler(logging.Handler):
    """A handler of a run log: to the host it does not exist."""


@contextmanager
def listening(own: RunHandler, foreign: RunHandler, *, level: int) -> Iterator[None]:
    """Offer `own` the package's records from `level` on, and `foreign` what reaches the root.

    What reaches the root are the records of other packages, at the host's level, and those of
    this package that the host gets.
    """
    with _lock:
        if not _taps:
            _taps.append(_Tap())
        tap = _taps[0]
        tap.want(level)
        _package.addHandler(own)
        _root.addHandler(foreign)
    try:
        yield
    finally:
        with _lock:
            _package.removeHandler(own)
            _root.removeHandler(foreign)
            if tap.want_no_more(level):
                _taps.remove(tap)


def _handlers_of_the_host() -> list[logging.Handler]:
    """Those on the package's logger and on the loggers below it."""
    below = [each for name, each in _root.manager.loggerDict.items() if name.startswith(_BELOW)]
    loggers = [_package, *(each for each in below if isinstance(each, logging.Logger))]
    handlers = {handler for logger in loggers for handler in logger.handlers}
    return [handler for handler in handlers if not isinstance(handler, RunHandler)]


class _StandIn(RunHandler):
    """Does for a record what logging would have done without the run logs."""

    def __init__(self, do: Callable[[logging.LogRecord], None]) -> None:
        super().__init__()
        self._do = do

    def emit(self, record: logging.LogRecord) -> None:
        """Nothing is written here."""
        self._do(record)


class _Tap:
    """The state of the package's logger as the host set it, and what stands in for it now."""

    def __init__(self) -> None:
        self._level, self._propagate = _package.level, _package.propagate
        self._host_level = _package.getEffectiveLevel()
        self._wanted: list[int] = []
        self._filtered = _handlers_of_the_host()
        for handler in self._filtered:
            handler.addFilter(self.passes)
        self._stand_ins = (
            (_package, _StandIn(self._tell_host)),
            (_root, _StandIn(self._tell_last_resort)),
        )
        for logger, stand_in in self._stand_ins:
            logger.addHandler(stand_in)
        _package.propagate = False

    def want(self, level: int) -> None:
        """Let records from `level` on through."""
        self._wanted.append(level)
        _package.setLevel(min(self._host_level, *self._wanted))

    def want_no_more(self, level: int) -> bool:
        """Take back a `want`; True, with everything as it was, after the last one."""
        self._wanted.remove(level)
        if self._wanted:
            _package.setLevel(min(self._host_level, *self._wanted))
            return False
        _package.setLevel(self._level)
        _package.propagate = self._propagate
        for logger, stand_in in self._stand_ins:
            logger.removeHandler(stand_in)
        for handler in self._filtered:
            handler.removeFilter(self.passes)
        return True

    def passes(self, record: logging.LogRecord) -> bool:
        """Whether the host would have got this record of the package."""
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger is not None and logger is not _package:
            if logger.level:
                return record.levelno >= logger.level
            logger = logger.parent
        return record.levelno >= self._host_level

    def _tell_host(self, record: logging.LogRecord) -> None:
        if not self.passes(record):
            return
        if self._propagate:
            _root.callHandlers(record)
        else:
            self._tell_last_resort(record)

    def _tell_last_resort(self, record: logging.LogRecord) -> None:
        last = logging.lastResort
        if last is not None and record.levelno >= last.level and not self._is_heard(record.name):
            last.handle(record)

    def _is_heard(self, name: str) -> bool:
        logger: logging.Logger | None = logging.getLogger(name)
        while logger is not None:
            if any(not isinstance(handler, RunHandler) for handler in logger.handlers):
                return True
            goes_on = self._propagate if logger is _package else logger.propagate
            logger = logger.parent if goes_on else None
        return False
