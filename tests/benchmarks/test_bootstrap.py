"""Tests that could not run for want of a network or a tool are no verdict; tests that ran are."""

import pytest

from agentcompass.benchmarks._bootstrap import bootstrap_failure
from tests.benchmarks.local_session import REWARD, Attempt

FAILURES = [
    "E: Unable to locate package curl",
    "E: Failed to fetch http://deb.debian.org/debian/pool/c/curl.deb  Temporary failure resolving",
    "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 21 (apt-get)",
    "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend)",
    "E: Package 'curl' has no installation candidate",
    "curl: (6) Could not resolve host: astral.sh",
    "curl: (28) Failed to connect to astral.sh port 443 after 130000 ms: Connection timed out",
    "error: Failed to fetch: `https://packages.example/pytest/`",
    "  × Failed to download `pytest==8.4.1`",
    "ERROR: No matching distribution found for pytest==8.4.1",
    "/tests/test.sh: line 22: uvx: command not found",
    "/tests/test.sh: 22: curl: not found",
    "/tests/test.sh: line 9: /root/.local/bin/env: No such file or directory",
    "pytest: error: unrecognized arguments: --ctrf /logs/verifier/ctrf.json",
]
RAN = [
    "============================= test session starts ==============================",
    "=================== 1 failed, 2 passed in 0.12s ===================",
    "3 passed in 0.02s",
]
VERDICTS = [
    "",
    "AssertionError: curl: not installed",
    "make: *** [all] Error 1",
    "/tests/test.sh: line 3: ./a.out: No such file or directory",
    "the log says: curl: (6) Could not resolve host",
]


@pytest.mark.parametrize("line", FAILURES)
def test_what_the_tests_lack_is_known_by_its_message(line):
    assert bootstrap_failure(f"Reading lists\n{line}\nmore\n") is not None


@pytest.mark.parametrize("line", FAILURES)
@pytest.mark.parametrize("ran", RAN)
def test_tests_that_ran_all_the_same_are_a_verdict(ran, line):
    assert bootstrap_failure(f"{line}\n\x1b[1m{ran}\x1b[0m\r\n") is None


@pytest.mark.parametrize("text", VERDICTS)
def test_the_faults_of_the_work_are_no_such_messages(text):
    assert bootstrap_failure(text) is None


def test_the_message_has_no_address_in_it():
    line = "curl: (22) x\ncurl: (7) Failed to connect to https://user:secret@host/path"

    assert bootstrap_failure(line) == "curl: (7) Failed to connect to <url>"


WITHOUT_NETWORK = "echo 'curl: (6) Could not resolve host: astral.sh' >&2\n"


@pytest.mark.parametrize("reward", [REWARD.format("0"), "", "exit 1"])
async def test_no_network_for_the_tests_is_no_verdict(tmp_path, reward):
    """Fails where a test.sh that goes on after a failed download scores 0."""
    refusal = await Attempt(tmp_path, {"tests/test.sh": WITHOUT_NETWORK + reward}).refusal()

    assert refusal.code == "verifier_not_started"
    assert str(refusal) == (
        "the verifier could not bring in what its tests need:"
        " curl: (6) Could not resolve host: astral.sh"
    )


@pytest.mark.parametrize(
    ("script", "correct"),
    [
        (WITHOUT_NETWORK + REWARD.format("1"), True),
        (WITHOUT_NETWORK + f"echo '{RAN[0]}'\n" + REWARD.format("0"), False),
        (WITHOUT_NETWORK + "echo {} > $LOGS_DIR/verifier/ctrf.json\n" + REWARD.format("0"), False),
        ("no-such-program-of-the-agent\n" + REWARD.format("0") + "exit 127", False),
    ],
)
async def test_a_reward_by_tests_stands(tmp_path, script, correct):
    attempt = Attempt(tmp_path, {"tests/test.sh": script})

    await attempt.evaluate()

    assert attempt.result.metrics == {"correct": correct}
