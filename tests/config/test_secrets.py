"""Which values are secret, by name or by place (cases.md 72, decisions.md "Secrets")."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.config.resolve import resolve_run
from agentcompass.config.secrets import (
    known_in,
    known_secrets,
    masked,
)
from agentcompass.records.credentials import is_secret_name
from agentcompass.records.spellings import MASK


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "apiKey", "APIKEY", "X-Api-Key", "judge_api_key", "OPENAI_API_KEY", "secret"),
        *("clientSecret", "password", "DB_PASSWORD", "token", "hfToken", "HF_TOKEN", "jwt"),
        *("Authorization", "proxy-authorization", "Set-Cookie", "credentials", "secret_key"),
        *("AWS_SECRET_ACCESS_KEY", "ssh_private_key", "token_id", "passphrase"),
    ],
)
def test_a_credential_is_known_by_its_name_in_any_spelling(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("sort_key", "answer_key", "primary-key", "key", "max_tokens", "tokens", "token_count"),
        *("keyboard", "secretary", "monkey", "env", "headers", "", "---", "id", "cookies_eaten"),
    ],
)
def test_what_only_looks_like_a_credential_stays_readable(name):
    assert not is_secret_name(name)


def test_every_place_of_a_request_gives_its_secrets(tmp_path, toys):
    resolved = resolve_run(
        {
            "benchmark": "toy",
            "harness": "toy",
            "model": "m",
            "environment": "toybox",
            "model_base_url": "https://user:p%40ssword1@host/v1?api_key=querykey1",
            "model_api_key": "sk-model-key",
            "model_params": {"extra_headers": {"Authorization": "Bearer bearer-token"}},
            "benchmark_params": {"judge": {"api_key": "sk-judge-key"}, "labels": {"a": "readable"}},
            "environment_params": {
                "env_variables": {"MY_TOKEN": "variable-token", "A": "plain-text"}
            },
        },
        cwd=tmp_path,
        environ={"GITHUB_TOKEN": "host-token", "SHORT_TOKEN": "abc", "HOME": "/home/nobody"},
    )

    assert known_secrets(
        resolved.request, {"GITHUB_TOKEN": "host-token", "SHORT_TOKEN": "abc"}
    ) == {
        "p%40ssword1",
        "p@ssword1",
        "querykey1",
        "sk-model-key",
        "Bearer bearer-token",
        "bearer-token",
        "sk-judge-key",
        "variable-token",
        "host-token",
    }


def test_a_token_for_a_user_in_a_url_is_secret():
    assert known_in({"repository": "https://ghp_0123456789@host/x.git"}) == {"ghp_0123456789"}


_secret = st.text("abcxyz", min_size=8, max_size=12)


@given(st.sets(_secret, max_size=4), st.lists(st.text("abcxyz ", max_size=20), max_size=4))
def test_no_secret_survives_masking(secrets, pieces):
    """Fails when only the first occurrence, or the first secret, is replaced."""
    text = " ".join([*pieces, *secrets])

    assert not any(secret in masked(text, frozenset(secrets)) for secret in secrets)


def test_a_secret_inside_another_leaves_no_rest():
    secrets = frozenset({"abcabcab", "abcabcabxyz", "xabcabcab"})

    assert masked("abcabcabxyz xabcabcab", secrets) == f"{MASK} {MASK}"
