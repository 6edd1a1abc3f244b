"""Tasks of inspect-ai that run a command: `inspect eval inspect_shell.py@shell -T count=9`."""

import os

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import match
from inspect_ai.solver import solver
from inspect_ai.util import subprocess


@solver
def run_commands():
    """Run $BENCH_COMMAND by inspect's own means, $BENCH_TIMES times."""

    async def solve(state, generate):
        code = 0
        for _ in range(int(os.environ.get("BENCH_TIMES", "1"))):
            ended = await subprocess(["/bin/sh", "-c", os.environ["BENCH_COMMAND"]])
            code = code or ended.returncode
        state.output.completion = str(code)
        return state

    return solve


@task
def shell(count: int = 1, time_limit: int = 0):
    """`count` samples; `time_limit` is of each, in seconds, since a run has none."""
    samples = [Sample(id=f"t{i:06d}", input="-", target="0") for i in range(count)]
    return Task(
        dataset=MemoryDataset(samples),
        solver=[run_commands()],
        scorer=match(),
        time_limit=time_limit or None,
    )
