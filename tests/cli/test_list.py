"""`agentcompass list`: what there is, and why something is not usable."""

import pytest
from asyncclick.testing import CliRunner

from agentcompass.cli.app import commands


async def test_a_kind_is_listed_with_descriptions(toys):
    ended = await CliRunner().invoke(commands, ["list", "environment"])

    lines = ended.stdout.splitlines()
    assert lines[0].split() == ["Id", "Description"]
    assert any(line.split(maxsplit=1) == ["toybox", "A box."] for line in lines)
    assert ended.exit_code == 0


async def test_a_plug_in_that_cannot_be_imported_is_listed_with_the_reason(toys):
    ended = await CliRunner().invoke(commands, ["list", "benchmark"])

    rows = dict(line.split(maxsplit=1) for line in ended.stdout.splitlines())
    assert rows["toy"] == "Toys."
    assert rows["broken"].endswith("cannot be imported: ValueError: toys are broken")
    assert "needs the package 'a_package_that_nobody_has'" in rows["lacking"]
    assert ended.exit_code == 0


@pytest.mark.parametrize("kind", ["harness", "env", "model", "recipe", "analyzer"])
async def test_every_kind_can_be_listed(kind):
    ended = await CliRunner().invoke(commands, ["list", kind])

    assert ended.exit_code == 0
    assert ended.stdout.startswith(("Id", f"no {kind} is"))


async def test_an_unknown_kind_is_refused_with_the_known_ones():
    ended = await CliRunner().invoke(commands, ["list", "agents"])

    assert ended.exit_code == 2
    assert "'benchmark', 'harness'" in ended.stderr
