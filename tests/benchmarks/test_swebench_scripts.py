"""The evaluation of a row; its text is compared with the package in tests/peer."""

import json
from importlib.resources import files

import pytest

from agentcompass.benchmarks._swebench_rows import Row
from agentcompass.benchmarks._swebench_scripts import directives_of, evaluation_of
from agentcompass.records.convert import structure_record
from tests.benchmarks.test_swebench_rows import PATCH, a_row

NEW_FILE = (
    "diff --git a/tests/model/data.json b/tests/model/data.json\nnew file mode 100644\n"
    "--- /dev/null\n+++ b/tests/model/data.json\n@@ -0,0 +1 @@\n+--- a/not/a/file\n"
)
SCRIPT = f"""#!/bin/bash
set -uxo pipefail
source /opt/miniconda3/bin/activate
conda activate testbed
cd /testbed
git config --global --add safe.directory /testbed
cd /testbed
git status
git show
git -c core.fileMode=false diff {"a" * 40}
source /opt/miniconda3/bin/activate
conda activate testbed
python -m pip install -e .
git checkout {"a" * 40} tests/model/test_a.py
git apply -v - <<'EOF_114329324912'
{PATCH}{NEW_FILE}
EOF_114329324912
: '>>>>> Start Test Output'
./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 model.test_a
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout {"a" * 40} tests/model/test_a.py
"""


def row_of(**fields: object) -> Row:
    raw = {**a_row("x__y-1"), "FAIL_TO_PASS": ["t"], "PASS_TO_PASS": [], **fields}
    return structure_record(raw, Row, source="row")


def test_a_classic_row_has_the_script_of_its_repository_and_version() -> None:
    found = evaluation_of(row_of(test_patch=PATCH + NEW_FILE), image="{id}")

    assert found.script == SCRIPT
    assert found.log_parser == "parse_log_django"
    assert found.test_command.endswith(" --parallel 1 model.test_a")


@pytest.mark.parametrize(
    ("repo", "version", "command"),
    [
        ("sympy/sympy", "1.12", "bin/test -C --verbose tests/model/test_a.py"),
        ("sphinx-doc/sphinx", "5.1", "tox --current-env -epy39 -v -- tests/model/test_a.py"),
        ("pallets/flask", "2.3", "pytest -rA tests/model/test_a.py"),
    ],
)
def test_every_repository_has_its_own_test_command(repo: str, version: str, command: str) -> None:
    row = row_of(repo=repo, version=version)

    assert evaluation_of(row, image="").test_command.endswith(command)
    assert directives_of(row) == ["tests/model/test_a.py"]


def test_a_newer_row_has_its_own_script_with_the_exit_code_of_its_tests() -> None:
    script = "#!/bin/bash\nset -uxo pipefail\ncd /testbed\n: '>>>>> Start Test Output'\nmake test\n"
    row = row_of(
        repo="made/up",
        eval_script=f"{script}: '>>>>> End Test Output'\n",
        log_parser="parse_log_jq",
    )
    found = evaluation_of(row, image="")

    assert found.script == (
        f"{script}SWEBENCH_TEST_EXIT_CODE=$?\n: '>>>>> End Test Output'\n"
        'echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"\n'
    )
    assert (found.test_command, found.log_parser) == ("make test", "parse_log_jq")


@pytest.mark.parametrize("newer", [True, False])
def test_a_repository_elsewhere_is_where_the_script_goes(newer: bool) -> None:
    script = SCRIPT.replace("git show", "cd /testbed/lib; cd /testbeds").replace("+2", "+/testbed")
    fields = {"eval_script": script, "log_parser": "parse_log_jq"} if newer else {}
    found = evaluation_of(row_of(**fields), image="", repository="/some where").script

    assert "\ncd /testbed\n" not in found
    assert "\ngit config --global --add safe.directory /some where\n" in found
    if newer:
        assert "\ncd /some where/lib; cd /testbeds\n" in found
        assert "\n+/testbed\n" in found


def test_the_table_has_the_repositories_of_the_public_rows_and_says_where_it_is_from() -> None:
    table = json.loads((files("agentcompass.benchmarks") / "_swebench_specs.json").read_text())

    assert len(table["repositories"]) == 12
    assert "swebench 4.1.0" in table["source"]
    assert "MIT" in table["licence"]
