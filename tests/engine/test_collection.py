"""The artifacts of an attempt share a budget, and each says what became of it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from agentcompass.engine.artifact_check import validate_artifacts
from agentcompass.engine.artifact_entries import artifact_entries
from agentcompass.engine.collection import Collection, first_few
from agentcompass.engine.secret_scan import SecretScan
from agentcompass.environments._copy import copy
from agentcompass.errors import ArtifactOverBudget, EnvironmentFailed
from agentcompass.records.environment import EnvironmentPlan, Transfer, TransferLimits
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.request import ArtifactLimits
from agentcompass.records.task import ArtifactSpec
from agentcompass.store.redact import Redactor

MEGABYTE = 1 << 20
HALF = b"x" * (MEGABYTE // 2)


@attrs.define(eq=False)
class Sandbox:
    """A session whose sources are below a host folder; `before` is told what is asked for."""

    root: Path
    before: Callable[[str], Any] = lambda source: None
    asked: list[tuple[str, TransferLimits]] = attrs.field(factory=list)

    async def download(
        self, source: str, target: Path, *, exclude: Sequence[str], limits: TransferLimits
    ) -> Transfer:
        self.asked.append((source, limits))
        self.before(source)
        if source == "/app/hangs":
            await trio.sleep_forever()
        if source == "/app/link":
            target.parent.mkdir(parents=True)
            target.symlink_to("/etc")
            return Transfer(size_bytes=0, entries=1)
        return copy(self.root / source[1:], target, lambda: None, exclude=exclude, limits=limits)

    def put(self, path: str, data: bytes = b"x") -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    (tmp_path / "sandbox").mkdir()
    return Sandbox(tmp_path / "sandbox")


def collection(sandbox: Sandbox, *specs: ArtifactSpec | str, **limits: int) -> Collection:
    declared = tuple(ArtifactSpec(source=s) if isinstance(s, str) else s for s in specs)
    plan = ExecutionPlan(task_id="t", environment=EnvironmentPlan(id="fake"), artifacts=declared)
    return Collection(
        session=sandbox,  # type: ignore[arg-type]  # of which only the download is used
        folder=sandbox.root.parent / "artifacts",
        limits=ArtifactLimits(**limits),
        entries=list(artifact_entries(plan)),
        scan=SecretScan(Redactor()),
    )


def states(found: Collection) -> dict[str, str]:
    return {entry.source: entry.status for entry in found.entries}


async def broken_off(found: Collection, error: type[BaseException], match: str = "") -> None:
    with pytest.raises(error, match=match) as caught:
        await found.collect()
    found.break_off(caught.value)


async def test_what_one_used_is_taken_off_the_next(sandbox: Sandbox) -> None:
    sandbox.put("app/a/1", HALF)
    sandbox.put("app/a/2")
    sandbox.put("app/b", HALF[1:])

    found = collection(sandbox, "/app/a", "/app/b", "/app/c", max_mb=1, max_files=3)
    await found.collect()

    left = {source: (limits.max_bytes, limits.max_entries) for source, limits in sandbox.asked}
    assert left == {
        "/logs/artifacts": (MEGABYTE, 3),
        "/app/a": (MEGABYTE, 3),
        "/app/b": (MEGABYTE // 2 - 1, 1),
        "/app/c": (0, 0),
    }
    assert states(found) == {
        "/logs/artifacts": "missing",
        "/app/a": "collected",
        "/app/b": "collected",
        "/app/c": "missing",
    }
    assert found.manifest("ref").complete


@pytest.mark.parametrize(
    ("limits", "what"), [({"max_mb": 1}, "more than 0 bytes"), ({"max_files": 2}, "0 entries")]
)
async def test_the_one_that_is_too_much_is_named_and_the_rest_is_not_collected(
    sandbox: Sandbox, limits: dict[str, int], what: str
) -> None:
    for name in ("app/a/1", "app/a/2", "app/b/1", "app/c/1"):
        sandbox.put(name, HALF)
    found = collection(sandbox, "/app/a", "/app/b", "/app/c", **limits)

    await broken_off(found, ArtifactOverBudget, f"'/app/b'.*{what}")

    assert states(found) == {
        "/logs/artifacts": "missing",
        "/app/a": "collected",
        "/app/b": "failed",
        "/app/c": "not_collected",
    }
    manifest = found.manifest("ref")
    assert (manifest.complete, manifest.error_type, manifest.failed_operation) == (
        False,
        "ArtifactOverBudget",
        "download",
    )
    assert [entry.error_type for entry in manifest.entries] == [
        None,
        None,
        "ArtifactOverBudget",
        None,
    ]


async def test_a_cancelled_download_is_told_from_a_failed_one(sandbox: Sandbox) -> None:
    sandbox.put("app/a")
    found = collection(sandbox, "/app/a", "/app/hangs", "/app/z")

    with trio.move_on_after(0.5):
        try:
            await found.collect()
        except trio.Cancelled as error:
            found.break_off(error)
            raise

    assert list(states(found).values()) == ["missing", "collected", "cancelled", "not_collected"]
    assert found.manifest("ref").error_type == "Cancelled"


async def test_what_comes_as_a_link_is_not_used(sandbox: Sandbox) -> None:
    """Else its digest, and an upload, would be those of a file of this host."""
    found = collection(sandbox, "/app/link")

    await broken_off(found, EnvironmentFailed, "'/app/link' cannot be used: it came as a link")

    assert found.manifest("ref").failed_operation == "validate"


async def test_an_excluded_file_is_neither_missing_nor_collected(sandbox: Sandbox) -> None:
    sandbox.put("app/x.log")
    (sandbox.root / "app/empty").mkdir()
    log = ArtifactSpec(source="/app/x.log", exclude=("*.log",))

    found = collection(sandbox, log, "/app/empty")
    await found.collect()

    assert list(states(found).values()) == ["missing", "excluded", "collected"]


async def test_a_file_that_comes_twice_counts_as_it_came_last(sandbox: Sandbox) -> None:
    """Fails, at the verifier's door, where the digest of the outer folder is taken before."""
    sandbox.put("logs/artifacts/report", b"draft")
    versions = iter([b"draft", b"final", b"never"])
    sandbox.before = lambda source: sandbox.put("logs/artifacts/report", next(versions))

    found = collection(sandbox, "/logs/artifacts/report")
    await found.collect()

    assert list(states(found).values()) == ["collected", "collected"]
    assert (found.folder / "logs/artifacts/report").read_bytes() == b"final"
    validate_artifacts(found.folder, found.manifest("ref"))


@pytest.mark.parametrize(
    "order", [("/app/out", "/app/out/away/f"), ("/app/out/away/f", "/app/out")]
)
async def test_nothing_is_written_through_a_link_that_came_before(
    sandbox: Sandbox, order: tuple[str, str]
) -> None:
    """cases.md 46. Fails where an artifact's folder is a link that another one brought."""
    outside = sandbox.root.parent / "outside"
    outside.mkdir()
    (outside / "f").write_text("of the sandbox")
    sandbox.put("app/out/file")
    (sandbox.root / "app/out/away").symlink_to(outside)

    found = collection(sandbox, *order)
    await found.collect()
    (outside / "f").write_text("changed later")

    assert (found.folder / "app/out/away/f").read_text() == "of the sandbox"
    assert not (found.folder / "app/out/away").is_symlink()
    assert [path.name for path in outside.iterdir()] == ["f"]
    validate_artifacts(found.folder, found.manifest("ref"))


def test_a_long_list_is_cut() -> None:
    assert first_few(["a", "b"]) == "a, b"
    assert first_few(list("abcdefg")) == "a, b, c, d, e and 2 more"
