"""Our records as the asyncio implementation (PyPI agentcompass 1.0.1) reads them; pure.

It builds the request anew from run_info.json and params.json and refuses names and values there
that it does not know. What it has no place for is left out (docs/run-directory.md).
"""

from collections.abc import Callable, Mapping
from typing import Any

from agentcompass.metrics.hierarchy import Node, parse_hierarchy
from agentcompass.records.metrics import metric_label

Record = Mapping[str, Any]

_POLICIES = {
    "network_policy": "baseline_network_policy",
    "verifier_network_policy": "evaluation_network_policy",
}
_REQUESTED = {**_POLICIES, "evaluation_mode": "evaluation_environment_mode"}
_SETUP = frozenset({"image", "build_timeout_seconds", "workdir", "os"})
_SYSTEMS = ("linux", "windows")
_OURS = frozenset({"cleanup_grace_seconds", "attempt_budget", "run_budget"})
_COLLECT = frozenset({"command", "timeout_seconds", "service"})
_PROTOCOLS = ("openai-chat", "openai-responses", "anthropic")


def run_info(record: Record) -> Record:
    """run_info.json; fields of ours that it passes over stay."""
    basis = record.get("metric_basis") or {}
    record = _with(record, "request", lambda request: _aggregated(_request(request), basis))
    return _with(record, "resolved_execution_plans", _each(_task))


def params(record: Record) -> Record:
    """params.json."""
    return _with(_with(record, "model", _model), "execution", _execution)


def metrics(record: Record) -> Record:
    """metrics.json: it requires every label, and refuses empty texts and our weights."""
    return {**record, "series": [_series(series) for series in record["series"]]}


def event(record: Record) -> Record:
    """The line of progress.jsonl that tells the plan of an attempt."""
    return _with(record, "payload", _plan)


def _request(request: Record) -> Record:
    return params(_with(request, "environment", _requested_environment))


def _requested_environment(environment: Record) -> Record:
    """The section without `params`: they are the provider's own, and its providers are others."""
    for name in ("setup", "evaluation_setup"):
        environment = _with(environment, name, _setup)
    kept = {name: value for name, value in environment.items() if name != "params"}
    return _renamed(kept, _REQUESTED)


def _aggregated(request: Record, basis: Record) -> Record:
    """Say by parameters how the tasks were aggregated: its benchmark may have another default."""
    if not basis:
        return request
    used = {"aggregation_mode": basis.get("aggregation_mode", "micro_weighted")}
    if tree := basis.get("category_hierarchy"):
        used["category_hierarchy"] = {"overall": _node(parse_hierarchy(tree))}
    return _with(
        request,
        "benchmark",
        lambda benchmark: {**benchmark, "params": {**benchmark.get("params", {}), **used}},
    )


def _node(node: Node) -> Record:
    """A node with all that we leave to defaults, which differ."""
    children = {child.name: _node(child) for child in node.children}
    return {"aggregation": node.rule, "weight": node.weight, "children": children}


def _execution(execution: Record) -> Record:
    kept = {name: value for name, value in execution.items() if name not in _OURS}
    if kept.get("run_timer_compensation_seconds") == 0:
        del kept["run_timer_compensation_seconds"]  # 0 is refused there
    if isinstance(commands := kept.get("artifact_collect"), list):
        kept["artifact_collect"] = [_only(c, _COLLECT) for c in commands if isinstance(c, Mapping)]
    return kept


def _model(model: Record) -> Record:
    """The section with those protocols only that it knows."""
    asked = model.get("api_protocol")
    if isinstance(asked, str):
        return {**model, "api_protocol": asked if asked in _PROTOCOLS else ""}
    if isinstance(asked, list):
        return {**model, "api_protocol": [name for name in asked if name in _PROTOCOLS]}
    return model


def _task(task: Record) -> Record:
    return _with(task, "attempts", _each(_plan))


def _plan(plan: Record) -> Record:
    for name in ("environment", "evaluation_environment"):
        plan = _with(plan, name, _planned_environment)
    return _renamed(plan, _POLICIES)


def _planned_environment(environment: Record) -> Record:
    return _renamed(_with(environment, "setup", _setup), _POLICIES)


def _setup(setup: Record) -> Record:
    kept = _only(setup, _SETUP)
    return kept if kept.get("os") in _SYSTEMS else _only(kept, _SETUP - {"os"})


def _series(series: Record) -> Record:
    def labelled(display: Record) -> Record:
        texts = {name: None if value == "" else value for name, value in display.items()}
        return {**texts, "label": texts["label"] or metric_label(series["metric_id"])}

    for part in ("categories", "hierarchy"):
        series = _with(series, part, _each(_breakdown))
    return _with(series, "display", labelled)


def _breakdown(part: Record) -> Record:
    """A part with the weight that it has there under any aggregation: its evaluated tasks."""
    return {**part, "aggregation_weight": float(part["counts"]["evaluated"])}


def _with(record: Record, name: str, change: Callable[[Record], Record]) -> Record:
    """`record` with its section `name` changed, where it has one."""
    section = record.get(name)
    return {**record, name: change(section)} if isinstance(section, Mapping) else record


def _each(change: Callable[[Record], Record]) -> Callable[[Record], Record]:
    """Change each that is a record; anything else stays as it is, for who reads it."""
    return lambda records: {
        name: change(record) if isinstance(record, Mapping) else record
        for name, record in records.items()
    }


def _only(record: Record, names: frozenset[str]) -> Record:
    return {name: value for name, value in record.items() if name in names}


def _renamed(record: Record, names: Mapping[str, str]) -> Record:
    return {names.get(name, name): value for name, value in record.items()}
