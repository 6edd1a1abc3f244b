"""Log records of this package on the console, one line each, without secrets."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from agentcompass.store.redact import Redactor

# The `extra` of a record that the display or the result tells in its own way.
FILE_ONLY = {"file_only": True}
# That of a record which stands for many of one line each: logging takes time for every record.
EVERY_LINE = {"every_line": True}

# In a launch the request that makes a record; the tasks and threads of the request inherit it.
REQUEST: ContextVar[str | None] = ContextVar("agentcompass_request", default=None)


def headed(head: str, record: logging.LogRecord) -> str:
    """The message with a head before it, or before each of its lines (`EVERY_LINE`)."""
    if not getattr(record, "every_line", False):
        return head + record.message
    return "\n".join(head + line for line in record.message.splitlines())


class _Form(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:
        return headed(f"{record.levelname} {record.name} ", record)


class _SayHandler(logging.Handler):
    def __init__(self, say: Callable[[str], None], redactor: Redactor) -> None:
        super().__init__()
        self._say = say
        self._redactor = redactor
        self.setFormatter(_Form())

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
        except (TypeError, ValueError, KeyError):  # arguments that do not fit their message
            text = f"{record.levelname} {record.name} {record.msg} {record.args}"
        name = REQUEST.get()
        self._say(self._redactor.text(text if name is None else f"{name}: {text}"))


@contextmanager
def console_logging(say: Callable[[str], None], level: str, redactor: Redactor) -> Iterator[None]:
    """Hand the records of the logger `agentcompass` from `level` on to `say`.

    Where the host has no logging of its own, the warnings of other packages go there too, which
    would else be written to stderr with the secrets that are in them.
    """
    logger = logging.getLogger("agentcompass")
    handler = _SayHandler(say, redactor)
    handler.setLevel(level)
    handler.addFilter(lambda record: not getattr(record, "file_only", False))
    before = logger.level
    logger.setLevel(min(before, handler.level) if before else handler.level)
    logger.addHandler(handler)
    try:
        with _last_resort(say, redactor):
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


@contextmanager
def _last_resort(say: Callable[[str], None], redactor: Redactor) -> Iterator[None]:
    """Stand in for the handler of last resort, if it is that which would be used."""
    root = logging.getLogger()
    if root.handlers:
        yield
        return
    handler = _SayHandler(say, redactor)
    handler.setLevel(logging.WARNING)
    handler.addFilter(lambda record: record.name.partition(".")[0] != "agentcompass")
    root.addHandler(handler)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)
