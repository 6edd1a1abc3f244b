"""What a report has to say, worked out slowly in exact fractions and without the package's code."""

from fractions import Fraction
from itertools import combinations

import attrs
from hypothesis import strategies as st

from agentcompass.metrics.observations import AttemptObservation, TaskObservations
from agentcompass.records.metrics import binary_contract, scalar_contract

BINARY = (
    binary_contract().with_auxiliary("cost", "scalar").with_auxiliary("built", "binary_success")
)
SCALAR = scalar_contract().with_auxiliary("built", "binary_success")
TREE = {
    "overall": {
        "aggregation": "weighted",
        "children": {
            "a": {"weight": 3},
            "rest": {
                "aggregation": "weighted_by_count",
                "children": {"b/c": {}, "__uncategorized__": {}},
            },
        },
    }
}

coarse = st.sampled_from([0.1, 0.2, 0.3, 1e16, -1e16, 1 / 3])  # their order shows in a plain sum
unit = st.integers(0, 8).map(lambda eighths: eighths / 8)
finite = st.floats(-1e6, 1e6)


def attempts(contract, k, scalars):
    """The attempts of a task: half of the time all that were due, else as it comes."""
    kinds = {"binary_success": st.booleans(), "scalar": scalars}
    metrics = {metric: kinds[spec.kind] for metric, spec in contract.specs.items()}
    good = st.builds(AttemptObservation, metrics=st.fixed_dictionaries(metrics))
    any_kind = st.builds(
        AttemptObservation,
        metrics=st.fixed_dictionaries({}, optional=metrics),
        severity=st.sampled_from(["", "", "", "warning", "error", "fatal"]),
    )
    return st.fixed_dictionaries(dict.fromkeys(range(1, k + 1), good)) | st.dictionaries(
        st.integers(1, k), any_kind, max_size=k
    )


def runs(contract, k, *, scalars=finite, min_size=0):
    """The tasks of a run, with attempts missing here and there."""
    seen = st.tuples(st.sampled_from(["a", "b/c", None]), attempts(contract, k, scalars))
    return st.lists(seen, min_size=min_size, max_size=8).map(
        lambda tasks: [
            TaskObservations(task_id=f"t{i}", category=category, attempts=found)
            for i, (category, found) in enumerate(tasks)
        ]
    )


def reduce(task, metric, reducer, k):
    """The value of a task, or None."""
    seen = [Fraction(a.metrics[metric]) for a in task.attempts.values() if metric in a.metrics]
    if reducer == "pass" and any(seen):
        return Fraction(1)
    return Fraction(sum(seen), k) if len(seen) == k else None


def subsets_with_success(successes, attempts, j):
    """The share of j attempts out of `attempts` that hold one of `successes`, by trying all."""
    flags = [True] * successes + [False] * (attempts - successes)
    picks = list(combinations(flags, j))
    return Fraction(sum(any(pick) for pick in picks), len(picks))


def category(task):
    return task.category or "__uncategorized__"


def run_value(values, mode):
    """The run's value of (category, value) pairs of the evaluated tasks."""
    groups = {}
    for name, value in values:
        groups.setdefault(name, []).append(value)
    means = {name: Fraction(sum(group), len(group)) for name, group in groups.items()}
    if not values:
        return None
    if mode == "micro_weighted":
        return Fraction(sum(value for _, value in values), len(values))
    if mode == "category_mean":
        return Fraction(sum(means.values()), len(means))
    rest = [value for name, value in values if name != "a"]
    parts = [(3, means["a"])] if "a" in means else []
    parts += [(1, Fraction(sum(rest), len(rest)))] if rest else []
    return Fraction(sum(w * v for w, v in parts), sum(w for w, _ in parts))


def is_fatal(task):
    return any(attempt.severity == "fatal" for attempt in task.attempts.values())


def is_faulty(task, k, strategy):
    for number in range(1, k + 1):
        if number not in task.attempts:
            return True
        if strategy == "pass" and task.attempts[number].metrics.get("correct"):
            break
    return any(attempt.severity in ("error", "fatal") for attempt in task.attempts.values())


def filled(tasks, metric, reducer, k, verdict):
    """The run in which every task that is missing in a series had `verdict` in all attempts."""
    whole = {n: AttemptObservation(metrics={metric: verdict}) for n in range(1, k + 1)}
    return [
        attrs.evolve(task, attempts=whole)
        if is_fatal(task) or reduce(task, metric, reducer, k) is None
        else task
        for task in tasks
    ]
