"""Tasks that between them use every part of Harbor's format that there is, on one image."""

from pathlib import Path

from tests.benchmarks.local_session import make_task
from tests.docker_engine import BOOKWORM

_REWARD = 'echo "$reward" > "${LOGS_DIR:-/logs}/verifier/reward.txt"\n'


def _if(condition: str) -> str:
    return f"if {condition}; then reward=1; else reward=0; fi\n{_REWARD}"


# A published image, older spellings, variables of every section, an artifact, a collection hook.
IMAGE = {
    "task.toml": f"""
version = "1.0"
artifacts = ["/app/answer"]
[metadata]
category = "files"
difficulty = "easy"
[agent]
timeout_sec = 60.0
network_mode = "no-network"
[verifier]
timeout_sec = 60.0
env = {{WANTED = "${{NOT_SET:-two words}}", JUDGE = "${{JUDGE_API_KEY}}"}}
[[verifier.collect]]
command = "cat /app/answer > /logs/artifacts/kept 2>&1 || true"
[environment]
docker_image = "{BOOKWORM}"
cpus = 1
memory = "512M"
storage = "1G"
workdir = "/app"
env = {{FIRST = "two"}}
[solution]
env = {{SECOND = "${{NOT_SET:-words}}"}}
""",
    # what the image was built from is not laid over it: this would solve the task
    "environment/Dockerfile": "FROM no.such.registry/image:1\n",
    "environment/answer": "two words\n",
    "solution/solve.sh": 'echo "$FIRST $SECOND" > answer\n',
    # comments before the first line of the script, as one task of Terminal-Bench has them
    "tests/test.sh": "# canary\n\n#!/bin/bash\n"
    + _if('[ "$(cat answer)" = "$WANTED" ] && [ "$JUDGE" = a-key-of-this-host ]'),
}

# A build, users that are not root, a health check that fails at first, more than one number.
BUILT = {
    "task.toml": """
schema_version = "1.3"
[agent]
user = "agent"
[verifier]
user = 12345
[environment]
build_timeout_sec = 300
[environment.healthcheck]
command = "[ -e /tmp/asked ] || { touch /tmp/asked; echo not yet; exit 1; }"
interval_sec = 0.1
retries = 2
""",
    "environment/Dockerfile": f"FROM {BOOKWORM}\nRUN useradd agent\nWORKDIR /srv/task\n"
    "COPY . .\nRUN chown agent . && touch /built\n",
    "environment/data/words": "a\nb\n",
    "solution/solve.sh": "cat data/words > sorted && whoami > who\n",
    "tests/test.sh": _if('[ "$(cat sorted who | tr -d "\\n")" = abagent ] && [ $(id -u) = 12345 ]')
    + 'echo "{\\"reward\\": $reward, \\"style\\": 0.5}" > /logs/verifier/reward.json\n'
    + "rm /logs/verifier/reward.txt\n",
}

# A verifier with an image of its own, which has the tests, given the artifact alone.
APART = {
    "task.toml": f"""
artifacts = [{{source = "/app/out", destination = "out", exclude = ["*.tmp"]}}]
[verifier]
environment_mode = "separate"
[verifier.environment]
network_mode = "no-network"
memory_mb = 512
env = {{WHERE = "apart"}}
healthcheck = {{command = "test -e /made-apart"}}
[environment]
docker_image = "{BOOKWORM}"
workdir = "/app"
env = {{WHERE = "here"}}
""",
    "environment/Dockerfile": None,
    "tests/Dockerfile": f"FROM {BOOKWORM}\nWORKDIR /app\nCOPY . /tests\n"
    "RUN touch /made-apart && echo only-in-the-image > /tests/secret\n",
    "solution/solve.sh": "mkdir out && echo $WHERE > out/where && touch out/a.tmp left-behind\n",
    "tests/test.sh": _if(
        '[ "$WHERE-$(cat out/where)" = apart-here ] && [ -e /tests/secret ]'
        " && [ ! -e left-behind ] && [ ! -e out/a.tmp ]"
    ),
}

# Two steps, the second of which follows only a first that was solved.
STEPS = {
    "task.toml": f"""
multi_step_reward_strategy = "mean"
[environment]
docker_image = "{BOOKWORM}"
workdir = "/app"
[[steps]]
name = "begin"
min_reward = 1.0
[steps.agent]
timeout_sec = 60
[steps.verifier]
timeout_sec = 60
env = {{WANTED = "one"}}
[[steps]]
name = "go-on"
artifacts = ["/app/two"]
healthcheck = {{command = "test -e /app/set-up"}}
[steps.agent]
timeout_sec = 60
""",
    "instruction.md": None,
    "environment/Dockerfile": None,
    "tests/test.sh": None,
    "tests/common.sh": _REWARD,
    "steps/begin/instruction.md": "Write one.\n",
    "steps/begin/solution/solve.sh": "echo one > one\n",
    "steps/begin/tests/test.sh": '[ "$(cat one)" = "$WANTED" ] && reward=1 || reward=0\n'
    ". /tests/common.sh\n",
    "steps/go-on/instruction.md": "Write two, as often as there are lines in given.\n",
    "steps/go-on/workdir/given": "x\nx\n",
    "steps/go-on/workdir/setup.sh": "[ ! -e /tests/test.sh ] && touch set-up\n",
    "steps/go-on/solution/solve.sh": "sed s/x/two/ given > two\n",
    "steps/go-on/tests/test.sh": "reward=$(grep -c two two)\nreward=$((reward / 2))\n"
    ". /tests/common.sh\n",
}

# Not to be had here, and refused by name before any container is made.
COMPOSED = {"environment/docker-compose.yaml": "services: {main: {}, db: {image: postgres}}\n"}

TASKS = {
    "apart": APART,
    "built": BUILT,
    "composed": COMPOSED,
    "image": IMAGE,
    "steps": STEPS,
}


def write(root: Path) -> Path:
    """All of them below `root`."""
    for name, files in TASKS.items():
        make_task(root / name, files)
    return root
