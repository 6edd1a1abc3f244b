"""What an orchestration and the keywords of `launch` say of one request, in the winning order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agentcompass.config.components import NO_HARNESS, component_class
from agentcompass.config.keywords import COMPONENTS, keyword_settings
from agentcompass.config.outline import Asked, Outline
from agentcompass.config.resolve import Ids
from agentcompass.config.scalars import settle
from agentcompass.config.settings import Setting
from agentcompass.errors import UsageError
from agentcompass.registry import Kind

KEYWORDS = frozenset(
    {"config_path", "task_concurrency", "results_dir", "data_dir", "timeout_seconds", "run_id"}
    | {"provider_limits", "env_open_qps", "progress", "log_level", "file_log_level", "log_file"}
    | {"auto_install_dependencies", "cleanup_grace_seconds", "reuse"}
)

# Those that say what the requests are, and can change nothing once they are resolved.
OF_REQUESTS = frozenset({"config_path", "run_id", "reuse"})


def launch_settings(values: Mapping[str, Any], spell: Callable[[str], str]) -> list[Setting]:
    """The keywords of `launch`, as settings."""
    own = "cleanup_grace_seconds"
    plain = {name: values[name] for name in values if name not in {own, "reuse", "config_path"}}
    found = keyword_settings(plain, {}, spell)
    for name, path in ((own, ("execution", own)), ("reuse", ("runtime", "reuse"))):
        if values.get(name) is not None:
            found.append(Setting(label=spell(name), path=path, value=values[name]))
    return found


def chosen_ids(defaults: Asked, asked: Asked, faults: list[str]) -> Iterator[tuple[Kind, str]]:
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


def layers(outline: Outline, asked: Asked, ids: Ids, given: Sequence[Setting]) -> Iterator[Setting]:
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
