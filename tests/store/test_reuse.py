"""Which earlier run is reused, what is found in it, and the copy that a new run makes."""

import errno
import hashlib
import json
import logging
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcompass.as_owner import AsOwner
from agentcompass.engine.retry import RetryPolicy
from agentcompass.engine.reuse import Judge
from agentcompass.errors import StoreError, UsageError
from agentcompass.records.attempt import AttemptResult, TaskHeader
from agentcompass.records.issue import Issue
from agentcompass.records.metrics import binary_contract
from agentcompass.records.request import (
    AttemptPlan,
    ComponentSpec,
    ExecutionOptions,
    ModelSpec,
    OutputOptions,
    ReuseOptions,
    RunRequest,
)
from agentcompass.records.reuse import TakenOver
from agentcompass.store.atomic import Disk, StrPath
from agentcompass.store.layout import RunLayout, TaskLayout, task_folder
from agentcompass.store.location import run_location
from agentcompass.store.provenance import Provenance, request_document
from agentcompass.store.reading import StoredTask, read_checkpoint, read_tasks
from agentcompass.store.redact import Redactor
from agentcompass.store.reuse_source import ReuseSource, find_reuse_source
from agentcompass.store.takeover import TaskTakeover
from tests.ordinary_user import ordinary_user
from tests.store.disks import FaultyDisk, QuickDisk
from tests.store.examples import SavedTasks, checkpoint, manifest, result

PEER = Path(__file__).parents[2] / "fixtures" / "peer"
JUDGE = Judge(contract=binary_contract(), retry=RetryPolicy())
FATAL = Issue(severity="fatal", phase="run", code="model_failed", message="HTTP 401")
A_DAY = "2026-11-{:02}T10:00:00+01:00"


def request(model: str = "org/m", **fields: Any) -> RunRequest:
    runtime = ReuseOptions(reuse=True, reuse_run_id=fields.pop("reuse_run_id", None))
    given = {
        "benchmark": ComponentSpec(id="toy"),
        "harness": ComponentSpec(id="none"),
        "model": ModelSpec(id=model),
        "runtime": runtime,
        **fields,
    }
    return RunRequest(**given)


def attempts(k: int, strategy: Any = "avg") -> ExecutionOptions:
    return ExecutionOptions(attempts=AttemptPlan(k=k, strategy=strategy))


class Runs:
    """Runs in one results folder, each a day after the one before."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.days = folder, 0

    def make(self, run_id: str, asked: RunRequest | None = None, **info: Any) -> SavedTasks:
        self.days += 1
        asked = attrs.evolve(asked or request(), output=OutputOptions(run_id=run_id))
        directory = run_location(self.folder, asked).parent / run_id
        directory.mkdir(parents=True)
        record = Provenance(run_id, request_document(asked, run_id, Redactor()), Redactor())
        record.started_at = A_DAY.format(self.days)
        record.set(**info)
        (directory / "run_info.json").write_bytes(b"".join(record.snapshot().pieces()))
        return SavedTasks(RunLayout(directory), Redactor(), Disk())

    def find(self, *task_ids: str, asked: RunRequest | None = None) -> ReuseSource:
        asked = asked or request()
        location = run_location(self.folder, asked)
        return find_reuse_source(location, asked, task_ids or ("t",), JUDGE)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path / "results")


def save(files: SavedTasks, task_id: str = "t", **fields: Any) -> None:
    severity = "fatal" if fields.get("issues") else ""
    files.save_task(TaskHeader(task_id=task_id), {1: result(**fields)}, severity)


def chosen(source: ReuseSource) -> str | None:
    return source.origin.run_id if source.runs else None


def test_the_newest_run_with_something_to_give_is_chosen(runs: Runs) -> None:
    save(runs.make("older"))
    save(runs.make("newer"))
    assert chosen(runs.find()) == "newer"


def test_a_failed_newer_run_hides_no_older_good_one(runs: Runs) -> None:
    save(runs.make("good"))
    save(runs.make("void"), issues=(FATAL,))
    runs.make("died in preparation")
    save(runs.make("other k", request(execution=attempts(3))))
    runs.make("damaged").layout.run_info.write_text("{")
    found = runs.find()
    assert chosen(found) == "good"
    assert [reason.split(":")[0] for reason in found.passed_over] == [
        "damaged",
        "other k",
        "died in preparation",
        "void",
    ]
    assert "its k is 3, and that of this run is 1" in found.passed_over[1]


@pytest.mark.parametrize("protocol", ["replay", ["replay", "openai-chat"]])
def test_a_replay_is_never_taken_for_what_the_model_did(runs: Runs, protocol: Any) -> None:
    was = request()
    replay = attrs.evolve(was, model=attrs.evolve(was.model, api_protocol=protocol))
    save(runs.make("real"))
    save(runs.make("replay", replay))
    assert chosen(runs.find()) == "real"
    assert "its replies were replayed" in runs.find().passed_over[0]
    assert chosen(runs.find(asked=replay)) == "replay"


def test_only_selected_tasks_make_a_run_usable(runs: Runs) -> None:
    save(runs.make("one"), "a")
    assert chosen(runs.find("a", "b")) == "one"
    assert chosen(runs.find("b")) is None


@pytest.mark.parametrize("twin", ["org_m", "org/m "])
def test_no_run_of_another_model_is_reused_though_it_shares_the_folder(
    runs: Runs, twin: str
) -> None:
    save(runs.make("twin", request(twin.strip())))
    found = runs.find(asked=request("org/m"))
    assert chosen(found) == ("twin" if twin.strip() == "org/m" else None)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (request(reuse_run_id="none"), "is not a run directory"),
        (request(reuse_run_id="old", execution=attempts(2)), "its k is 1"),
        (request(reuse_run_id="old", execution=attempts(1, "pass")), "attempt strategy is 'avg'"),
        (request("org_m", reuse_run_id="old"), "its model is 'org/m'"),
        (request(reuse_run_id="../old"), "would leave the results folder"),
    ],
)
def test_a_named_run_that_cannot_be_used_is_refused_with_the_reason(
    runs: Runs, asked: RunRequest, reason: str
) -> None:
    save(runs.make("old"))
    with pytest.raises(UsageError, match=reason):
        runs.find(asked=asked)


def test_a_named_run_is_taken_though_it_has_nothing_to_give(runs: Runs) -> None:
    runs.make("empty")
    save(runs.make("full"))
    assert chosen(runs.find(asked=request(reuse_run_id="empty"))) == "empty"


def test_a_chain_that_bites_its_tail_ends(runs: Runs) -> None:
    save(runs.make("a", reused_from={"run_id": "b"}))
    save(runs.make("b", reused_from={"run_id": "a"}))
    assert [run.info.run_id for run in runs.find().runs] == ["b", "a"]


@pytest.mark.parametrize("odd", ["a\0b", "..", "/etc", "\ud800"])
def test_a_chain_leads_nowhere_else(runs: Runs, odd: str) -> None:
    save(runs.make("a", reused_from={"run_id": odd}))
    assert [run.info.run_id for run in runs.find().runs] == ["a"]


def test_what_may_not_be_looked_into_is_passed_over() -> None:
    with ordinary_user() as folder:
        runs = Runs(folder / "results")
        save(runs.make("good"))
        files = runs.make("shut task")
        save(files)
        files.layout.task("t", "normal").directory.chmod(0)
        for name in ("shut run", "shut details"):
            save(runs.make(name))
        folders = run_location(runs.folder, request()).parent
        (folders / "shut run").chmod(0)
        (folders / "shut details" / "details").chmod(0)
        found = runs.find()
    assert chosen(found) == "good"
    assert len(found.passed_over) == 3


def test_run_info_of_schema_2_gives_what_succeeded_and_no_failure(runs: Runs) -> None:
    files = runs.make("old")
    save(files, "good")
    save(files, "failed", status="run_error")
    path = files.layout.run_info
    path.write_text(path.read_text().replace("run_info.v3", "run_info.v2"))
    source = runs.find("good", "failed")
    assert list(source.attempts("good", [1], JUDGE)) == [1]
    assert source.attempts("failed", [1], JUDGE) == {}


def test_an_unknown_schema_is_passed_over_by_name(runs: Runs) -> None:
    files = runs.make("future")
    save(files)
    path = files.layout.run_info
    path.write_text(path.read_text().replace("run_info.v3", "run_info.v9"))
    [reason] = runs.find().passed_over
    assert "run_info.v9" in reason


def damage_result(task: TaskLayout) -> None:
    task.attempt(1).result.write_text('{"status": "comp')


def piped_result(task: TaskLayout) -> None:
    task.attempt(1).result.unlink()
    os.mkfifo(task.attempt(1).result)


def empty_result(task: TaskLayout) -> None:
    task.attempt(1).result.write_text("")


def other_task(task: TaskLayout) -> None:
    task.index.write_text(task.index.read_text().replace('"t"', '"u"'))


def in_two_states(task: TaskLayout) -> None:
    error = task.directory.parent.parent / "error"
    shutil.copytree(task.directory, error / task.directory.name)


@pytest.mark.parametrize(
    "damage", [damage_result, empty_result, piped_result, other_task, in_two_states]
)
def test_what_cannot_be_trusted_is_said_and_not_reused(
    runs: Runs, damage: Callable[[TaskLayout], None], caplog: pytest.LogCaptureFixture
) -> None:
    files = runs.make("old")
    save(files)
    save(files, "good")
    damage(files.layout.task("t", "normal"))
    with caplog.at_level(logging.WARNING):
        source = runs.find("t", "good")
        assert source.attempts("t", [1], JUDGE) == {}
    assert "task t" in caplog.text
    assert list(source.attempts("good", [1], JUDGE)) == [1]


class NotingDisk(QuickDisk):
    """Notes what it does: that it syncs, or which name something gets."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def sync(self, file: int) -> None:
        self.steps.append("sync")

    def link(self, source: StrPath, target: StrPath) -> None:
        self.steps.append(Path(target).name)
        super().link(source, target)


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and os.access(path, os.R_OK, effective_ids=True)
    }


def take(
    runs: Runs, header: TaskHeader, asked: RunRequest | None = None
) -> tuple[TakenOver, RunLayout]:
    source = runs.find(header.task_id, asked=asked)
    new = runs.make("new", asked).layout
    before = digests(source.runs[0].layout.directory)
    taken = take_from(source, new, header)
    assert digests(source.runs[0].layout.directory) == before, "a source is never modified"
    return taken[header.task_id], new


def take_from(
    source: ReuseSource, new: RunLayout, *headers: TaskHeader, **parts: Any
) -> dict[str, TakenOver]:
    """Take over what `source` has of these tasks together."""
    parts = {"redactor": Redactor(), "disk": Disk(), **parts}
    found = [source.attempts(h.task_id, h.attempt_plan.numbers, JUDGE) for h in headers]
    taken: dict[str, TakenOver] = {}
    takes = TaskTakeover(layout=new, judge=JUDGE, **parts)
    takes.take_over(zip(headers, found, strict=True), taken)
    return taken


def only_task(run: RunLayout) -> StoredTask:
    [task] = read_tasks(run.directory)
    assert isinstance(task, StoredTask), task
    return task


def with_artifacts(files: SavedTasks, task_id: str = "t") -> AttemptResult:
    folder = files.layout.task(task_id, "running").attempt(1).artifacts
    (folder / "app").mkdir(parents=True)
    (folder / "app/out.txt").write_bytes(b"what was made\n")
    (folder / "app/link").symlink_to("out.txt")
    reference = folder.parent.relative_to(files.layout.directory).as_posix()
    record = attrs.asdict(manifest(reference))
    return result(artifacts={"declared_artifacts": record}, retry_count=2)


def test_a_finished_task_is_published_again_with_its_files_and_history(runs: Runs) -> None:
    files = runs.make("old")
    files.save_task(TaskHeader(task_id="t"), {1: with_artifacts(files)}, "")
    taken, new = take(runs, TaskHeader(task_id="t", category="now", ground_truth=7))
    assert taken.published
    task = only_task(new)
    assert task.state == "normal"
    assert task.header == TaskHeader(task_id="t", category="now", ground_truth=7)
    got = task.attempts[1]
    assert got is not None
    assert got.retry_count == 0
    assert got.artifacts["reuse_history"] == {"source_run": "old", "retry_count": 2}
    folder = new.directory / got.artifacts["declared_artifacts"]["directory"]
    assert (folder / "app/out.txt").read_bytes() == b"what was made\n"
    assert (folder / "app/link").readlink() == Path("out.txt")


def test_metrics_that_are_not_measured_any_more_are_history(runs: Runs) -> None:
    save(runs.make("old"), metrics={"correct": True, "seconds": 3.0})
    taken, new = take(runs, TaskHeader(task_id="t"))
    assert taken.kept[1].metrics == {"correct": True}
    got = only_task(new).attempts[1]
    assert got is not None
    assert got.metrics == {"correct": True}
    assert got.artifacts["reuse_history"]["undeclared_metrics"] == {"seconds": 3.0}


def test_what_has_become_known_as_secret_is_masked_in_the_copy(runs: Runs) -> None:
    files = runs.make("old")
    save(files, final_answer="the key is hunter2-hunter2")
    source = runs.find("t")
    new = runs.make("new").layout
    take_from(source, new, TaskHeader(task_id="t"), redactor=Redactor({"hunter2-hunter2"}))
    assert all(
        b"hunter2-hunter2" not in path.read_bytes() for path in new.directory.rglob("*.json")
    )


def test_records_in_which_nothing_changes_are_linked(runs: Runs) -> None:
    """Fails where they are written anew, which costs most of what reusing a run costs."""
    save(runs.make("old"))
    _, second = take(runs, TaskHeader(task_id="t"))
    attempt = second.task("t", "normal").attempt(1)
    records = (second.task("t", "normal").index, attempt.checkpoint, attempt.result)
    assert [path.stat().st_nlink for path in records] == [2, 2, 1]


def test_a_record_that_is_a_symbolic_link_is_copied(runs: Runs) -> None:
    """Fails when the new run gets the link, which leads nowhere in it."""
    files = runs.make("old")
    save(files)
    task = files.layout.task("t", "normal")
    for path in (task.index, task.attempt(1).checkpoint):
        path.rename(path.with_name("elsewhere"))
        path.symlink_to("elsewhere")
    _, new = take(runs, TaskHeader(task_id="t"))
    assert only_task(new).is_published
    assert read_checkpoint(new.task("t", "normal").attempt(1)) is not None


def test_a_result_that_was_reused_before_is_linked(runs: Runs) -> None:
    save(runs.make("old"))
    source = runs.find("t")
    second = runs.make("second").layout
    take_from(source, second, TaskHeader(task_id="t"))
    _, third = take(runs, TaskHeader(task_id="t"))
    assert third.task("t", "normal").attempt(1).result.stat().st_nlink == 2


def test_no_task_is_there_before_its_records_are_on_the_disk(runs: Runs) -> None:
    """Fails when a task gets its index, without which it is none, before all else is synced."""
    files = runs.make("old")
    names = ["a", "b", "c"]
    for name in names:
        save(files, name)
    disk = NotingDisk()
    source, new = runs.find(*names), runs.make("new").layout
    taken = take_from(source, new, *(TaskHeader(task_id=name) for name in names), disk=disk)
    assert list(taken) == names
    done = [step for step in disk.steps if step in ("sync", "task.json")]
    assert done == ["sync"] * 3 + ["task.json"] * 3


def test_what_was_taken_over_before_a_fault_is_told(runs: Runs) -> None:
    """Fails when a run counts what it does not have, or has what it does not count."""
    files = runs.make("old")
    for name in ("a", "b", "c"):
        save(files, name)
    source, new = runs.find("a"), runs.make("new").layout
    disk = FaultyDisk(fails_at=1, where=f"normal/{task_folder('b')}")
    taken: dict[str, TakenOver] = {}
    takes = TaskTakeover(layout=new, redactor=Redactor(), disk=disk, judge=JUDGE)
    headers = [TaskHeader(task_id=name) for name in ("a", "b", "c")]
    found = [source.attempts(header.task_id, [1], JUDGE) for header in headers]
    with pytest.raises(StoreError, match="No space left on device"):
        takes.take_over(zip(headers, found, strict=True), taken)
    published = [task.task_id for task in read_tasks(new.directory) if task.is_published]
    assert published == list(taken) == ["a"]


def test_a_record_that_cannot_be_linked_is_written(runs: Runs) -> None:
    class Unlinked(Disk):
        def link(self, source: Path, target: Path) -> None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    save(runs.make("old"))
    source = runs.find("t")
    new = runs.make("new").layout
    take_from(source, new, TaskHeader(task_id="t"), disk=Unlinked())
    assert only_task(new).is_published
    assert new.task("t", "normal").index.stat().st_nlink == 1


def test_artifacts_are_linked_and_outlive_their_source(runs: Runs) -> None:
    files = runs.make("old")
    files.save_task(TaskHeader(task_id="t"), {1: with_artifacts(files)}, "")
    _, new = take(runs, TaskHeader(task_id="t"))
    copy = new.task("t", "normal").attempt(1).artifacts / "app/out.txt"
    assert os.stat(copy).st_nlink == 2  # noqa: PTH116
    shutil.rmtree(files.layout.directory)
    assert copy.read_bytes() == b"what was made\n"


def test_files_that_deny_their_owner_are_taken_over_with_their_modes() -> None:
    with ordinary_user() as folder:
        runs = Runs(folder / "results")
        files = runs.make("old")
        done = with_artifacts(files)
        shut = files.layout.task("t", "running").attempt(1).artifacts / "app/shut"
        (shut / "in").mkdir(parents=True)
        (shut / "in/file").write_bytes(b"1")
        for path in (shut / "in/file", shut / "in", shut):
            path.chmod(0)
        files.save_task(TaskHeader(task_id="t"), {1: done}, "")
        _, new = take(runs, TaskHeader(task_id="t"))
        copy = new.task("t", "normal").attempt(1).artifacts / "app/shut"
        with AsOwner() as owner:
            for path in (copy, copy / "in"):
                assert path.stat().st_mode & 0o777 == 0
                owner.lend(path)
            assert (copy / "in/file").stat().st_mode & 0o777 == 0


def test_an_unfinished_task_goes_on_with_what_it_has(runs: Runs) -> None:
    asked = request(execution=attempts(3))
    files = runs.make("old", asked)
    header = TaskHeader(task_id="t", attempt_plan=AttemptPlan(k=3))
    files.save_attempt(header, 2, result(correct=False))
    files.save_evaluation(header, checkpoint(3, task_id="t"))
    taken, new = take(runs, header, asked)
    assert (list(taken.kept), taken.resumable, taken.published) == ([2], {3}, False)
    task = only_task(new)
    assert task.state == "running"
    assert {number: got is not None for number, got in task.attempts.items()} == {2: True, 3: False}
    saved = read_checkpoint(new.task("t", "running").attempt(3))
    assert saved is not None
    assert saved.evaluation is not None
    assert saved.evaluation.artifacts is not None
    assert saved.evaluation.artifacts.directory.startswith("details/running/t--")


def test_a_result_that_a_crash_left_in_running_counts_as_finished(runs: Runs) -> None:
    files = runs.make("old")
    save(files)
    done = files.layout.task("t", "normal").directory
    running = files.layout.task("t", "running").directory
    done.rename(running)
    taken, new = take(runs, TaskHeader(task_id="t"))
    assert taken.published
    assert only_task(new).state == "normal"


def test_an_attempt_that_cannot_be_copied_is_not_taken_over(
    runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    asked = request(execution=attempts(2))
    files = runs.make("alive", asked)
    header = TaskHeader(task_id="t", attempt_plan=AttemptPlan(k=2))
    for number in header.attempt_plan.numbers:
        files.save_attempt(header, number, result())
    artifacts = files.layout.task("t", "running").attempt(2).artifacts
    names = ["d" * 200] * ((4080 - len(str(artifacts))) // 201)
    artifacts.joinpath(*names).mkdir(parents=True)
    source = runs.find(asked=asked)
    new = runs.make("n" * 240, asked).layout  # too long for the paths of these artifacts
    taken = take_from(source, new, header)["t"]
    assert (list(taken.kept), taken.resumable, taken.published) == ([1], frozenset(), False)
    assert list(only_task(new).attempts) == [1]
    assert "task t attempt 2 is not reused" in caplog.text


def test_an_attempt_that_cannot_be_copied_costs_no_other_one() -> None:
    """Fails when the copies of the others are to be made anew: some cannot be removed."""
    with ordinary_user() as folder:
        runs, asked = Runs(folder / "results"), request(execution=attempts(2))
        files = runs.make("alive", asked)
        header = TaskHeader(task_id="t", attempt_plan=AttemptPlan(k=2))
        for number in header.attempt_plan.numbers:
            files.save_attempt(header, number, result())
        first, second = (files.layout.task("t", "running").attempt(n).artifacts for n in (1, 2))
        (first / "fixed").mkdir(parents=True)
        (first / "fixed/file").write_bytes(b"1")
        (first / "fixed").chmod(0o555)
        names = ["d" * 200] * ((4080 - len(str(second))) // 201)
        second.joinpath(*names).mkdir(parents=True)
        new = runs.make("n" * 240, asked).layout  # too long for the paths of the second's artifacts
        taken = take_from(runs.find(asked=asked), new, header)["t"]
        assert list(taken.kept) == list(only_task(new).attempts) == [1]


def test_artifacts_in_any_number_of_folders_in_each_other_are_linked(runs: Runs) -> None:
    files = runs.make("old")
    files.save_task(TaskHeader(task_id="t"), {1: with_artifacts(files)}, "")
    names = "/".join(["d"] * 1200)
    artifacts = files.layout.task("t", "normal").attempt(1).artifacts
    subprocess.run(["mkdir", "-p", names], cwd=artifacts, check=True)
    source = runs.find("t")
    new = runs.make("new").layout
    try:
        assert take_from(source, new, TaskHeader(task_id="t"))["t"].published
        assert (new.task("t", "normal").attempt(1).artifacts / names).is_dir()
    finally:
        subprocess.run(["rm", "-r", artifacts / "d", runs.folder], check=True)  # pytest could not


def test_a_damaged_checkpoint_with_a_secret_costs_itself_alone(runs: Runs) -> None:
    files = runs.make("old")
    save(files)
    files.layout.task("t", "normal").attempt(1).checkpoint.write_text('{"a": "hunter2-hunter2')
    source = runs.find("t")
    new = runs.make("new").layout
    redactor = Redactor({"hunter2-hunter2"})
    assert take_from(source, new, TaskHeader(task_id="t"), redactor=redactor)["t"].published
    assert b"hunter2" not in new.task("t", "normal").attempt(1).checkpoint.read_bytes()


@pytest.mark.parametrize("text", ['{\n  "scheduler": {', '[\n  "scheduler": 1\n]'])
def test_a_result_is_kept_though_its_checkpoint_cannot_be_read(runs: Runs, text: str) -> None:
    files = runs.make("old")
    save(files)
    damaged = files.layout.task("t", "normal").attempt(1).checkpoint
    damaged.write_text(text)
    taken, new = take(runs, TaskHeader(task_id="t"))
    assert taken.published
    assert read_checkpoint(new.task("t", "normal").attempt(1)) is not None


def test_the_earlier_layout_is_read(runs: Runs) -> None:
    files = runs.make("old")
    save(files)
    task = files.layout.task("t", "normal").directory
    task.rename(files.layout.details / task.name)
    taken, _ = take(runs, TaskHeader(task_id="t"))
    assert taken.published


def peer_request(run_id: str | None = None) -> RunRequest:
    return RunRequest(
        benchmark=ComponentSpec(id="toyqa"),
        harness=ComponentSpec(id="toyharness"),
        model=ModelSpec(id="mock-model"),
        runtime=ReuseOptions(reuse=True, reuse_run_id=run_id),
    )


def test_an_interrupted_run_of_the_peer_is_gone_on_with(tmp_path: Path) -> None:
    namespace = tmp_path / "mock-model_toyqa_toyharness"
    shutil.copytree(PEER / "sigint" / "r1", namespace / "r1")
    asked = peer_request()
    ids = ("fast", "slow", "evalslow")
    source = find_reuse_source(run_location(tmp_path, asked), asked, ids, JUDGE)
    verdicts = {
        task_id: {n: found.verdict for n, found in source.attempts(task_id, [1], JUDGE).items()}
        for task_id in ids
    }
    assert verdicts == {"fast": {1: "keep"}, "slow": {}, "evalslow": {1: "resume"}}
    new = RunLayout(namespace / "r2")
    taken = take_from(source, new, *(TaskHeader(task_id=task_id) for task_id in ids))
    assert list(taken) == ["fast", "evalslow"]
    kept = new.task("fast", "normal").attempt(1).result.read_text()
    assert json.loads(kept)["artifacts"]["reuse_history"]["source_run"] == "r1"
    saved = read_checkpoint(new.task("evalslow", "running").attempt(1))
    assert saved is not None
    assert saved.evaluation is not None
    assert saved.evaluation.run_result.task_id == "evalslow"
