"""What a benchmark declares to measure, and the report of what was measured (metrics.json)."""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal

import attrs
from attrs import validators

from agentcompass.records.request import Strategy

Kind = Literal["binary_success", "scalar"]
Reducer = Literal["native", "avg", "pass"]
Role = Literal["headline", "auxiliary"]

PRIMARY_KINDS: Mapping[str, Kind] = {"correct": "binary_success", "score": "scalar"}


class MetricInvalid(ValueError):
    """A benchmark reported a metric that its contract does not allow, or for no planned attempt.

    It ends that attempt only: the engine turns it into an issue, nothing of it is counted.
    """

    def __init__(
        self, fault: str, *, task_id: str, attempt: int, metric: str | None = None
    ) -> None:
        self.task_id, self.attempt, self.metric = task_id, attempt, metric
        self.fault = fault if metric is None else f"metric {metric!r} {fault}"
        separator = " " if metric is None else ": "
        super().__init__(f"task {task_id!r}, attempt {attempt}{separator}{self.fault}")


class ContractInvalid(ValueError):
    """A benchmark's metric declaration contradicts itself or the attempt plan."""


def metric_label(metric_id: str) -> str:
    """`answer_len` as people read it: `Answer Len`."""
    return metric_id.replace("_", " ").title()


_decimals = validators.optional(validators.ge(0))


@attrs.frozen(kw_only=True)
class MetricDisplay:
    """How a metric is shown; `precision` is the number of decimals, None the usual 4."""

    label: str | None = None
    description: str | None = None
    unit: str | None = None
    precision: int | None = attrs.field(default=None, validator=_decimals)


def _as_tuple(reducers: Iterable[Reducer]) -> tuple[Reducer, ...]:
    """What `tuple` itself would be; attrs asks a built-in for its signature, which takes 9 ms."""
    return tuple(reducers)


def _reducers(spec: "MetricSpec", _attribute: object, value: tuple[Reducer, ...]) -> None:
    allowed = {"avg", "pass"} if spec.kind == "binary_success" else {"avg"}
    if not value or not set(value) <= allowed or len(set(value)) < len(value):
        raise ContractInvalid(f"a {spec.kind} metric is reduced by {sorted(allowed)}, not {value}")


@attrs.frozen(kw_only=True)
class MetricSpec:
    """One declared metric. `reducers` apply to several attempts; one attempt counts as it is."""

    kind: Kind = attrs.field(validator=validators.in_(("binary_success", "scalar")))
    reducers: tuple[Reducer, ...] = attrs.field(converter=_as_tuple, validator=_reducers)
    primary: bool = False
    role: Role = attrs.field(validator=validators.in_(("headline", "auxiliary")))
    display: MetricDisplay | None = None

    @reducers.default
    def _usual_reducers(self) -> tuple[Reducer, ...]:
        return ("avg", "pass") if self.kind == "binary_success" else ("avg",)

    @role.default
    def _usual_role(self) -> Role:
        return "headline" if self.primary else "auxiliary"


def _one_primary(_contract: object, _attribute: object, specs: Mapping[str, MetricSpec]) -> None:
    if sum(spec.primary for spec in specs.values()) != 1:
        raise ContractInvalid(f"exactly one metric has to be primary, of {sorted(specs)}")
    for metric, spec in specs.items():
        _check_name(metric, spec)


def _check_name(metric: str, spec: MetricSpec) -> None:
    if not metric or metric != metric.strip():
        raise ContractInvalid(f"metric name {metric!r} is empty or has white space around it")
    if PRIMARY_KINDS.get(metric) != (spec.kind if spec.primary else None):
        names = "'correct' (binary_success) or 'score' (scalar), and no other is"
        raise ContractInvalid(f"the primary metric is {names}: {metric!r} ({spec.kind})")
    if spec.primary and spec.role != "headline":
        raise ContractInvalid(f"{metric!r} is primary, so its role is headline")


@attrs.frozen(kw_only=True)
class MetricContract:
    """Every metric that a benchmark may report; anything else in an attempt is a fault."""

    specs: Mapping[str, MetricSpec] = attrs.field(validator=_one_primary)

    @property
    def primary(self) -> str:
        """The name of the primary metric: `correct` or `score`."""
        return next(metric for metric, spec in self.specs.items() if spec.primary)

    def with_auxiliary(self, metric: str, kind: Kind, **display: Any) -> "MetricContract":
        """The same with one more metric; `display` are fields of `MetricDisplay`."""
        if metric in self.specs:
            raise ContractInvalid(f"{metric!r} is declared twice")
        return MetricContract(specs={**self.specs, metric: _declare(metric, kind, **display)})

    def check_strategy(self, strategy: Strategy) -> None:
        """Refuse `pass` where no attempt can succeed: with a scalar primary, also at k = 1."""
        if strategy == "pass" and "pass" not in self.specs[self.primary].reducers:
            raise ContractInvalid(f"strategy 'pass' does not fit the primary {self.primary!r}")


def _declare(metric: str, kind: Kind, *, primary: bool = False, **display: Any) -> MetricSpec:
    shown = MetricDisplay(**{"label": metric_label(metric), **display})
    return MetricSpec(kind=kind, primary=primary, display=shown)


@cache
def binary_contract() -> MetricContract:
    """A benchmark whose tasks are solved or not: `correct`."""
    return MetricContract(specs={"correct": _declare("correct", "binary_success", primary=True)})


@cache
def scalar_contract() -> MetricContract:
    """A benchmark whose tasks earn a number: `score`."""
    return MetricContract(specs={"score": _declare("score", "scalar", primary=True)})


_COUNT = (validators.instance_of(int), validators.ge(0))


@attrs.frozen(kw_only=True)
class Counts:
    """How many tasks ended how. `error` overlaps the others: a faulty task may have a value."""

    total: int = attrs.field(default=0, validator=_COUNT)
    evaluated: int = attrs.field(default=0, validator=_COUNT)
    error: int = attrs.field(default=0, validator=_COUNT)
    unavailable: int = attrs.field(default=0, validator=_COUNT)
    invalidated: int = attrs.field(default=0, validator=_COUNT)

    def __attrs_post_init__(self) -> None:
        apart = self.evaluated + self.unavailable + self.invalidated
        if apart != self.total or self.error > self.total:
            raise ValueError(f"the counts do not add up: {self}")


def sum_counts(parts: Iterable[Counts]) -> Counts:
    """The counts of disjoint groups of tasks together."""
    groups = tuple(parts)
    return Counts(
        total=sum(part.total for part in groups),
        evaluated=sum(part.evaluated for part in groups),
        error=sum(part.error for part in groups),
        unavailable=sum(part.unavailable for part in groups),
        invalidated=sum(part.invalidated for part in groups),
    )


def _number(_instance: object, attribute: "attrs.Attribute[Any]", value: float | None) -> None:
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{attribute.name} is not finite: {value}")


def _check_values(counts: Counts, value: float | None, reference_value: float | None) -> None:
    if value is not None and reference_value is not None:
        raise ValueError("value and reference_value exclude each other")
    if not counts.evaluated and (value, reference_value) != (None, None):
        raise ValueError("a value without an evaluated task")


@attrs.frozen(kw_only=True)
class Breakdown:
    """The part of a series that one category or hierarchy node contributes."""

    value: float | None = attrs.field(default=None, validator=_number)
    reference_value: float | None = attrs.field(default=None, validator=_number)
    counts: Counts = Counts()
    aggregation_weight: float = attrs.field(default=0.0, validator=_number)

    def __attrs_post_init__(self) -> None:
        _check_values(self.counts, self.value, self.reference_value)


@attrs.frozen(kw_only=True)
class MetricSeries:
    """One metric under one reducer. `reference_value` replaces `value` in a failed evaluation."""

    series_id: str
    metric_id: str
    kind: Kind
    reducer: str
    role: Role
    aggregation: str
    display: MetricDisplay | None = None
    k: int = attrs.field(validator=validators.ge(1))
    value: float | None = attrs.field(default=None, validator=_number)
    reference_value: float | None = attrs.field(default=None, validator=_number)
    counts: Counts = Counts()
    categories: Mapping[str, Breakdown] = attrs.field(factory=dict)
    hierarchy: Mapping[str, Breakdown] = attrs.field(factory=dict)
    extra: Mapping[str, Any] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        if self.series_id != f"{self.metric_id}.{self.reducer}@{self.k}":
            raise ValueError(f"series id {self.series_id!r} does not name its own metric")
        _check_values(self.counts, self.value, self.reference_value)
        parts = [part.counts for part in self.categories.values()]
        if parts and sum_counts(parts) != self.counts:
            raise ValueError(f"the categories of {self.series_id} do not add up to {self.counts}")


def _shared(series: MetricSeries) -> object:
    return series.counts.total, series.counts.invalidated, series.categories.keys()


@attrs.frozen(kw_only=True)
class MetricReport:
    """metrics.json: every series of a run, under one attempt plan and one aggregation."""

    aggregation: str
    evaluation_failed: bool
    extra: Mapping[str, Any] = attrs.field(factory=dict)
    k: int = attrs.field(validator=validators.ge(1))
    strategy: Strategy
    series: tuple[MetricSeries, ...] = ()

    def __attrs_post_init__(self) -> None:
        for series in self.series:
            self._check(series)
        if len({series.series_id for series in self.series}) < len(self.series):
            raise ValueError("a series occurs twice")

    def _check(self, series: MetricSeries) -> None:
        first, name = self.series[0], series.series_id
        if series.k != self.k:
            raise ValueError(f"{name} is not of the report's k = {self.k}")
        if _shared(series) != _shared(first):
            raise ValueError(f"{name} has other tasks or categories than {first.series_id}")
        if self.evaluation_failed != (series.counts.invalidated > 0):
            raise ValueError("an evaluation has failed if and only if a task is invalidated")
        official, reference = series.value, series.reference_value
        if (official if self.evaluation_failed else reference) is not None:
            raise ValueError(f"{name} has a value that this evaluation does not give")
