"""Whole evaluations that need no machine: starter tasks in fake sessions that are counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from agentcompass.environments._fake_ledger import Ledger
from agentcompass.environments.fake import FakeEnvironment

TASKS = ("regional-revenue", "backup-retention", "c-hash-table", "nginx-vhost")
MARKER = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@attrs.define(eq=False)
class Counted(FakeEnvironment):
    """A fake environment all of whose instances, and so all evaluations, share one ledger."""

    id: ClassVar[str] = "counted"
    shared: ClassVar[list[Ledger]] = []
    ledger: Ledger = attrs.field(factory=lambda: Counted.shared[0], init=False)


@contextmanager
def counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """Make environment `counted` known, as a plug-in does; what its sessions did is yielded."""
    info = folder / "counted-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counted\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        f"[agentcompass.environments]\ncounted = {__name__}:Counted\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    Counted.shared[:] = [Ledger()]
    yield Counted.shared[0]
    Counted.shared.clear()


def settings(folder: Path, *, tasks: int = 2, seconds: float = 10.0, **more: Any) -> dict[str, Any]:
    """The keywords of an evaluation: each attempt takes `seconds` to score, and is right."""
    return {
        "benchmark": "starter",
        "harness": "nop",
        "model": "none",
        "environment": "counted",
        "benchmark_params": {"sample_ids": TASKS[:tasks]},
        "environment_params": {"exec": rules(seconds)},
        "env_open_qps": {"counted": 0},
        "results_dir": str(folder),
        **more,
    }


def rules(seconds: float) -> list[dict[str, Any]]:
    """What commands do: an agent submits its work, and the verifier is content after `seconds`."""
    reward = {"/logs/verifier/reward.txt": "1"}
    return [
        {"match": "wc -c", "stdout": "reward.txt plain\n"},  # what the verifier left
        {"match": "test.sh", "seconds": seconds, "writes": reward},
        {"match": MARKER, "stdout": f"{MARKER}\ndone\n"},
    ]
