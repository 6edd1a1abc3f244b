"""The benchmark `starter`: small tasks that ship with the package and need no network."""

from importlib import resources
from pathlib import Path
from typing import ClassVar

from agentcompass.benchmarks._harbor import HarborBenchmark, HarborConfig


def data_folder(package: Path) -> Path:
    """The data set of the installed `package` (the folder of this module), or of a checkout."""
    installed = package / "data" / "starter"
    if installed.is_dir():
        return installed
    return package.parents[1] / "benchmarks_data" / "starter"


class Starter(HarborBenchmark):
    """The shipped data set; its replies let the model `replay` solve most of it."""

    id: ClassVar[str] = "starter"
    description: ClassVar[str] = (
        "Small offline tasks of the usual kinds, shipped with AgentCompass."
    )
    Config: ClassVar[type[HarborConfig]] = HarborConfig

    def __init__(self, config: HarborConfig) -> None:
        package = Path(str(resources.files("agentcompass.benchmarks")))
        super().__init__(config, data_folder(package))
