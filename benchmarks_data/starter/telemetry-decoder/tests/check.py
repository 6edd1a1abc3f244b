"""The checks: generated recordings, damaged in known ways, whose measurements are known."""

import binascii
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
SYNC = b"\xa5\x5a"
HEADER = b"TLM1\x06balloo"


def frame(kind, payload):
    body = bytes([kind, len(payload)]) + payload
    return SYNC + body + struct.pack(">H", binascii.crc_hqx(body, 0xFFFF))


def temperature(time, hundredths):
    sign = "-" if hundredths < 0 else ""
    text = f"{sign}{abs(hundredths) // 100}.{abs(hundredths) % 100:02d}"
    return frame(1, struct.pack("<Ih", time, hundredths)), (time, "temperature", text)


def pressure(time, pascal):
    payload = struct.pack("<I", time) + pascal.to_bytes(3, "little")
    return frame(2, payload), (time, "pressure", str(pascal))


def degrees(value):
    return f"{'-' if value < 0 else ''}{abs(value) // 10**5}.{abs(value) % 10**5:05d}"


def position(time, latitude, longitude):
    text = f"{degrees(latitude)} {degrees(longitude)}"
    return frame(3, struct.pack("<Iii", time, latitude, longitude)), (time, "position", text)


class Recording:
    """The bytes of a file, and what a right decoder makes of them."""

    def __init__(self):
        self.data, self.rows, self.frames, self.unknown, self.damaged = HEADER, [], 0, 0, 0

    def measure(self, made):
        data, row = made
        self.data += data
        self.rows.append(row)
        self.frames += 1

    def stranger(self, kind, payload):
        self.data += frame(kind, payload)
        self.frames += 1
        self.unknown += 1

    def damage(self, data):
        self.data += data
        self.damaged += len(data)

    def output(self):
        rows = sorted(self.rows, key=lambda row: row[0])
        return ["time,kind,value", *(f"{time},{kind},{value}" for time, kind, value in rows)]

    def summary(self):
        return f"frames: {self.frames}, unknown: {self.unknown}, damaged bytes: {self.damaged}"


def some_measurement(rng, time):
    return rng.choice(
        [
            lambda: temperature(time, rng.randrange(-9000, 5000)),
            lambda: pressure(time, rng.randrange(500, 110000)),
            lambda: position(
                time, rng.randrange(-9 * 10**6, 9 * 10**6), rng.randrange(-18 * 10**6, 18 * 10**6)
            ),
        ]
    )()


def broken(rng, time):
    """A frame with one changed byte of payload: its sync and its length still look right."""
    data = bytearray(some_measurement(rng, time)[0])
    data[rng.randrange(4, len(data) - 2)] ^= rng.randrange(1, 255)
    return bytes(data)


def decode(data):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hidden.tlm").write_bytes(data)
        return subprocess.run(
            [sys.executable, str(APP / "decode.py"), "hidden.tlm"],
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=20,
        )


class Checks(unittest.TestCase):
    maxDiff = 2000

    def holds_for(self, recording):
        done = decode(recording.data)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), recording.output())
        self.assertEqual(done.stderr.splitlines()[-1], recording.summary())

    def test_an_undamaged_flight(self):
        rng, recording = random.Random(1), Recording()
        for time in range(1000, 1300):
            recording.measure(some_measurement(rng, time))
        self.holds_for(recording)

    def test_values_at_their_limits(self):
        recording = Recording()
        for value in (0, 5, -5, -99, -100, -305, 32767, -32768):
            recording.measure(temperature(2**32 - 1, value))
        for value in (0, 255, 256, 2**24 - 1):
            recording.measure(pressure(0, value))
        for value in (0, 1, -1, -99999, 100000, 2**31 - 1, -(2**31)):
            recording.measure(position(7, value, -value - 1))
        self.holds_for(recording)

    def test_measurements_of_one_time_keep_their_order(self):
        rng, recording = random.Random(2), Recording()
        for _ in range(200):
            recording.measure(some_measurement(rng, rng.randrange(5)))
        self.holds_for(recording)

    def test_damaged_frames_are_left_out(self):
        rng, recording = random.Random(3), Recording()
        for time in range(200):
            recording.measure(some_measurement(rng, time))
            if rng.random() < 0.3:
                recording.damage(broken(rng, time))
        self.holds_for(recording)

    def test_a_wrong_length_hides_no_frame_behind_it(self):
        recording = Recording()
        recording.measure(temperature(1, 100))
        recording.damage(SYNC + b"\x01\xff")
        for time in range(2, 60):
            recording.measure(temperature(time, time))
        self.holds_for(recording)

    def test_sync_bytes_in_noise_and_in_payloads_mislead_nobody(self):
        recording = Recording()
        recording.damage(b"\xa5" + SYNC + b"\xa5\xa5")
        recording.measure(temperature(0x5AA55AA5, 0x5AA5))
        recording.damage(b"\xa5")
        recording.measure(pressure(5, 101325))
        recording.stranger(9, frame(1, b"\0" * 6))
        recording.damage(SYNC)
        self.holds_for(recording)

    def test_unknown_frames_are_counted(self):
        recording = Recording()
        recording.stranger(200, b"")
        recording.measure(pressure(5, 99000))
        recording.stranger(1, b"\0" * 7)
        recording.stranger(3, b"\0" * 8)
        recording.stranger(4, bytes(range(255)))
        self.holds_for(recording)

    def test_a_recording_that_was_cut(self):
        rng, recording = random.Random(4), Recording()
        for time in range(30):
            recording.measure(some_measurement(rng, time))
        recording.damage(position(31, 1, 1)[0][:-1])
        self.holds_for(recording)

    def test_a_recording_without_frames(self):
        self.holds_for(Recording())

    def test_another_kind_of_file_is_refused(self):
        for data in (b"", b"TLM", b"TLM2\x00", b"TLM1", b"TLM1\x09short", b"\x7fELF" + HEADER):
            done = decode(data)
            self.assertEqual((done.returncode, done.stdout), (1, ""), data)


if __name__ == "__main__":
    unittest.main(verbosity=2)
