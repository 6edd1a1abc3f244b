"""What becomes of artifacts in a run: on record when they fail, unchanged when they are scored."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentcompass.engine.tree import run_job
from agentcompass.environments._fake_session import FakeSession
from agentcompass.environments.fake import FakeConfig, FakeEnvironment, FakeScript
from agentcompass.protocols import SessionRequest
from agentcompass.records.attempt import AttemptResult
from agentcompass.records.request import ArtifactLimits
from agentcompass.records.task import ArtifactSpec
from tests.fakes import MemoryStore, Scripted, World, make_job
from tests.virtual import on_virtual_time

WORK = {"/logs/artifacts/work": "done", "/app/out/file": "x" * 100}
OUT = (ArtifactSpec(source="/app/out"), ArtifactSpec(source="/app/never"))


class Fakes(FakeEnvironment):
    """Agents' sessions by this script, and those of verifiers as `verifier` says; kept."""

    def __init__(self, script: FakeScript) -> None:
        def script_for(request: SessionRequest) -> FakeScript:
            return script if request.role == "agent" else self.verifier()

        super().__init__(FakeConfig(), script_for=script_for)
        self.sessions: list[FakeSession] = []

    async def open(self, request: SessionRequest) -> FakeSession:
        self.sessions.append(await super().open(request))
        return self.sessions[-1]

    def verifier(self) -> FakeScript:
        return FakeScript()


async def ran(folder: Path, fake: FakeEnvironment, **options: Any) -> AttemptResult:
    """The attempt of task `t`, scored in a fresh session."""
    world = World({"t": Scripted(task_id="t", provider="fake", mode="fresh")})
    store = MemoryStore(directory=folder)
    await run_job(make_job(world, store, providers=[fake], artifacts=OUT, **options))  # type: ignore[list-item]
    return store.attempts["t", 1]


def states(result: AttemptResult) -> list[str]:
    return [entry["status"] for entry in result.artifacts["declared_artifacts"]["entries"]]


@on_virtual_time
async def test_a_failed_download_is_fatal_and_on_record(tmp_path: Path) -> None:
    """formats.md 2.8."""
    script = FakeScript(files=WORK, fails={"download": "connection lost"})
    result = await ran(tmp_path, Fakes(script))
    [issue] = result.issues
    manifest = result.artifacts["declared_artifacts"]

    assert (issue.severity, issue.phase, issue.code) == ("fatal", "collect", "environment_failed")
    assert states(result) == ["failed", "not_collected", "not_collected"]
    assert manifest["entries"][0]["error_type"] == "EnvironmentFailed"
    assert manifest["complete"] is False
    assert (manifest["error_type"], manifest["failed_operation"]) == (
        "EnvironmentFailed",
        "download",
    )


@on_virtual_time
async def test_a_download_out_of_its_seconds_is_over_budget(tmp_path: Path) -> None:
    """One limit of seconds for all of them together."""
    script = FakeScript(files=WORK, operation_seconds=4)
    result = await ran(tmp_path, Fakes(script), artifact_limits=ArtifactLimits(timeout_seconds=6))
    [issue] = result.issues

    assert issue.code == "artifact_over_budget"
    assert "artifact download timeout: exceeded 6 s" in issue.message
    assert states(result) == ["collected", "failed", "not_collected"]


@on_virtual_time
async def test_what_is_collected_reaches_the_verifier(tmp_path: Path) -> None:
    fake = Fakes(FakeScript(files=WORK))
    result = await ran(tmp_path, fake)
    [_, verifier] = fake.sessions

    assert result.issues == ()
    assert states(result) == ["collected", "collected", "missing"]
    assert {path: verifier.files.read(path).decode() for path in WORK} == WORK


@on_virtual_time
async def test_what_has_changed_since_is_refused_before_the_first_upload(tmp_path: Path) -> None:
    """formats.md 2.8. Fails where artifacts are uploaded as they are found."""

    class Tampering(Fakes):
        def verifier(self) -> FakeScript:
            [file] = tmp_path.rglob("out/file")
            file.write_text("y" * 100)
            return FakeScript(fails={"upload": "an upload"})

    result = await ran(tmp_path, Tampering(FakeScript(files=WORK)))
    [issue] = result.issues

    assert (issue.severity, issue.phase, issue.code) == ("fatal", "evaluate", "artifacts_invalid")
    assert "artifact '/app/out' has changed: its sha256" in issue.message
    assert result.metrics == {}


class WithEmptyFolder(Fakes):
    """Has the implicit folder in every session, as Docker does, and nothing in it."""

    async def open(self, request: SessionRequest) -> FakeSession:
        session = await super().open(request)
        with TemporaryDirectory() as folder:
            await session.upload(Path(folder), "/logs/artifacts")
        return session


@on_virtual_time
async def test_an_empty_folder_that_was_collected_is_nothing_for_a_verifier(tmp_path: Path) -> None:
    empty = await ran(tmp_path / "empty", WithEmptyFolder(FakeScript()))
    work = await ran(tmp_path / "work", Fakes(FakeScript(files=WORK)))

    assert states(empty)[0] == "collected"
    assert [issue.code for issue in empty.issues] == ["nothing_restored"]
    assert not work.issues
