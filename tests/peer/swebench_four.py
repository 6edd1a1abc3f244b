"""What swebench 4.1.0 says of classic rows; run by the Python that has it installed.

Rows come as a JSON list on stdin. For each id its commands, directives, image and log parser go to
stdout; no network is needed for these.
"""

import json
import sys

from swebench.harness.constants import MAP_REPO_VERSION_TO_SPECS
from swebench.harness.log_parsers import MAP_REPO_TO_PARSER
from swebench.harness.test_spec.python import get_test_directives, make_eval_script_list_py
from swebench.harness.test_spec.test_spec import TestSpec


def said(row: dict) -> dict:
    specs = MAP_REPO_VERSION_TO_SPECS[row["repo"]][row["version"]]
    script = make_eval_script_list_py(
        row, specs, "testbed", "/testbed", row["base_commit"], row["test_patch"]
    )
    spec = TestSpec(
        instance_id=row["instance_id"],
        repo=row["repo"],
        version=row["version"],
        repo_script_list=[],
        eval_script_list=script,
        env_script_list=[],
        arch="x86_64",
        FAIL_TO_PASS=[],
        PASS_TO_PASS=[],
        language="py",
        docker_specs={},
        namespace="swebench",
    )
    return {
        "script": spec.eval_script,
        "directives": get_test_directives(row),
        "image": spec.instance_image_key,
        "log_parser": MAP_REPO_TO_PARSER[row["repo"]].__name__,
    }


json.dump({row["instance_id"]: said(row) for row in json.load(sys.stdin)}, sys.stdout)
