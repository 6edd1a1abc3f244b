"""The words of DNS between a container, its helper and a resolver."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcompass.environments._filter_dns import (
    NO_SUCH_NAME,
    A,
    answer,
    query,
    read_answer,
    read_question,
)
from agentcompass.environments._filter_hello import Refused
from agentcompass.environments._filter_main import Filter

ASKED = query(7, "api.example.org")


def test_a_question_is_read_without_its_spelling_and_with_its_bytes():
    found = read_question(ASKED.replace(b"api", b"aPi"))

    assert found[:3] == (7, "api.example.org", A)
    assert found.packed == ASKED[12:].replace(b"api", b"aPi")


def test_an_answer_is_read_as_it_was_given():
    told = answer(read_question(ASKED), 0, ["192.0.2.1", "192.0.2.2"])

    assert read_answer(told, ASKED) == (0, ["192.0.2.1", "192.0.2.2"])
    assert read_answer(answer(read_question(ASKED), NO_SUCH_NAME, []), ASKED) == (3, [])


def test_addresses_are_found_behind_aliases():
    alias = b"\xc0\x0c" + struct.pack("!HHIH", 5, 1, 60, 4) + b"\1b\xc0\x10"
    host = b"\1b\xc0\x10" + struct.pack("!HHIH", 1, 1, 60, 4) + bytes([192, 0, 2, 9])
    told = struct.pack("!6H", 7, 0x8180, 1, 2, 0, 0) + ASKED[12:] + alias + host

    assert read_answer(told, ASKED) == (0, ["192.0.2.9"])


def test_an_answer_stays_within_what_every_client_takes():
    name = ".".join(["x" * 63] * 3 + ["y" * 61])

    assert len(answer(read_question(query(1, name)), 0, ["192.0.2.1"] * 99)) <= 512


@pytest.mark.parametrize(
    "told",
    [
        answer(read_question(query(8, "api.example.org")), 0, ["192.0.2.1"]),
        answer(read_question(query(7, "api.example.net")), 0, ["192.0.2.1"]),
        ASKED,
        answer(read_question(ASKED), 0, ["192.0.2.1"])[:-1],
        b"",
    ],
    ids=["number", "name", "question", "cut", "empty"],
)
def test_what_is_no_answer_to_the_question_does_not_count(told):
    assert read_answer(told, ASKED) is None


@pytest.mark.parametrize(
    "message",
    [
        b"",
        ASKED[:-1],
        ASKED.replace(b"api", b"a.i"),
        ASKED.replace(b"api", b"a\0i"),
        ASKED[:12] + b"\xc0\x0c\0\1\0\1",
        ASKED[:4] + b"\0\2" + ASKED[6:],
        answer(read_question(ASKED), 0, []),
        ASKED[:-1] + b"\3",
    ],
    ids=["empty", "cut", "dot", "nul", "pointer", "two", "answer", "class"],
)
def test_what_is_no_plain_question_is_refused(message):
    with pytest.raises(Refused):
        read_question(message)


@given(st.binary(max_size=64))
@settings(deadline=None)
def test_any_bytes_are_a_question_or_refused_and_an_answer_or_none(data):
    """Broken by: an index past the end that nobody catches."""
    with suppress(Refused):
        read_question(ASKED[:12] + data)
    read_answer(ASKED[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + ASKED[12:] + data, ASKED)


@pytest.mark.parametrize(
    ("name", "port", "may_be_reached", "may_be_asked"),
    [
        ("a.example.org", 443, True, True),
        ("a.b.example.org", 443, True, True),
        ("a.example.org", 22, False, True),
        ("example.org", 443, False, False),
        ("badexample.org", 443, False, False),
        ("a.example.org.evil.net", 443, False, False),
        ("a.example.net", 8443, True, True),
        ("a.example.net", 443, False, True),
    ],
)
def test_a_pattern_is_for_hosts_below_its_domain_on_its_ports(
    name, port, may_be_reached, may_be_asked
):
    allowed = Filter([("example.org", [80, 443]), ("example.net", [8443])], {}, [], 0)

    assert allowed.may_reach(name, port) == may_be_reached
    assert allowed.may_ask(name) == may_be_asked
