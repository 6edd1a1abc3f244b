"""What is exported is there whole or not at all, and takes the place of nothing."""

import errno
import os
from pathlib import Path

import pytest

from agentcompass.errors import StoreError, UsageError
from agentcompass.exporting.attempts import Source
from agentcompass.exporting.write import FORMATS, write_export
from agentcompass.records.request import AttemptPlan
from tests.exporting.told_runs import exported, told_run
from tests.fakes import Script
from tests.summarizing.runs import tree

FORMS = {"peer": "copy", "atif": "copy", "inspect": "log.eval", "inspect json": "log.json"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    scripts = {"t1": Script(), "t2": Script()}
    return told_run(tmp_path / "runs", scripts, attempts=AttemptPlan(k=2))


@pytest.mark.parametrize(
    ("target", "form", "message"),
    [
        ("runs", "peer", "--output: .*runs exists; name a folder that does not"),
        ("runs", "atif", "--output: .*runs exists; name a folder that does not"),
        ("runs", "inspect", "--output: .*runs exists; name a folder that does not"),
        ("empty.json", "inspect", "--output: .*empty.json exists; name a file that does not"),
        ("link", "peer", "--output: .*link exists"),
        ("inside/copy", "peer", "--output: .*copy is inside the run directory"),
        ("inside/log.eval", "inspect", "--output: .*log.eval is inside the run directory"),
        ("copy", "zip", "--format: 'zip' is not known; known: peer, atif, inspect"),
    ],
)
def test_a_target_or_format_that_will_not_do_is_refused(
    run: Path, tmp_path: Path, target: str, form: str, message: str
) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "inside").symlink_to(run)
    (tmp_path / "empty.json").mkdir()
    before = tree(tmp_path)
    with pytest.raises(UsageError, match=message):
        write_export(Source(directory=run), tmp_path / target, form=form, spell="--{}".format)

    assert tree(tmp_path) == before


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_folder_is_filled(run: Path, tmp_path: Path, form: str) -> None:
    (tmp_path / "empty").mkdir()
    exported(run, tmp_path / "empty", form)

    assert tree(tmp_path / "empty")
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "empty"}


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_no_run_is_refused_and_leaves_nothing(tmp_path: Path, form: str) -> None:
    with pytest.raises(UsageError, match="is not a run directory"):
        exported(tmp_path / "nowhere", tmp_path / "new" / "out", form)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("last", [1, 2])
@pytest.mark.parametrize("form", FORMS)
def test_an_export_that_is_stopped_leaves_nothing(
    run: Path, tmp_path: Path, form: str, last: int
) -> None:
    """Fails when it is made in its place, or a half one is not removed."""
    target, calls = tmp_path / "new" / FORMS[form], []

    def stop_at_last() -> None:
        assert not target.exists()
        calls.append(1)
        if len(calls) == last:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_export(
            Source(directory=run, go_on=stop_at_last), target, form=form.removesuffix(" json")
        )

    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


@pytest.mark.parametrize("form", FORMS)
def test_a_disk_that_is_full_is_an_error_that_names_the_target(
    run: Path, tmp_path: Path, form: str
) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(StoreError, match=f"{FORMS[form]}: No space left"):
        write_export(
            Source(directory=run, go_on=full),
            tmp_path / FORMS[form],
            form=form.removesuffix(" json"),
        )

    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
