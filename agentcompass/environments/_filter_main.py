"""The program that lets a container reach hosts by pattern, from inside its network namespace.

Runs in the helper container of environment docker, which has the standard library alone. Rules
send the container's questions to DNS and its connections here; what is sent on from here carries
a mark that the container has no right to set.
"""

import json
import os
import secrets
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from agentcompass.environments import _filter_dns as dns
from agentcompass.environments._filter_hello import ANY_SIZE, LIMIT_BYTES, Asked, Refused, asked_for

_ORIGINAL_DESTINATION = 80  # SO_ORIGINAL_DST of linux/netfilter_ipv4.h
_FIRST_BYTES_SECONDS, _CONNECT_SECONDS, _LOOKUP_SECONDS = 15.0, 15.0, 2.0
_CONNECTIONS, _QUESTIONS = 256, 32
_PIECE_BYTES = 2**16


class Filter(NamedTuple):
    """Who may be reached: `patterns` are pairs of a domain and a port, `hosts` are known already.

    `resolvers` are the addresses that are asked, `mark` is that of the sockets of this program.
    """

    patterns: Sequence[tuple[str, Sequence[int]]]
    hosts: dict[str, list[str]]
    resolvers: Sequence[str]
    mark: int

    def may_ask(self, name: str) -> bool:
        """Whether a name may be looked up."""
        return any(name.endswith(f".{domain}") for domain, _ in self.patterns)

    def may_reach(self, name: str, port: int) -> bool:
        """Whether a connection to a name may be made."""
        return any(name.endswith(f".{domain}") and port in ports for domain, ports in self.patterns)

    def reply(self, message: bytes) -> bytes:
        """The answer to a message of the container."""
        question = dns.read_question(message)
        if question.name in self.hosts:
            code, addresses = dns.NO_ERROR, self.hosts[question.name]
        elif not self.may_ask(question.name):
            code, addresses = dns.NO_SUCH_NAME, []
        elif question.kind == dns.A:
            code, addresses = self.look_up(question.name)
        else:
            code, addresses = dns.NO_ERROR, []
        found = [one for one in addresses if question.kind == dns.A and ":" not in one]
        return dns.answer(question, code, found)

    def look_up(self, name: str) -> tuple[int, list[str]]:
        """The code and addresses that the first resolver gives which answers."""
        for resolver in (*self.resolvers, *self.resolvers):
            asked = dns.query(secrets.randbits(16), name)
            with suppress(OSError), self.marked(socket.SOCK_DGRAM) as made:
                made.settimeout(_LOOKUP_SECONDS)
                made.connect((resolver, 53))
                made.send(asked)
                if found := dns.read_answer(made.recv(_PIECE_BYTES), asked):
                    return found
        return dns.FAILED, []

    def connect(self, name: str, port: int) -> socket.socket:
        """A connection to a name, wherever the container meant to find it."""
        for address in self.look_up(name)[1]:
            made = self.marked(socket.SOCK_STREAM)
            try:
                made.settimeout(_CONNECT_SECONDS)
                made.connect((address, port))
            except OSError:
                made.close()
            else:
                return made
        raise Refused(f"{name} cannot be reached")

    def marked(self, kind: socket.SocketKind) -> socket.socket:
        """A socket that the rules let out."""
        made = socket.socket(type=kind)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, self.mark)
        return made


def pass_on(allowed: Filter, client: socket.socket) -> None:
    """Join a client with whom it asks for, until both are done; refusing is closing."""
    with client:
        client.settimeout(_FIRST_BYTES_SECONDS)
        port = _meant_port(client)
        asked = _read_asked(client)
        if not allowed.may_reach(asked.name, port):
            raise Refused(f"{asked.name}:{port} is not allowed")
        with allowed.connect(asked.name, port) as server:
            server.sendall(asked.first)
            for made in (client, server):
                made.settimeout(None)
                made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server, asked.rest)
            back.join()


def _meant_port(client: socket.socket) -> int:
    """The port that a client connected to before the rules sent it here."""
    found = client.getsockopt(socket.SOL_IP, _ORIGINAL_DESTINATION, 16)
    return int.from_bytes(found[2:4], "big")


def _read_asked(client: socket.socket) -> Asked:
    data = b""
    while len(data) < LIMIT_BYTES and (piece := client.recv(_PIECE_BYTES)):
        data += piece
        if found := asked_for(data):
            return found
    raise Refused("nobody is asked for")


def _pump(source: socket.socket, target: socket.socket, left: int = ANY_SIZE) -> None:
    """Send on what comes, until its end or as much as may be; a fault ends both."""
    with suppress(OSError):
        while left and (piece := source.recv(min(left, _PIECE_BYTES))):
            target.sendall(piece)
            left -= len(piece)
        if left:
            target.shutdown(socket.SHUT_WR)
        return
    for broken in (source, target):
        with suppress(OSError):
            broken.shutdown(socket.SHUT_RDWR)


def answer_questions(allowed: Filter, server: socket.socket) -> None:
    """Answer DNS for ever."""

    def reply(message: bytes, sender: tuple[str, int]) -> None:
        server.sendto(allowed.reply(message), sender)

    free = threading.Semaphore(_QUESTIONS)
    while True:
        free.acquire()
        _start(free, reply, *server.recvfrom(_PIECE_BYTES))


def take_connections(allowed: Filter, server: socket.socket) -> None:
    """Serve connections for ever, so many at a time."""
    free = threading.Semaphore(_CONNECTIONS)
    while True:
        free.acquire()
        _start(free, pass_on, allowed, server.accept()[0])


def _start(free: threading.Semaphore, work: Callable[..., None], *arguments: object) -> None:
    def run() -> None:
        try:
            with suppress(Refused, OSError):
                work(*arguments)
        finally:
            free.release()

    threading.Thread(target=run, daemon=True).start()


def main() -> None:
    """Set the rules once there is somebody to send to, say so, and serve."""
    settings = json.loads(os.environ["FILTER"])
    allowed = Filter(**settings)
    questions = socket.socket(type=socket.SOCK_DGRAM)
    questions.bind(("127.0.0.1", 0))
    connections = socket.create_server(("127.0.0.1", 0), backlog=_CONNECTIONS)
    ports = f"define resolver = {questions.getsockname()[1]}\n"
    ports += f"define proxy = {connections.getsockname()[1]}\n"
    rules = ports + os.environ["RULES"]
    subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)  # noqa: S607
    os.write(1, b"ready\n")
    threading.Thread(target=answer_questions, args=(allowed, questions), daemon=True).start()
    take_connections(allowed, connections)


if __name__ == "__main__":
    main()
