"""Tasks that note when they were asked for, which is when the deadline of their request began."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from agentcompass.records.task import TaskSpec
from benchmarks.tiny import Tiny


class Stamped(Tiny):
    """As `bench_tiny`; the time, in seconds since 1970, is in the file `began` of the folder."""

    id: ClassVar[str] = "bench_stamped"

    def load_tasks(self, data_dir: Path) -> Sequence[TaskSpec]:
        """The first thing that a request does under its deadline."""
        Path("began").write_text(str(time.time()))
        return super().load_tasks(data_dir)
