"""Ids to component classes: the built-in table and entry points, imported on use."""

import logging
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Any, Literal

from agentcompass.errors import DependencyMissing, UnknownComponent

Kind = Literal["benchmark", "harness", "environment", "model", "recipe", "analyzer"]

_GROUPS: Mapping[Kind, str] = {
    "benchmark": "agentcompass.benchmarks",
    "harness": "agentcompass.harnesses",
    "environment": "agentcompass.environments",
    "recipe": "agentcompass.recipes",
    "analyzer": "agentcompass.analyzers",
}

_BUILT_IN: Mapping[Kind, Mapping[str, str]] = {
    "benchmark": {
        "starter": "agentcompass.benchmarks.starter:Starter",
        "swebench_verified": "agentcompass.benchmarks.swebench_verified:SWEbenchVerified",
        "task_directory": "agentcompass.benchmarks.task_directory:TaskDirectory",
        "terminal_bench_2": "agentcompass.benchmarks.terminal_bench:TerminalBench2",
        "terminal_bench_2_1": "agentcompass.benchmarks.terminal_bench:TerminalBench21",
        "terminal_bench_2_verified": (
            "agentcompass.benchmarks.terminal_bench:TerminalBench2Verified"
        ),
    },
    "harness": {
        "claude_code": "agentcompass.harnesses.claude_code:ClaudeCode",
        "codex": "agentcompass.harnesses.codex:Codex",
        "mini_swe_agent": "agentcompass.harnesses.mini_swe_agent:MiniSweAgent",
        "nop": "agentcompass.harnesses.nop:Nop",
        "openai_chat": "agentcompass.harnesses.openai_chat:OpenAIChatHarness",
        "oracle": "agentcompass.harnesses.oracle:Oracle",
        "terminus2": "agentcompass.harnesses.terminus2:Terminus2",
    },
    "environment": {
        "docker": "agentcompass.environments.docker:Docker",
        "fake": "agentcompass.environments.fake:FakeEnvironment",
        "host_process": "agentcompass.environments.host_process:HostProcess",
    },
    "model": {
        "anthropic": "agentcompass.models.anthropic:Anthropic",
        "openai-chat": "agentcompass.models.openai_chat:OpenAIChat",
        "openai-responses": "agentcompass.models.openai_responses:OpenAIResponses",
        "replay": "agentcompass.models.replay:Replay",
    },
    "recipe": {
        "swebench_verified_daytona": "agentcompass.recipes.swebench_verified:SWEbenchDaytona",
        "swebench_verified_docker": "agentcompass.recipes.swebench_verified:SWEbenchDocker",
        "swebench_verified_modal": "agentcompass.recipes.swebench_verified:SWEbenchModal",
        "terminal_bench_2_daytona": "agentcompass.recipes.terminal_bench_2:TerminalBenchDaytona",
        "terminal_bench_2_docker": "agentcompass.recipes.terminal_bench_2:TerminalBenchDocker",
        "terminal_bench_2_docker_build": "agentcompass.recipes.terminal_bench_2:TerminalBenchBuild",
        "terminal_bench_2_modal": "agentcompass.recipes.terminal_bench_2:TerminalBenchModal",
    },
    "analyzer": {},
}

# Known to users of the field, but brought by a later release: refused by name, never as a typo.
PLANNED: Mapping[Kind, frozenset[str]] = {
    "environment": frozenset({"daytona", "modal"}),
}

log = logging.getLogger(__name__)


def known(kind: Kind) -> dict[str, str]:
    """Every id of a kind with its dotted path, built-in ones first taken; nothing is imported."""
    found = _installed(tuple(sys.path)).get(_GROUPS.get(kind, ""), {})
    return dict(sorted({**found, **_BUILT_IN[kind]}.items()))


@cache
def _installed(path: tuple[str, ...]) -> Mapping[str, Mapping[str, str]]:
    """The ids of each group with their dotted paths, those of the first package on `path`.

    Looked up once in a process, since every package is a file to read: what is installed later
    below the same path is not found.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for package in distributions(path=list(path)):
        for point in _entry_points(package):
            if point.group in _GROUPS.values():
                found[point.group].setdefault(point.name, point.value)
    return dict(found)


def _entry_points(package: Distribution) -> Iterable[EntryPoint]:
    try:
        return package.entry_points
    except (TypeError, ValueError):  # no pairs, or no text
        log.warning("passed over: %s has a damaged entry_points.txt", _name_of(package))
        return ()


def _name_of(package: Distribution) -> str:
    folder = package.locate_file("")
    try:
        return f"the package {package.metadata['Name']} in {folder}"
    except (TypeError, ValueError, KeyError):
        return f"a package in {folder}"


def is_own(kind: Kind, component_id: str) -> bool:
    """Whether a component is built in; an installed one of the same id does not stand for it."""
    return component_id in _BUILT_IN[kind]


def path_of(kind: Kind, component_id: str) -> str | None:
    """The dotted path of one component, None where it is not known.

    A built-in one is found at once; the others cost a look at all that is installed, once.
    """
    return _BUILT_IN[kind].get(component_id) or known(kind).get(component_id)


def load(kind: Kind, component_id: str) -> type[Any]:
    """The class of a component, imported now.

    Raises `UnknownComponent` with the known ids, or `DependencyMissing` where an import fails.
    """
    path = path_of(kind, component_id)
    if path is None:
        raise UnknownComponent(_unknown(kind, component_id, known(kind)))
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)  # type: ignore[no-any-return]
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or package in sys.stdlib_module_names:  # nothing that could be installed
            raise
        raise DependencyMissing(
            f"{kind} {component_id!r} needs the package {package!r}: pip install {package}"
        ) from error


def _unknown(kind: Kind, component_id: str, paths: Mapping[str, str]) -> str:
    names = ", ".join(paths) or "none"
    if component_id in PLANNED.get(kind, frozenset()):
        return f"{kind} {component_id!r} is not in this version yet; known: {names}"
    return f"{kind} {component_id!r} is not known; known: {names}"
