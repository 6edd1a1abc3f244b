"""What is left out of a transfer, as tar has it, and when it is too much."""

import pytest

from agentcompass.environments._transfer import Meter
from agentcompass.errors import ArtifactOverBudget
from agentcompass.records.environment import TransferLimits


def check() -> None:
    """Nothing breaks off."""


@pytest.mark.parametrize(
    ("glob", "left_out", "taken"),
    [
        ("*.log", ["x.log", "a/b/x.log", "logs.log/below"], ["x.logs", "log"]),
        ("cache", ["cache", "a/cache", "cache/below", "a/cache/b/c"], ["cached", "a/my-cache"]),
        ("cache/", ["cache", "cache/below"], ["cached"]),
        ("./cache", ["cache"], ["cached"]),
        ("a/b", ["a/b", "x/a/b", "a/b/c"], ["xa/b", "a/bc", "a"]),
        ("a*c", ["abc", "ab/bc", "x/a/c"], ["ab"]),
        ("[ab]?", ["a1", "x/b2"], ["c1", "a"]),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_patterns_match_any_end_that_begins_with_a_name(
    glob: str, left_out: list[str], taken: list[str]
) -> None:
    """As GNU tar's --exclude: not anchored, and `*` matches slashes too."""
    meter = Meter(check, [glob, "no-such-name"])

    assert [path for path in left_out if not meter.leaves_out(path)] == []
    assert [path for path in taken if meter.leaves_out(path)] == []


def test_without_patterns_nothing_is_left_out() -> None:
    assert not Meter(check).leaves_out("anything")


def test_a_limit_is_passed_by_one_more_and_not_before() -> None:
    meter = Meter(check, limits=TransferLimits(max_bytes=10, max_entries=2))
    meter.entry()
    meter.entry()
    meter.data(10)
    meter.expect(0)

    with pytest.raises(ArtifactOverBudget, match="more than 2 entries"):
        meter.entry()
    with pytest.raises(ArtifactOverBudget, match="more than 10 bytes"):
        meter.expect(1)
    with pytest.raises(ArtifactOverBudget, match="more than 10 bytes"):
        meter.data(1)
