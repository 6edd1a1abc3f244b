"""How names and durations are shown: on one line, and never as `:60`."""


def visible(text: str) -> str:
    """`text` on one line, its control characters as escapes."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def duration(seconds: float) -> str:
    """`4 s`, `3 min 07 s` or `2 h 05 min`; what has begun to pass does not count yet."""
    whole = max(0, int(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
