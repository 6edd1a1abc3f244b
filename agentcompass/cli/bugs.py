"""The last words of the process for what is not the user's to mend: a traceback, no secrets."""

import os
import traceback
from types import TracebackType

from agentcompass.cli.output import tell
from agentcompass.store.redact import Redactor

SECRETS: set[str] = set()  # what a command has learned to be secret


def report_bug(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an unexpected exception, as `sys.excepthook`."""
    from agentcompass.config.secrets import known_in

    text = "".join(traceback.format_exception(kind, error, trace)).rstrip()
    tell(Redactor(SECRETS | known_in(dict(os.environ))).text(text))
    if not isinstance(error, KeyboardInterrupt):
        tell("This is a fault of agentcompass or of a plug-in; please report it with these lines.")
