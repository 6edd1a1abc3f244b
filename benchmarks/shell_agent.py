"""A harness that runs one command a number of times: what is measured is running it."""

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from agentcompass.harnesses._base import PlainAgent
from agentcompass.protocols import AgentContext, Session
from agentcompass.records.task import RunResult


@attrs.frozen(kw_only=True)
class ShellConfig:
    """Parameters of `bench_shell`."""

    command: str = attrs.field(metadata={"help": "Run by sh.", "unit": "shell command"})
    times: int = attrs.field(
        default=1, metadata={"help": "How often, one after the other.", "unit": "number"}
    )


class Shell:
    """Runs its command."""

    id: ClassVar[str] = "bench_shell"
    description: ClassVar[str] = "Runs one command a number of times"
    Config: ClassVar[type[Any]] = ShellConfig
    needs_model: ClassVar[bool] = False
    protocols: ClassVar[Sequence[str]] = ()
    default_run_timeout_seconds: ClassVar[float | None] = None

    def __init__(self, config: ShellConfig) -> None:
        self.config = config

    def start(self, session: Session, context: AgentContext) -> "ShellAgent":
        """An agent for one attempt."""
        return ShellAgent(session, self.config)


@attrs.define(eq=False)
class ShellAgent(PlainAgent):
    """Runs the command in its session."""

    session: Session
    config: ShellConfig

    async def run(self, result: RunResult) -> None:
        """Every time anew, to its end."""
        for _ in range(self.config.times):
            ended = await self.session.exec(["sh", "-c", self.config.command])
            assert ended.ok, ended.stderr
