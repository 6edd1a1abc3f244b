"""What a benchmark of another package shares with ours, beside `protocols` and `records`."""

from agentcompass.benchmarks._common import CommonConfig
from agentcompass.benchmarks._selection import select

__all__ = ["CommonConfig", "select"]
