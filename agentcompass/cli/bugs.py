"""The last words of the process for what is not the user's to mend: a traceback, no secrets."""

import os
import traceback
from types import TracebackType

from agentcompass.cli.output import tell
from agentcompass.store.redact import Redactor

REDACTOR = Redactor()  # knows what a command has learned to be secret


def masker() -> Redactor:
    """The redactor of this process, which knows the secrets of its environment in any case."""
    from agentcompass.config.secrets import known_in

    REDACTOR.learn(known_in(dict(os.environ)))
    return REDACTOR


def report_bug(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an unexpected exception, as `sys.excepthook`."""
    text = "".join(traceback.format_exception(kind, error, trace)).rstrip()
    tell(masker().text(text))
    if not isinstance(error, KeyboardInterrupt):
        tell("This is a fault of agentcompass or of a plug-in; please report it with these lines.")
