"""The public names: few, lazy, and the same for static tools and at run time."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import agentcompass

HEAVY = (
    *("attrs", "attr", "cattrs", "trio", "httpx", "docker", "yaml", "rich", "asyncclick"),
    *("typing", "re", "pathlib"),
)


def test_there_are_few_names():
    assert len(agentcompass.__all__) <= 43
    assert list(agentcompass.__all__) == sorted(set(agentcompass.__all__))


# What the asyncio implementation exports (formats.md 10).
PEERS = """
async_launch launch async_run_evaluation run_evaluation async_run_evaluation_request
run_evaluation_request build_run_request async_summary summary BaseRecipe ExecutionIssue IssuePhase
IssueSeverity RunResult ExecutionPlan Orchestration OrchestrationDefaults OrchestrationResult
OrchestrationSpec RequestOutcome RunRequest RunRequestSpec RunRuntimeSpec RuntimeOptions TaskSpec
"""


def test_every_name_of_the_asyncio_implementation_is_there():
    assert set(PEERS.split()) - set(agentcompass.__all__) == set()


@pytest.mark.parametrize("name", agentcompass.__all__)
def test_every_name_is_there(name):
    assert getattr(agentcompass, name) is not None
    assert name in dir(agentcompass)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'launched'"):
        agentcompass.launched  # noqa: B018


def test_static_tools_see_the_same_names():
    tree = ast.parse(Path(agentcompass.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agentcompass.")
        for alias in node.names
    }

    assert imported == set(agentcompass.__all__)


def test_importing_the_package_imports_nothing_heavy():
    code = f"import sys, agentcompass; print([m for m in {HEAVY!r} if m in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout == "[]\n"
