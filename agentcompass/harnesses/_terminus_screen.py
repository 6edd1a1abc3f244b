"""What the terminal shows, and which part of it is new. Pure."""

import attrs

_LIMIT = 10_000  # bytes of terminal text in one message


@attrs.frozen(kw_only=True)
class Screen:
    """The terminal at one moment.

    Lines are counted from the first one of the history: `history` of them have scrolled out,
    `lines` begin with number `first` and end with the `height` visible ones, the cursor is in the
    visible line `cursor`. `is_dead` is whether the shell has ended, `is_drawn` whether a program
    has the whole screen for itself; `lost_bytes` of the middle of `lines` were not kept.
    """

    is_dead: bool
    is_drawn: bool
    history: int
    cursor: int
    height: int
    first: int
    lines: tuple[str, ...]
    lost_bytes: int = 0

    @property
    def visible(self) -> tuple[str, ...]:
        """The lines that a person would see."""
        return self.lines[-self.height :]


def read_screen(text: str, lost_bytes: int = 0) -> Screen | None:
    """The screen as the terminal's script prints it; None where it could not print one."""
    header, _, rest = text.partition("\n")
    fields = header.split()
    if len(fields) != 7 or fields[0] != "screen" or not all(map(str.isdigit, fields[1:])):
        return None
    is_dead, is_drawn, history, cursor, height, first = map(int, fields[1:])
    return Screen(
        is_dead=bool(is_dead),
        is_drawn=bool(is_drawn),
        history=history,
        cursor=cursor,
        height=max(height, 1),
        first=first,
        lines=tuple(rest.removesuffix("\n").split("\n")),
        lost_bytes=lost_bytes,
    )


def shown(before: Screen | None, now: Screen) -> str:
    """What is new since `before`, or the whole screen where that cannot be told."""
    new = None if before is None else _new_lines(before, now)
    if new is None or not any(line.strip() for line in new[1:]):
        return f"Terminal screen:\n{limited(_text(now.visible), 0)}"
    return f"New terminal output:\n{limited(_text(new), now.lost_bytes)}"


def _new_lines(before: Screen, now: Screen) -> tuple[str, ...] | None:
    """The lines from that of the old cursor on; None where the lines above it have changed.

    That is so after `clear`, in a program that draws on the whole screen, and when it has ended.
    """
    if before.is_drawn or now.is_drawn or now.first != before.history:
        return None
    above = before.visible[: before.cursor]
    return now.lines[before.cursor :] if now.lines[: before.cursor] == above else None


def _text(lines: tuple[str, ...]) -> str:
    return "\n".join(lines).strip("\n")


def limited(text: str, lost_bytes: int) -> str:
    """Text whose middle is left out beyond 10,000 bytes, `lost_bytes` of it already."""
    data = text.encode(errors="replace")
    if len(data) <= _LIMIT:
        return text
    half = _LIMIT // 2
    left_out = len(data) - 2 * half + lost_bytes
    ends = (data[:half].decode(errors="ignore"), data[-half:].decode(errors="ignore"))
    return f"\n[... {left_out} bytes of output are left out here ...]\n".join(ends)
