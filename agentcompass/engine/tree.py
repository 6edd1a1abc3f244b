"""The levels put together: each is given the one below."""

from collections.abc import Callable
from functools import partial

from agentcompass.engine.attempt import run_attempt
from agentcompass.engine.evaluation import run_evaluation
from agentcompass.engine.execution import run_execution
from agentcompass.engine.job import Job
from agentcompass.engine.request import Outcome, run_request
from agentcompass.engine.task import run_task


async def run_job(
    job: Job, *, on_end: Callable[[Outcome], None] = lambda _outcome: None
) -> Outcome:
    """Run a request on the whole tree; see `run_request`."""
    execution = partial(run_execution, evaluate=run_evaluation)
    attempt = partial(run_attempt, run_execution=execution, run_evaluation=run_evaluation)
    task = partial(run_task, run_attempt=attempt)
    return await run_request(job, task, on_end=on_end)
