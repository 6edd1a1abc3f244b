"""A third-party distribution of toy components, found by entry points, for config and cli tests."""

import sys
from pathlib import Path

import pytest

_MODULE = '''
"""Toy components; none of them does anything."""

from collections.abc import Mapping
from typing import Any, Literal

import attrs


@attrs.frozen(kw_only=True)
class Judge:
    api_key: str = ""
    retries: int = 0


@attrs.frozen(kw_only=True)
class BenchmarkConfig:
    path: str = attrs.field(default="here", metadata={"help": "Where the toys are."})
    sample_ids: tuple[str, ...] | None = attrs.field(
        default=None, metadata={"help": "Which toys; null is all."}
    )
    limit: int = attrs.field(default=5, validator=attrs.validators.ge(0))
    pause_seconds: float = attrs.field(default=0.5, metadata={"help": "A pause.", "unit": "s"})
    shuffle: bool = False
    judge: Judge = Judge()
    labels: Mapping[str, str] = attrs.field(factory=dict)
    open: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class NeedyConfig:
    folder: str


@attrs.frozen(kw_only=True)
class HarnessConfig:
    steps: int = 10
    style: Literal["plain", "none"] = "plain"


@attrs.frozen(kw_only=True)
class EnvironmentConfig:
    sandbox_start_timeout: float = attrs.field(
        default=60.0,
        metadata={"help": "Until a session is usable; 0 is none.", "unit": "s"},
        validator=attrs.validators.ge(0),
    )


class ToyBenchmark:
    id = "toy"
    description = "Toys."
    Config = BenchmarkConfig

    def __init__(self, config):
        self.config = config


class NeedyBenchmark(ToyBenchmark):
    id = "needy"
    description = "Toys in a folder that has to be named."
    Config = NeedyConfig


class ToyHarness(ToyBenchmark):
    id = "toy"
    description = "Plays."
    Config = HarnessConfig


class ToyEnvironment(ToyBenchmark):
    id = "toybox"
    description = "A box."
    Config = EnvironmentConfig
'''

_ENTRY_POINTS = """
[agentcompass.benchmarks]
toy = toy_components:ToyBenchmark
needy = toy_components:NeedyBenchmark
broken = toy_components_broken:Broken
lacking = toy_components_lacking:Lacking

[agentcompass.harnesses]
toy = toy_components:ToyHarness

[agentcompass.environments]
toybox = toy_components:ToyEnvironment
"""

_FILES = {
    "toy_components.py": _MODULE,
    "toy_components_broken.py": 'raise ValueError("toys are broken\\nall of them")\n',
    "toy_components_lacking.py": "import a_package_that_nobody_has\n",
    "toy_components-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
    "toy_components-1.0.dist-info/entry_points.txt": _ENTRY_POINTS,
}


def write_toys(folder: Path) -> Path:
    """Lay the distribution out in `folder`; on `sys.path` or PYTHONPATH it is installed."""
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def install_toys(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The distribution in `folder`, installed for one test."""
    write_toys(folder)
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.startswith("toy_components")]:
        monkeypatch.delitem(sys.modules, name)
    return folder
