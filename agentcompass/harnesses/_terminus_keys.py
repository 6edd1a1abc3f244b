"""From keystrokes to the lines of a shell script that types them into tmux. Pure."""

import re
import shlex
from collections.abc import Iterator, Sequence

from agentcompass.harnesses._terminus_reply import Keys

# What is longer than tmux takes in one command goes through a buffer.
_LONGEST = 8_000  # bytes
_NAMES = (
    "Enter|Escape|Space|Tab|BTab|BSpace|Up|Down|Left|Right|Home|End|Insert|IC|Delete|DC"
    "|PageUp|PgUp|PPage|PageDown|PgDn|NPage|F(?:[1-9]|1[0-2])"
)
_KEY = re.compile(rf"(?:[CMS]-)+(?:[!-~]|{_NAMES})|\^[@-_a-z?]|{_NAMES}")


def typing(commands: Sequence[Keys]) -> str:
    """A script that sends each command's keystrokes and waits; `t` is tmux, `$pane` the target."""
    return "\n".join(line for keys in commands for line in _lines(keys))


def is_key(text: str) -> bool:
    """Whether keystrokes are the name of one key, as tmux has it: C-c, Enter, F1."""
    return _KEY.fullmatch(text) is not None


def _lines(keys: Keys) -> Iterator[str]:
    if is_key(keys.text):
        yield f't send-keys -t "$pane" {shlex.quote(keys.text)}'
    elif text := _typed(keys.text):
        yield _short(text) if len(text.encode()) <= _LONGEST else _long(text)
    if keys.seconds > 0:
        yield f"sleep {keys.seconds:.3f}"


def _typed(text: str) -> str:
    """What a person would type: Enter sends a carriage return, and nothing sends NUL."""
    return text.encode(errors="replace").decode().replace("\0", "").replace("\n", "\r")


def _short(text: str) -> str:
    if text.endswith(";"):  # which tmux would take for the end of its own command
        text = text[:-1] + "\\;"
    return f't send-keys -t "$pane" -l -- {shlex.quote(text)}'


def _long(text: str) -> str:
    load = f"printf %s {shlex.quote(text)} | t load-buffer -b typed -"
    return f'{load} && t paste-buffer -d -r -b typed -t "$pane"'
