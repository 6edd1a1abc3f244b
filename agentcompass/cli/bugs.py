"""The last words of the process for what is not the user's to mend: a traceback, no secrets."""

import os
import traceback
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING

from agentcompass.cli.output import tell

if TYPE_CHECKING:
    from agentcompass.store.redact import Redactor


def masker() -> "Redactor":
    """The redactor of this process, which knows the secrets of its environment in any case."""
    from agentcompass.config.secrets import known_in

    redactor = process_redactor()
    redactor.learn(known_in(dict(os.environ)))
    return redactor


@cache
def process_redactor() -> "Redactor":
    """Knows what a command has learned to be secret."""
    from agentcompass.store.redact import Redactor  # help and version have no secrets

    return Redactor()


def report_bug(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an unexpected exception, as `sys.excepthook`."""
    text = "".join(traceback.format_exception(kind, error, trace)).rstrip()
    tell(masker().text(text))
    if not isinstance(error, KeyboardInterrupt):
        tell("This is a fault of agentcompass or of a plug-in; please report it with these lines.")
