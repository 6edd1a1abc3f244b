"""What a plug-in may be able to do beside its seam; who wants to know asks by `isinstance`."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from agentcompass.protocols import Agent, AgentContext, Harness, Session
from agentcompass.records.model import EndpointTraffic, Usage
from agentcompass.records.request import EnvironmentSpec
from agentcompass.records.task import RunResult

if TYPE_CHECKING:
    from agentcompass.records.data_set import DataSet


@runtime_checkable
class ChecksWishes(Protocol):
    """An environment that can tell before a run whether it has what the user names."""

    async def check(self, wish: EnvironmentSpec) -> None:
        """Raise `UsageError` with the remedy for what can neither be found nor fetched."""
        ...


@runtime_checkable
class LeavesResources(Protocol):
    """An environment whose sandboxes can be found and closed by another process."""

    async def left_over(self) -> Sequence[Mapping[str, Any]]:
        """Every sandbox that can be found, `close_params` among what is known of each."""
        ...

    async def close_resource(self, close_params: Mapping[str, Any]) -> None:
        """Remove a sandbox as its `close_params` say; one that is gone is fine."""
        ...


@runtime_checkable
class RunsItself(Protocol):
    """A benchmark with its own agent loop, for harness id `none`."""

    async def run_task(self, session: Session, context: AgentContext, result: RunResult) -> None:
        """As `Agent.run`."""


@runtime_checkable
class StartsAgents(Protocol):
    """A benchmark that stands between engine and harness, as for tasks of several steps."""

    def start_agent(
        self, harness: Harness, session: Session, context: AgentContext
    ) -> AbstractAsyncContextManager[Agent]:
        """As `harness.start`."""


@runtime_checkable
class HasData(Protocol):
    """A benchmark that loads from `data_dir / data_set.id`, which `run` fetches if it is not there.

    Not where its parameter `download` is False; one that is told to look elsewhere has None.
    """

    data_set: "DataSet | None"


@runtime_checkable
class ChecksData(Protocol):
    """A benchmark that can tell what is wrong with its data before a run."""

    def check_data(self, directory: Path) -> Sequence[str]:
        """Every fault of the data in `directory`, each naming its row and field; blocking.

        Raises `UsageError` where there are none, with what was looked for.
        """


@runtime_checkable
class TalksItself(Protocol):
    """A harness whose program calls the model itself: nothing else sees, or answers, its calls."""

    talks_itself: ClassVar[bool]


@runtime_checkable
class PricesCalls(Protocol):
    """A model that knows what its calls cost."""

    def cost(self, usage: Usage) -> float | None:
        """US dollars for the tokens of one call; None where no price is known."""
        ...


@runtime_checkable
class TellsTraffic(Protocol):
    """A model that tells how its endpoint takes the calls."""

    def listen(self, tell: Callable[[EndpointTraffic], None]) -> None:
        """Tell what changes from when it is entered on; `tell` never blocks and never raises."""
        ...
