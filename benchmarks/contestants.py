"""Who takes part: this engine, loops without an engine, and the peers that are installed."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import attrs

# Installed apart, and slow: seconds to start, minutes for what others do in seconds.
PEERS = ("peer", "inspect")
_CACHE = Path.home() / ".cache"
_ASK = """
import importlib.metadata, platform, sys
print(sys.argv[1], importlib.metadata.version(sys.argv[1]), "on Python", platform.python_version())
"""

# No contestant looks for news, sends telemetry or asks a hub: all traffic stays on the loopback.
OFFLINE = {
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HARBOR_TELEMETRY": "off",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "NO_PROXY": "127.0.0.1,localhost",
    "OTEL_SDK_DISABLED": "true",
}


@attrs.frozen(kw_only=True)
class Contestant:
    """A Python in which a distribution is installed, or should be."""

    id: str
    title: str
    python: Path
    distribution: str
    environ: Mapping[str, str] = attrs.field(factory=dict)

    def program(self, name: str) -> str:
        """The command of that name beside its Python."""
        return str(self.python.parent / name)

    def version(self) -> str | None:
        """What is installed; None where nothing is."""
        if not self.python.exists():
            return None
        asked = subprocess.run(
            [self.python, "-c", _ASK, self.distribution],
            capture_output=True,
            text=True,
            check=False,
        )
        return asked.stdout.strip() if asked.returncode == 0 else None


def _bare(name: str, title: str) -> Contestant:
    return Contestant(id=name, title=title, python=Path(sys.executable), distribution="trio")


def _venv(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or _CACHE / default) / "bin" / "python"


CONTESTANTS = {
    contestant.id: contestant
    for contestant in (
        Contestant(
            id="ours",
            title="this engine",
            python=Path(sys.executable),
            distribution="agentcompass",
        ),
        _bare("bare_file", "bare trio loop on h11, one atomic file a task"),
        _bare("bare_h11", "bare trio loop on h11, no files"),
        _bare("bare_raw", "bare trio loop on raw sockets, no files"),
        _bare("bare_run", "bare trio loop on trio.run_process"),
        _bare("bare_spawn", "bare trio loop on posix_spawn"),
        _bare("bare_docker", "the docker command line, from a trio loop"),
        _bare("python", "the interpreter alone"),
        Contestant(
            id="peer",
            title="agentcompass 1.0.1 (PyPI)",
            python=_venv("PEER_VENV", "agentcompass-peer"),
            distribution="agentcompass",
        ),
        Contestant(
            id="inspect",
            title="inspect-ai",
            python=_venv("INSPECT_VENV", "agentcompass-inspect"),
            distribution="inspect-ai",
            environ={"OPENAI_API_KEY": "x", "INSPECT_LOG_LEVEL": "warning", "NO_COLOR": "1"},
        ),
    )
}


def environ_of(contestant: Contestant, home: Path, python_path: str) -> dict[str, str]:
    """The environment of its processes: offline, a home of its own, no proxy.

    Only what runs by this Python gets `python_path`, in which these benchmarks are.
    """
    kept = {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }
    for unwanted in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH"):
        kept.pop(unwanted, None)
    own = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), **contestant.environ}
    ours = {"PYTHONPATH": python_path} if contestant.python == Path(sys.executable) else {}
    return {**kept, **OFFLINE, **own, **ours}
