"""What a container could reach: a container with DNS, HTTP and TLS servers, which say who asks."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from tests.docker_engine import BOOKWORM, docker
from tests.processes import new_mark

# TLS without certificates, so that none has to be kept here.
CIPHERS = "AECDH-AES128-SHA:@SECLEVEL=0"

_SERVERS = """
import socket, ssl, sys, threading
own = socket.gethostbyname(socket.gethostname())
def say(*words):
    print(*words, flush=True)
def dns():
    server = socket.socket(type=socket.SOCK_DGRAM)
    server.bind(("", 53))
    while True:
        data, sender = server.recvfrom(4096)
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode())
            at += 1 + data[at]
        say("dns", ".".join(labels), data[at + 2])
        record = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\5\\0\\4" + socket.inet_aton(own)
        head = data[:2] + b"\\x81\\x80\\0\\1\\0\\1\\0\\0\\0\\0"
        server.sendto(head + data[12:at + 5] + record, sender)
def udp(port):
    server = socket.socket(type=socket.SOCK_DGRAM)
    server.bind(("", port))
    while True:
        say("udp", server.recvfrom(4096)[0])
def serve(port, wrap):
    server = socket.create_server(("", port))
    while True:
        made = server.accept()[0]
        threading.Thread(target=one, args=(made, wrap), daemon=True).start()
def one(made, wrap):
    try:
        say("connected")
        made = wrap(made)
        while data := made.recv(4096):
            say("heard", data)
            made.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")
            if b"Connection: close" in data:
                break
    except OSError as error:
        say("failed", error)
    finally:
        made.close()
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.maximum_version = ssl.TLSVersion.TLSv1_2
tls.set_ciphers(sys.argv[1])
tls.sni_callback = lambda made, name, context: say("tls", name)
secure = lambda made: tls.wrap_socket(made, server_side=True)
for work in ((dns,), (udp, 443), (serve, 80, lambda made: made), (serve, 443, secure),
             (serve, 8443, secure), (serve, 9000, lambda made: made)):
    threading.Thread(target=work[0], args=work[1:], daemon=True).start()
import time
time.sleep(0.3)
say("up")
time.sleep(600)
"""


@attrs.frozen
class World:
    """One such container."""

    name: str
    address: str

    def heard(self) -> str:
        """All that it said so far, without that it is up."""
        return docker("logs", self.name).removeprefix("up").strip()


@contextmanager
def world() -> Iterator[World]:
    """A world that is up; it is gone afterwards."""
    name = f"world-{new_mark()}"
    docker("run", "--detach", "--name", name, BOOKWORM, "python3", "-c", _SERVERS, CIPHERS)
    try:
        while "up" not in docker("logs", name):
            time.sleep(0.05)
        address = docker("inspect", name, "--format", "{{.NetworkSettings.IPAddress}}")
        yield World(name, address)
    finally:
        docker("rm", "--force", name)
