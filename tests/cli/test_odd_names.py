"""Real runs of the command line where names and locales are odd."""

import json
from pathlib import Path

import pytest

from tests.cli.process import call
from tests.whole_runs import read, write_tasks

NAMES = (
    *("日本語-🧭", "Task", "task", "caf\u00e9", "cafe\u0301", "x" * 250, "木" * 80),
    *("end.", "-dash", "100%", "a_b", "a b", "CON", "new\nline", "a:b, c=d"),
)
WORK = {"solution/solve.sh": "echo '日本 🧭' | tee 'ö.txt'\n", "instruction.md": "Löse 🧭\n"}


def run(folder: Path, names: tuple[str, ...], **variables: str):
    """Run tasks of these names; how it ended, and the run directory."""
    path = write_tasks(folder / "tasks", dict.fromkeys(names, WORK))
    params = json.dumps({"path": str(path), "sample_ids": list(names)}, ensure_ascii=True)
    arguments = ("run", "task_directory", "oracle", "none", "--benchmark-params", params)
    ended = call(*arguments, toys=folder, cwd=folder, **variables)
    [directory] = (folder / "results").glob("*/*")
    return ended, directory


def results(directory: Path):
    """The result.json of each task, by its id."""
    return {
        read(path.parent.parent / "task.json")["task_id"]: read(path)
        for path in directory.glob("details/normal/*/attempt-1/result.json")
    }


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_odd_task_ids_are_kept_apart_and_shown_on_one_line_each(tmp_path, encoding):
    """cases.md 70, 74 and 80."""
    ended, directory = run(tmp_path, NAMES, PYTHONIOENCODING=encoding)
    found = results(directory)

    assert ended.code == 0, ended.err
    assert found.keys() == set(NAMES)
    assert {path.read_text() for path in tmp_path.glob("results/*/*/summary.md")}
    finished = [line for line in ended.err.splitlines() if line.startswith("[")]
    assert len(finished) == len(NAMES)
    assert "\x1b" not in ended.out + ended.err
    assert read(directory / "progress.json")["completed_tasks"] == len(NAMES)


def test_records_are_utf_8_in_any_locale(tmp_path):
    """cases.md 74."""
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended, directory = run(tmp_path, ("täsk-木", "t"), **plain)

    assert ended.code == 0, ended.err
    assert results(directory).keys() == {"täsk-木", "t"}
    assert results(directory)["t"]["artifacts"]["solution"]["stdout"] == "日本 🧭\n"
    assert ended.out.splitlines()[0].startswith("task_directory / oracle / none")
