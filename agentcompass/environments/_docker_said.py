"""What an engine, a registry or a build said, as one line that can be shown. Pure."""

import re

# Control sequences of ECMA-48: CSI, OSC with its end, and those of two characters.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_USER_INFO = re.compile(r"(://)[^\s/@\"']+(?=@)")


def one_line(text: str) -> str:
    """The words of `text`, without what a terminal would act on or credentials in URLs."""
    words = _ESCAPES.sub("", text).split()
    shown = " ".join("".join(filter(str.isprintable, word)) for word in words)
    return _USER_INFO.sub(r"\1***", shown)
