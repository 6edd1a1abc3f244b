"""Only the tests of a task decide its verdict, and where they give none it has none."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from agentcompass.benchmarks._verifier import _EMPTY_FOLDERS
from tests.benchmarks.local_session import REWARD, Attempt


async def test_the_exit_code_of_the_tests_is_no_verdict(tmp_path):
    attempt = Attempt(tmp_path, {"tests/test.sh": REWARD.format("1") + "exit 3"})

    await attempt.evaluate()

    assert attempt.result.metrics == {"correct": True}
    assert attempt.result.artifacts["verifier"]["exit_code"] == 3


async def test_the_tests_run_in_the_working_directory_with_their_own_variables(tmp_path):
    toml = '[verifier]\nuser = "scorer"\nenv = {SEED = "7"}'
    script = 'echo "$SEED"; pwd; echo oops >&2\n' + REWARD.format("1")
    attempt = Attempt(tmp_path, {"task.toml": toml, "tests/test.sh": script})

    await attempt.evaluate()

    kept = attempt.result.artifacts["verifier"]
    assert kept["stdout"].split() == ["7", attempt.session.workdir]
    assert kept["stderr"] == "oops\n"
    assert attempt.session.users.count("scorer") == 1


async def test_what_the_tests_print_is_kept_up_to_a_bound(tmp_path):
    script = "yes x | head -c 100000; echo end\n" + REWARD.format("1")
    attempt = Attempt(tmp_path, {"tests/test.sh": script})

    await attempt.evaluate()

    assert len(attempt.result.artifacts["verifier"]["stdout"]) == 10_000
    assert attempt.result.artifacts["verifier"]["stdout"].endswith("x\nend\n")


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("echo gone >&2; exit 1", "reward_missing", "exit code 1 and left neither .*: gone"),
        ("exit 0", "reward_missing", "exit code 0 and left neither reward.json nor reward.txt"),
        ("kill -9 $$", "reward_missing", "exit code 137 and left"),
        ("no-such-tool", "verifier_not_started", "could not start: .*127.*no-such-tool"),
        ("exit 126", "verifier_not_started", "could not start"),
        ("> $LOGS_DIR/verifier/reward.txt", "reward_invalid", "reward.txt is empty"),
        ("echo yes > $LOGS_DIR/verifier/reward.txt", "reward_invalid", "not a number: 'yes'"),
        ("echo nan > $LOGS_DIR/verifier/reward.txt", "reward_invalid", "not finite: nan"),
        ("mkdir $LOGS_DIR/verifier/reward.txt", "reward_invalid", "reward.txt is a folder"),
        ("mkfifo $LOGS_DIR/verifier/reward.json", "reward_invalid", "reward.json is a pipe"),
        (
            "ln -s none $LOGS_DIR/verifier/reward.txt",
            "reward_invalid",
            "reward.txt is a symbolic link",
        ),
        (
            "echo 1 > mine; ln -s $PWD/mine $LOGS_DIR/verifier/reward.txt",
            "reward_invalid",
            "reward.txt is a symbolic link",
        ),
        ("yes 1 | head -c 65537 > $LOGS_DIR/verifier/reward.txt", "reward_invalid", "65536 bytes"),
        ("printf '\\xff' > $LOGS_DIR/verifier/reward.txt", "reward_invalid", "is not text"),
        ("echo inf > $LOGS_DIR/verifier/reward.txt", "reward_invalid", "not finite: inf"),
        ("echo '{}' > $LOGS_DIR/verifier/reward.json", "reward_invalid", "without a number"),
        (
            'echo \'{"a":1,"b":1}\' > $LOGS_DIR/verifier/reward.json',
            "reward_invalid",
            "has a, b, but no 'reward'",
        ),
        ("echo '{\"a\":{}}' > $LOGS_DIR/verifier/reward.json", "reward_invalid", "reward.json.a"),
    ],
)
async def test_no_reward_is_no_verdict_and_not_0(tmp_path, script, code, message):
    """Fails where a missing or unreadable reward counts as 0."""
    refusal = await Attempt(tmp_path, {"tests/test.sh": script}).refusal()

    assert refusal.code == code
    assert re.search(message, str(refusal))


async def test_a_bad_json_reward_is_not_replaced_by_a_good_text_one(tmp_path):
    script = REWARD.format("1") + "echo oops > $LOGS_DIR/verifier/reward.json"

    refusal = await Attempt(tmp_path, {"tests/test.sh": script}).refusal()

    assert "reward.json is not JSON" in str(refusal)


async def test_the_form_that_was_not_read_is_said(tmp_path):
    script = REWARD.format("0") + """echo '{"reward": 1}' > $LOGS_DIR/verifier/reward.json"""
    attempt = Attempt(tmp_path, {"tests/test.sh": script})

    await attempt.evaluate()

    (issue,) = attempt.result.issues
    assert (issue.severity, issue.code) == ("warning", "reward_twice")
    assert "reward.txt was not read" in issue.message


IN_IMAGE = {
    "task.toml": '[verifier]\nuser = "scorer"\n[verifier.environment]\ndocker_image = "tests:1"',
    "tests/test.sh": REWARD.format("0"),
}


@pytest.mark.parametrize("has_tests", [True, False])
async def test_the_tests_of_a_verifiers_own_image_stay_as_they_are(tmp_path, has_tests):
    """Fails where those of the host are laid over them, or where an image without any has none."""
    attempt = Attempt(tmp_path, {**IN_IMAGE, "environment/of-the-task": ""})
    prepared = await attempt.prepare()
    attempt.session.shell("rm of-the-task; touch $LOGS_DIR/verifier/reward.json")
    if has_tests:
        attempt.session.shell(f"mkdir $TESTS_DIR; echo '{REWARD.format(1)}' > $TESTS_DIR/test.sh")

    await attempt.score(prepared, evaluation_mode="fresh")

    assert attempt.result.metrics == {"correct": has_tests}
    assert "app/of-the-task" not in attempt.session.files()


async def test_an_agents_own_session_never_has_the_tests_of_an_image(tmp_path):
    attempt = Attempt(tmp_path, IN_IMAGE)
    prepared = await attempt.prepare()
    attempt.session.shell(f"mkdir $TESTS_DIR; echo '{REWARD.format(1)}' > $TESTS_DIR/test.sh")

    await attempt.score(prepared, evaluation_mode="reuse")

    assert attempt.result.metrics == {"correct": False}


# What an agent may try, in the session that its work is scored in (cases.md 68).
CHEATS = {
    "rewards written beforehand": """
        echo 1 > $LOGS_DIR/verifier/reward.txt
        echo '{"reward": 1}' > $LOGS_DIR/verifier/reward.json
    """,
    "a reward that leads elsewhere": """
        echo 1 > $APP_DIR/mine
        ln -s $APP_DIR/mine $LOGS_DIR/verifier/reward.json
    """,
    "a folder of rewards that leads elsewhere": """
        mkdir $APP_DIR/mine && echo '{"reward": 1}' > $APP_DIR/mine/reward.json
        rmdir $LOGS_DIR/verifier && ln -s $APP_DIR/mine $LOGS_DIR/verifier
    """,
    "a file where the folder of rewards was": """
        rmdir $LOGS_DIR/verifier && echo 1 > $LOGS_DIR/verifier
    """,
    "tests of its own": """
        mkdir -p $TESTS_DIR/more
        echo 'echo 1 > $LOGS_DIR/verifier/reward.txt; exit' > $TESTS_DIR/test.sh
        echo 'exit 0' > $TESTS_DIR/more/helper.sh
    """,
    "a folder of tests that leads elsewhere": """
        mkdir $APP_DIR/tests && ln -s $APP_DIR/tests $TESTS_DIR
    """,
    "tests that cannot be written": """
        mkdir -p $TESTS_DIR && echo x > $TESTS_DIR/test.sh && chmod 000 $TESTS_DIR/test.sh
    """,
    "markers of success": "echo PASSED; echo 1",
    "settings of the shell": """
        echo 'echo 1 > $LOGS_DIR/verifier/reward.txt; exit' > $APP_DIR/.profile
        cp $APP_DIR/.profile $APP_DIR/.bashrc
    """,
}


@pytest.mark.parametrize("cheat", CHEATS)
async def test_an_agent_does_not_decide_its_own_verdict(tmp_path, cheat):
    """Fails where the folders are not emptied, or emptied through a link."""
    script = '[ -e "$TESTS_DIR/more" ] && exit 1\ntest -f solved && r=1 || r=0\n' + REWARD.format(
        "$r"
    )
    attempt = Attempt(tmp_path, {"tests/test.sh": script})
    prepared = await attempt.prepare()
    attempt.session.shell(CHEATS[cheat])

    await attempt.score(prepared)

    assert attempt.result.metrics == {"correct": False}


async def test_emptying_follows_no_link_of_the_agents(tmp_path):
    attempt = Attempt(tmp_path, {})
    prepared = await attempt.prepare()
    attempt.session.shell(
        "echo keep > kept; rmdir $LOGS_DIR/verifier; ln -s $APP_DIR $LOGS_DIR/verifier"
    )
    attempt.session.shell("ln -s $APP_DIR $TESTS_DIR")

    await attempt.score(prepared)

    assert "app/kept" in attempt.session.files()
    assert "app/test.sh" not in attempt.session.files()


@pytest.fixture
def open_folder():
    """A folder that any user can get to."""
    root = Path(tempfile.mkdtemp(dir="/tmp"))
    root.chmod(0o755)
    yield root
    shutil.rmtree(root)


def empty_without_rights(root):
    """The exit code of the script that empties, run by a user that is not root."""
    lesser = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    folders = {"TESTS_DIR": str(root / "tests"), "LOGS_DIR": str(root / "logs")}
    command = [*lesser, "sh", "-c", _EMPTY_FOLDERS]
    return subprocess.run(command, env={**os.environ, **folders}, check=False).returncode


def test_folders_that_are_closed_to_their_own_user_are_emptied_too(open_folder):
    """Fails without the chmod."""
    closed = open_folder / "tests" / "closed"
    closed.mkdir(parents=True)
    (closed / "f").touch()
    closed.chmod(0)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "65534", str(open_folder)], check=True)

    assert empty_without_rights(open_folder) == 0
    left = {path.relative_to(open_folder).as_posix() for path in open_folder.rglob("*")}
    assert left == {"logs", "logs/verifier", "tests"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what another cannot remove")
@pytest.mark.parametrize("planted", ["file", "link"])
def test_a_folder_that_cannot_be_emptied_is_not_used(open_folder, planted):
    """Fails where the folders are not looked at again."""
    (open_folder / "logs" / "verifier").mkdir(parents=True)
    (open_folder / "logs" / "verifier").chmod(0o777)
    (open_folder / "elsewhere").mkdir(mode=0o777)
    if planted == "link":
        (open_folder / "tests").symlink_to(open_folder / "elsewhere")
    else:
        (open_folder / "tests").mkdir()
        (open_folder / "tests" / "test.sh").touch()

    assert empty_without_rights(open_folder) == 1


async def test_stale_rewards_go_before_anything_else(tmp_path):
    attempt = Attempt(tmp_path, {})
    prepared = await attempt.prepare()
    done = len(attempt.session.calls)

    await attempt.score(prepared)

    kinds = [kind for kind, _ in attempt.session.calls[done:]]
    assert kinds == ["exec", "upload", "exec", "exec"]
    assert "rm -rf" in attempt.session.calls[done][1]
