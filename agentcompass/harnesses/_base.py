"""What simple agents have in common: nothing to open or close, and nothing left to collect."""

from typing import Self

from agentcompass.records.task import RunResult


class PlainAgent:
    """An agent that is its own context manager; a subclass brings `run`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return

    async def collect(self, result: RunResult) -> None:
        """Everything is in the result already."""
