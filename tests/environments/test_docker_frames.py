"""Frames of the Engine API come out whole, however the network cuts them (cases.md 42)."""

from hypothesis import given
from hypothesis import strategies as st

from agentcompass.environments._docker_frames import STDERR, STDOUT, Frames


def frame(stream: int, data: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4) + data


@given(
    frames=st.lists(st.tuples(st.sampled_from((STDOUT, STDERR)), st.binary(max_size=20))),
    size=st.integers(1, 40),
)
def test_each_stream_gets_its_own_bytes_wherever_they_are_cut(frames, size):
    """Fails where a header is taken to come whole, or an empty frame for the end."""
    data = b"".join(frame(*one) for one in frames)
    out, err = bytearray(), bytearray()
    demultiplexed = Frames({STDOUT: out.extend, STDERR: err.extend})

    for begin in range(0, len(data), size):
        demultiplexed.feed(data[begin : begin + size])

    assert out == b"".join(data for stream, data in frames if stream == STDOUT)
    assert err == b"".join(data for stream, data in frames if stream == STDERR)


def test_a_stream_that_nobody_asked_for_is_passed_over():
    out = bytearray()

    Frames({STDOUT: out.extend}).feed(frame(0, b"stdin") + frame(STDOUT, b"out"))

    assert out == b"out"
