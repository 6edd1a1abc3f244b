"""The attempts of one task to one value: native, avg, pass, and the unbiased pass@j."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from agentcompass.records.metrics import Reducer


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean, in any order the same float; None of nothing.

    `fsum` rounds once, so that the order of tasks cannot show. Where it overflows, exact fractions
    do not: a mean lies between finite values.
    """
    if not values:
        return None
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        from fractions import Fraction  # seldom needed

        return float(sum(map(Fraction, values)) / len(values))


def weighted_mean(pairs: Iterable[tuple[float | None, float]]) -> float | None:
    """The mean of (value, weight) pairs; a value of None has no weight, so the others share it.

    In exact fractions: there are as many pairs as categories, and the result must not leave the
    range of its values by a rounding.
    """
    from fractions import Fraction

    exact = [(Fraction(value), Fraction(weight)) for value, weight in pairs if value is not None]
    if not exact:
        return None
    return float(sum(v * w for v, w in exact) / sum(w for _, w in exact))


def native(observed: Sequence[float], k: int) -> float | None:
    """The one observation of the one attempt."""
    return observed[0] if k == len(observed) == 1 else None


def avg(observed: Sequence[float], k: int) -> float | None:
    """The mean of k observations; a missing one is not a zero, so it leaves no mean."""
    return mean(observed) if len(observed) == k else None


def passed(observed: Sequence[float], k: int) -> float | None:
    """1 after any success; 0 only once all k attempts were seen to fail."""
    if any(observed):
        return 1.0
    return 0.0 if len(observed) == k else None


REDUCERS: Mapping[Reducer, Callable[[Sequence[float], int], float | None]] = {
    "native": native,
    "avg": avg,
    "pass": passed,
}


def pass_at(j: int, *, attempts: int, successes: int) -> float | None:
    """The unbiased estimate that at least one of j attempts succeeds: 1 - C(n-c, j) / C(n, j).

    n attempts were observed, c of them succeeded; the share of the j-subsets of what was observed
    that hold a success. None for j > n: fewer attempts say nothing about more. Source: Chen et al.,
    "Evaluating Large Language Models Trained on Code", 2021, arXiv:2107.03374, equation 1.
    Integers until one division, so that it is the exact fraction correctly rounded.
    """
    if not 0 <= successes <= attempts or j < 1:
        raise ValueError(f"no pass@{j} of {successes} successes in {attempts} attempts")
    if j > attempts:
        return None
    subsets = math.comb(attempts, j)
    return (subsets - math.comb(attempts - successes, j)) / subsets
