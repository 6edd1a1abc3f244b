"""The family of Terminal-Bench 2: the published image of a task, or its Dockerfile."""

from typing import ClassVar

from agentcompass.recipes._base import PairRecipe, with_resources, with_setup
from agentcompass.records.plan import ExecutionPlan
from agentcompass.records.task import TaskSpec

_FAMILY = frozenset({"terminal_bench_2", "terminal_bench_2_verified", "terminal_bench_2_1"})
# The working directory of its images, for providers that do not take that of the image.
_WORKDIR = "/app"


class TerminalBenchDocker(PairRecipe):
    """Starts the image that a task names; builds only where it names none."""

    id: ClassVar[str] = "terminal_bench_2_docker"
    description: ClassVar[str] = "Terminal-Bench 2 on docker: the published image of each task."
    benchmarks: ClassVar[frozenset[str]] = _FAMILY
    environment: ClassVar[str] = "docker"

    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        """Whether the plan is for this pair and has an image."""
        return super().matches(task, plan) and plan.environment.setup.image is not None

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        """The plan without the Dockerfile."""
        return with_setup(plan, build_context=None, build_timeout_seconds=None)


class _InApp(TerminalBenchDocker):
    """As on docker, in /app and with the least machine of the family where nothing is said."""

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        """The plan with image, working directory and resources."""
        plan = super().apply(task, plan)
        plan = with_setup(plan, workdir=plan.environment.setup.workdir or _WORKDIR)
        return with_resources(plan, cpu=1, memory_mb=2048)


class TerminalBenchDaytona(_InApp):
    """As `_InApp` says, on daytona, which also wants to know of the disk."""

    id: ClassVar[str] = "terminal_bench_2_daytona"
    description: ClassVar[str] = "Terminal-Bench 2 on daytona: the published images, in /app."
    environment: ClassVar[str] = "daytona"

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        """The plan with the size of the disk as well."""
        return with_resources(super().apply(task, plan), storage_mb=10240)


class TerminalBenchModal(_InApp):
    """As `_InApp` says, on modal."""

    id: ClassVar[str] = "terminal_bench_2_modal"
    description: ClassVar[str] = "Terminal-Bench 2 on modal: the published images, in /app."
    environment: ClassVar[str] = "modal"


class TerminalBenchBuild(PairRecipe):
    """Builds the task's Dockerfile even where the task names an image: only if it is asked for.

    For Dockerfiles that were repaired after the images were published, as those of the verified
    set were. Its priority is above that of the recipe that takes the image.
    """

    id: ClassVar[str] = "terminal_bench_2_docker_build"
    description: ClassVar[str] = "Terminal-Bench 2 on docker: build each Dockerfile; not default."
    benchmarks: ClassVar[frozenset[str]] = _FAMILY
    environment: ClassVar[str] = "docker"
    priority: ClassVar[int] = 10
    enabled_by_default: ClassVar[bool] = False

    def matches(self, task: TaskSpec, plan: ExecutionPlan) -> bool:
        """Whether the plan is for this pair and the task has a Dockerfile."""
        return super().matches(task, plan) and task.setup.build_context is not None

    def apply(self, task: TaskSpec, plan: ExecutionPlan) -> ExecutionPlan:
        """The plan with the Dockerfile and without an image."""
        return with_setup(
            plan,
            image=None,
            build_context=task.setup.build_context,
            build_timeout_seconds=task.setup.build_timeout_seconds,
        )
