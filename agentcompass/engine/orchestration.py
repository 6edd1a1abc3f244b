"""Several requests in one nursery, each to its own end, with one pool of slots and one deadline."""

import math
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs
import trio

from agentcompass.engine.job import Job
from agentcompass.errors import AgentCompassError, RequestTimeout
from agentcompass.progress.console import REQUEST
from agentcompass.records.orchestration import RequestOutcome, RequestStatus


class RunJob(Protocol):
    """The level below: run one request to its result, or to an error that ends it alone.

    `on_end` is told the result of a request that has begun, however it ends.
    """

    def __call__(
        self, job: Job, *, on_end: Callable[[Mapping[str, Any]], None]
    ) -> Awaitable[Mapping[str, Any]]: ...


async def run_orchestration(
    jobs: Sequence[Job], run_job: RunJob, *, ended: Callable[[RequestOutcome], None]
) -> Sequence[RequestOutcome]:
    """Run the requests and return how each of them ended, in their order.

    They share the slots of their limits and, from now on, the deadline that they all name. They
    begin in order, each as soon as those before it leave it room. `ended` is told of each end, at
    once; where a cancellation from outside ends them, also of those that never began. That is
    passed on, and so is what is nobody's fault but ours.
    """
    requests = [_Request(job, ended) for job in _under_one_deadline(jobs)]
    try:
        async with trio.open_nursery() as nursery:
            for request in requests:
                nursery.start_soon(request.run, run_job, name=request.name)
                await request.job.limits.room.wait()
    finally:
        for request in requests:
            request.conclude("cancelled", "the orchestration ended before this request began")
    return [request.outcome for request in requests if request.outcome is not None]


def _under_one_deadline(jobs: Sequence[Job]) -> list[Job]:
    now = trio.current_time()
    ends = [math.inf if job.timeout_seconds is None else now + job.timeout_seconds for job in jobs]
    return [attrs.evolve(job, ends_at=min(ends)) for job in jobs]


@attrs.define(eq=False)
class _Request:
    """One request, and how it ended once it has."""

    job: Job
    _ended: Callable[[RequestOutcome], None]
    outcome: RequestOutcome | None = None
    _result: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        return str(self.job.request.metadata["request_name"])

    async def run(self, run_job: RunJob) -> None:
        """Run it, unless the time is up; only what ends more than this request leaves."""
        REQUEST.set(self.name)
        try:
            if trio.current_time() >= self.job.deadline():
                error = f"orchestration deadline exceeded: {self.job.timeout_seconds:g} s"
                self.conclude("timed_out", f"{error}, before this request began")
                return
            await run_job(self.job, on_end=self._keep)
            self.conclude("completed")
        except RequestTimeout as error:
            self.conclude("timed_out", str(error))
        except AgentCompassError as error:
            self.conclude("failed", str(error))
        finally:
            if isinstance(bug := sys.exception(), Exception):
                self.conclude("failed", f"{type(bug).__name__}: {bug}")
            self.conclude(*self._cut_off())
            self.job.limits.room.set()

    def _cut_off(self) -> tuple[RequestStatus, str]:
        """How it ended that was cancelled: as is on record, where that was while it closed."""
        status: RequestStatus = "cancelled"
        if self._result is not None:
            status = self._result["metadata"]["status"]
        if status == "completed":
            return status, ""
        if status == "cancelled":
            return status, "request cancelled"
        said = status.replace("_", " ")
        return status, f"it had {said} when it was cancelled; see its run_info.json"

    def _keep(self, result: Mapping[str, Any]) -> None:
        self._result = result

    def conclude(self, status: RequestStatus, error: str = "") -> None:
        """Settle how the request ended, once; the first word counts."""
        if self.outcome is None:
            result = self._result
            self.outcome = RequestOutcome(
                name=self.name,
                status=status,
                result=result,
                error=self.job.redactor.text(error),
                paths={} if result is None else result["paths"],
            )
            self._ended(self.outcome)
