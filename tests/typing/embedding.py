"""How a typed program embeds an evaluation; mypy checks it, and nothing runs it."""

from pathlib import Path
from typing import Any, assert_type

from agentcompass import (
    Evaluation,
    EventsDropped,
    ProgressEvent,
    RequestError,
    RunRequest,
    open_evaluation,
)


async def follow() -> None:
    async with open_evaluation(benchmark="starter", event_buffer=100) as evaluation:
        assert_type(evaluation, Evaluation)
        async for event in evaluation.events():
            if isinstance(event, EventsDropped):
                assert_type(event.dropped, int)
                assert_type(event.snapshot.finished_tasks, int)
            else:
                assert_type(event, ProgressEvent)
                assert_type(event.task_id, str | None)
        try:
            result = await evaluation.result()
        except RequestError as error:
            result = error.result
        assert_type(result, dict[str, Any])


def steer(evaluation: Evaluation) -> None:
    assert_type(evaluation.run_dir, Path | None)
    assert_type(evaluation.request, RunRequest)
    assert_type(evaluation.is_paused, bool)
    assert_type(evaluation.has_ended, bool)
    assert_type(evaluation.progress.status, str)
    evaluation.pause()
    evaluation.resume()
    evaluation.set_task_concurrency(4)
    evaluation.set_provider_limit("docker", 2)
    evaluation.cancel()
    evaluation.set_task_concurrency("4")  # type: ignore[arg-type]
    evaluation.set_provider_limit("docker", None)  # type: ignore[arg-type]
