"""Names of folders: readable, apart from each other, and never too long (case 70)."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.store.layout import (
    RunLayout,
    fitted,
    retry_file,
    sanitized,
    state_of,
    task_folder,
)
from tests import strategies

ODD_IDS = [
    *("a/b", "a_b", "Task", "task", "é", unicodedata.normalize("NFD", "é"), "x" * 300, "中" * 90),
    *(".", "..", "CON", "nul", "😀", "a\nb", "-rf", "%2e%2e", "end.", "end", "a\x00b", "\ud83d"),
    *("../../etc/passwd", "/abs", "C:\\x", "~", "$HOME", "task", "TASK"),
]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ok/2 é", "ok_2"),
        ("astropy__astropy-12907", "astropy__astropy-12907"),
        ("..a=b..", "a=b"),
        ("///", "task"),
        ("中文", "task"),
        ("y" * 300, "y" * 80),
        ("z" * 79 + "_x", "z" * 79 + "_"),
    ],
)
def test_a_folder_begins_with_what_can_be_read_of_the_id(text: str, name: str) -> None:
    readable, _, digest = task_folder(text).rpartition("--")

    assert readable == name
    assert len(digest) == 64


def test_the_folder_of_an_id_is_that_of_the_format() -> None:
    digest = "ea0829bb"  # of the UTF-8 bytes of the id, as the peer has it

    assert task_folder("ok/2 é").startswith(f"ok_2--{digest}")


def test_odd_ids_share_no_folder_even_where_case_does_not_count() -> None:
    ids = sorted(set(ODD_IDS))

    assert len({task_folder(text).casefold() for text in ids}) == len(ids)


@given(st.lists(strategies.texts, min_size=2, max_size=2, unique=True))
def test_two_ids_never_share_a_folder(ids: list[str]) -> None:
    one, two = (task_folder(text).casefold() for text in ids)

    assert one != two


@given(strategies.texts | st.text(min_size=100))
def test_any_id_gives_a_name_that_every_file_system_takes(text: str) -> None:
    for name in (task_folder(text), retry_file(text, 999, 99, "a:b/" + "run_harness")):
        assert name.isascii()
        assert len(name) <= 255
        assert not set(name) & set('/\\\0:*?"<>|\n ')
        assert name.strip(".") == name


@pytest.mark.parametrize("text", ODD_IDS)
def test_odd_ids_can_really_be_folders(tmp_path: Path, text: str) -> None:
    folder = RunLayout(tmp_path).task(text, "running").directory
    folder.mkdir(parents=True)

    assert folder.parent == tmp_path / "details" / "running"


@given(st.text(min_size=1))
def test_sanitizing_twice_changes_nothing(text: str) -> None:
    assert sanitized(sanitized(text)) == sanitized(text)
    assert sanitized("../x/ y z") == ".._x_y_z"


def test_long_names_keep_their_head_and_stay_apart() -> None:
    one, two = fitted("m" * 400 + "1"), fitted("m" * 400 + "2")

    assert one != two
    assert len(one) == len(two) == 255
    assert fitted("short") == "short"


def test_the_state_is_the_heaviest_severity() -> None:
    assert [state_of(severity) for severity in ("", "warning", "error", "fatal")] == [
        *("normal", "normal", "error", "fatal")
    ]


def test_task_folders_are_found_in_both_layouts_and_links_are_not_followed(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    for name in ("normal/a", "fatal/b", "running/c", "old--1"):
        (layout.details / name).mkdir(parents=True)
    (layout.details / "error").symlink_to(layout.details / "fatal")
    (layout.details / "normal" / "link").symlink_to(tmp_path)
    (layout.details / "normal" / "file").touch()

    found = [(state, path.name) for state, path in layout.task_folders()]

    assert found == [(None, "old--1"), ("running", "c"), ("normal", "a"), ("fatal", "b")]
    assert list(RunLayout(tmp_path / "none").task_folders()) == []


def test_the_records_of_an_attempt_are_never_its_artifacts(tmp_path: Path) -> None:
    attempt = RunLayout(tmp_path).task("t", "running").attempt(2)
    for name in (
        *("result.json", "checkpoint.json", "artifacts/result.json", "retries/r.json"),
        *(
            "retries/0a/result.json",
            "retries/0a/artifacts/deep.json",
            "retries/0a/artifacts/a/b.json",
        ),
    ):
        path = attempt.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    found = sorted(str(path.relative_to(attempt.directory)) for path in attempt.records())

    assert found == ["checkpoint.json", "result.json", "retries/0a/result.json", "retries/r.json"]
    assert RunLayout(tmp_path).task("t", "running").attempt_numbers() == [2]


def test_a_task_at_work_has_one_layout() -> None:
    layout = RunLayout(Path("runs/r1"))
    first = layout.task("t1", "running")
    for number in range(1000):
        layout.task(f"other {number}", "running")

    assert layout.task("t1", "running") == first
    assert layout.task("t1", "running") is layout.task("t1", "running")
    assert first.attempt(2) is first.attempt(2)
    assert RunLayout(Path("runs/r2")).task("t1", "running") != first
    assert layout == RunLayout(Path("runs/r1"))


@pytest.mark.parametrize("directory", ["runs/r1", "/runs/r1", "."])
def test_records_name_a_path_as_it_stands_below_the_run(directory: str) -> None:
    layout = RunLayout(Path(directory))
    artifacts = layout.task("t", "running").attempt(1).artifacts

    assert layout.reference(artifacts) == f"details/running/{task_folder('t')}/attempt-1/artifacts"
