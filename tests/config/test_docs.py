"""`config docs`: every parameter, from the fields that check it."""

import attrs
import pytest

from agentcompass.config.common_help import MEANINGS
from agentcompass.config.docs import component_docs
from agentcompass.records.environment import EnvironmentSetup, NetworkPolicy, Resources
from agentcompass.records.request import EnvironmentSpec, ModelSpec


def test_a_parameter_has_type_default_unit_and_meaning(toys):
    docs = component_docs("benchmark", "toy")
    rows = {row.field: row for row in docs.rows}

    assert docs.title == "benchmark toy (toy_components:ToyBenchmark)"
    assert attrs.astuple(rows["pause_seconds"]) == (
        "pause_seconds",
        "number",
        "0.5",
        "s",
        "A pause.",
    )
    assert rows["sample_ids"].type == "list of text or null"
    assert rows["path"].default == '"here"'
    assert rows["judge"].default == ""
    assert rows["judge.api_key"].type == "text"
    assert rows["labels"].type == "object of text"
    assert rows["open"].type == "object"
    assert rows["shuffle"].type == "true or false"


def test_a_required_parameter_is_called_so(toys):
    [row] = component_docs("benchmark", "needy").rows

    assert row.default == "required"


def test_an_environment_shows_its_own_parameters_and_the_common_ones(toys):
    fields = [row.field for row in component_docs("environment", "toybox").rows]

    assert fields[0] == "sandbox_start_timeout"
    assert {"setup.image", "evaluation_setup.image", "resources.cpu", "env_variables"} <= {*fields}
    assert {"network_policy.network_mode", "evaluation_mode"} <= {*fields}
    assert "id" not in fields


@pytest.mark.parametrize(
    "owner", [EnvironmentSpec, EnvironmentSetup, Resources, NetworkPolicy, ModelSpec]
)
def test_every_common_field_has_a_meaning(owner):
    fields = {field.name for field in attrs.fields(owner)} - {"id"}
    if owner is EnvironmentSpec:
        fields -= {"params"}

    assert fields == {name for kind, name in MEANINGS if kind is owner}


HTTP = ("request_timeout", "record", "adaptive_concurrency", "prices")


@pytest.mark.parametrize(
    ("protocol", "params"),
    [
        ("openai-chat", HTTP),
        ("openai-responses", HTTP),
        ("anthropic", (*HTTP, "max_tokens")),
        ("replay", ("request_timeout", "record", "path", "strict")),
    ],
)
def test_a_model_is_described_by_its_settings_and_by_its_own_parameters(protocol, params):
    docs = component_docs("model", protocol)

    assert [row.field for row in docs.rows] == [
        *("base_url", "api_key", "api_protocol", "params"),
        *(f"params.{name}" for name in params),
    ]
    assert [row.field for row in docs.rows if not row.meaning] == []
    assert docs.rows[4].default == "600.0"
    assert docs.rows[4].unit == "s"
    assert docs.details
