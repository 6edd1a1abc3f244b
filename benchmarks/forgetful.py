"""Sessions that cost nothing, for tasks that do not."""

from typing import ClassVar

from agentcompass.environments.fake import FakeEnvironment, FakeSession
from agentcompass.protocols import SessionRequest


class Forgetful(FakeEnvironment):
    """The shipped `fake`, without its memory of every session and command, which tests want."""

    id: ClassVar[str] = "bench_fake"

    async def open(self, request: SessionRequest) -> FakeSession:
        """A session, for which the past is forgotten; what is live stays known."""
        ledger = self.ledger
        for past in (ledger.open_times, ledger.opened, ledger.closed, ledger.commands):
            past.clear()
        return await super().open(request)
