"""The entries of an allowlist, and the rules that they become."""

import pytest

from agentcompass.environments._docker_allowlist import Allowed, hosts_lines, parse, patterns, rules
from agentcompass.environments._docker_network import resolvers_of
from agentcompass.errors import EnvironmentFailed


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("Example.ORG.", Allowed(name="example.org")),
        ("example.org:443", Allowed(name="example.org", port=443)),
        ("*.Example.org.", Allowed(domain="example.org")),
        ("*.example.org:8443", Allowed(domain="example.org", port=8443)),
        ("192.0.2.7", Allowed(network="192.0.2.7/32")),
        ("192.0.2.7:8080", Allowed(network="192.0.2.7/32", port=8080)),
        ("192.0.2.9/24", Allowed(network="192.0.2.0/24")),
        ("192.0.2.0/24:53", Allowed(network="192.0.2.0/24", port=53)),
        ("2001:db8::1", Allowed(network="2001:db8::1/128")),
        ("[2001:db8::1]:443", Allowed(network="2001:db8::1/128", port=443)),
    ],
)
def test_an_entry_is_a_name_an_address_or_a_network_with_or_without_a_port(text, entry):
    assert parse([text]) == (entry,)


@pytest.mark.parametrize(
    "text",
    ["a.*.org", "*a.org", "*", "*.", "*.*.org", "http://x", "", "a b", "x:0", "x:99999", "-x"],
)
def test_what_cannot_be_enforced_is_refused_by_name(text):
    with pytest.raises(EnvironmentFailed, match="allow"):
        parse([text])


def test_rules_let_pass_the_entries_in_both_directions_and_reject_the_rest():
    text = rules(parse(["192.0.2.7:80", "host"]), {"host": ["2001:db8::1"]})

    assert "ip daddr 192.0.2.7/32 meta l4proto { tcp, udp } th dport 80 accept" in text
    assert "ip saddr 192.0.2.7/32 meta l4proto { tcp, udp } th sport 80 accept" in text
    assert "ip6 daddr 2001:db8::1 accept" in text
    assert text.count("policy drop") == 2
    assert "established" not in text


def test_names_are_found_in_the_hosts_file():
    assert hosts_lines({"a.b": ["192.0.2.1", "192.0.2.2"]}) == (
        "192.0.2.1 a.b # agentcompass\n192.0.2.2 a.b # agentcompass\n"
    )


def test_a_pattern_redirects_what_no_address_allows_on_its_ports_and_dns():
    text = rules(parse(["*.a.org", "*.b.org:8443", "192.0.2.7"]), {})
    redirection = text[text.index("chain redirected") : text.index("chain outward")]

    assert "tcp dport { 80, 443, 8443 } redirect to :$proxy" in redirection
    assert redirection.index("ip daddr 192.0.2.7/32 accept") < redirection.index("tcp dport")
    assert redirection.count("redirect to :$resolver") == 2
    assert patterns(parse(["*.a.org", "*.b.org:8443"])) == [
        ("a.org", (80, 443)),
        ("b.org", (8443,)),
    ]


def test_without_a_pattern_nothing_is_redirected_and_no_mark_counts():
    text = rules(parse(["192.0.2.7"]), {})

    assert "redirect" not in text
    assert "mark" not in text


def test_resolvers_are_those_that_answer_beyond_the_container():
    text = "# x\nsearch a.org\nnameserver 127.0.0.11\nnameserver 192.0.2.53\nnameserver ::1\n"

    assert resolvers_of(text) == ["192.0.2.53"]
