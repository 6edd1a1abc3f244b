"""What of the terminal is new, and how keystrokes become a script; no terminal is needed."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.harnesses._terminus_keys import is_key, typing
from agentcompass.harnesses._terminus_reply import Keys
from agentcompass.harnesses._terminus_screen import Screen, limited, read_screen, shown


def screen(
    *lines: str, history: int = 0, cursor: int = 0, first: int = 0, is_drawn: bool = False
) -> Screen:
    return Screen(
        is_dead=False,
        is_drawn=is_drawn,
        history=history,
        cursor=cursor,
        height=3,
        first=first,
        lines=lines,
    )


BEFORE = screen("$ a", "$ ", "", cursor=1)


def test_first_the_whole_screen_is_shown() -> None:
    assert shown(None, BEFORE) == "Terminal screen:\n$ a\n$ "


def test_then_what_came_since_the_line_of_the_cursor() -> None:
    now = screen("$ a", "$ b", "out", "$ ", history=1, cursor=2)

    assert shown(BEFORE, now) == "New terminal output:\n$ b\nout\n$ "


def test_output_that_scrolled_out_is_shown_too() -> None:
    lines = ["$ a", "$ seq", *map(str, range(50)), "$ "]

    assert shown(BEFORE, screen(*lines, history=len(lines) - 3)).count("\n") == len(lines) - 1


@pytest.mark.parametrize(
    "now",
    [
        screen("$ a", "$ b", "", cursor=1),  # typed, not run
        BEFORE,
        screen("$ ", "", ""),  # cleared
        screen("x", "y", "z", history=0, cursor=2),  # drawn over
        screen("$ a", "y", "z", is_drawn=True),
    ],
)
def test_where_nothing_is_new_or_it_cannot_be_told_the_screen_is_shown(now: Screen) -> None:
    assert shown(BEFORE, now).startswith("Terminal screen:\n")


def test_a_history_that_was_cleared_shows_the_screen() -> None:
    before = screen("1", "2", "$ ", history=90, cursor=2, first=50)
    now = screen("$ ", "", "", history=0, first=0)

    assert shown(before, now) == "Terminal screen:\n$ "


def test_the_screen_is_read_as_the_script_prints_it() -> None:
    read = read_screen("screen 1 0 7 2 3 5\na\nb\n\nc\n", 9)

    assert read == Screen(
        is_dead=True,
        is_drawn=False,
        history=7,
        cursor=2,
        height=3,
        first=5,
        lines=("a", "b", "", "c"),
        lost_bytes=9,
    )
    assert read.visible == ("b", "", "c")


@pytest.mark.parametrize("text", ["", "no server running", "screen 1 2", "screen 0 0 a 0 0 0\nx"])
def test_what_is_no_screen_is_none(text: str) -> None:
    assert read_screen(text) is None


def test_long_output_loses_its_middle_and_says_how_much() -> None:
    text = "é" * 6000

    cut = limited(text, 100)
    assert "[... 2100 bytes of output are left out here ...]" in cut
    assert cut.startswith("é" * 2500)
    assert cut.endswith("é" * 2500)
    assert limited("é" * 5000, 0) == "é" * 5000


@given(text=st.text(), lost=st.integers(0, 9))
def test_short_output_is_whole_properties(text: str, lost: int) -> None:
    """Fails where characters are counted in place of bytes, or the text is cut below the limit."""
    assert limited(text, lost) == text
    assert len(limited(text * 4000, lost).encode(errors="replace")) <= 10_100


KEYS = (
    "C-c",
    "C-d",
    "C-M-x",
    "M-f",
    "^C",
    "Enter",
    "Escape",
    "F10",
    "BTab",
    "C-Up",
    "S-F1",
    "PPage",
)
TYPED = ("c", "C-c\n", "ls", "Enter the", "C-", "F13", "enter", "", "^", "C-cc", "Up Down")


def test_the_name_of_a_key_is_the_key_and_all_else_is_typed() -> None:
    assert [text for text in (*KEYS, *TYPED) if is_key(text)] == list(KEYS)


def lines(text: str, seconds: float = 0) -> list[str]:
    return typing([Keys(text=text, seconds=seconds)]).split("\n")


def test_keys_text_and_waits_each_have_their_line() -> None:
    assert lines("C-c", 0.1) == ['t send-keys -t "$pane" C-c', "sleep 0.100"]
    assert lines("", 2) == ["sleep 2.000"]
    assert lines("") == [""]
    assert lines("ls -l") == ["t send-keys -t \"$pane\" -l -- 'ls -l'"]
    assert lines("a\0b") == ['t send-keys -t "$pane" -l -- ab']


@given(text=st.text(max_size=30) | st.text(max_size=3).map(lambda part: part * 4000))
def test_the_shell_hands_on_what_was_typed_properties(text: str) -> None:
    """Fails without the quoting, or with the escape of a last semicolon anywhere else."""
    script = 't() { for last; do :; done; if [ "$1" = load-buffer ]; then cat; '
    script += 'elif [ "$1" = send-keys ]; then printf %s "$last"; fi; }\n'
    run = ["sh", "-c", script + typing([Keys(text=text, seconds=0)])]
    if not is_key(text):
        typed = text.encode(errors="replace").replace(b"\0", b"").replace(b"\n", b"\r")
        if typed.endswith(b";") and len(typed) <= 8000:  # as tmux wants it
            typed = typed[:-1] + b"\\;"
        assert subprocess.run(run, capture_output=True, check=True).stdout == typed


def test_nothing_typed_breaks_out_of_the_script() -> None:
    assert shlex.split(lines("'; rm -rf / #\n")[0])[-1] == "'; rm -rf / #\r"
