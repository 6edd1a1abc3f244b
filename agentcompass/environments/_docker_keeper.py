"""The program that keeps a container alive: none of the image's, which a task may replace. Pure."""

import struct

PATH = "/.agentcompass-keeper"
# Waits for a signal, for ever: `pause` on amd64 (call 34), `ppoll` of nothing on arm64 (call 73).
_CODE = {
    "amd64": (62, bytes.fromhex("b822000000 0f05 ebf7")),
    "arm64": (
        183,
        bytes.fromhex("000080d2 010080d2 020080d2 030080d2 040080d2 280980d2 010000d4 f9ffff17"),
    ),
}
_BASE, _ALIGNMENT = 0x400000, 0x10000
_HEADER, _SEGMENT = struct.Struct("<7s9xHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ")
_LITTLE_64, _EXECUTABLE, _VERSION, _LOAD, _READ_EXECUTE = b"\x7fELF\2\1\1", 2, 1, 1, 5


def program(architecture: str) -> bytes | None:
    """A static program as elf(5) has it, for an image's architecture; None where none is known."""
    if architecture not in _CODE:
        return None
    machine, code = _CODE[architecture]
    begin = _HEADER.size + _SEGMENT.size
    size = begin + len(code)
    header = _HEADER.pack(
        *(_LITTLE_64, _EXECUTABLE, machine, _VERSION, _BASE + begin, _HEADER.size, 0, 0),
        *(_HEADER.size, _SEGMENT.size, 1, 0, 0, 0),
    )
    return (
        header + _SEGMENT.pack(_LOAD, _READ_EXECUTE, 0, _BASE, _BASE, size, size, _ALIGNMENT) + code
    )
