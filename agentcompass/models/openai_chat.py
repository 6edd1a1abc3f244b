"""Chat completions over HTTP, as OpenAI and most other providers serve them."""

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import attrs
import httpx
import orjson
import trio

from agentcompass.deadlines import deadline
from agentcompass.errors import ConfigInvalid, ModelFailed
from agentcompass.models import _params
from agentcompass.models._faults import ModelTimeout, Redactor, refused
from agentcompass.models._reply import read_reply
from agentcompass.models._transport import PooledTransport
from agentcompass.records.model import Reply
from agentcompass.records.request import ModelSpec

_PATH = "/chat/completions"
_HARNESS_OWNS = ("messages", "tools")


class OpenAIChat:
    """Posts to `{base_url}/chat/completions`, one HTTP call for each reply.

    `--model-params` go into the body as they are, but for those that are ours; `request_timeout`
    seconds bound the whole call. Nothing is sent again, but for a request that found its kept
    connection closed. No proxy is used.
    """

    id: ClassVar[str] = "openai-chat"
    description: ClassVar[str] = "OpenAI-compatible chat completions over HTTP"

    def __init__(self, spec: ModelSpec, *, replies: Path | None, connections: int) -> None:
        """`replies` are for the protocol `replay` alone."""
        self.spec = spec
        self._transport = PooledTransport(connections)

    async def preflight(self) -> None:
        """Raise `ConfigInvalid` with every setting with which no call could be made."""
        found = [*_endpoint_faults(self.spec), *_body_faults(self.spec.params)]
        found += _params.faults(self.spec.params)
        if found:
            raise ConfigInvalid(found)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._transport.aclose()

    def conversation(self, task_id: str, attempt: int) -> "Chat":
        """The same for every execution: the messages of a call carry all of its state."""
        return self._chat

    @cached_property
    def _chat(self) -> "Chat":
        headers = _headers(self.spec)
        credentials = headers.get("Authorization", "").partition(" ")[2]
        return Chat(
            transport=self._transport,
            url=_endpoint(self.spec.base_url),
            headers=headers,
            body={"model": self.spec.id, **_params.body_params(self.spec.params)},
            request_timeout=_params.request_timeout(self.spec.params),
            redact=Redactor((credentials, httpx.URL(self.spec.base_url).password)),
        )


@attrs.frozen(kw_only=True)
class Chat:
    """Where calls go, and what each of them carries."""

    transport: httpx.AsyncBaseTransport
    url: httpx.URL = attrs.field(repr=False)
    headers: Mapping[str, str] = attrs.field(repr=False)
    body: Mapping[str, Any]
    request_timeout: float | None
    redact: Redactor

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Reply:
        """One call; raises `ModelFailed`, whose code is `model_timeout` where time ran out."""
        asked = {
            **self.body,
            "messages": list(messages),
            **({"tools": list(tools)} if tools else {}),
        }
        started = trio.current_time()
        with deadline(
            self.request_timeout, stretch="model call (request_timeout)", error=ModelTimeout
        ):
            status, body = await self._post(_encode(asked))
        if status != httpx.codes.OK:
            raise refused(status, body, self.redact)
        return read_reply(body, seconds=trio.current_time() - started, redact=self.redact)

    async def _post(self, content: bytes) -> tuple[int, bytes]:
        request = httpx.Request("POST", self.url, headers=self.headers, content=content)
        try:
            # Not by `httpx.AsyncClient`: it adds half as much CPU again, and nothing needed here.
            response = await self.transport.handle_async_request(request)
            try:
                return response.status_code, await response.aread()
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            raise ModelFailed(self.redact(f"model call: {error}")) from error


def _endpoint(base_url: str) -> httpx.URL:
    base, mark, query = base_url.partition("?")
    return httpx.URL(base.rstrip("/").removesuffix(_PATH) + _PATH + mark + query)


def _headers(spec: ModelSpec) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    url = httpx.URL(spec.base_url)
    if spec.api_key:
        headers["Authorization"] = f"Bearer {spec.api_key}"
    elif url.userinfo:
        pair = f"{url.username}:{url.password}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    return headers


def _encode(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        # Halves of surrogate pairs and integers beyond 64 bits, which the standard library takes.
        return json.dumps(body, allow_nan=False).encode()


def _endpoint_faults(spec: ModelSpec) -> list[str]:
    if not spec.base_url:
        return ["--model-base-url is required for the protocol openai-chat"]
    try:
        url = httpx.URL(spec.base_url)
    except httpx.InvalidURL as error:
        return [f"--model-base-url is not a URL: {error}"]
    found = []
    if url.scheme not in {"http", "https"} or not url.host:
        found.append("--model-base-url must be like https://host/v1")
    if url.userinfo and spec.api_key:
        found.append("--model-base-url holds credentials, and --model-api-key is given: keep one")
    if not all("!" <= character <= "~" for character in spec.api_key):
        found.append("--model-api-key holds white space or another character that no key can have")
    return found


def _body_faults(params: Mapping[str, Any]) -> list[str]:
    found = [
        f"--model-params: {name} is the harness's to set"
        for name in _HARNESS_OWNS
        if name in params
    ]
    if params.get("stream"):
        found.append("--model-params: stream is not in this version yet; leave it out")
    if "path" in params:
        found.append("--model-params: path is for the protocol replay")
    return found
