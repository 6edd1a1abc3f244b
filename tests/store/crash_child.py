"""Runs in a process of its own and lets copies of itself be killed while they write runs.

`steps FOLDER`: one copy for every step that the store takes on the disk, killed before that step.
`moments FOLDER COUNT`: that many copies, killed after some milliseconds.
Each copy writes below a folder of its own, and notes in `acks` there what it knows to be saved.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import attrs
import trio

from agentcompass.deadlines import CleanupClock
from agentcompass.records.progress import ProgressEvent
from agentcompass.store.atomic import Disk
from agentcompass.store.location import run_location
from agentcompass.store.redact import Redactor
from agentcompass.store.run_store import RunStore
from agentcompass.store.runs import open_run
from tests.store.disks import KillingDisk
from tests.store.examples import HEADER, HEADER_3, REQUEST, checkpoint, manifest, result, retry

PLAN = {"environment": {"id": "host_process"}}


class Ledger:
    """What is saved for certain; a line is there once `note` has returned."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._file = os.open(folder / "acks", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, *words: object) -> None:
        os.write(self._file, " ".join(map(str, words)).encode() + b"\n")


async def write_run(folder: Path, tasks: int, disk: Disk) -> None:
    ledger = Ledger(folder)
    opened = open_run(
        run_location(folder, REQUEST),
        request=REQUEST,
        redactor=Redactor(),
        cleanup=CleanupClock(5.0),
        disk=disk,
    )
    async with opened as store:
        for number in range(tasks):
            await write_task(store, ledger, f"t{number}", several=number % 2 == 1)
        await store.finish("completed", None)
        ledger.note("finished")


async def write_task(store: RunStore, ledger: Ledger, task_id: str, *, several: bool) -> None:
    header = attrs.evolve(HEADER_3 if several else HEADER, task_id=task_id)
    emit(store, "task_started", task_id)
    store.record_plan(task_id, 1, PLAN)
    await store.flush()
    ledger.note("started", task_id)
    reference = f"details/running/{store.attempt_dir(task_id, 1).parent.name}/attempt-1"
    work = attrs.evolve(checkpoint(artifacts=manifest(reference)), task_id=task_id)
    await store.save_evaluation_checkpoint(header, work)
    ledger.note("evaluation", task_id)
    if several:
        await store.save_retry(attrs.evolve(retry(), task_id=task_id))
        await store.set_aside(task_id, 1)
        for attempt in (1, 2):
            await store.save_attempt(header, attempt, result(correct=attempt == 2))
            ledger.note("attempt", task_id, attempt)
        await store.publish_task(header, "")
    else:
        await store.save_task(header, {1: result()}, "error")
    ledger.note("published", task_id)
    emit(store, "task_finished", task_id)


def emit(store: RunStore, name: str, task_id: str) -> None:
    event = ProgressEvent(run_id=store.run_id, event=name, timestamp=time.time(), task_id=task_id)
    store.emit(event)


def copy(work: Callable[[], None]) -> int:
    """Start a copy of this process that does nothing but `work`; its process id."""
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return child


def kill_at_every_step(folder: Path) -> None:
    for step in range(1, 1000):
        run = partial(trio.run, write_run, folder / str(step), 2, KillingDisk(step))
        _, status = os.waitpid(copy(run), 0)
        if not os.WIFSIGNALED(status):
            return


def kill_at_moments(folder: Path, count: int) -> None:
    for number in range(count):
        child = copy(partial(trio.run, write_run, folder / str(number), 100_000, Disk()))
        while not (folder / str(number)).exists():
            time.sleep(0.001)
        time.sleep(random.uniform(0.02, 0.12))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    if sys.argv[1] == "steps":
        kill_at_every_step(Path(sys.argv[2]))
    else:
        kill_at_moments(Path(sys.argv[2]), int(sys.argv[3]))
