"""What a summary may change of a run's benchmark parameters: which tasks count, and how."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentcompass.config.merge import merged
from agentcompass.config.scalars import settle
from agentcompass.config.sources import ConfigFile, file_settings
from agentcompass.errors import ConfigInvalid
from agentcompass.records.convert import structure_settings
from agentcompass.records.request import Aggregation


@attrs.frozen(kw_only=True)
class SummaryParams:
    """The benchmark parameters that bear upon a report; the others made the run what it is."""

    sample_ids: tuple[str, ...] | None = None
    aggregation_mode: Aggregation = "micro_weighted"
    category_hierarchy: Mapping[str, Any] | None = None


_NAMES = tuple(field.name for field in attrs.fields(SummaryParams))


def summary_params(
    benchmark_id: str,
    given: Mapping[str, Any],
    files: Sequence[str],
    *,
    cwd: Path,
    spell: Callable[[str], str] = str,
) -> dict[str, Any]:
    """The parameters that were set, and no others: by `files`, over them by `given`.

    Of a file its section `benchmarks.<id>` counts. The user's and the project's files do not: the
    run has recorded what it took from them, and later changes must not change its numbers. Raises
    `ConfigInvalid` with every fault.
    """
    faults: list[str] = []
    settings = [s for name in files for s in file_settings(ConfigFile(cwd / name, name), faults)]
    layers = [
        (setting.label, _of_a_summary(setting.value))
        for setting in settings
        if setting.path == ("benchmarks", benchmark_id)
    ]
    layers.append((spell("benchmark_params"), dict(given)))
    for label, layer in layers:
        faults.extend(_faults(layer, label))
    if faults:
        raise ConfigInvalid(faults)
    return dict(merged(*(layer for _, layer in layers)))


def _of_a_summary(params: Any) -> Any:
    if not isinstance(params, Mapping):
        return {} if params is None else params
    return settle({name: params[name] for name in _NAMES if name in params}, SummaryParams)


def _faults(layer: Any, label: str) -> tuple[str, ...]:
    try:
        structure_settings(layer, SummaryParams, path=label)
    except ConfigInvalid as error:
        return error.faults
    return ()
