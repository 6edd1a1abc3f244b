"""Live containers never pass the provider's limit, the verifiers' included, and nobody waits for
ever."""

import json
import time

import pytest

from tests.cli.process import finish, start
from tests.docker_engine import BOOKWORM, NO_ENGINE, containers

pytestmark = [pytest.mark.docker, pytest.mark.slow, NO_ENGINE]

TASKS = ("access-log-report", "backup-retention", "monthly-billing-dates", "sweep-script")


@pytest.mark.parametrize("limit", [1, 2])
def test_fresh_verifiers_keep_the_limit_of_live_containers(tmp_path, limit):
    params = {"image": BOOKWORM, "pull": "never", "evaluation_mode": "fresh"}
    process = start(
        *("run", "starter", "nop", "none", "--env", "docker", "--env-params", json.dumps(params)),
        *("--benchmark-params", json.dumps({"sample_ids": TASKS})),
        *("--provider-limit", f"docker={limit}", "--task-concurrency", "8"),
        toys=tmp_path,
        cwd=tmp_path,
    )
    most = 0
    while process.poll() is None:
        live = [
            name
            for folder in tmp_path.glob("results/*/*")
            for name in containers(directory=str(folder))
        ]
        most = max(most, len(live))
        time.sleep(0.05)

    ended = finish(process)
    assert ended.code == 0, ended.err
    assert 1 <= most <= limit
