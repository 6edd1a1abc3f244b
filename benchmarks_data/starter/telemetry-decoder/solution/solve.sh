#!/bin/bash
set -e
cd "${APP_DIR:-/app}"

cat > decode.py <<'PY'
"""Print the measurements of a TLM recording as CSV."""

import struct
import sys
from binascii import crc_hqx

SYNC = b"\xa5\x5a"


def frames_start(data):
    """The offset of the first frame; None without a valid file header."""
    if len(data) < 5 or data[:4] != b"TLM1" or len(data) < 5 + data[4]:
        return None
    return 5 + data[4]


def frame_at(data, at):
    """The type and payload of the intact frame at an offset, or None."""
    if data[at : at + 2] != SYNC or at + 6 > len(data):
        return None
    end = at + 4 + data[at + 3]
    checksum = int.from_bytes(data[end : end + 2], "big")
    if end + 2 > len(data) or crc_hqx(data[at + 2 : end], 0xFFFF) != checksum:
        return None
    return data[at + 2], data[at + 4 : end]


def fixed(value, places):
    whole, part = divmod(abs(value), 10**places)
    return f"{'-' if value < 0 else ''}{whole}.{part:0{places}d}"


def measurement(kind, payload):
    if (kind, len(payload)) == (1, 6):
        time, value = struct.unpack("<Ih", payload)
        return time, "temperature", fixed(value, 2)
    if (kind, len(payload)) == (2, 7):
        time, value = struct.unpack("<I", payload[:4])[0], int.from_bytes(payload[4:], "little")
        return time, "pressure", str(value)
    if (kind, len(payload)) == (3, 12):
        time, latitude, longitude = struct.unpack("<Iii", payload)
        return time, "position", f"{fixed(latitude, 5)} {fixed(longitude, 5)}"
    return None


def main(name):
    with open(name, "rb") as file:
        data = file.read()
    at = frames_start(data)
    if at is None:
        print("not a TLM recording", file=sys.stderr)
        return 1
    rows, frames, unknown, damaged = [], 0, 0, 0
    while at < len(data):
        found = frame_at(data, at)
        if found is None:
            damaged += 1
            at += 1
            continue
        frames += 1
        at += 6 + len(found[1])
        row = measurement(*found)
        if row is None:
            unknown += 1
        else:
            rows.append(row)
    print("time,kind,value")
    for row in sorted(rows, key=lambda row: row[0]):
        print(*row, sep=",")
    print(f"frames: {frames}, unknown: {unknown}, damaged bytes: {damaged}", file=sys.stderr)
    return 0


sys.exit(main(sys.argv[1]))
PY
python3 decode.py flight.tlm | tail -n 3
