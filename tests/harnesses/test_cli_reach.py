"""Which addresses of a model are told to be out of reach of a program in a sandbox."""

import pytest

from agentcompass.harnesses._cli_reach import caution


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "http://localhost:8000/v1",
        "http://[::1]:8000",
        "http://127.1.2.3",
        "http://model.localhost/",
    ],
)
def test_an_address_of_the_host_itself_is_told_in_a_sandbox_and_not_on_the_host(url: str):
    assert "from inside docker" in (caution(url, "docker") or "")
    assert caution(url, "host_process") is None


@pytest.mark.parametrize("url", ["https://api.example.org/v1", "http://172.17.0.1:8000/v1", ""])
def test_other_addresses_are_let_be(url: str):
    assert caution(url, "docker") is None
