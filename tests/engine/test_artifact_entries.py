"""Where artifacts will lie: side by side, or one in the other as in the sandbox."""

import pytest

from agentcompass.engine.artifact_entries import artifact_entries
from agentcompass.errors import TaskInvalid
from agentcompass.records.environment import EnvironmentPlan
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import ArtifactSpec


def plan(*specs: ArtifactSpec) -> ExecutionPlan:
    return ExecutionPlan(task_id="t", environment=EnvironmentPlan(id="fake"), artifacts=specs)


def spec(source: str, destination: str | None = None, *exclude: str) -> ArtifactSpec:
    return ArtifactSpec(source=source, destination=destination, exclude=exclude)


def places(*specs: ArtifactSpec) -> list[tuple[str, str]]:
    return [(entry.source, entry.destination) for entry in artifact_entries(plan(*specs))]


IMPLICIT = ("/logs/artifacts", "logs/artifacts")


@pytest.mark.parametrize(
    ("specs", "found"),
    [
        ([], [IMPLICIT]),
        ([spec("/app/out")], [IMPLICIT, ("/app/out", "app/out")]),
        ([spec("/app/../art/out/")], [IMPLICIT, ("/app/../art/out/", "art/out")]),
        ([spec("/app/out", "./x//y/")], [IMPLICIT, ("/app/out", "x/y")]),
        ([spec("/a"), spec("/a")], [IMPLICIT, ("/a", "a")]),
        ([spec("/logs/artifacts", None, "*.log")], [IMPLICIT]),
        ([spec("/logs/artifacts", "own")], [IMPLICIT, ("/logs/artifacts", "own")]),
        ([spec("/logs/artifacts/x")], [IMPLICIT, ("/logs/artifacts/x", "logs/artifacts/x")]),
        ([spec("/logs")], [IMPLICIT, ("/logs", "logs")]),
        ([spec("/")], [IMPLICIT, ("/", ".")]),
        ([spec("/a", "x"), spec("/a/b/c", "x/b/c")], [IMPLICIT, ("/a", "x"), ("/a/b/c", "x/b/c")]),
    ],
)
def test_each_artifact_has_one_place(
    specs: list[ArtifactSpec], found: list[tuple[str, str]]
) -> None:
    assert places(*specs) == found


def test_what_a_task_says_of_the_implicit_folder_counts() -> None:
    [entry] = artifact_entries(plan(spec("/logs/artifacts/", None, "*.log")))

    assert entry.exclude == ("*.log",)


@pytest.mark.parametrize(
    "specs",
    [
        [spec("/a", "x"), spec("/b", "x")],
        [spec("/a", "x"), spec("/b", "x/b")],
        [spec("/a", "x"), spec("/a/b", "x/c")],
        [spec("/a/b", "x"), spec("/a", "x/b")],
        [spec("/mine", "logs/artifacts")],
    ],
)
def test_two_that_would_be_mixed_up_are_the_tasks_fault(specs: list[ArtifactSpec]) -> None:
    """Else the verifier would be given the one within the other."""
    with pytest.raises(TaskInvalid, match=r"cannot lie at .*give one another destination"):
        places(*specs)


@pytest.mark.parametrize("destination", ["../x", "/x", "a/../../x", "..", "a\0"])
def test_a_destination_outside_is_the_tasks_fault(destination: str) -> None:
    with pytest.raises(TaskInvalid, match="outside the artifacts folder"):
        places(spec("/app/out", destination))
