"""An agent that does nothing: what a benchmark scores then is its floor."""

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import trio

from agentcompass.harnesses._base import PlainAgent
from agentcompass.protocols import AgentContext, Session
from agentcompass.records.task import RunResult


@attrs.frozen(kw_only=True)
class NopConfig:
    """It takes no parameters."""


class Nop:
    """Leaves every task as it was laid out."""

    id: ClassVar[str] = "nop"
    description: ClassVar[str] = "Does nothing; shows what untouched tasks score"
    Config: ClassVar[type[Any]] = NopConfig
    needs_model: ClassVar[bool] = False
    protocols: ClassVar[Sequence[str]] = ()
    default_run_timeout_seconds: ClassVar[float | None] = None

    def __init__(self, config: NopConfig) -> None:
        self.config = config

    def start(self, session: Session, context: AgentContext) -> "NopAgent":
        """An agent for one attempt."""
        return NopAgent()


class NopAgent(PlainAgent):
    """Ends at once, without an answer."""

    async def run(self, result: RunResult) -> None:
        """Leave the result as it is."""
        await trio.lowlevel.checkpoint()
