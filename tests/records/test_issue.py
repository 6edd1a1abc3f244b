"""Issues, and the words that they are made of."""

import json
from typing import get_args

import pytest

from agentcompass import ExecutionIssue, Issue, IssuePhase, IssueSeverity
from agentcompass.errors import Severity
from agentcompass.records.convert import unstructure
from agentcompass.records.issue import PhaseName


def test_an_issue_of_named_words_is_that_of_the_words() -> None:
    named = ExecutionIssue(
        severity=IssueSeverity.FATAL, phase=IssuePhase.RUN, code="run_failed", message="dead"
    )

    assert named == Issue(severity="fatal", phase="run", code="run_failed", message="dead")
    assert type(named.severity) is str
    assert type(named.phase) is str
    assert json.loads(json.dumps(unstructure(named)))["severity"] == "fatal"
    assert named.severity == IssueSeverity.FATAL


def test_each_word_has_its_name() -> None:
    assert {word.value for word in IssueSeverity} == set(get_args(Severity))
    assert {word.value for word in IssuePhase} == set(get_args(PhaseName))


@pytest.mark.parametrize("words", [{"severity": "grave"}, {"phase": "open_environment"}])
def test_other_words_are_refused(words: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="must be in"):
        Issue(**{"severity": "error", "phase": "run", "code": "c", "message": "m", **words})
