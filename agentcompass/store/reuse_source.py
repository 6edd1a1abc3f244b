"""Which earlier run a request reuses; everything blocks, nothing is written.

A run may itself have reused another one: what it lacks is looked for there, and so on.
"""

import datetime as dt
import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentcompass.errors import StoreError, UsageError
from agentcompass.records.request import RunRequest
from agentcompass.records.run_info import Origin
from agentcompass.store.earlier_run import EarlierRun, Judge, Stored, open_earlier_run
from agentcompass.store.layout import RunLayout, sanitized
from agentcompass.store.location import RunLocation, reuse_run_id
from agentcompass.store.reading import read_run_info

log = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class ReuseSource:
    """The chosen run, and after it the runs that it reused itself; none where nothing fits.

    `passed_over` says of each newer run why it was not chosen; `older` names those that were not
    looked at.
    """

    runs: Sequence[EarlierRun] = ()
    passed_over: Sequence[str] = ()
    older: Sequence[str] = ()

    @property
    def origin(self) -> Origin:
        """The chosen run, as the new run names it."""
        chosen = self.runs[0]
        return Origin(run_id=chosen.info.run_id, path=str(chosen.layout.directory))

    def attempts(self, task_id: str, numbers: Iterable[int], judge: Judge) -> dict[int, Stored]:
        """What there is of each attempt: the newest result that counts, else work to be scored."""
        best: dict[int, Stored] = {}
        wanted = set(numbers)
        for run in self.runs:
            if not wanted:
                break
            for number, stored in run.attempts(task_id, judge):
                if number not in wanted or stored.verdict == "execute":
                    continue
                if stored.verdict == "keep":
                    wanted.discard(number)
                    best[number] = stored
                best.setdefault(number, stored)
        return best


def find_reuse_source(
    location: RunLocation, request: RunRequest, task_ids: Sequence[str], judge: Judge
) -> ReuseSource:
    """The run that `request` names, or the newest of its namespace that has something to give.

    Raises `UsageError` for a named run that cannot be used, with the reason.
    """
    parent = location.parent.absolute()
    wanted = reuse_run_id(request)
    if wanted is not None:
        return _named(parent / wanted, request)
    passed_over: list[str] = []
    directories = _newest_first(parent)
    for place, directory in enumerate(directories, start=1):
        try:
            runs = list(_chain(directory, request))
        except (StoreError, UsageError) as error:
            passed_over.append(f"{directory.name}: {error}")
            continue
        looked_through = {run.layout.directory.name for run in runs}
        older = [path.name for path in directories[place:] if path.name not in looked_through]
        source = ReuseSource(runs=runs, passed_over=passed_over, older=older)
        if _gives(source, task_ids, request, judge):
            return source
        passed_over.append(f"{directory.name}: nothing in it can be reused")
    return ReuseSource(passed_over=passed_over)


def check_named_source(location: RunLocation, request: RunRequest) -> None:
    """Raise `UsageError` for a run that `request` names and that cannot be used."""
    wanted = reuse_run_id(request) if request.runtime.reuse else None
    if wanted is not None:
        _named(location.parent.absolute() / wanted, request)


def _named(directory: Path, request: RunRequest) -> ReuseSource:
    try:
        return ReuseSource(runs=list(_chain(directory, request)))
    except (StoreError, UsageError) as error:
        raise UsageError(f"--reuse: run {directory.name} cannot be reused: {error}") from error


def _chain(directory: Path, request: RunRequest) -> Iterator[EarlierRun]:
    run = open_earlier_run(directory)
    _check_same(run, request)
    yield run
    seen = {directory}
    while (origin := run.info.reused_from) is not None:
        directory = directory.parent / sanitized(origin.run_id or Path(origin.path or "").name)
        if directory in seen:
            return
        seen.add(directory)
        try:
            run = open_earlier_run(directory)
            _check_same(run, request)
        except (StoreError, UsageError) as error:
            log.debug("%s is not looked through: %s", directory, error)
            return
        yield run


def _check_same(run: EarlierRun, request: RunRequest) -> None:
    """Raise `UsageError` unless `run` measured the same; settings may differ (seed 002)."""
    was = run.info.request
    attempts = request.execution.attempts
    for what, recorded, wanted in (
        ("benchmark", _at(was, "benchmark", "id"), request.benchmark.id),
        ("model", _at(was, "model", "id"), request.model.id),
        ("harness", _at(was, "harness", "id"), request.harness.id),
        ("k", _at(was, "execution", "attempts", "k"), attempts.k),
        ("attempt strategy", _at(was, "execution", "attempts", "strategy"), attempts.strategy),
    ):
        if recorded != wanted:
            raise UsageError(f"its {what} is {recorded!r}, and that of this run is {wanted!r}")
    if _is_replay(_at(was, "model", "api_protocol")) and not _is_replay(request.model.api_protocol):
        raise UsageError("its replies were replayed, and those of this run are to be real")


def _is_replay(protocol: Any) -> bool:
    return protocol == "replay" or (isinstance(protocol, list | tuple) and "replay" in protocol[:1])


def _at(record: Any, *path: str) -> Any:
    for key in path:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def _newest_first(parent: Path) -> list[Path]:
    """The runs below `parent` by when they started, or were changed where that cannot be read."""
    if not parent.is_dir():
        return []
    runs = [path for path in parent.iterdir() if _is_run(path)]
    return sorted(runs, key=_started, reverse=True)


def _is_run(directory: Path) -> bool:
    try:
        return RunLayout(directory).run_info.is_file()
    except PermissionError:
        return directory.is_dir()  # said to be passed over, if it comes to that


def _started(directory: Path) -> tuple[float, float]:
    try:
        changed = RunLayout(directory).run_info.stat().st_mtime
    except OSError:
        changed = directory.stat().st_mtime
    try:
        info = read_run_info(directory, plans=False)
        started = dt.datetime.fromisoformat(info.started_at).timestamp()
    except (StoreError, ValueError):
        started = changed
    return started, changed


def _gives(source: ReuseSource, task_ids: Sequence[str], request: RunRequest, judge: Judge) -> bool:
    numbers = request.execution.attempts.numbers
    return any(source.attempts(task_id, numbers, judge) for task_id in task_ids)
