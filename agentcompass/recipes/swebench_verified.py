"""SWE-bench Verified on the public images of its tasks."""

from typing import ClassVar

from agentcompass.recipes._base import PairRecipe, with_resources, with_setup, with_variables
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import TaskSpec

# Part of the name of every public image: swebench/sweb.eval.x86_64.<id>.
_PUBLIC_IMAGE = "sweb.eval."
# They keep the repository here, and activate its Python environment in root's .bashrc, which a
# command in bash reads only where it is told to.
_REPOSITORY = "/testbed"
_ACTIVATION = "/root/.bashrc"


class SWEbenchDocker(PairRecipe):
    """Works in /testbed, with the Python environment of the repository active in every command.

    For the public images only: a row that names an image of its own is left as it is.
    """

    id: ClassVar[str] = "swebench_verified_docker"
    description: ClassVar[str] = "SWE-bench Verified on docker: the layout of its public images."
    benchmarks: ClassVar[frozenset[str]] = frozenset({"swebench_verified"})
    environment: ClassVar[str] = "docker"

    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        """Whether the plan is for this pair and starts a public image."""
        image = plan.environment.setup.image or ""
        return super().matches(task, plan) and _PUBLIC_IMAGE in image

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        """The plan with the layout of the image."""
        plan = with_setup(plan, workdir=plan.environment.setup.workdir or _REPOSITORY)
        return with_variables(plan, BASH_ENV=_ACTIVATION)


class SWEbenchDaytona(SWEbenchDocker):
    """As on docker, and with enough of a machine where nothing is said: 2 cores, 8 GB, 10 GB."""

    id: ClassVar[str] = "swebench_verified_daytona"
    description: ClassVar[str] = "SWE-bench Verified on daytona: its public images, 2 cores, 8 GB."
    environment: ClassVar[str] = "daytona"

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        """The plan with the layout of the image, and resources."""
        return with_resources(super().apply(task, plan), cpu=2, memory_mb=8192, storage_mb=10240)


class SWEbenchModal(SWEbenchDocker):
    """As on docker, and with enough of a machine where nothing is said: 2 cores, 8 GB."""

    id: ClassVar[str] = "swebench_verified_modal"
    description: ClassVar[str] = "SWE-bench Verified on modal: its public images, 2 cores, 8 GB."
    environment: ClassVar[str] = "modal"

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        """The plan with the layout of the image, and resources."""
        return with_resources(super().apply(task, plan), cpu=2, memory_mb=8192)
