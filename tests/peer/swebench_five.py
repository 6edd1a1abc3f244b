"""What swebench 5.0.2 says of rows and logs; run by the Python that has it installed.

A JSON list of cases comes on stdin, each with a `row` of the newer kind and maybe a `log`. For each
the script that would be run and the report on the log go to stdout.
"""

import json
import sys
import tempfile
from pathlib import Path

from swebench.harness.grading import get_eval_report
from swebench.harness.utils import make_test_spec


def said(case: dict, folder: Path) -> dict:
    spec = make_test_spec(case["row"])
    if "log" not in case:
        return {"script": spec.eval_script}
    log = folder / "log"
    log.write_text(case["log"], encoding="utf-8", newline="")
    prediction = {"instance_id": spec.instance_id, "model_patch": case["patch"]}
    report = get_eval_report(spec, prediction, str(log), include_tests_status=True)
    return {"script": spec.eval_script, "report": report[spec.instance_id]}


with tempfile.TemporaryDirectory() as name:
    json.dump([said(case, Path(name)) for case in json.load(sys.stdin)], sys.stdout)
