"""What every protocol over HTTP does alike: checks its settings, and holds its endpoint open."""

import base64
from pathlib import Path
from typing import Any, ClassVar, Self

import httpx

from agentcompass.errors import ConfigInvalid
from agentcompass.models import _params
from agentcompass.models._dialect import Dialect
from agentcompass.models._endpoints import Endpoint, join, leave, resize
from agentcompass.models._faults import Redactor
from agentcompass.models._http_conversation import HttpConversation, Line
from agentcompass.models._prices import prices_for
from agentcompass.models._target import Target
from agentcompass.models._traffic import Tell, Traffic
from agentcompass.records.exchange import RecordedReplies
from agentcompass.records.model import Usage
from agentcompass.records.request import ModelSpec


class HttpModel:
    """A wire protocol; a subclass gives its names and its dialect.

    `--model-params` go into the body as they are, but for those that are ours; `request_timeout`
    seconds bound a whole call, the waits for an endpoint without room included. No proxy is used.
    """

    id: ClassVar[str]
    description: ClassVar[str]
    Params: ClassVar[type[Any]] = _params.OverHttp
    dialect: ClassVar[Dialect]

    def __init__(
        self, spec: ModelSpec, *, replies: Path | RecordedReplies | None, connections: int
    ) -> None:
        """`replies` are for the protocol `replay` alone."""
        self.spec = spec
        self._connections = max(1, connections)
        self._line: Line | None = None
        self._tell: Tell | None = None

    async def preflight(self) -> None:
        """Raise `ConfigInvalid` with every setting with which no call could be made."""
        found = [*_endpoint_faults(self.id, self.spec), *self._param_faults()]
        found += _params.faults(self.spec.params)
        if found:
            raise ConfigInvalid(found)

    async def __aenter__(self) -> Self:
        url = _endpoint(self.spec.base_url, self.dialect)
        key = (str(url), self.spec.id, self.spec.api_key)
        self._line = self.line_to(url, join(key, self._connections))
        self._line.traffic.begin()
        return self

    async def __aexit__(self, *exc: object) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.traffic.end()
            await leave(line.endpoint, self._connections)

    def listen(self, tell: Tell) -> None:
        """Tell what the calls meet at the endpoint, once it is open."""
        self._tell = tell

    def allow_calls(self, at_once: int) -> None:
        """Let at least that many calls be made at once from now on."""
        more = max(0, at_once - self._connections)
        self._connections += more
        if self._line is not None:
            resize(self._line.endpoint, more)

    def conversation(self, task_id: str, attempt: int) -> HttpConversation:
        """A fresh conversation of the open model."""
        assert self._line is not None, "a model is entered before it is spoken to"
        return HttpConversation(line=self._line, where=f" (task {task_id}, attempt {attempt})")

    def cost(self, usage: Usage) -> float | None:
        """US dollars for the tokens of one call; None where no price is known."""
        prices = prices_for(self.spec.id, self.spec.params)
        return None if prices is None else prices.cost(usage)

    def line_to(self, url: httpx.URL, endpoint: Endpoint) -> Line:
        """Where this model's calls go, by way of an endpoint."""
        params = self.spec.params
        headers = _headers(self.spec, self.dialect)
        credentials = headers.get("Authorization", "").partition(" ")[2]
        password = httpx.URL(self.spec.base_url).password
        adaptive = bool(params.get("adaptive_concurrency"))
        return Line(
            dialect=self.dialect,
            endpoint=endpoint,
            target=Target.of(url, headers),
            params={"model": self.spec.id, **_params.body_params(params)},
            request_timeout=_params.request_timeout(params),
            prices=prices_for(self.spec.id, params),
            adaptive=adaptive,
            redact=Redactor((self.spec.api_key, credentials, password)),
            traffic=Traffic(
                endpoint=url.netloc.decode("ascii"),
                gate=endpoint.gate if adaptive else None,
                tell=self._tell,
            ),
        )

    def _param_faults(self) -> list[str]:
        found = [
            f"--model-params: {name} is the harness's to set"
            for name in self.dialect.owned
            if name in self.spec.params
        ]
        if not isinstance(stream := self.spec.params.get("stream", False), bool):
            found.append(f"--model-params: stream is true or false, not {stream!r}")
        if "path" in self.spec.params:
            found.append("--model-params: path is for the protocol replay")
        return found


def _endpoint(base_url: str, dialect: Dialect) -> httpx.URL:
    base, mark, query = base_url.partition("?")
    base = base.rstrip("/").removesuffix(dialect.path).removesuffix(dialect.overlap)
    return httpx.URL(base + dialect.path + mark + query)


def _headers(spec: ModelSpec, dialect: Dialect) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        **dialect.credentials(spec.api_key),
    }
    url = httpx.URL(spec.base_url)
    if url.userinfo and not spec.api_key:
        pair = f"{url.username}:{url.password}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    return headers


def _endpoint_faults(protocol: str, spec: ModelSpec) -> list[str]:
    if not spec.base_url:
        return [f"--model-base-url is required for the protocol {protocol}"]
    if "${" in spec.base_url:
        return ["--model-base-url: ${NAME} is read from the environment as the whole value only"]
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
