"""Which values of a request are secret: by the name of their setting, or inside a URL."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import attrs

from agentcompass.config.settings import leaves
from agentcompass.records.credentials import is_secret_name
from agentcompass.records.request import RunRequest
from agentcompass.records.spellings import SHORTEST, Spellings

_USER_INFO = re.compile(r"://(?:[^\s/@:]*:)?([^\s/@:]+)@")
_QUERY = re.compile(r"[?&]([\w.-]+)=([^\s&#]+)")
_SCHEME = re.compile(r"(?:Basic|Bearer|Token)\s+(\S+)", re.IGNORECASE)


def secrets_in(tree: Any) -> Iterator[str]:
    """Every secret value of a tree of settings, of any length."""
    for path, value in leaves(tree):
        text = str(getattr(value, "text", value))
        if value is not None and any(is_secret_name(name) for name in path):
            yield text
            yield from _SCHEME.findall(text)
        yield from _in_url(text)


def known_in(tree: Any) -> frozenset[str]:
    """The secret values of a tree that are long enough to be masked wherever they stand."""
    return frozenset(value for value in secrets_in(tree) if len(value) >= SHORTEST)


def known_secrets(request: RunRequest, environ: Mapping[str, str]) -> frozenset[str]:
    """What must never be written or shown: of the request, and of the process's environment."""
    return known_in(attrs.asdict(request)) | known_in(dict(environ))


def masked(text: str, secrets: frozenset[str]) -> str:
    """`text` without any of the secrets."""
    return Spellings(secrets).masked(text)


def _in_url(text: str) -> Iterator[str]:
    for password in _USER_INFO.findall(text):
        yield from {password, unquote(password)}
    for name, value in _QUERY.findall(text):
        if is_secret_name(name):
            yield from {value, unquote(value)}
