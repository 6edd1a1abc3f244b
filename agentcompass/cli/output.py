"""What the command line writes: the asked result on stdout, everything else on stderr."""

import os
import sys
from collections.abc import Sequence
from typing import TextIO

from agentcompass.errors import StoreError
from agentcompass.progress.text import visible


def degrade_to_escapes() -> None:
    """Let a stream that cannot write a character write its escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def emit(text: str) -> bool:
    """Write lines of the result; a reader that has gone away does not make a command fail.

    Returns False if it has just gone away. Raises `StoreError` where they cannot be written.
    """
    return _write(sys.stdout, f"{text}\n")


def tell(text: str) -> None:
    """Write lines for people to stderr."""
    _write(sys.stderr, f"{text}\n")


def emit_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table: drawn on a terminal, else one line a row, and nothing is ever cut."""
    emit(_drawn(headers, rows) if _is_terminal(sys.stdout) else plain_table(headers, rows))


def plain_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their cells, two blanks between them."""
    lines = [[visible(cell) for cell in line] for line in (headers, *rows)]
    widths = [max(_width(cell) for cell in column) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def _width(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    from rich.cells import cell_len

    return cell_len(cell)


def _drawn(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headers)
    for row in rows:
        table.add_row(*(Text(visible(cell), overflow="fold") for cell in row))
    console = Console(file=sys.stdout)
    unbounded = console.options.update(width=100_000)
    if console.measure(table, options=unbounded).minimum > console.width:
        return plain_table(headers, rows)  # it would cut words, and at last leave cells empty
    with console.capture() as captured:
        console.print(table)
    return captured.get().rstrip("\n")


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def _write(stream: TextIO | None, text: str) -> bool:
    if stream is None:
        return True
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        # What is left in the buffer would fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if stream is sys.stdout and not isinstance(error, BrokenPipeError):
            raise StoreError(f"standard output cannot be written: {error.strerror}") from error
        return False
    return True
