"""Names of credentials, and names that only look like them."""

import pytest

from agentcompass.records.credentials import is_secret_name


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "apiKey", "APIKEY", "X-Api-Key", "openai.api.key", "OPENAI_API_KEY"),
        *("secret", "client_secret", "clientSecret", "aws_secret_access_key", "private-key"),
        *("token", "HF_TOKEN", "accessToken", "token_id", "password", "DB_PASSWORD", "passwd"),
        *("Authorization", "Proxy-Authorization", "cookie", "Set-Cookie", "jwt", "credentials"),
    ],
)
def test_a_credential_is_known_by_its_name_in_any_spelling(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("sort_key", "answer_key", "primary-key", "key", "keys", "monkey", "max_tokens"),
        *("prompt_tokens", "tokenizer", "headers", "env", "secretary", "passwords_checked", ""),
    ],
)
def test_an_ordinary_name_is_none(name: str) -> None:
    assert not is_secret_name(name)
