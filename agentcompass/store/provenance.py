"""run_info.json and params.json as they are put together: what was asked for, and what came of it.

The plan of every attempt goes into run_info.json. Writing that file for each of them would cost
the square of their number, so it is due half way and at the end, and with several attempts a task
whenever the plans have doubled; until then a plan is in progress.jsonl. At a share of the tasks,
not of the plans so far: else the last time might come just before the end, and cost as much.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from agentcompass.records.request import RunRequest
from agentcompass.records.run_info import RUN_INFO_SCHEMA
from agentcompass.store.documents import is_empty, without_empty
from agentcompass.store.encode import dump, plain
from agentcompass.store.redact import Redactor

# What params.json keeps of the execution, where it is set (docs/run-directory.md).
_EXECUTION = (
    *("attempts", "artifact_limits", "timeout_multiplier", "run_timer_compensation_seconds"),
    *("runresult_collect_timeout_seconds", "run_timeout_seconds", "evaluation_timeout_seconds"),
    *("run_timeout_multiplier", "evaluation_timeout_multiplier", "save_artifacts"),
    *("artifact_collect_timeout_seconds", "artifacts", "artifact_collect"),
    *("attempt_budget", "run_budget"),
)
_HERE = "<the plans>"
_PLAN_INDENT = b"\n" + b" " * 8


@attrs.define(eq=False)
class Provenance:
    """What the two files say so far; the request has lost its secrets and its private keys."""

    run_id: str
    request: Mapping[str, Any]
    redactor: Redactor
    started_at: str = attrs.field(init=False)
    _fields: dict[str, Any] = attrs.field(factory=dict, init=False)
    # By attempt and task, as text, each once: this takes little memory, and writing it holds up
    # nothing.
    _plans: dict[int, dict[str, bytes]] = attrs.field(factory=dict, init=False)
    _texts: dict[bytes, bytes] = attrs.field(factory=dict, init=False)
    _latest: Mapping[str, Any] | None = attrs.field(default=None, init=False)
    _text: bytes = attrs.field(default=b"", init=False)
    _written_plans: int = attrs.field(default=0, init=False)

    def set(self, **fields: Any) -> None:
        """Set top-level fields of run_info.json; None takes one back."""
        self._fields.update(plain(fields))

    def add_plan(self, task_id: str, attempt: int, plan: Mapping[str, Any]) -> None:
        """Note what an attempt resolved to use; `plan` is not changed any more."""
        if plan is not self._latest:  # many attempts share their plan
            text = dump(self.redactor.record(plain(plan)), sort_keys=True).strip()
            text = text.replace(b"\n", _PLAN_INDENT)
            self._latest, self._text = plan, self._texts.setdefault(text, text)
        self._plans.setdefault(attempt, {})[task_id] = self._text

    @started_at.default
    def _now(self) -> str:
        return now()

    @property
    def is_due(self) -> bool:
        """Whether the plans have doubled since the last `snapshot`, and half the tasks have one."""
        tasks = len(self._fields.get("task_ids") or ())
        return self._number_of_plans > max(2 * self._written_plans, tasks // 2)

    @property
    def _number_of_plans(self) -> int:
        return sum(map(len, self._plans.values()))

    def snapshot(self) -> "Snapshot":
        """What run_info.json says now, to be put into words later and elsewhere."""
        self._written_plans = self._number_of_plans
        fields = {
            "schema_version": RUN_INFO_SCHEMA,
            "run_id": self.run_id,
            "started_at": self.started_at,
            "request": self.request,
            **{name: value for name, value in self._fields.items() if value is not None},
        }
        return Snapshot(fields, {attempt: dict(plans) for attempt, plans in self._plans.items()})

    def params(self) -> dict[str, Any]:
        """params.json: of each section what metrics and summaries need."""
        request = self.request
        execution = request.get("execution", {})
        sections = {
            "benchmark": request["benchmark"],
            "model": request["model"],
            "execution": {name: execution.get(name) for name in _EXECUTION},
            "output": request.get("output", {}),
        }
        return {name: _set_fields(section) for name, section in sections.items()}


@attrs.frozen
class Snapshot:
    """The fields of run_info.json, and the plans as text, by attempt and task."""

    fields: Mapping[str, Any]
    plans: Mapping[int, Mapping[str, bytes]]

    def pieces(self) -> Iterator[bytes]:
        """The content of run_info.json, piece by piece.

        The plans are put in as the text that they are, one after the other: for many tasks, one
        call that encodes them all would stop every other thread for too long, and the whole of it
        would take more memory than all that is kept of the tasks.
        """
        if not self.plans:
            yield dump(self.fields, sort_keys=True)
            return
        data = dump({**self.fields, "resolved_execution_plans": _HERE}, sort_keys=True)
        before, _, after = data.partition(_text(_HERE))
        yield before
        yield from _object((_task(*each) for each in self._by_task()), 2)
        yield after

    def _by_task(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        attempts = [(_text(name), self.plans[int(name)]) for name in sorted(map(str, self.plans))]
        for task_id in sorted(set().union(*self.plans.values())):
            yield task_id, [n + b": " + plans[task_id] for n, plans in attempts if task_id in plans]


def _task(task_id: str, plans: Iterable[bytes]) -> bytes:
    attempts = b'"attempts": ' + b"".join(_object(plans, 6))
    return _text(task_id) + b": " + b"".join(_object((attempts,), 4))


def _object(members: Iterable[bytes], indent: int) -> Iterator[bytes]:
    """A JSON object with at least one member that itself stands at `indent`."""
    space = b"\n" + b" " * indent
    mark = b"{"
    for member in members:
        yield mark + space + b"  " + member
        mark = b","
    yield space + b"}"


def _text(text: str) -> bytes:
    return dump(text, indent=False).strip()


def request_document(request: RunRequest, run_id: str, redactor: Redactor) -> dict[str, Any]:
    """The merged request as it is written: without secrets, private keys, and what is not set."""
    record: dict[str, Any] = plain(request)
    record["output"]["run_id"] = run_id
    public: dict[str, Any] = without_empty(_public(redactor.record(record)))
    return public


def now() -> str:
    """This moment, in ISO 8601 with the zone's offset, to the second."""
    return dt.datetime.now().astimezone().isoformat(timespec="seconds")


def _public(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _public(item) for key, item in value.items() if not key.startswith("_")}
    return [_public(item) for item in value] if isinstance(value, list) else value


def _set_fields(section: Mapping[str, Any]) -> dict[str, Any]:
    return {name: v for name, v in section.items() if not is_empty(v) and v != ""}
