"""Live containers never pass the provider's limit, the verifiers' included, and nobody waits for
ever."""

import json

import pytest

from tests.cli.process import finish, start
from tests.docker_engine import BOOKWORM, NO_ENGINE
from tests.environments.docker_events import events

pytestmark = [pytest.mark.docker, pytest.mark.slow, NO_ENGINE]

TASKS = ("access-log-report", "backup-retention", "sweep-script")


@pytest.mark.parametrize("limit", [1, 2])
def test_fresh_verifiers_keep_the_limit_of_live_containers(tmp_path, limit):
    """Show 6 of the issue; by the engine's own account of what was made and removed."""
    params = {"image": BOOKWORM, "pull": "never", "evaluation_mode": "fresh"}
    with events(tmp_path) as seen:
        process = start(
            *("run", "starter", "nop", "none", "--env", "docker"),
            *("--env-params", json.dumps(params)),
            *("--benchmark-params", json.dumps({"sample_ids": TASKS[: 1 + limit]})),
            *("--provider-limit", f"docker={limit}", "--task-concurrency", "8"),
            toys=tmp_path,
            cwd=tmp_path,
        )
        process.wait(timeout=110)
        ended = finish(process)

    assert ended.code == 0, ended.err
    assert f"{1 + limit} of {1 + limit} tasks" in ended.err
    assert seen.most_containers() == limit
