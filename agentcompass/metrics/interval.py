"""How far a run's value is known: the tasks that are missing, and those that were drawn."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from agentcompass.metrics.aggregate import Aggregator, Values
from agentcompass.metrics.reducers import mean
from agentcompass.records.metrics import Kind

LEVEL = 0.95
# `statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)`, which takes longer to load than all of metrics
_Z = 1.9599639845400536


def missing_interval(
    values: Values, missing: Mapping[str, int], aggregate: Aggregator, kind: Kind
) -> list[float] | None:
    """The run's value with every missing task counted as failed (0), and as solved (1).

    The denominator is every selected task: the missing are those that are not in the mean for any
    reason, invalidated ones included, each as a whole, whatever some of its attempts observed.
    None where 0 and 1 are not the ends of the scale (a scalar that was seen outside, or was not
    seen at all), where there is no task, and where a missing task's category is outside the tree.
    """
    if not _within_unit(values, kind):
        return None
    low = aggregate(_filled(values, missing, 0.0))
    high = aggregate(_filled(values, missing, 1.0))
    if any(category not in low.shares for category, number in missing.items() if number):
        return None
    if low.value is None or high.value is None:
        return None
    return [low.value, high.value]


def confidence_interval(
    values: Values, shares: Mapping[str, float], kind: Kind, *, stratified: bool
) -> dict[str, Any] | None:
    """Where the value would lie, 19 times in 20, over other tasks of the same kind.

    Over the evaluated tasks, which are taken as a sample; what is missing is not in it. Wilson
    where tasks are solved or not; Student's t on task values otherwise, within categories
    (`stratified`) where categories have weights of their own.
    """
    tasks = [value for category in values.values() for value in category]
    if not stratified and kind == "binary_success" and tasks and set(tasks) <= {0.0, 1.0}:
        return _interval(wilson(round(math.fsum(tasks)), len(tasks)), "wilson")
    if not stratified:
        return _interval(_clipped(student([tasks], [1.0]), kind), "student_t")
    strata = [values.get(category, ()) for category in shares]
    return _interval(_clipped(student(strata, list(shares.values())), kind), "stratified_t")


def wilson(successes: int, tasks: int) -> tuple[float, float]:
    """Wilson's score interval for a share of tasks, sound at 0, at 1 and for few tasks.

    Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22,
    1927; in the form of Brown, Cai and DasGupta, Statistical Science 16, 2001, equation 4.
    """
    share, spread = successes / tasks, _Z * _Z / tasks
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    low = 0.0 if successes == 0 else middle - half
    return low, 1.0 if successes == tasks else middle + half


def student(
    strata: Sequence[Sequence[float]], shares: Sequence[float]
) -> tuple[float, float] | None:
    """Student's t interval for a weighted sum of stratum means; one stratum is the usual one.

    The variance is the sum of (share^2 s^2 / n) (Cochran, Sampling Techniques, 1977, section 5.4),
    its degrees of freedom are Satterthwaite's (Biometrics Bulletin 2, 1946), rounded down.
    None where a stratum has fewer than 2 tasks, and where all values are equal: no spread was
    seen, which is no proof that there is none.
    """
    if not strata or any(len(stratum) < 2 for stratum in strata):
        return None
    scale = max(abs(value) for stratum in strata for value in stratum)
    if scale == 0:
        return None
    scaled = [[value / scale for value in stratum] for stratum in strata]  # squares stay finite
    middle = math.fsum(s * (mean(x) or 0.0) for s, x in zip(shares, scaled, strict=True))
    parts = [s * s * _variance(x) / len(x) for s, x in zip(shares, scaled, strict=True)]
    total = math.fsum(parts)
    if total == 0:
        return None
    squares = (part * part / (len(x) - 1) for part, x in zip(parts, scaled, strict=True))
    freedom = total * total / math.fsum(squares)
    half = t_quantile(max(1, math.floor(freedom + 1e-9))) * math.sqrt(total)
    return (middle - half) * scale, (middle + half) * scale


@cache
def t_quantile(freedom: int) -> float:
    """The t that holds `LEVEL` of Student's distribution between -t and t.

    Up to 100 degrees of freedom the closed forms 26.7.3 and 26.7.4 of Abramowitz and Stegun,
    Handbook of Mathematical Functions, solved by bisection; beyond, their expansion 26.7.5.
    """
    if freedom > 100:
        return _t_expansion(freedom)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _t_within(angle, freedom) < LEVEL else (low, angle)
    return math.sqrt(freedom) * math.tan(low)


def _t_within(angle: float, freedom: int) -> float:
    cosine = math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    terms = [] if freedom == 1 else [term]
    for i in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (i - 1) / i
        terms.append(term)
    total = math.sin(angle) * math.fsum(terms)
    return 2 / math.pi * (angle + total) if odd else total


def _t_expansion(freedom: int) -> float:
    x = _Z
    return (
        x
        + (x**3 + x) / (4 * freedom)
        + (5 * x**5 + 16 * x**3 + 3 * x) / (96 * freedom**2)
        + (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / (384 * freedom**3)
    )


def _variance(values: Sequence[float]) -> float:
    middle = mean(values) or 0.0
    if min(values) == max(values):  # the rounding of the mean is no spread
        return 0.0
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def _within_unit(values: Values, kind: Kind) -> bool:
    if kind == "binary_success":
        return True
    tasks = [value for category in values.values() for value in category]
    return bool(tasks) and min(tasks) >= 0 and max(tasks) <= 1


def _filled(values: Values, missing: Mapping[str, int], value: float) -> dict[str, list[float]]:
    return {
        category: [*values.get(category, ()), *[value] * missing.get(category, 0)]
        for category in {**values, **missing}
    }


def _clipped(interval: tuple[float, float] | None, kind: Kind) -> tuple[float, float] | None:
    if interval is None or kind != "binary_success":
        return interval
    return max(0.0, interval[0]), min(1.0, interval[1])


def _interval(interval: tuple[float, float] | None, method: str) -> dict[str, Any] | None:
    if interval is None or not all(map(math.isfinite, interval)):
        return None
    return {"level": LEVEL, "low": interval[0], "high": interval[1], "method": method}
