"""Nothing secret is written, and nothing else is lost."""

import base64
import json
import re
import shlex
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentcompass.store.read_back import built_in
from agentcompass.store.redact import MASK, Redactor
from tests import strategies

KEY = "sk-test-ABCDEFGH12345678"
ODD = 'pa"ss\\wörd /+&'
redactor = Redactor({KEY, ODD, "short"})

secrets = st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=8, max_size=20)


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f"before {KEY} after",
        f"{KEY}{KEY}",
        json.dumps({"nested": json.dumps({"key": ODD})}),
        json.dumps(ODD, ensure_ascii=False),
        f"https://host/?q={quote(ODD, safe='')}",
        f"https://host/{quote(ODD)}",
        repr([ODD, "it's"]),
        repr(json.dumps([repr({"key": ODD})])),
        shlex.quote(json.dumps(ODD, ensure_ascii=False)),
        base64.b64encode(f"user:{ODD}".encode()).decode(),
        base64.b64encode(f"u:{ODD}".encode()).decode(),
        base64.urlsafe_b64encode(f"us:{ODD}xyz".encode()).decode(),
    ],
)
def test_a_known_secret_is_masked_in_every_spelling(text: str) -> None:
    for masked in (
        redactor.text(text),
        redactor.known([text])[0],
        redactor.record({"a": text})["a"],
    ):
        assert MASK in masked
        assert KEY not in masked
        assert "wörd" not in masked
        assert quote("wörd") not in masked
        assert b"w\xc3\xb6rd" not in _decoded(masked)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text.replace("*", ""), altchars=b"-_")
    except ValueError:
        return b""


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abc.def-1", f"Authorization: Bearer {MASK}"),
        ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: Basic {MASK}"),
        ("api_key=zzz&page=2", f"api_key={MASK}&page=2"),
        ('{"token": "abc", "n": 1}', f'{{"token": "{MASK}", "n": 1}}'),
        ("password: hunter2, user: me", f"password: {MASK}, user: me"),
        ("https://me:pass@host/x", f"https://{MASK}@host/x"),
        ("used sk-abcdefghijkl12 today", f"used {MASK} today"),
        ("secret = ${SECRET}", "secret = ${SECRET}"),
        ("the next token:\n  done", "the next token:\n  done"),
        ("max_tokens=5, sort_key=name", "max_tokens=5, sort_key=name"),
        ("rate limit exceeded", "rate limit exceeded"),
    ],
)
def test_free_text_loses_what_looks_like_a_credential(text: str, masked: str) -> None:
    assert redactor.text(text) == masked


def test_a_name_masks_what_stands_under_it() -> None:
    record = {
        "apiKey": "x",
        "X-Api-Key": "y",
        "auth": {"token": "t", "user": "me"},
        "credentials": {"user": "me", "pin": 1234, "list": ["a", ""], "on": True, "none": None},
        "password": "",
        "secret": "${NAME}",
        "HF_TOKEN": None,
    }

    assert redactor.record(record) == {
        "apiKey": MASK,
        "X-Api-Key": MASK,
        "auth": {"token": MASK, "user": "me"},
        "credentials": {"user": MASK, "pin": MASK, "list": [MASK, ""], "on": True, "none": None},
        "password": "",
        "secret": "${NAME}",
        "HF_TOKEN": None,
    }


def test_what_only_looks_like_a_credential_stays() -> None:
    record = {
        "sort_key": "name",
        "answer_key": ["B", "C"],
        "primary-key": 3,
        "usage": {"prompt_tokens": 3, "max_tokens": 4},
        "env": {"HOME": "/root", "PATH": "/bin"},
        "headers": {"Accept": "json"},
        "logprobs": [{"token": "Hello", "logprob": -0.1}],
        "password_field": "visible",
        "short": "short",
    }

    assert redactor.record(record) is record


def test_an_env_or_headers_is_masked_where_it_holds_a_secret() -> None:
    record = {"env": {"HOME": "/root", "X": KEY}, "headers": {"Authorization": "anything"}}

    assert redactor.record(record) == {
        "env": {"HOME": "/root", "X": MASK},
        "headers": {"Authorization": MASK},
    }


def test_a_name_is_masked_as_soon_as_it_is_known_to_be_secret() -> None:
    learning = Redactor()
    assert learning.record({KEY: 1}) == {KEY: 1}

    learning.learn([KEY])

    assert learning.record({KEY: 1}) == {MASK: 1}


def test_a_name_that_was_met_before_is_no_reason_to_copy() -> None:
    first, second = json.loads('[{"name": 1}]')[0], json.loads('[{"name": 1}]')[0]

    assert redactor.record(first) is first
    assert redactor.record(second) is second


def test_names_mean_nothing_to_known() -> None:
    assert redactor.known({"password": "hunter2", "x": KEY}) == {"password": "hunter2", "x": MASK}


def test_secrets_that_are_names_or_numbers_are_masked_too() -> None:
    numeric = Redactor({"1234567890"})

    assert numeric.known({"pin": 1234567890, "n": 1}) == {"pin": MASK, "n": 1}
    assert redactor.known({KEY: 1, f"{KEY} ": 2, "b": {ODD: [KEY]}}) == {
        MASK: 1,
        f"{MASK} ": 2,
        "b": {MASK: [MASK]},
    }
    assert redactor.known({KEY: 1, MASK: 2}) == {MASK: 1, f"{MASK} (2)": 2}
    assert redactor.record({"token": {KEY: {"id": 1}}}) == {"token": {MASK: {"id": MASK}}}


@pytest.mark.parametrize("number", [12345678, 1.5e100, 1.2345e-07, 1.25e-05, 12345678.5])
def test_a_secret_that_is_a_number_is_masked_as_one(number: float) -> None:
    """Fails when it is looked for in a text where the number is written otherwise."""
    masker = Redactor({str(number)})

    assert masker.known({"n": [number, 1]}) == {"n": [MASK, 1]}
    assert masker.record({"n": number, "text": f"<{number}>"}) == {"n": MASK, "text": f"<{MASK}>"}


@pytest.mark.parametrize(
    "name", ["token", "apiKey", "token\n", 'X token "!', "toke\u0301 key-token"]
)
def test_a_name_is_found_at_any_depth(name: str) -> None:
    value = {"steps": [{"a": 1}, ({"b": [{name: "short"}]}, None)]}

    assert redactor.record(value)["steps"][1][0] == {"b": [{name: MASK}]}
    assert redactor.known(value) is value


def test_text_that_json_escapes_stands_there_as_it_is_taken_to() -> None:
    """Fails when a character is escaped that a secret is looked for by."""
    for number in {*range(0xD800), *range(0xE000, 0x10000)}:
        is_escaped = built_in(chr(number)) != f'"{chr(number)}"'.encode()
        assert not is_escaped or chr(number) in {*map(chr, range(32)), '"', "\\"}


@given(secrets.filter(lambda text: text not in MASK), strategies.values, st.data())
def test_a_short_look_finds_what_a_long_one_does(
    secret: str, value: Any, data: st.DataObject
) -> None:
    """Fails when what a secret leaves in JSON is not what is looked for."""
    quoted = data.draw(st.sampled_from([str, json.dumps]))(f"<{secret}>")
    masker = Redactor({secret})
    for structure in ([quoted, value], {"a": {quoted: value}}):
        assert MASK in json.dumps(masker.known(structure))
        assert MASK in json.dumps(masker.record((structure, object))[0])


def test_without_secrets_nothing_is_copied() -> None:
    value = {"a": [1, "x", {"b": None}], "c": (1.5, True)}

    assert Redactor().known(value) is value
    assert Redactor().record(value) is value
    assert Redactor({"1234567"}).text("1234567") == "1234567"


@given(st.lists(secrets, min_size=1, max_size=3), strategies.values)
def test_masking_twice_changes_nothing(known: list[str], value: Any) -> None:
    """Fails when the mask of one secret can be part of another."""
    masker = Redactor(known)
    for mask in (masker.known, masker.record):
        once = mask({"value": value, "texts": known, "api_key": value})
        assert mask(once) == once
    text = "token: ".join([*known, json.dumps(known)])
    assert masker.text(masker.text(text)) == masker.text(text)


@given(st.lists(secrets, min_size=1, max_size=3), st.data())
def test_every_planted_secret_is_gone(known: list[str], data: st.DataObject) -> None:
    """Fails when keys, nested JSON or long texts are passed over."""
    planted = st.sampled_from(known)
    wrapped = st.tuples(strategies.names, planted, strategies.names).map("".join)
    leaves = wrapped | wrapped.map(json.dumps) | strategies.scalars
    tree = data.draw(
        st.recursive(
            leaves,
            lambda children: st.lists(children) | st.dictionaries(wrapped | st.text(), children),
            max_leaves=12,
        )
    )
    masked = Redactor(known).record({"tree": tree})

    written = json.dumps(masked, ensure_ascii=False)
    for secret in known:
        assume(secret not in MASK)
        assert secret not in written.replace(MASK, "")
        assert json.dumps(secret)[1:-1] not in written.replace(MASK, "")


def _in_a_shell(text: str) -> str:
    """Text as `export -p` has it."""
    return '"' + re.sub(r'(["\\$`])', r"\\\1", text) + '"'


def _plain(text: str) -> str:
    return text.replace("\\", "")


printable = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=8, max_size=20)


@given(
    printable.filter(lambda text: len(_plain(text)) >= 8 and "*" not in text),
    st.lists(st.sampled_from([json.dumps, repr, _in_a_shell]), max_size=4),
)
def test_a_secret_is_gone_however_often_it_was_quoted(
    secret: str, quotations: list[Callable[[str], str]]
) -> None:
    """Fails when one quotation inside another is passed over."""
    text = f"the key is '{secret}' and \"so\""
    for quotation in quotations:
        text = quotation(text)

    assert _plain(secret) not in _plain(Redactor([secret]).text(text))


def test_secrets_with_asterisks_are_masked_to_the_end() -> None:
    masker = Redactor({"*hunter22", "another-secret"})
    once = masker.text("another-secrethunter22")

    assert "hunter22" not in once
    assert masker.text(once) == once


def test_a_long_trajectory_is_masked_in_little_time() -> None:
    many = Redactor({f"secret-number-{number:04}" for number in range(20)})
    line = "the agent looked at the file and found nothing of interest in it. " * 40
    steps = [{"content": line, "tool_calls": [{"arguments": {"n": n}}]} for n in range(800)]
    began = time.perf_counter()
    many.record({"steps": steps})

    assert time.perf_counter() - began < 5  # about 0.1 s for 2 MB where nobody else runs


def test_very_many_secrets_are_learned_and_found() -> None:
    """Each task may bring its own; fails by taking minutes where all are compared with all."""
    redactor = Redactor(f"secret-{number:07}-of-a-task" for number in range(3000))

    assert redactor.record({"a": ["secret-0002999-of-a-task"]}) == {"a": [MASK]}
    assert redactor.record(value := {"a": ["secret-0003000-of-a-task"]}) is value


def test_bytes_hold_a_secret_in_any_spelling():
    redactor = Redactor(["sk-ünïcode", "short"])

    assert redactor.known_in("x sk-ünïcode".encode())
    assert redactor.known_in(json.dumps("sk-ünïcode").encode())
    assert redactor.known_in(b"\xff\0" + quote("sk-ünïcode").encode() + b"\xff")
    assert not redactor.known_in(b"sk-unicode and short")
    assert redactor.longest > len("sk-ünïcode")


def test_where_nothing_is_secret_bytes_hold_none():
    assert Redactor().longest == 0
    assert not Redactor(["short"]).known_in(b"short")


@pytest.mark.parametrize(
    "text",
    [
        *("Bearer x", "Authorization: Basic x", "API-Key=x", "token: x", "secret=x", "Password='x"),
        *("credential=x", "://u:p@host", f"sk-{'a' * 12}", f"s\u212a-{'a' * 12}"),
        *("\u017fecret=x", "credent\u0131al: x"),
    ],
)
def test_no_form_is_passed_over_that_has_something_to_mask(text: str) -> None:
    """Fails when a form's words leave out one of those that it begins with."""
    assert MASK in Redactor().text(text)
