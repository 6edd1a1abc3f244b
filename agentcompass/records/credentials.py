"""Which names are those of credentials, in any spelling."""

import re
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LAST = frozenset(
    {
        *("aksk", "apikey", "authorization", "cookie", "credential", "credentials", "jwt"),
        *("passphrase", "passwd", "password", "secret", "token"),
    }
)
_BEFORE_KEY = frozenset(
    {"access", "account", "api", "auth", "encryption", "private", "secret", "signing", "ssh"}
)


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a setting of this name holds a credential: `apiKey`, `X-Api-Key`, `HF_TOKEN`.

    `sort_key`, `answer_key` and `max_tokens` hold none.
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    if words[-1] == "id" and words[-2:-1] == ["token"]:
        return True
    is_key = words[-1] == "key" and not _BEFORE_KEY.isdisjoint(words[-2:-1])
    return is_key or words[-1] in _LAST
