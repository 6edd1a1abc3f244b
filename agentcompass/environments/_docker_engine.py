"""The Docker Engine API over httpx: every call can be cancelled, and no fault of it is httpx's."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self
from urllib.parse import quote

import attrs
import httpx
import trio

from agentcompass.deadlines import deadline
from agentcompass.environments._docker_connect import Endpoint
from agentcompass.environments._docker_said import one_line
from agentcompass.environments._launch import encode
from agentcompass.errors import EnvironmentFailed

# The newest version of the API that this client was written for, and the oldest that it can do
# with: Engine 20.10.
_NEWEST, _OLDEST = (1, 47), (1, 41)
# Of an answer that is none.
_SHOWN_BYTES = 200


class EngineRefused(EnvironmentFailed):
    """The engine answered with a fault; `status` is that of HTTP."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class EngineSilent(EnvironmentFailed):
    """The engine cannot be reached, or broke off."""


@attrs.define(eq=False)
class Engine:
    """One connection pool to an engine; an async context. Its first answer may be limited."""

    endpoint: Endpoint
    first_answer_seconds: float | None = None
    _client: httpx.AsyncClient = attrs.field(init=False)
    _prefix: str = attrs.field(default="", init=False)

    def __attrs_post_init__(self) -> None:
        self._client = self.endpoint.client()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def connect(self) -> None:
        """Agree on a version of the API. Raises `EnvironmentFailed` where nobody answers."""
        try:
            stretch = f"the Docker Engine at {self.endpoint.host} does not answer: first answer"
            with deadline(self.first_answer_seconds, stretch=stretch, error=EngineSilent):
                self._prefix = await self._agreed()
        except BaseException:
            await self.aclose()
            raise

    async def _agreed(self) -> str:
        try:
            about = await self.call("GET", "/version")
            newest = _version(about["ApiVersion"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise EnvironmentFailed(f"{self.endpoint.host} is not a Docker Engine") from error
        if newest < _OLDEST:
            raise EnvironmentFailed(
                f"the Docker Engine at {self.endpoint.host} is {about.get('Version')};"
                " environment docker needs 20.10 or later"
            )
        major, minor = min(newest, _NEWEST)
        return f"/v{major}.{minor}"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content: httpx.AsyncByteStream | None = None,
    ) -> Any:
        """What the engine answers, None where that is nothing; raises `EngineRefused`."""
        async with self.stream(method, path, query=query, body=body, content=content) as response:
            with self._translated():
                data = (await response.aread()).strip()
        try:
            return json.loads(data) if data else None
        except ValueError as error:
            said = one_line(data[:_SHOWN_BYTES].decode(errors="replace"))
            raise EnvironmentFailed(
                f"{self.endpoint.host} does not answer {method} {path} as a Docker Engine: {said}"
            ) from error

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content: httpx.AsyncByteStream | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """A response to be read as it comes; raises `EngineRefused` for a fault."""
        request = self._request(method, path, query, body, content)
        request.headers.update(headers or {})
        with self._translated():
            response = await self._client.send(request, stream=True)
        try:
            if response.is_error:
                raise await self._refusal(response)
            yield response
        finally:
            await response.aclose()

    async def pieces(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """The body of a streamed response."""
        raw = response.aiter_raw()
        with self._translated():
            try:
                async for piece in raw:
                    yield piece
            finally:
                # Breaking off leaves generators of httpx open, which a cancelled read ends.
                with trio.CancelScope() as scope:
                    scope.cancel()
                    async for _ in raw:
                        pass

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Any,
        content: httpx.AsyncByteStream | None,
    ) -> httpx.Request:
        pairs = [f"{name}={_quoted(value)}" for name, value in (query or {}).items()]
        url = f"{self._prefix}{path}" + (f"?{'&'.join(pairs)}" if pairs else "")
        # ASCII, in which a lone surrogate of a model's text has a form as well.
        data = None if body is None else json.dumps(body).encode()
        request = self._client.build_request(method, url, content=data)
        # Not compressed: the engine would spend seconds on what is read at once.
        request.headers["Accept-Encoding"] = "identity"
        if data is not None:
            request.headers["Content-Type"] = "application/json"
        if content is not None:
            request.stream = content
            request.headers["Content-Type"] = "application/x-tar"
            request.headers["Transfer-Encoding"] = "chunked"
            request.headers.pop("Content-Length", None)
        return request

    async def _refusal(self, response: httpx.Response) -> EngineRefused:
        with self._translated():
            data = await response.aread()
        try:
            said = str(json.loads(data)["message"])
        except (ValueError, KeyError, TypeError):
            said = data.decode(errors="replace")
        said = one_line(said) or f"HTTP status {response.status_code}"
        return EngineRefused(f"Docker says: {said}", status=response.status_code)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise EngineSilent(
                f"the Docker Engine at {self.endpoint.host} does not answer: {_reason(error)}"
            ) from error


def _reason(error: BaseException) -> str:
    """The words of the first error that has some; httpx has none for a failed handshake."""
    deeper = error.__cause__ or error.__context__
    if str(error) or deeper is None:
        return str(error) or type(error).__name__
    return _reason(deeper)


def _version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def _quoted(value: Any) -> str:
    if isinstance(value, Mapping):
        value = json.dumps(value)
    return quote(encode(str(value)), safe="/")
