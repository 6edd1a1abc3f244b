"""The same work as tasks of inspect-ai, run by its own command line."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import match
from inspect_ai.solver import generate


@task
def calls(count: int = 1) -> Task:
    """One model call a sample; the questions are those of `benchmarks/question.py`."""
    samples = [
        Sample(id=f"t{number:06d}", input=f"Task {number}. Reply with DONE.", target="DONE")
        for number in range(count)
    ]
    return Task(dataset=MemoryDataset(samples), solver=[generate()], scorer=match())
