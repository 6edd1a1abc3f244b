"""Where the calls of a model go, and the head of their requests, put together once."""

from collections.abc import Mapping

import attrs
import h11
import httpx


@attrs.frozen
class Origin:
    """Where a kept connection leads."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: httpx.URL) -> "Origin":
        """The origin of a URL; the port is by default that of the scheme."""
        return cls(url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80))


@attrs.frozen
class Target:
    """A URL to post to; `head` is all of a request before the length of its body."""

    origin: Origin
    head: bytes = attrs.field(repr=False)

    @classmethod
    def of(cls, url: httpx.URL, headers: Mapping[str, str]) -> "Target":
        """The target of a URL; h11 sees to it that the head is well-formed."""
        fields = [(b"Host", url.netloc)]
        fields += [(name.encode(), value.encode()) for name, value in headers.items()]
        request = h11.Request(method="POST", target=url.raw_path, headers=fields)
        head = h11.Connection(h11.CLIENT).send(request)
        return cls(Origin.of(url), head.removesuffix(b"\r\n") + b"Content-Length: ")

    def request(self, body: bytes) -> bytes:
        """A whole request, as it is sent."""
        return b"%s%d\r\n\r\n%s" % (self.head, len(body), body)
