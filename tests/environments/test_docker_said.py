"""What builds and registries say is shown as one line, without escapes and credentials."""

import pytest

from agentcompass.environments._docker_said import one_line
from agentcompass.errors import EnvironmentFailed
from agentcompass.records.environment import EnvironmentSetup
from tests.docker_engine import BOOKWORM, NO_ENGINE
from tests.environments.docker_sessions import opened


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("\x1b[31;1mno\x1b[0m\x1b[K way", "no way"),
        ("\x1b]0;a title\x07told\x1b]8;;http://x\x1b\\ on", "told on"),
        ("\x1b(Bplain\x1b=", "plain"),
        ("a\r\n\tb\x00\x08c\x9b", "a bc"),
        ("get https://user:pa55@h/x and http://t0ken@h", "get https://***@h/x and http://***@h"),
        ("mail a@b.org at http://h/", "mail a@b.org at http://h/"),
    ],
)
def test_a_line_has_no_escapes_no_control_characters_and_no_credentials(said, shown):
    assert one_line(said) == shown


@pytest.mark.docker
@NO_ENGINE
async def test_a_build_that_fails_shows_neither(tmp_path):
    say = "printf '\\033[31mfetching https://user:pa55@host.test/x\\033[0m\\n'"
    (tmp_path / "Dockerfile").write_text(f"FROM {BOOKWORM}\nRUN {say} && exit 3\n")

    with pytest.raises(EnvironmentFailed, match="fetching") as failed:
        async with opened(setup=EnvironmentSetup(build_context=str(tmp_path))):
            pass

    assert "\x1b" not in str(failed.value)
    assert "pa55" not in str(failed.value)
