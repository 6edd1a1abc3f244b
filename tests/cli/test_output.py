"""What a result looks like where the terminal is narrow, and how it fails where it cannot go."""

import io
import subprocess
import sys

import pytest

from agentcompass.cli.output import emit_table
from tests.cli.process import ROOT, RUN, environment

HEADERS = ("Metric", "Value", "Evaluated")
ROW = ("Correct (native@1)", "0.5000", "12")
QUIET = ("--progress", "none", "--log-level", "WARNING")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [1, 20, 30, 40, 80, 300])
def test_a_table_of_any_width_shows_every_word_whole(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", Terminal())
    emit_table(HEADERS, [ROW])
    shown = sys.stdout.getvalue()  # type: ignore[attr-defined]

    assert all(word in shown for text in (*HEADERS, *ROW) for word in text.split())


def test_a_result_that_cannot_be_written_is_one_line_and_exit_code_1(toys, tmp_path):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        ended = subprocess.run(
            [sys.executable, "-m", "tests.cli.fake_evaluate", *RUN, *QUIET],
            cwd=tmp_path,
            env=environment(toys, FAKE_RUN="complete", PYTHONPATH=f"{ROOT}:{toys}"),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )

    assert ended.stderr == b"Error: standard output cannot be written: No space left on device\n"
    assert ended.returncode == 1
