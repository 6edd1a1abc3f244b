"""A fake of `agentcompass.sdk.evaluate`; run as a script, the whole command line around it.

`FAKE_RUN` chooses what it does. It makes the run directory `<results_dir>/fake` first.
"""

import logging
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio

from agentcompass.cli.app import command_line
from agentcompass.errors import RequestFailed, RequestTimeout, UsageError
from agentcompass.metrics.observations import AttemptObservation, TaskObservations
from agentcompass.metrics.report import build_report
from agentcompass.metrics.summary import summary_mapping
from agentcompass.records.convert import unstructure
from agentcompass.records.metrics import binary_contract
from agentcompass.records.progress import ProgressEvent

log = logging.getLogger("agentcompass.fake")


async def evaluate(
    request, options, *, reporters=(), on_open=None, redactor=None
) -> Mapping[str, Any]:
    """What `FAKE_RUN` says: complete, fail, timeout, usage, hang, stubborn or bug."""
    how = os.environ.get("FAKE_RUN", "complete")
    if how == "usage":
        raise UsageError("the data set is not there; put it into data/toy")
    directory = Path(options.results_dir) / "fake"
    directory.mkdir(parents=True)
    on_open(directory)
    log.info("opened with the key %s", request.model.api_key)
    emit = _emitter(reporters, request)
    emit(
        "run_started",
        benchmark=request.benchmark.id,
        harness=request.harness.id,
        model=request.model.id,
        environment=request.environment.id,
    )
    emit("tasks_loaded", total_tasks=2)
    return await _ENDINGS[how](request, directory, emit)


async def _complete(request, directory, emit):
    for number, name in enumerate(("one", "zwölf 🧭")):
        emit("task_started", task_id=name, index=number, total=2)
        emit("attempt_started", task_id=name, attempt=1)
        emit("task_finished", task_id=name, status="completed", severity="")
    emit("run_finished", status="completed")
    return _result(request, "completed", {"one": True, "zwölf 🧭": False})


async def _fail(request, directory, emit):
    task = directory / "details" / "fatal" / "one--0"
    (task / "attempt-1").mkdir(parents=True)
    (task / "task.json").write_text('{"task_id": "one"}')
    (task / "attempt-1" / "result.json").write_text(
        '{"issues": [{"severity": "fatal", "phase": "setup", "code": "environment_failed",'
        ' "message": "no room\\nat the inn"}, {"severity": "error", "message": "other"}]}'
    )
    emit("task_finished", task_id="one", status="failed", severity="fatal")
    emit("run_finished", status="failed", error="Final FATAL issues")
    result = _result(request, "failed", {"one": None, "two": True})
    raise RequestFailed("Final FATAL issues", result=result)


async def _timeout(request, directory, emit):
    raise RequestTimeout(
        "request deadline exceeded: 3 s", result=_result(request, "timed_out", {"one": True})
    )


async def _hang(request, directory, emit):
    try:
        await trio.sleep_forever()
    finally:
        (directory / "cleaned").touch()


async def _stubborn(request, directory, emit):
    try:
        await trio.sleep_forever()
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 30):
            await trio.sleep(30)


async def _bug(request, directory, emit):
    raise KeyError(f"a bug with {request.model.api_key} in it")


_ENDINGS = {
    "complete": _complete,
    "fail": _fail,
    "timeout": _timeout,
    "hang": _hang,
    "stubborn": _stubborn,
    "bug": _bug,
}


def _emitter(reporters, request):
    def emit(event, *, task_id=None, attempt=None, status=None, **payload):
        for reporter in reporters:
            reporter.emit(
                ProgressEvent(
                    run_id="fake",
                    event=event,
                    timestamp=time.time(),
                    task_id=task_id,
                    attempt=attempt,
                    status=status,
                    payload=payload,
                )
            )

    return emit


def _result(request, status, solved) -> Mapping[str, Any]:
    """`solved` by task; None is a task with a FATAL issue."""
    observations = [
        TaskObservations(
            task_id=name,
            attempts={
                1: AttemptObservation(metrics={"correct": verdict})
                if verdict is not None
                else AttemptObservation(severity="fatal")
            },
        )
        for name, verdict in solved.items()
    ]
    report = build_report(observations, binary_contract(), k=1, strategy="avg", total=2)
    return {
        "evaluation_failed": report.evaluation_failed,
        "metadata": {
            "benchmark": request.benchmark.id,
            "harness": request.harness.id,
            "model": request.model.id,
            "environment": request.environment.id,
            "status": status,
        },
        "metrics": unstructure(report),
        "summary": summary_mapping(report),
        "paths": {},
    }


if __name__ == "__main__":
    sys.exit(command_line(sys.argv[1:], obj=evaluate))
