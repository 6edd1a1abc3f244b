"""Runs in a process of its own, and lets copies of itself be killed while they measure.

`FOLDER K STRATEGY KILLS SEED`: a run that is not disturbed goes to FOLDER/whole; then chains of
lives to FOLDER/chain-<n>. The first life of a chain runs, each later one reuses, until one lives to
its end; there are as many chains as it takes for so many kills. Copies are cheap: everything that a
run imports is there before the first of them.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial, wraps
from itertools import count
from pathlib import Path
from typing import Any

import attrs

from agentcompass import run_evaluation
from agentcompass.errors import RequestFailed
from agentcompass.registry import load
from agentcompass.store.atomic import Disk
from tests.crash.sturdy import Sturdy, SturdyHarness, folders, note

ENTRY_POINTS = f"""
[agentcompass.benchmarks]
{Sturdy.id} = {Sturdy.__module__}:{Sturdy.__name__}
[agentcompass.harnesses]
{SturdyHarness.id} = {SturdyHarness.__module__}:{SturdyHarness.__name__}
"""
QUICK = {"retry_min_delay_seconds": 0.001, "retry_max_delay_seconds": 0.002}
MOMENTS = 0.25  # the share of kills that come at any moment, not at a step of the store
FOLDERS = folders()
OPERATIONS = [name for name in vars(Disk) if not name.startswith("_")]

Step = Callable[[str, tuple[Any, ...]], None]


@attrs.frozen(kw_only=True)
class Chain:
    """Where a chain is written, and how it measures."""

    folder: Path
    k: int
    strategy: str

    def measure(self, life: int, before: Step) -> None:
        """Be the life of that number, to its end; final FATAL issues are part of it."""
        os.environ |= {"LIFE": str(life), "NOTES": str(self.folder / "notes")}
        watch(before)
        with suppress(RequestFailed):
            run_evaluation(
                benchmark="sturdy",
                harness="sturdy",
                model="none",
                environment="fake",
                results_dir=str(self.folder / "results"),
                run_id=f"life-{life:03}",
                reuse=life > 0,
                k=self.k,
                attempt_strategy=self.strategy,
                max_retries=1,
                task_concurrency=4,
                execution_params=QUICK,
                progress="none",
            )


def watch(before: Step) -> None:
    """Tell `before` of every operation on the disk, and note what has become durable after it."""

    def watched(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(operation)
        def step(self: Disk, *args: Any) -> Any:
            before(name, args)
            done = None if name == "sync" else operation(self, *args)  # no power is lost here
            if name in ("rename", "link"):
                note_durable(Path(args[1]))
            return done

        return step

    for name in OPERATIONS:
        setattr(Disk, name, watched(name, getattr(Disk, name)))


def note_durable(path: Path) -> None:
    """Note the result, or the agent's work for scoring, if that is what `path` holds now."""
    task_id = FOLDERS.get(path.parent.parent.name)
    if task_id is None or path.name not in ("result.json", "checkpoint.json"):
        return
    attempt = f"{task_id}#{path.parent.name.removeprefix('attempt-')}"
    if path.name == "result.json":
        note("result", attempt)
    elif b'"evaluation": {' in path.read_bytes():
        note("work", attempt)


def let_live(_name: str, _args: tuple[Any, ...]) -> None: ...


def die_at(wanted: str, ordinal: int) -> Step:
    """Kill this process before operation `wanted` is done for that time; half a write is done."""
    seen: Counter[str] = Counter()

    def before(name: str, args: tuple[Any, ...]) -> None:
        seen[name] += 1
        if name == wanted and seen[name] == ordinal:
            if name == "write":
                os.write(args[0], args[1][: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    return before


def copy(work: Callable[[], None]) -> int:
    """Start a copy of this process that does nothing but `work`; its process id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:  # noqa: BLE001  # or this copy would go on as its parent does
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def was_killed(child: int) -> bool:
    """Wait for the end of a copy; one that fails of itself ends everything."""
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), f"a life ended with {status}"
    return status != 0


def whole_run(chain: Chain) -> tuple[Mapping[str, int], float]:
    """Run without a kill; how often each operation was done, and how many seconds it took."""
    steps: Counter[str] = Counter()

    def work() -> None:
        chain.measure(0, lambda name, _: steps.update([name]))
        (chain.folder / "steps").write_text(json.dumps(steps))

    began = time.monotonic()
    assert not was_killed(copy(work))
    return json.loads((chain.folder / "steps").read_text()), time.monotonic() - began


def live(
    chain: Chain, life: int, steps: Mapping[str, int], seconds: float, dice: random.Random
) -> bool:
    """One life that is to be killed; whether it was."""
    if dice.random() < MOMENTS:
        child = copy(partial(chain.measure, life, let_live))
        time.sleep(dice.uniform(0, seconds))
        os.kill(child, signal.SIGKILL)
        return was_killed(child)
    # The rare operations more often than they come, and yet not as often as the others.
    [name] = dice.choices(list(steps), [times**0.5 for times in steps.values()])
    before = die_at(name, dice.randint(1, steps[name]))
    return was_killed(copy(partial(chain.measure, life, before)))


def main(folder: Path, k: int, strategy: str, kills: int, seed: int) -> None:
    plug_ins = folder / "plugins" / "sturdy-1.0.dist-info"
    plug_ins.mkdir(parents=True)
    (plug_ins / "METADATA").write_text("Metadata-Version: 2.1\nName: sturdy\nVersion: 1.0\n")
    (plug_ins / "entry_points.txt").write_text(ENTRY_POINTS)
    sys.path.insert(0, str(plug_ins.parent))

    def chain(name: str) -> Chain:
        (folder / name).mkdir()
        return Chain(folder=folder / name, k=k, strategy=strategy)

    load("environment", "fake")  # imported once, for all copies
    steps, seconds = whole_run(chain("whole"))
    dice = random.Random(seed)
    done = 0
    for number in count():
        current, life = chain(f"chain-{number:03}"), 0
        while live(current, life, steps, seconds, dice):
            done, life = done + 1, life + 1
        if done >= kills:
            return


if __name__ == "__main__":
    folder, k, strategy, kills, seed = sys.argv[1:]
    main(Path(folder), int(k), strategy, int(kills), int(seed))
