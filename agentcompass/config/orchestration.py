"""Every source of settings becomes the requests of one orchestration, or a list of its faults."""

import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from agentcompass.config.gather import Gathered, configured, gathered
from agentcompass.config.keywords import config_paths, keyword_place, unwritable_faults
from agentcompass.config.layers import KEYWORDS, OF_REQUESTS, chosen_ids, launch_settings, layers
from agentcompass.config.outline import Asked, Outline, Reader, Written, plain, written_in_python
from agentcompass.config.resolve import (
    Ids,
    Parts,
    process_options,
    request_parts,
    run_request,
    with_options,
    with_recipe_dirs,
)
from agentcompass.config.settings import expand
from agentcompass.errors import ConfigInvalid
from agentcompass.records.orchestration import OrchestrationSpec, RuntimeOptions
from agentcompass.records.request import ProcessOptions, RunRequest

# What can still be said of resolved requests; recipe_dirs is no keyword of `launch`, for a spec
# has it.
_STILL = frozenset({*KEYWORDS, "recipe_dirs"}) - OF_REQUESTS


@attrs.frozen(kw_only=True)
class Orchestration:
    """What is to be measured, request by request, and how the process behaves meanwhile.

    Nothing in it depends on files or variables any more; `launch` takes it, any number of times.
    Each request's `metadata` holds its name and its place; all have the `task_concurrency`.
    `runtime.timeout_seconds` is the deadline of them all.
    """

    id: str = attrs.field(factory=lambda: uuid.uuid4().hex)
    name: str
    task_concurrency: int
    runtime: ProcessOptions
    requests: tuple[RunRequest, ...]

    @property
    def names(self) -> list[str]:
        """The names of the requests, in order."""
        return [str(request.metadata["request_name"]) for request in self.requests]

    @property
    def cleanup_grace_seconds(self) -> float:
        """What cleanup may take after a cancellation."""
        return max(request.execution.cleanup_grace_seconds for request in self.requests)

    @classmethod
    def from_spec(
        cls, orchestration: OrchestrationSpec | Mapping[str, Any], **settings: Any
    ) -> "Orchestration":
        """What `launch` with the same arguments would run.

        Raises `ConfigInvalid` with every fault of every request.
        """
        written = written_in_python(orchestration)
        return resolve_orchestration(written, settings, cwd=Path.cwd(), environ=os.environ)

    @classmethod
    def from_requests(
        cls,
        requests: Mapping[str, RunRequest],
        *,
        name: str = "",
        task_concurrency: int | None = None,
        runtime: RuntimeOptions | Mapping[str, Any] | None = None,
    ) -> "Orchestration":
        """Requests by their names, such as `build_run_request` makes; no file is read.

        `task_concurrency` is by default the largest of the requests'. Raises `ConfigInvalid`.
        """
        settings = plain({} if runtime is None else runtime)
        if faults := [*_shape_faults(name, settings), *_request_faults(requests)]:
            raise ConfigInvalid(faults)
        slots = max(request.execution.task_concurrency for request in requests.values())
        made = cls(name=name, task_concurrency=slots, runtime=ProcessOptions(), requests=())
        placed = tuple(
            attrs.evolve(request, metadata={**request.metadata, **_place(made.id, index, each)})
            for index, (each, request) in enumerate(requests.items())
        )
        whole = attrs.evolve(made, requests=placed)
        asked = slots if task_concurrency is None else task_concurrency
        return whole.with_settings(**{**settings, "task_concurrency": asked})

    def with_settings(self, **settings: Any) -> "Orchestration":
        """The same requests with these keywords of `launch`, but for those that come too late.

        That are the ones that say what the requests are. Raises `ConfigInvalid`.
        """
        faults = [_refusal(name) for name in sorted(settings.keys() - _STILL)]
        kept = {name: value for name, value in settings.items() if name in _STILL}
        given = [expand(each, os.environ, faults) for each in launch_settings(kept, str)]
        found = gathered(given, faults, os.environ)
        found.check()
        execution = found.at("execution") or {}
        folders = found.at("runtime", "recipe_dirs") or ()
        requests = (
            attrs.evolve(request, execution=attrs.evolve(request.execution, **execution))
            for request in self.requests
        )
        return attrs.evolve(
            self,
            task_concurrency=execution.get("task_concurrency", self.task_concurrency),
            runtime=with_options(self.runtime, found),
            requests=tuple(with_recipe_dirs(request, folders) for request in requests),
        )


@attrs.frozen(kw_only=True)
class _Settled:
    """The settings of one request, not yet put together."""

    found: Gathered
    ids: Ids
    parts: Parts
    metadata: Mapping[str, Any]


def resolve_orchestration(
    written: Written,
    values: Mapping[str, Any],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    spell: Callable[[str], str] = str,
) -> Orchestration:
    """Settle every request of what was `written`, and the keyword arguments of `launch`.

    Later sources win: built-in defaults, configuration files, the orchestration's own settings,
    its defaults, the request, `values`. Parameters in the defaults are those of the id that stands
    beside them: a request that chooses another one does not get them. Raises `ConfigInvalid` with
    every fault of every request at once.
    """
    faults = [f"{spell(name)}: unknown keyword" for name in sorted(values.keys() - KEYWORDS)]
    outline = Reader(written, environ, faults).outline()
    files = configured(config_paths(values), cwd, environ, faults)
    given = [expand(each, environ, faults) for each in launch_settings(values, spell)]
    orchestration_id = uuid.uuid4().hex
    settled = []
    for index, (name, asked) in enumerate(outline.requests.items()):
        its_faults: list[str] = []
        ids = dict(chosen_ids(outline.defaults, asked, its_faults))
        found = gathered([*files, *layers(outline, asked, ids, given)], its_faults, environ)
        place = _place(orchestration_id, index, name)
        paths = config_paths(values)
        metadata = {**place, "config_path": paths} if paths else place
        settled.append(_settled(found, ids, asked, metadata))
    faults.extend(fault for each in settled for fault in each.found.told())
    if faults:
        raise ConfigInvalid(list(dict.fromkeys(faults)))
    return _resolved(outline, orchestration_id, settled)


def _resolved(
    outline: Outline, orchestration_id: str, settled: Sequence[_Settled]
) -> Orchestration:
    requests = [run_request(e.found, e.ids, e.parts, metadata=e.metadata) for e in settled]
    return Orchestration(
        id=orchestration_id,
        name=outline.name,
        task_concurrency=requests[0].execution.task_concurrency,
        runtime=process_options(settled[0].found),
        requests=tuple(requests),
    )


def _place(orchestration_id: str, index: int, name: str) -> dict[str, Any]:
    return {
        "orchestration_id": orchestration_id,
        "request_key": f"{orchestration_id}/{index}",
        "request_name": name,
        "request_index": index,
    }


def _shape_faults(name: object, runtime: object) -> Iterator[str]:
    if not isinstance(name, str):
        yield f"name: expected text, got {name!r:.40}"
    if not isinstance(runtime, dict) or not all(isinstance(key, str) for key in runtime):
        yield f"runtime: expected settings by their names, got {runtime!r:.40}"


def _request_faults(requests: Mapping[str, RunRequest]) -> Iterator[str]:
    if not isinstance(requests, Mapping) or not requests:
        yield "requests: expected requests by their names"
        return
    for name, request in requests.items():
        if not isinstance(name, str) or not name.strip():
            yield f"requests: expected a name that is not empty, got {name!r}"
        if not isinstance(request, RunRequest):
            yield f"requests[{name!r}]: expected a RunRequest, got {type(request).__name__}"


def _refusal(name: str) -> str:
    if name in KEYWORDS:
        return f"{name}: the requests are resolved already; give it where they are made"
    return f"{name}: unknown keyword"


def _settled(found: Gathered, ids: Ids, asked: Asked, metadata: Mapping[str, Any]) -> _Settled:
    spell = partial(keyword_place, asked.where)
    model_params = {"model_params": found.at("model", "params") or {}}
    found.faults.extend(unwritable_faults(model_params, spell))
    return _Settled(found=found, ids=ids, parts=request_parts(found, ids, spell), metadata=metadata)
