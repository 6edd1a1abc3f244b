"""Which engine is spoken to: as DOCKER_HOST and its TLS files say."""

import re
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
import trio

from agentcompass.environments._docker_connect import DEFAULT_HOST, endpoint
from agentcompass.environments._docker_engine import Engine, EngineSilent
from agentcompass.errors import UsageError
from tests.loopback import answer, serve


def test_without_variables_it_is_the_socket_of_this_host():
    found = endpoint({})

    assert (found.host, found.socket) == (DEFAULT_HOST, "/var/run/docker.sock")


@pytest.mark.parametrize(
    ("host", "url", "path"),
    [
        ("unix:///run/user/7/docker.sock", "http://docker", "/run/user/7/docker.sock"),
        ("tcp://engine:2375", "http://engine:2375", None),
        ("https://engine:2376", "https://engine:2376", None),
    ],
)
def test_docker_host_names_another(host, url, path):
    found = endpoint({"DOCKER_HOST": host})

    assert (found.base_url, found.socket) == (url, path)


@pytest.mark.parametrize("host", ["ssh://user@engine", "npipe:////./pipe/x", "engine:2375"])
def test_an_engine_that_cannot_be_spoken_to_is_named(host):
    with pytest.raises(UsageError, match=r"unix:// and tcp://"):
        endpoint({"DOCKER_HOST": host})


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("tcp://", "expected tcp://HOST:PORT"),
        ("tcp://engine", "expected tcp://HOST:PORT"),
        ("tcp://:2375", "expected tcp://HOST:PORT"),
        ("tcp://engine:port", "Port could not be cast"),
        ("tcp://engine:99999", "Port out of range"),
        ("http://[::1", "Invalid IPv6 URL"),
        ("unix://", "expected unix:///PATH"),
        ("unix://relative/path", "expected unix:///PATH"),
        (f"unix://{__file__}", "is not a socket"),
    ],
)
def test_a_host_that_cannot_be_one_says_what_is_wrong(host, told):
    with pytest.raises(UsageError, match=rf"DOCKER_HOST={re.escape(host)}: .*{told}"):
        endpoint({"DOCKER_HOST": host})


def test_missing_tls_files_are_named_with_their_folder(tmp_path):
    variables = {"DOCKER_HOST": "tcp://engine:2376", "DOCKER_TLS_VERIFY": "1"}

    with pytest.raises(UsageError, match=f"DOCKER_CERT_PATH.*{tmp_path}"):
        endpoint({**variables, "DOCKER_CERT_PATH": str(tmp_path)})


def test_a_certificate_is_checked_unless_one_says_otherwise(monkeypatch, tmp_path):
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", lambda *_: None)
    monkeypatch.setattr(ssl, "create_default_context", lambda cafile: _context())
    given = {"DOCKER_HOST": "tcp://engine:2376", "DOCKER_CERT_PATH": str(tmp_path)}

    lax, strict = endpoint(given), endpoint({**given, "DOCKER_TLS_VERIFY": "1"})

    assert lax.base_url == strict.base_url == "https://engine:2376"
    assert (lax.tls.verify_mode, strict.tls.verify_mode) == (ssl.CERT_NONE, ssl.CERT_REQUIRED)


def _context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server's context, and the files of DOCKER_CERT_PATH that trust it."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    names = ("-subj", "/CN=engine", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", "key.pem", "-out", "cert.pem")
    kind = ("-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    subprocess.run(
        ["openssl", "req", *kind, *names, *files], cwd=folder, check=True, capture_output=True
    )
    shutil.copy(folder / "cert.pem", folder / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


@pytest.mark.parametrize("verify", ["1", ""])
def test_an_engine_is_reached_by_tls_and_one_that_is_not_trusted_is_not(tmp_path, verify):
    context = self_signed(tmp_path)
    (tmp_path / "other").mkdir()
    self_signed(tmp_path / "other")
    told = {}

    async def main() -> None:
        about = answer({"ApiVersion": "1.41"})
        async with serve(about, about, tls=context) as server:
            host = server.url.replace("https", "tcp").removesuffix("/v1")
            for folder in (tmp_path, tmp_path / "other"):
                variables = {
                    "DOCKER_HOST": host,
                    "DOCKER_CERT_PATH": str(folder),
                    "DOCKER_TLS_VERIFY": verify,
                }
                try:
                    async with Engine(endpoint(variables)):
                        told[folder] = "answers"
                except EngineSilent as error:
                    told[folder] = str(error)

    trio.run(main)

    assert told[tmp_path] == "answers"
    if verify:
        assert "certificate verify failed" in told[tmp_path / "other"]
