"""A known secret in a file is found however the file comes."""

import base64
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcompass.engine.digest import digest_tree
from agentcompass.engine.secret_scan import SecretScan
from agentcompass.store.redact import Redactor

SECRET = "the-secret-ü"
FILE = Path("file")


def scanned(scan: SecretScan, blocks: list[bytes]) -> bytes:
    return b"".join(scan(FILE, iter(blocks)))


@given(st.binary(max_size=30), st.binary(max_size=30), st.lists(st.integers(0, 80)))
@settings(deadline=None)
def test_it_is_found_across_any_blocks(before: bytes, after: bytes, cuts: list[int]) -> None:
    """Fails where each block is looked at alone, or held back too little of."""
    data = before + SECRET.encode() + after
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    blocks = [data[start:end] for start, end in pairwise(edges)]
    scan = SecretScan(Redactor([SECRET]))

    assert scanned(scan, blocks) == data
    assert list(scan.found) == [FILE]


def test_other_spellings_are_found_and_other_text_is_not() -> None:
    scan = SecretScan(Redactor([SECRET]))
    scanned(scan, [b"the-secret- and more"])
    assert not scan.found

    scanned(scan, [base64.b64encode(b"user:" + SECRET.encode())])
    assert list(scan.found) == [FILE]


def test_where_no_secret_is_known_nothing_is_looked_at() -> None:
    blocks: Iterator[bytes] = iter([b"x"])

    assert SecretScan(Redactor())(FILE, blocks) is blocks


def test_a_digest_passes_every_file_by(tmp_path: Path) -> None:
    scan = SecretScan(Redactor([SECRET]))
    for name, text in {"a": "nothing", "b": f"key={SECRET}", "c": SECRET}.items():
        (tmp_path / name).write_text(text)

    watched = digest_tree(tmp_path, watch=scan)

    assert watched == digest_tree(tmp_path)
    assert [file.name for file in scan.found] == ["b", "c"]
