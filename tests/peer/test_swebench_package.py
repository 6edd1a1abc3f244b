"""Our plans and verdicts of SWE-bench against the package's own, versions 4.1.0 and 5.0.2.

Needs both, each in an environment of its own in the folders 4 and 5 of AGENTCOMPASS_SWEBENCH.
`make swebench SWEBENCH=FOLDER` makes them in FOLDER, once (1 GB), and runs these tests.
AGENTCOMPASS_SWEBENCH_ROWS names a file of the public rows, which are compared as well.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from agentcompass.benchmarks._swebench_grading import grade
from agentcompass.benchmarks._swebench_rows import Row, read_rows
from agentcompass.benchmarks._swebench_scripts import Evaluation, directives_of, evaluation_of
from agentcompass.benchmarks.swebench_verified import SWEbenchVerified
from agentcompass.records.convert import structure_record
from tests.benchmarks.swebench_logs import PATCH, Case, odd, ordinary
from tests.benchmarks.swebench_projects import SUMS, WEB

FOLDER = os.environ.get("AGENTCOMPASS_SWEBENCH", "")
ROWS = os.environ.get("AGENTCOMPASS_SWEBENCH_ROWS", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER, reason="AGENTCOMPASS_SWEBENCH names no folder; make swebench"),
]
needs_rows = pytest.mark.skipif(not ROWS, reason="AGENTCOMPASS_SWEBENCH_ROWS names no file")

IMAGE = SWEbenchVerified.Config().image


def package(version: str, given: Any) -> Any:
    """What a version of the package says."""
    names = {"4": "swebench_four.py", "5": "swebench_five.py"}
    done = subprocess.run(
        [str(Path(FOLDER) / version / "bin/python"), str(Path(__file__).with_name(names[version]))],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def public_rows(folder: Path) -> list[Row]:
    (folder / Path(ROWS).name).symlink_to(Path(ROWS).absolute())
    return [read.row for read in read_rows(folder) if read.row is not None]


def raw(row: Row, **more: Any) -> dict[str, Any]:
    """A row as the package reads it."""
    names = ("instance_id", "repo", "base_commit", "version", "test_patch", "problem_statement")
    tests = {name: list(getattr(row, name)) for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    return {**{name: getattr(row, name) for name in names}, **tests, **more}


def made_up(tmp_path: Path) -> Iterator[Row]:
    """Classic rows of repositories of our own."""
    for project in (WEB, SUMS):
        row = project.make(tmp_path / project.name).row(f"{project.name}__Up-1")
        row |= {name: json.loads(row[name]) for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
        yield structure_record(row, Row, source=project.name)


def assert_same_plans(rows: list[Row]) -> None:
    """The image, the tests and the parser of 4.1.0, and the script that 5.0.2 makes of its own."""
    four = package("4", [raw(row) for row in rows])
    newer = [
        raw(
            row,
            image=four[row.instance_id]["image"],
            eval_script=four[row.instance_id]["script"],
            log_parser=four[row.instance_id]["log_parser"],
            eval_type="pass_and_fail",
        )
        for row in rows
    ]
    five = package("5", [{"row": row} for row in newer])
    for row, new, made in zip(rows, newer, five, strict=True):
        ours = evaluation_of(row, image=IMAGE)
        again = evaluation_of(structure_record(new, Row, source="row"), image=IMAGE)
        theirs = (new["image"], new["log_parser"], made["script"].strip())
        assert _plan(ours) == _plan(again) == theirs
        assert directives_of(row) == four[row.instance_id]["directives"]
        assert ours.test_command == again.test_command


def _plan(evaluation: Evaluation) -> tuple[str, str, str]:
    """5.0.2 takes away white space at the end of a script that it is given."""
    return evaluation.image, evaluation.log_parser, evaluation.script.strip()


def test_made_up_rows_have_the_plans_of_the_package(tmp_path: Path) -> None:
    assert_same_plans(list(made_up(tmp_path)))


@needs_rows
def test_every_public_row_has_the_plan_of_the_package(tmp_path: Path) -> None:
    rows = public_rows(tmp_path)

    assert len(rows) == 500
    assert SWEbenchVerified(SWEbenchVerified.Config()).check_data(tmp_path) == []
    assert_same_plans(rows)


async def assert_same_verdicts(cases: list[Case]) -> None:
    """Told in the order of `cases`, a few at once."""
    given = [{"row": case.row, "log": case.log, "patch": PATCH} for case in cases]
    reports = await trio.to_thread.run_sync(package, "5", given)
    ours: dict[str, Any] = {}
    slots = trio.CapacityLimiter(2)

    async def ask(case: Case) -> None:
        async with slots:
            row = structure_record(case.row, Row, source=case.name)
            verdict = await grade(row, evaluation_of(row, image=""), log=case.log, changed=PATCH)
            ours[case.name] = (verdict.resolved, verdict.report)

    async with trio.open_nursery() as nursery:
        for case in cases:
            nursery.start_soon(ask, case)
    theirs = {
        case.name: (made["report"]["resolved"], made["report"])
        for case, made in zip(cases, reports, strict=True)
    }
    assert ours == theirs


async def test_verdicts_on_many_logs_are_those_of_the_package() -> None:
    cases = [*ordinary(), *odd()]

    assert len(cases) > 150
    await assert_same_verdicts(cases)
