"""Every source of settings becomes the requests of one orchestration, or a list of its faults."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from agentcompass.config.components import NO_HARNESS, component_class
from agentcompass.config.gather import Gathered, configured, gathered
from agentcompass.config.keywords import (
    COMPONENTS,
    config_paths,
    keyword_place,
    keyword_settings,
    unwritable_faults,
)
from agentcompass.config.outline import Asked, Outline, Reader, Written
from agentcompass.config.resolve import Ids, Parts, process_options, request_parts, run_request
from agentcompass.config.scalars import settle
from agentcompass.config.settings import Setting, expand
from agentcompass.errors import ConfigInvalid, UsageError
from agentcompass.records.convert import unstructure
from agentcompass.records.request import ProcessOptions, RunRequest
from agentcompass.registry import Kind

KEYWORDS = frozenset(
    {"config_path", "task_concurrency", "results_dir", "data_dir", "timeout_seconds", "run_id"}
    | {"provider_limits", "env_open_qps", "progress", "log_level", "file_log_level", "log_file"}
    | {"auto_install_dependencies", "cleanup_grace_seconds", "reuse"}
)


@attrs.frozen(kw_only=True)
class ResolvedOrchestration:
    """What is to be measured, request by request, and how the process behaves meanwhile.

    Each request's `metadata` holds its name and its place. `options.timeout_seconds` is the
    deadline of them all.
    """

    orchestration_id: str
    name: str
    task_concurrency: int
    cleanup_grace_seconds: float
    options: ProcessOptions
    requests: tuple[RunRequest, ...]

    @property
    def names(self) -> list[str]:
        """The names of the requests, in order."""
        return [str(request.metadata["request_name"]) for request in self.requests]


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
) -> ResolvedOrchestration:
    """Settle every request of what was `written`, and the keyword arguments of `launch`.

    Later sources win: built-in defaults, configuration files, the orchestration's own settings,
    its defaults, the request, `values`. Parameters in the defaults are those of the id that stands
    beside them: a request that chooses another one does not get them. Raises `ConfigInvalid` with
    every fault of every request at once.
    """
    faults = [f"{spell(name)}: unknown keyword" for name in sorted(values.keys() - KEYWORDS)]
    outline = Reader(written, environ, faults).outline()
    files = configured(config_paths(values), cwd, environ, faults)
    given = [expand(each, environ, faults) for each in _keyword_settings(values, spell)]
    orchestration_id = uuid.uuid4().hex
    settled = []
    for index, (name, asked) in enumerate(outline.requests.items()):
        place = {
            "orchestration_id": orchestration_id,
            "request_key": f"{orchestration_id}/{index}",
            "request_name": name,
            "request_index": index,
        }
        ids = dict(_ids(outline.defaults, asked, faults))
        layers = [*files, *_layers(outline, asked, ids, given)]
        paths = config_paths(values)
        metadata = {**place, "config_path": paths} if paths else place
        settled.append(_settled(gathered(layers, [], environ), ids, asked, metadata))
    faults.extend(fault for each in settled for fault in each.found.told())
    if faults:
        raise ConfigInvalid(list(dict.fromkeys(faults)))
    return _resolved(outline, orchestration_id, settled)


def as_document(resolved: ResolvedOrchestration) -> dict[str, Any]:
    """What `--dry-run` shows; it still holds the secrets. A limit or timeout of 0 is none."""
    options = unstructure(resolved.options)
    for name in ("provider_limits", "env_open_qps"):
        options[name] = {provider: limit or 0 for provider, limit in options[name].items()}
    options["timeout_seconds"] = options["timeout_seconds"] or 0
    return {
        "orchestration_id": resolved.orchestration_id,
        "name": resolved.name,
        "task_concurrency": resolved.task_concurrency,
        "runtime": {**options, "cleanup_grace_seconds": resolved.cleanup_grace_seconds},
        "requests": [_request_document(request) for request in resolved.requests],
    }


def _request_document(request: RunRequest) -> dict[str, Any]:
    place = request.metadata
    head = {name: place[f"request_{name}"] for name in ("key", "index", "name")}
    return {**head, **unstructure(request)}


def _resolved(
    outline: Outline, orchestration_id: str, settled: Sequence[_Settled]
) -> ResolvedOrchestration:
    requests = [run_request(e.found, e.ids, e.parts, metadata=e.metadata) for e in settled]
    return ResolvedOrchestration(
        orchestration_id=orchestration_id,
        name=outline.name,
        task_concurrency=requests[0].execution.task_concurrency,
        cleanup_grace_seconds=max(each.execution.cleanup_grace_seconds for each in requests),
        options=process_options(settled[0].found),
        requests=tuple(requests),
    )


def _keyword_settings(values: Mapping[str, Any], spell: Callable[[str], str]) -> list[Setting]:
    own = "cleanup_grace_seconds"
    plain = {name: values[name] for name in values if name in KEYWORDS - {own, "reuse"}}
    found = keyword_settings(plain, {}, spell)
    for name, path in ((own, ("execution", own)), ("reuse", ("runtime", "reuse"))):
        if values.get(name) is not None:
            found.append(Setting(label=spell(name), path=path, value=values[name]))
    return found


def _ids(defaults: Asked, asked: Asked, faults: list[str]) -> Iterator[tuple[Kind, str]]:
    """The components of a request; what is missing or cannot be had is noted and left out."""
    for kind in COMPONENTS:
        chosen = _id(asked, kind)
        chosen = _id(defaults, kind) if chosen is None else chosen
        try:
            if not isinstance(chosen, str | None):
                raise UsageError(f"expected text, got {type(chosen).__name__}")
            if not chosen or not chosen.strip():
                raise UsageError("required, here or in the defaults")
            if (kind, chosen) != ("harness", NO_HARNESS):
                component_class(kind, chosen)
        except UsageError as error:
            faults.append(f"{asked.where}.{kind}.id: {error}")
        else:
            yield kind, chosen


def _id(asked: Asked, kind: str) -> Any:
    return settle(asked.sections.get(kind, {}).get("id"), str)


def _layers(
    outline: Outline, asked: Asked, ids: Ids, given: Sequence[Setting]
) -> Iterator[Setting]:
    """What stands in the orchestration, and the keywords, as it wins for one request."""
    reuse = [each for each in given if each.path == ("runtime", "reuse")]
    yield from outline.common
    yield from _sections(outline.defaults, ids)
    yield from reuse  # a default like any other: a request's own word about it wins
    yield from _sections(asked, ids)
    yield from (each for each in given if each not in reuse)


def _sections(asked: Asked, ids: Ids) -> Iterator[Setting]:
    for kind, section in COMPONENTS.items():
        chosen = ids.get(kind)
        if chosen and kind in asked.sections and (_id(asked, kind) or chosen) == chosen:
            params = {key: item for key, item in asked.sections[kind].items() if key != "id"}
            yield Setting(label=f"{asked.where}.{kind}", path=(section, chosen), value=params)
    for name, content in asked.sections.items():
        if name not in COMPONENTS:
            yield Setting(label=f"{asked.where}.{name}", path=(name,), value=content)


def _settled(found: Gathered, ids: Ids, asked: Asked, metadata: Mapping[str, Any]) -> _Settled:
    spell = partial(keyword_place, asked.where)
    model_params = {"model_params": found.at("model", "params") or {}}
    found.faults.extend(unwritable_faults(model_params, spell))
    return _Settled(found=found, ids=ids, parts=request_parts(found, ids, spell), metadata=metadata)
