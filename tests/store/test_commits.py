"""Changes made together: what gathers, what fails alone, and what becomes of the cancelled."""

import os
import resource
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import accumulate
from pathlib import Path

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.errors import StoreError
from agentcompass.store.atomic import Disk, Replacements
from agentcompass.store.commits import Commits
from tests.store.disks import FaultyDisk, QuickDisk

SECONDS = 30  # real ones, within which no test should come near


def commits(
    folder: Path, disk: Disk | None = None, check: Callable[[], None] = lambda: None
) -> Commits:
    return Commits(
        directory=folder,
        disk=disk or QuickDisk(),
        limiter=trio.CapacityLimiter(1),
        check=check,
    )


def writing(path: Path) -> Callable[[Replacements], str]:
    def work(files: Replacements) -> str:
        files.add(path, path.name.encode())
        return path.name

    return work


@attrs.define(eq=False)
class Held:
    """Lets the first change of all begin only when it is told to."""

    commits: Commits
    begun: trio.Event = attrs.field(factory=trio.Event)
    go_on: threading.Event = attrs.field(factory=threading.Event)

    async def first(self) -> None:
        """Make a change that waits in its thread."""

        def work(files: Replacements) -> None:
            trio.from_thread.run_sync(self.begun.set)
            assert self.go_on.wait(SECONDS)

        await self.commits.make(str(id(self)), work)

    async def has_begun(self) -> None:
        """Return once that one is being made, and the others have come after it."""
        await self.begun.wait()
        await trio.testing.wait_all_tasks_blocked()


@asynccontextmanager
async def gathering(made: Commits) -> AsyncIterator[trio.Nursery]:
    """A nursery whose changes all wait for one that goes on once the body is over."""
    held = Held(made)
    with trio.fail_after(SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(held.first)
            await held.has_begun()
            yield nursery
            await trio.testing.wait_all_tasks_blocked()
            held.go_on.set()


async def test_what_gathers_is_synced_together_before_any_of_it_is_replaced(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made = commits(tmp_path, disk)
    answers: list[str] = []

    async def change(number: int) -> None:
        answers.append(await made.make(str(number), writing(tmp_path / str(number))))

    async with gathering(made) as nursery:
        for number in range(3):
            nursery.start_soon(change, number)

    assert disk.steps == ["write"] * 3 + ["sync"] * 3 + ["rename"] * 3
    assert sorted(answers) == ["0", "1", "2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]


async def test_two_changes_of_one_task_are_made_one_after_the_other(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made = commits(tmp_path, disk)
    async with gathering(made) as nursery:
        for number in range(2):
            nursery.start_soon(made.make, "one", writing(tmp_path / str(number)))

    assert disk.steps == ["write", "sync", "rename"] * 2


@pytest.mark.parametrize("name", ["write", "sync", "rename"])
async def test_what_fails_costs_that_change_alone(tmp_path: Path, name: str) -> None:
    # of the steps of the second file alone
    at = {"write": 1, "sync": 2, "rename": 3}[name]
    made = commits(tmp_path, FaultyDisk(at, where="bad"))
    faults: list[str] = []

    async def change(path: Path) -> None:
        try:
            await made.make(path.name, writing(path))
        except StoreError as error:
            faults.append(str(error))

    async with gathering(made) as nursery:
        for each in ("a", "bad", "c"):
            nursery.start_soon(change, tmp_path / each)

    assert faults == [f"{tmp_path / 'bad'}: No space left on device"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c"]


async def test_not_too_many_files_are_open_at_once(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made = commits(tmp_path, disk)

    def many(name: str) -> Callable[[Replacements], None]:
        def work(files: Replacements) -> None:
            for number in range(10):
                files.add(tmp_path / f"{name}-{number}", b"")

        return work

    async with gathering(made) as nursery:
        for name in map(str, range(40)):
            nursery.start_soon(made.make, name, many(name))

    still_open = accumulate({"write": 1, "sync": 0, "rename": -1}[step] for step in disk.steps)
    assert max(still_open) == 130  # 13 changes of 10
    assert len(list(tmp_path.iterdir())) == 400


@contextmanager
def nearly_all_open() -> Iterator[None]:
    """Leave few of the files that the process may have open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(100)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 10, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for file in taken:
            os.close(file)


async def test_few_files_wait_where_nearly_all_are_open(tmp_path: Path) -> None:
    """Fails when the store takes the last ones, and there are none for what others open."""
    disk = FaultyDisk()
    made = commits(tmp_path, disk)
    held = Held(made)
    with trio.fail_after(SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(held.first)
            await held.has_begun()
            for name in map(str, range(20)):
                nursery.start_soon(made.make, name, writing(tmp_path / name))
            await trio.testing.wait_all_tasks_blocked()
            with nearly_all_open():
                held.go_on.set()
                await made.make("last", writing(tmp_path / "last"))

    assert disk.steps == ["write", "sync", "rename"] * 21


class RefusesOnce:
    """A limiter of threads, the first of which cannot be started."""

    is_refused = False

    async def acquire_on_behalf_of(self, borrower: object) -> None:
        await trio.lowlevel.checkpoint()
        if not self.is_refused:
            self.is_refused = True
            raise RuntimeError("can't start new thread")

    def release_on_behalf_of(self, borrower: object) -> None: ...


async def test_where_no_thread_can_be_started_the_others_are_made_all_the_same(
    tmp_path: Path,
) -> None:
    """Fails when they wait for one that could not begin."""
    made, faults = commits(tmp_path), []
    made.limiter = RefusesOnce()  # type: ignore[assignment]

    async def change(name: str) -> None:
        try:
            await made.make(name, writing(tmp_path / name))
        except RuntimeError as error:
            faults.append(str(error))

    with trio.fail_after(SECONDS):
        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(change, name)

    assert faults == ["can't start new thread"]
    assert len(list(tmp_path.iterdir())) == 2


async def test_a_bug_in_a_change_reaches_its_caller_alone(tmp_path: Path) -> None:
    made = commits(tmp_path)

    def broken(files: Replacements) -> None:
        files.add(tmp_path / "half", b"")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await made.make("a", broken)
    assert await made.make("b", writing(tmp_path / "b")) == "b"
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


async def test_nothing_is_made_once_the_check_refuses(tmp_path: Path) -> None:
    def check() -> None:
        raise StoreError("gone")

    made = commits(tmp_path, check=check)
    with pytest.raises(StoreError, match="gone"):
        await made.make("a", writing(tmp_path / "a"))
    assert list(tmp_path.iterdir()) == []


async def test_a_change_that_waits_can_be_cancelled_and_one_that_is_being_made_cannot(
    tmp_path: Path,
) -> None:
    made = commits(tmp_path)
    held = Held(made)
    with trio.fail_after(SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(held.first)
            await held.has_begun()
            with trio.move_on_after(0.01) as scope:
                await made.make("a", writing(tmp_path / "a"))
            assert scope.cancelled_caught
            held.go_on.set()
            with trio.CancelScope() as late:
                late.cancel()
                await made.make("b", writing(tmp_path / "b"))
    await made.make("c", writing(tmp_path / "c"))

    assert [path.name for path in tmp_path.iterdir()] == ["c"]


async def test_a_change_is_waited_for_once_it_is_begun_by_somebody_else(tmp_path: Path) -> None:
    """Fails where a result is said not to be saved although it is there in the end."""
    made = commits(tmp_path)
    held, second, saved = Held(made), Held(made), []

    async def change() -> None:
        with trio.move_on_after(0.01) as scope:
            saved.append(await made.make("a", writing(tmp_path / "a")))
        assert not scope.cancelled_caught

    with trio.fail_after(SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(held.first)
            await held.has_begun()
            nursery.start_soon(second.first)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(change)
            await trio.testing.wait_all_tasks_blocked()
            held.go_on.set()
            await second.has_begun()
            await trio.sleep(0.05)
            assert saved == []
            second.go_on.set()

    assert saved == ["a"]


@given(
    asked=st.lists(
        st.tuples(st.integers(0, 3), st.none() | st.integers(0, 6)), min_size=1, max_size=40
    )
)
def test_properties_every_change_is_made_once_and_in_the_order_of_its_task(
    asked: list[tuple[int, int | None]],
) -> None:
    """Each is of a task, and is cancelled after so many turns of the loop, or never.

    Fails when a cancelled leader does not pass on, or a withdrawn change leads: nobody then makes
    what waits.
    """
    begun: list[int] = []
    done: list[int] = []

    async def change(made: Commits, number: int, task: int, turns: int | None) -> None:
        async def cancel() -> None:
            for _ in range(turns or 0):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            if turns is not None:
                nursery.start_soon(cancel)
            await made.make(str(task), lambda files: begun.append(number))
            done.append(number)
            nursery.cancel_scope.cancel()

    async def main() -> None:
        made = commits(Path())
        with trio.fail_after(SECONDS):
            async with trio.open_nursery() as nursery:
                for number, (task, turns) in enumerate(asked):
                    nursery.start_soon(change, made, number, task, turns)
                    await trio.lowlevel.checkpoint()
            await made.make("last", lambda files: begun.append(-1))

    trio.run(main)

    assert len(begun) == len(set(begun))
    assert set(done) <= set(begun)
    assert {number for number, (_, turns) in enumerate(asked) if turns is None} <= set(done)
    of_task = defaultdict(list)
    for number in begun[:-1]:
        of_task[asked[number][0]].append(number)
    assert all(numbers == sorted(numbers) for numbers in of_task.values())
