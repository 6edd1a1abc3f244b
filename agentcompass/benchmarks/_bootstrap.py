"""Whether tests could not run because what they need could not be brought in. Pure.

A verifier of Terminal-Bench first gets curl by apt, uv by curl, and pytest by uv; where that fails
it goes on and writes a reward of 0, which nothing was measured for.
"""

import re

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# The first or the last line of pytest: a session was there, whatever was printed before.
_TESTS_RAN = re.compile(
    r"^(?:=+ )?(?:test session starts =|\d+ (?:passed|failed|errors?|skipped)\b.* in \d)",
    re.MULTILINE,
)
_TOOLS = "(?:apt-get|apt|curl|wget|uvx?|pip3?|pytest)"
_PATTERNS = (
    # apt: no package, no network, another apt
    r"E: (?:Unable to|Failed to fetch|Could not get lock|Package '.*' has no installation).*",
    # curl: no name, no connection, out of time, TLS, broken transfer
    r"curl: \((?:5|6|7|28|35|52|55|56|60)\) .*",
    "wget: (?:unable to resolve host|bad address).*",
    # uv and pip
    r"\W*(?:error: )?Failed to (?:fetch|download|resolve)\b.*",
    r"\W*Request failed after \d+ retries.*",
    "ERROR: (?:Could not find a version|No matching distribution).*",
    # the shell: a tool that should have come, and did not
    rf".*: (?:line )?\d+: {_TOOLS}: (?:command )?not found",
    r".*: (?:line )?\d+: .*/\.local/bin/env: No such file or directory",
    # pytest without the plug-in that uv was to bring
    r".*: error: unrecognized arguments: --ctrf\b.*",
)
_FAILURES = re.compile("|".join(f"^{pattern}$" for pattern in _PATTERNS), re.MULTILINE)
_URL = re.compile(r"[a-z+]+://\S+")


def bootstrap_failure(output: str) -> str | None:
    """The first line that tells of such a failure; None if there is none, or tests ran anyway."""
    plain = _COLOURS.sub("", output).replace("\r", "")
    if _TESTS_RAN.search(plain):
        return None
    found = _FAILURES.search(plain)
    return None if found is None else _URL.sub("<url>", found.group().strip())[:300]
