"""What a separate verifier is started from: an image of its own, or what the agent had. Blocking.

As in Harbor: the image that [verifier.environment] names, else tests/Dockerfile, else the task's.
"""

from pathlib import Path

from agentcompass.benchmarks._context import DOCKERFILE
from agentcompass.benchmarks._task_toml_sections import EnvironmentSection, VerifierSection
from agentcompass.records.environment import EnvironmentSetup


def verifier_setup(verifier: VerifierSection, tests: Path) -> EnvironmentSetup | None:
    """What it has instead of the task's setup; None where that is nothing."""
    if not verifier.is_separate:
        return None
    own = verifier.environment or EnvironmentSection()
    builds = own.docker_image is None and (tests / DOCKERFILE).is_file()
    setup = EnvironmentSetup(
        image=own.docker_image,
        build_context=str(tests) if builds else None,
        build_timeout_seconds=own.build_timeout_sec if builds else None,
        workdir=own.workdir,
    )
    return None if setup == EnvironmentSetup() else setup


def brings_tests(verifier: VerifierSection, tests: Path) -> bool:
    """Whether it has an image of its own, which by the format holds the tests."""
    setup = verifier_setup(verifier, tests)
    return setup is not None and (setup.image or setup.build_context) is not None
