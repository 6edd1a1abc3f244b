"""What the console says of a run, beside the display."""

import logging
import warnings

import pytest

from agentcompass.engine.tree import run_job
from agentcompass.progress.console import console_logging
from agentcompass.store.redact import Redactor
from tests.fakes import MemoryStore, Script, Scripted, World, make_job
from tests.virtual import on_virtual_time


@on_virtual_time
async def _run() -> None:
    world = World({"t": Scripted(task_id="t", scripts={1: [Script(agent="fatal")]})})
    await run_job(make_job(world, MemoryStore()))


def test_an_attempt_that_failed_is_for_the_file_and_the_display(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said: list[str] = []
    caplog.set_level(logging.INFO, "agentcompass")
    with console_logging(said.append, "INFO", Redactor()):
        _run()

    assert "task t attempt 1: fatal run harness_failed" in caplog.text
    assert any("run failed" in line for line in said)
    assert not any("attempt 1" in line for line in said)


def test_warnings_of_other_packages_go_there_too_where_the_host_has_no_logging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    said: list[str] = []
    with console_logging(said.append, "INFO", Redactor(["sk-planted-key"])):
        logging.getLogger("other").warning("a key: %s", "sk-planted-key")
        logging.getLogger("other").info("nothing")
        logging.getLogger("agentcompass.tests").warning("once")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            logging.captureWarnings(True)
            warnings.warn("sk-planted-key is old", stacklevel=1)

    assert said[0] == "WARNING other a key: ********"
    assert said[1] == "WARNING agentcompass.tests once"
    assert "UserWarning: ******** is old" in said[2]
    assert len(said) == 3
    assert capsys.readouterr().err == ""
    assert logging.getLogger().handlers == []


def test_a_host_with_logging_of_its_own_is_left_alone() -> None:
    said: list[str] = []
    before = [*logging.getLogger().handlers]
    with console_logging(said.append, "INFO", Redactor()):
        logging.getLogger("other").warning("for the host")
        assert logging.getLogger().handlers == before != []

    assert said == []


def test_arguments_that_do_not_fit_their_message_are_said_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    said: list[str] = []
    with console_logging(said.append, "INFO", Redactor(["sk-planted-key"])):
        logging.getLogger("agentcompass.tests").warning("%d", "sk-planted-key")

    assert said == ["WARNING agentcompass.tests %d ('********',)"]
