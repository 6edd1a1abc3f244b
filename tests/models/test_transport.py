"""Kept connections: used again, mended once, and never lost to a cancellation."""

import random
import shutil
import ssl
import subprocess
from pathlib import Path

import h11
import httpx
import pytest
import trio

from agentcompass.models import _transport
from agentcompass.models._target import Target
from agentcompass.models._transport import PooledTransport
from tests.loopback import Act, Exchange, answer, cut, hang, serve


async def post(transport: PooledTransport, url: str, content: bytes = b"{}") -> httpx.Response:
    target = Target.of(httpx.URL(url), {})
    async with transport.lease(target.origin) as lease:
        head = await lease.ask(target.request(content))
        parts = []
        while (part := await lease.data()) is not None:
            parts.append(part)
    return httpx.Response(head.status, content=b"".join(parts))


async def by_hand(exchange: Exchange, *pieces: bytes) -> None:
    """Answer with these bytes, a moment apart, and go on to the next request."""
    for piece in pieces:
        await exchange.stream.send_all(piece)
        await trio.sleep(0.001)
    exchange.frame.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
    exchange.frame.send(h11.EndOfMessage())


async def test_one_connection_serves_many_requests():
    transport = PooledTransport(4)
    async with serve(answer({})) as server:
        for _ in range(5):
            assert (await post(transport, server.url)).status_code == 200
        await transport.aclose()

    assert len(server.asked) == 5
    assert server.opened == 1


async def test_no_more_connections_than_slots():
    transport = PooledTransport(3)
    async with serve(answer({}, after=0.02)) as server:
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(post, transport, server.url)
        await transport.aclose()

    assert len(server.asked) == 20
    assert server.opened == 3
    assert transport.slots.statistics().borrowed_tokens == 0


async def test_a_request_on_a_connection_that_the_server_closed_goes_out_once_more():
    """The server reads the second request, says nothing and closes."""
    transport = PooledTransport(1)
    async with serve(answer({"n": 1}), cut(size=0), answer({"n": 2})) as server:
        await post(transport, server.url)
        second = await post(transport, server.url)
        await transport.aclose()

    assert second.json() == {"n": 2}
    assert (len(server.asked), server.opened) == (3, 2)


async def test_a_fresh_connection_that_drops_is_not_tried_again():
    transport = PooledTransport(1)
    async with serve(cut(size=0)) as server:
        with pytest.raises(httpx.RemoteProtocolError, match="without an answer"):
            await post(transport, server.url)
        await transport.aclose()

    assert len(server.asked) == 1


async def test_an_answer_that_broke_off_is_not_asked_for_again():
    transport = PooledTransport(1)
    async with serve(answer({}), cut(b"half")) as server:
        await post(transport, server.url)
        with pytest.raises(httpx.ReadError):
            await post(transport, server.url)
        await transport.aclose()

    assert len(server.asked) == 2


async def test_a_connection_closed_while_idle_is_not_used():
    """What an idle server sent before it closed must not be taken for an answer."""

    async def farewell(exchange: Exchange) -> None:
        await answer({})(exchange)
        await exchange.stream.send_all(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        await exchange.stream.aclose()

    transport = PooledTransport(1)
    async with serve(farewell, answer({"n": 2})) as server:
        await post(transport, server.url)
        await server.quiet()
        second = await post(transport, server.url)
        await transport.aclose()

    assert second.json() == {"n": 2}
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [200, 404])
async def test_a_server_that_says_more_than_it_promised_gets_a_new_connection(status: int):
    """What is left over must not be taken for the next answer."""

    async def talkative(exchange: Exchange) -> None:
        head = b"HTTP/1.1 %d \r\nContent-Length: 2\r\n\r\n" % status
        await by_hand(exchange, head + b"{}" + head + b"no")

    transport = PooledTransport(1)
    async with serve(talkative, answer({"n": 2})) as server:
        assert (await post(transport, server.url)).content == b"{}"
        assert (await post(transport, server.url)).json() == {"n": 2}
        await transport.aclose()

    assert server.opened == 2


async def test_an_answer_may_come_byte_by_byte_on_a_connection_that_is_kept():
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbit by it"

    def split_at(place: int) -> Act:
        async def act(exchange: Exchange) -> None:
            await by_hand(exchange, whole[:place], *(bytes([byte]) for byte in whole[place:]))

        return act

    transport = PooledTransport(1)
    places = (1, whole.index(b"\r\n\r\n") + 4, len(whole) - 3)
    async with serve(*map(split_at, places)) as server:
        for _ in places:
            assert (await post(transport, server.url)).content == b"bit by it"
        await transport.aclose()

    assert server.opened == 1


async def test_a_server_that_wants_its_connection_closed_gets_a_new_one():
    transport = PooledTransport(1)
    async with serve(answer({}, Connection="close")) as server:
        await post(transport, server.url)
        await post(transport, server.url)
        await transport.aclose()

    assert server.opened == 2


async def test_a_refusal_before_the_body_was_read_is_heard():
    """The server answers 413 after the head and closes, while megabytes are still to be sent."""
    heard = trio.Event()

    async def refuse(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        await heard.wait()
        await stream.aclose()

    transport = PooledTransport(1)
    async with trio.open_nursery() as nursery:
        listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
        nursery.start_soon(trio.serve_listeners, refuse, [listener])
        url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/"
        heard.set()
        with trio.fail_after(20):
            try:
                response = await post(transport, url, b"x" * 50_000_000)
                assert response.status_code == 413
            except httpx.TransportError:
                pass  # the reset overtook the answer: TCP allows it
        nursery.cancel_scope.cancel()
    await transport.aclose()


async def test_a_provisional_answer_is_passed_over():
    async def early(exchange: Exchange) -> None:
        await exchange.send(h11.InformationalResponse(status_code=103, headers=[]))
        await answer({"n": 1})(exchange)

    transport = PooledTransport(1)
    async with serve(early) as server:
        assert (await post(transport, server.url)).json() == {"n": 1}
        await transport.aclose()


async def test_no_answer_is_larger_than_the_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_transport, "_BODY_LIMIT", 1000)
    transport = PooledTransport(1)
    async with serve(answer(b"x" * 100_000)) as server:
        with pytest.raises(httpx.ReadError, match="larger than 1000 bytes"):
            await post(transport, server.url)
        await transport.aclose()

    assert transport.slots.statistics().borrowed_tokens == 0


async def test_cancelled_requests_lose_no_slot_and_leave_no_connection():
    """Row 63 of the cases: 300 calls cancelled anywhere, two slots, then one call."""
    dice = random.Random(63)
    transport = PooledTransport(2)
    async with serve(answer({}, after=0.002)) as server:

        async def cancelled() -> None:
            with trio.move_on_after(dice.uniform(0, 0.01)):
                await post(transport, server.url)

        for _ in range(30):
            async with trio.open_nursery() as nursery:
                for _ in range(10):
                    nursery.start_soon(cancelled)
        with trio.fail_after(10):
            assert (await post(transport, server.url)).status_code == 200
        await transport.aclose()
        await server.quiet()

    assert transport.slots.statistics().borrowed_tokens == 0
    assert transport.slots.statistics().tasks_waiting == 0


async def test_a_cancelled_request_closes_its_connection_at_once():
    transport = PooledTransport(1)
    async with serve(hang) as server:
        with trio.move_on_after(0.2):
            await post(transport, server.url)
        await server.quiet()
        await transport.aclose()

    assert len(server.asked) == 1


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for 127.0.0.1 that nobody else signed, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    folder = tmp_path_factory.mktemp("tls")
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", "key", "-out", "cert"]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run(
        ["openssl", "req", *kind, *names, *files], cwd=folder, check=True, capture_output=True
    )
    both = folder / "both.pem"
    both.write_text((folder / "key").read_text() + (folder / "cert").read_text())
    return both


async def test_tls_is_spoken_with_a_server_that_the_system_trusts(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    transport = PooledTransport(1)
    async with serve(answer({"n": 1}), tls=tls) as server:
        for _ in range(3):
            assert (await post(transport, server.url)).json() == {"n": 1}
        await transport.aclose()

    assert server.opened == 1


async def surplus_in_one_packet(exchange: Exchange) -> None:
    """Answer twice, in two records of TLS that are received as one."""
    stream = exchange.stream
    assert isinstance(stream, trio.SSLStream)
    for word in (b"1", b"2"):
        stream._ssl_object.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + word)
    await stream.transport_stream.send_all(stream._outgoing.read())
    exchange.frame.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
    exchange.frame.send(h11.EndOfMessage())


async def test_what_came_with_an_answer_over_tls_is_no_answer_to_the_next_request(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
):
    """Fails where only the socket is asked for it: it is deciphered by and by."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.maximum_version = ssl.TLSVersion.TLSv1_2  # trio holds back the tickets of a later one
    tls.load_cert_chain(certificate)
    transport = PooledTransport(1)
    async with serve(surplus_in_one_packet, answer({"n": 3}), tls=tls) as server:
        assert (await post(transport, server.url)).text == "1"
        assert (await post(transport, server.url)).json() == {"n": 3}
        await transport.aclose()

    assert server.opened == 2


async def test_a_certificate_that_nobody_vouches_for_is_refused_with_the_reason(certificate: Path):
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    transport = PooledTransport(1)
    async with serve(tls=tls) as server:
        with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
            await post(transport, server.url)
        await transport.aclose()

    assert transport.slots.statistics().borrowed_tokens == 0


async def test_a_server_without_tls_is_refused_with_its_name():
    transport = PooledTransport(1)
    async with serve() as server:
        url = server.url.replace("http://", "https://")
        with pytest.raises(httpx.ConnectError, match=r"cannot connect to 127\.0\.0\.1:\d+: "):
            await post(transport, url)
        await transport.aclose()

    assert transport.slots.statistics().borrowed_tokens == 0
