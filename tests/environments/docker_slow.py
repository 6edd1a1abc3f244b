"""The engine of this host behind a socket that keeps some of its answers back."""

import re
import socket
import socketserver
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import attrs

_ENGINE = "/var/run/docker.sock"
_PIECE_BYTES = 1 << 16


@attrs.define(eq=False)
class Slow:
    """The engine does what it is asked at once, but by each of `patterns` the first answer to a
    request with that in it arrives after `seconds`; its name is in `held` when that time begins.
    """

    patterns: Mapping[str, re.Pattern[bytes]]
    seconds: float
    host: str
    held: set[str] = attrs.field(factory=set)
    _over: threading.Event = attrs.field(factory=threading.Event)

    def serve(self, client: socket.socket) -> None:
        """Pass on one connection until the client closes it."""
        may_answer = threading.Event()
        may_answer.set()
        with suppress(OSError), socket.socket(socket.AF_UNIX) as engine:
            engine.connect(_ENGINE)
            threading.Thread(target=_answer, args=(engine, client, may_answer), daemon=True).start()
            while data := client.recv(_PIECE_BYTES):
                if holds := self._is_to_be_held(data):
                    may_answer.clear()
                engine.sendall(data)
                if holds:
                    self._over.wait(self.seconds)
                    may_answer.set()
            engine.shutdown(socket.SHUT_RDWR)

    def _is_to_be_held(self, data: bytes) -> bool:
        found = {name for name, pattern in self.patterns.items() if pattern.search(data)}
        is_first = not found <= self.held
        self.held |= found
        return is_first

    def stop(self) -> None:
        """Keep nothing back any more."""
        self._over.set()


def _answer(engine: socket.socket, client: socket.socket, may_answer: threading.Event) -> None:
    with suppress(OSError):
        while data := engine.recv(_PIECE_BYTES):
            may_answer.wait()
            client.sendall(data)
        client.shutdown(socket.SHUT_WR)


@contextmanager
def slow_engine(patterns: Mapping[str, str], seconds: float) -> Iterator[Slow]:
    """Such an engine; its `host` is for DOCKER_HOST."""
    with tempfile.TemporaryDirectory() as folder:  # a socket's path has to be short
        path = f"{folder}/engine.sock"
        compiled = {name: re.compile(pattern.encode()) for name, pattern in patterns.items()}
        slow = Slow(compiled, seconds, f"unix://{path}")

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                slow.serve(self.request)

        class Server(socketserver.ThreadingUnixStreamServer):
            daemon_threads = True
            block_on_close = False

        with Server(path, Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield slow
            slow.stop()
            server.shutdown()
