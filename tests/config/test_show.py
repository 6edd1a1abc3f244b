"""`config show`: what holds, in full, and without secrets."""

import pytest

from agentcompass.config.show import effective_configuration
from agentcompass.errors import ConfigInvalid


@pytest.fixture
def show(tmp_path, toys):
    def run(config="", *paths, environ=(), **ids):
        (tmp_path / "config.yaml").write_text(config)
        return effective_configuration(paths, ids, cwd=tmp_path, environ=dict(environ)).tree

    return run


def test_the_defaults_are_shown_in_full(show):
    shown = show()

    assert shown["execution"]["artifact_limits"]["max_mb"] == 16384
    assert shown["runtime"]["provider_limits"]["docker"] == 128
    assert set(shown) == {"runtime", "execution"}


def test_what_a_file_sets_is_shown_over_the_defaults(show):
    shown = show("execution: {max_retries: 3}\nruntime: {timeout_seconds: 0}\n")

    assert shown["execution"]["max_retries"] == 3
    assert shown["runtime"]["timeout_seconds"] == 0


def test_configured_components_are_shown_with_their_defaults(show):
    shown = show("benchmarks: {toy: {limit: 3}}\nenvironments: {docker: {image: x}}\n")

    assert shown["benchmarks"]["toy"]["limit"] == 3
    assert shown["benchmarks"]["toy"]["path"] == "here"
    assert shown["benchmarks"]["toy"]["judge"] == {"api_key": "", "retries": 0}
    assert shown["environments"]["docker"]["setup"] == {"image": "x"}
    assert shown["environments"]["docker"]["pull"] == "missing"


def test_ids_that_are_asked_for_stand_for_the_configured_ones(show):
    shown = show("benchmarks: {toy: {limit: 3}}\n", benchmark=["needy"], harness=["toy"])

    assert shown["benchmarks"] == {"needy": {}}
    assert shown["harnesses"] == {"toy": {"steps": 10, "style": "plain"}}


def test_the_secrets_to_mask_come_with_it(tmp_path, toys):
    (tmp_path / "config.yaml").write_text(
        "benchmarks: {toy: {judge: {api_key: sk-123456}, open: {b: '${T}'}}}\n"
    )

    shown = effective_configuration(
        (), {}, cwd=tmp_path, environ={"T": "any-value", "MY_TOKEN": "of-the-host"}
    )

    assert shown.tree["benchmarks"]["toy"]["open"] == {"b": "any-value"}
    assert shown.secrets == {"sk-123456", "of-the-host"}


@pytest.mark.parametrize(
    ("config", "ids", "fault"),
    [
        ("execution: {x: 1}", {}, "config.yaml: execution: unknown key x"),
        ("benchmarks: {toy: {x: 1}}", {}, "config.yaml: benchmarks.toy.x: unknown key x"),
        ("", {"benchmark": ["nope"]}, "benchmark 'nope' is not known; known: "),
    ],
)
def test_what_a_run_would_refuse_is_refused(show, config, ids, fault):
    with pytest.raises(ConfigInvalid, match=fault):
        show(config, **ids)


def test_a_configured_component_that_nobody_knows_is_told_once(show):
    with pytest.raises(ConfigInvalid) as caught:
        show("benchmarks: {nope: {x: 1}}")

    [fault] = caught.value.faults
    assert fault.startswith("config.yaml: benchmarks.nope: benchmark 'nope' is not known")
