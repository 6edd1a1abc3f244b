"""Task paths on the host: where they lie, what may be written, and what leads outside."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.environments._task_paths import TaskPaths, inside_app
from agentcompass.errors import EnvironmentFailed

PATHS = TaskPaths(Path("/root-of-it"), Path("/root-of-it/app/sub"))


@pytest.mark.parametrize(
    ("path", "located"),
    [
        ("/app", "/root-of-it/app"),
        ("/app/", "/root-of-it/app"),
        ("//app/x", "/root-of-it/app/x"),
        ("/logs/verifier/reward.txt", "/root-of-it/logs/verifier/reward.txt"),
        ("/tests/./a/../b", "/root-of-it/tests/b"),
        ("/solution/solve.sh", "/root-of-it/solution/solve.sh"),
        ("file", "/root-of-it/app/sub/file"),
        (".", "/root-of-it/app/sub"),
        ("../file", "/root-of-it/app/file"),
        ("/application/x", "/application/x"),
        ("/app/../etc/passwd", "/etc/passwd"),
        ("/tmp/x", "/tmp/x"),
        ("/root-of-it/tmp/x", "/root-of-it/tmp/x"),
    ],
)
def test_a_path_lies_where_the_session_has_it(path, located):
    assert PATHS.locate(path) == Path(located)


def test_a_path_with_a_nul_is_refused():
    with pytest.raises(EnvironmentFailed, match="NUL"):
        PATHS.locate("a\0b")


@pytest.fixture
def paths(tmp_path: Path) -> TaskPaths:
    root = Path(os.path.realpath(tmp_path)) / "root"
    (root / "app").mkdir(parents=True)
    return TaskPaths(root, root / "app")


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/", "../../x", "/app/../x", "/tmp/x", "/app/outward/x", "/app/up/x"]
)
def test_writing_outside_is_refused_with_the_folders_that_can_be_written(paths, path):
    (paths.root / "app/outward").symlink_to("/etc")
    (paths.root / "app/up").symlink_to("../..")

    with pytest.raises(EnvironmentFailed, match="/app, /tests, /logs, /solution") as raised:
        paths.writable(path)

    assert repr(path) in str(raised.value)


@given(parts=st.lists(st.sampled_from(["..", ".", "a", "app", "", "tests"]), max_size=8))
def test_no_path_is_written_outside_the_root(tmp_path_factory, parts):
    """Fails where `..` is resolved after the folders are mapped."""
    root = Path(os.path.realpath(tmp_path_factory.getbasetemp()))
    paths = TaskPaths(root, root / "app")
    for path in ("/".join(parts), "/" + "/".join(parts), f"{root}/" + "/".join(parts)):
        try:
            located = paths.writable(path)
        except EnvironmentFailed:
            continue
        assert root in Path(os.path.realpath(located)).parents


def test_the_last_name_is_not_followed_when_it_is_written(paths):
    (paths.root / "app/link").symlink_to("/etc/passwd")

    assert paths.writable("link") == paths.root / "app/link"


def test_a_link_inside_the_session_is_fine_on_the_way(paths):
    (paths.root / "tests").mkdir()
    (paths.root / "app/link").symlink_to("../tests")

    assert paths.writable("link/x") == paths.root / "tests/x"


def test_taking_away_does_not_follow_a_link_out_of_the_session(paths):
    (paths.root / "app/outward").symlink_to("/etc")

    with pytest.raises(EnvironmentFailed, match="leads out of the session by a link, to '/etc'"):
        paths.readable("/app/outward")
    assert paths.readable("/etc") == Path("/etc")


@pytest.mark.parametrize(
    ("workdir", "inside"), [("/app", ""), ("/app/a/b", "a/b"), ("a", "a"), (".", ""), ("/app/", "")]
)
def test_a_working_directory_below_app(workdir, inside):
    assert inside_app(workdir) == inside


@pytest.mark.parametrize("workdir", ["/", "/root", "/app/../x", "..", "/application"])
def test_a_working_directory_elsewhere_is_refused(workdir):
    with pytest.raises(EnvironmentFailed, match="working directory"):
        inside_app(workdir)
