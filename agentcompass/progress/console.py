"""Log records of this package on the console, one line each, without secrets."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agentcompass.store.redact import Redactor


class _SayHandler(logging.Handler):
    def __init__(self, say: Callable[[str], None], redactor: Redactor) -> None:
        super().__init__()
        self._say = say
        self._redactor = redactor
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self._say(self._redactor.text(self.format(record)))


@contextmanager
def console_logging(say: Callable[[str], None], level: str, redactor: Redactor) -> Iterator[None]:
    """Hand the records of the logger `agentcompass` from `level` on to `say`."""
    logger = logging.getLogger("agentcompass")
    handler = _SayHandler(say, redactor)
    handler.setLevel(level)
    before = logger.level
    logger.setLevel(min(before, handler.level) if before else handler.level)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
