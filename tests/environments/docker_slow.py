"""The engine of this host behind a socket that keeps one answer back."""

import re
import socket
import socketserver
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import attrs

_ENGINE = "/var/run/docker.sock"
_PIECE_BYTES = 1 << 16


@attrs.define(eq=False)
class Slow:
    """The engine does what it is asked at once, but the first answer to a request that begins
    with `pattern` arrives after `seconds`; `is_held` is set when that time begins.
    """

    pattern: re.Pattern[bytes]
    seconds: float
    host: str
    is_held: threading.Event = attrs.field(factory=threading.Event)
    _over: threading.Event = attrs.field(factory=threading.Event)

    def serve(self, client: socket.socket) -> None:
        """Pass on one connection until the client closes it."""
        may_answer = threading.Event()
        may_answer.set()
        with suppress(OSError), socket.socket(socket.AF_UNIX) as engine:
            engine.connect(_ENGINE)
            threading.Thread(target=_answer, args=(engine, client, may_answer), daemon=True).start()
            while data := client.recv(_PIECE_BYTES):
                if holds := self.pattern.match(data) and not self.is_held.is_set():
                    may_answer.clear()
                    self.is_held.set()
                engine.sendall(data)
                if holds:
                    self._over.wait(self.seconds)
                    may_answer.set()
            engine.shutdown(socket.SHUT_RDWR)

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
def slow_engine(pattern: str, seconds: float) -> Iterator[Slow]:
    """Such an engine; its `host` is for DOCKER_HOST."""
    with tempfile.TemporaryDirectory() as folder:  # a socket's path has to be short
        path = f"{folder}/engine.sock"
        slow = Slow(re.compile(pattern.encode()), seconds, f"unix://{path}")

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
