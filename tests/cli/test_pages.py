"""The pages for users name everything that there is."""

from pathlib import Path

import attrs
import pytest

from agentcompass.cli.run import run
from agentcompass.config.sections import RuntimeSection
from agentcompass.config.show import effective_configuration
from agentcompass.config.sources import SECTIONS
from agentcompass.records.request import ArtifactLimits, ExecutionOptions

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("option", [param.opts[0] for param in run.params[3:]])
def test_every_option_of_run_is_on_the_page_of_the_command_line(option):
    assert f"`{option}`" in (DOCS / "cli.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "field",
    [
        field.name
        for kind in (ExecutionOptions, RuntimeSection, ArtifactLimits)
        for field in attrs.fields(kind)
        if field.name != "attempts"
    ],
)
def test_every_setting_is_on_the_page_of_the_configuration(field):
    assert f"`{field}`" in (DOCS / "configuration.md").read_text(encoding="utf-8")


def test_the_example_of_a_file_is_one(tmp_path):
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    (tmp_path / "config.yaml").write_text(page.partition("```yaml")[2].partition("```")[0])

    shown = effective_configuration((), {}, cwd=tmp_path, environ={"HOME": "/home/me"}).tree

    variables = shown["environments"]["host_process"]["env_variables"]
    assert variables["RELEASE"] == "1.10"


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_is_in_the_example(section):
    assert f"\n{section}:\n" in (DOCS / "configuration.md").read_text(encoding="utf-8")
