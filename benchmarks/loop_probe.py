"""How long trio's loop was held up, and by whom."""

import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import attrs
import trio

# How often the loop is asked whether it comes on time.
BEAT_SECONDS = 0.01


@attrs.frozen(kw_only=True, order=True)
class Step:
    """One stretch of one task between two points where it lets the others run.

    `cpu_seconds` is what the loop's own thread computed; the rest of `seconds` it waited, for a
    lock of the interpreter or for a core.
    """

    seconds: float
    cpu_seconds: float
    task: str
    stopped_in: str


@attrs.define(eq=False)
class LoopProbe(trio.abc.Instrument):
    """Keeps the longest steps of a trio run, and how late its timers were at worst.

    Both may be due to one collection of garbage, in any thread, so the longest is kept too.
    """

    kept: int = 5
    longest: list[Step] = attrs.field(factory=list)
    latest_seconds: float = 0.0
    collection_seconds: float = 0.0
    _began: float = 0.0
    _began_cpu: float = 0.0
    _collection_began: float = 0.0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Start the watch."""
        self._began, self._began_cpu = time.perf_counter(), time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Stop it, and keep what is among the longest."""
        seconds = time.perf_counter() - self._began
        if len(self.longest) < self.kept or seconds > self.longest[-1].seconds:
            step = Step(
                seconds=seconds,
                cpu_seconds=time.thread_time() - self._began_cpu,
                task=task.name,
                stopped_in=_place(task),
            )
            self.longest = sorted([*self.longest, step], reverse=True)[: self.kept]

    async def watch_timers(self) -> None:
        """Note how much later than asked for a sleeper is woken; ends by being cancelled."""
        while True:
            due = time.perf_counter() + BEAT_SECONDS
            await trio.sleep(BEAT_SECONDS)
            self.latest_seconds = max(self.latest_seconds, time.perf_counter() - due)

    @contextmanager
    def watching_collections(self) -> Iterator[None]:
        """Keep the longest collection of garbage in the body."""
        gc.callbacks.append(self._note_collection)
        try:
            yield
        finally:
            gc.callbacks.remove(self._note_collection)

    def _note_collection(self, phase: str, _info: Mapping[str, int]) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._collection_began = now
        else:
            self.collection_seconds = max(self.collection_seconds, now - self._collection_began)


def _place(task: trio.lowlevel.Task) -> str:
    """The function of ours in which a task waits now, and its line; `ended` where it is over."""
    places = [f"{name}:{line}" for name, line in _frames(task)]
    return places[-1] if places else "ended"


def _frames(task: trio.lowlevel.Task) -> Iterator[tuple[str, int]]:
    for frame, line in task.iter_await_frames():
        if _is_ours(frame):
            yield frame.f_code.co_qualname, line


def _is_ours(frame: FrameType) -> bool:
    name: Any = frame.f_globals.get("__name__", "")
    return str(name).partition(".")[0] == "agentcompass"
