"""Each value of the merged configuration knows what set it."""

import json

import attrs
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcompass.config import yaml_text
from agentcompass.config.annotated import as_list, as_yaml
from agentcompass.config.merge import pick
from agentcompass.config.origins import origin_at, origins
from agentcompass.config.settings import Setting, combine
from agentcompass.config.show import effective_configuration


@pytest.fixture
def origin(tmp_path, toys):
    """The origins of values after files have been written, later ones winning."""

    def run(*paths, **files):
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        shown = effective_configuration(paths, {}, cwd=tmp_path, environ={"N": "3"})
        told = as_list(shown.tree, shown.origins)
        return {".".join(each["path"]): each["origin"] for each in told}

    return run


def test_a_value_has_the_file_and_line_of_the_last_source(origin):
    found = origin(
        "b.json",
        config_yaml="# first\nexecution:\n  max_retries: 1\n  attempts: {k: 2}\nruntime: {}\n",
        b_json='{\n\t"execution":{"max_retries":2,\n"task_concurrency":"${N}"}}',
    )

    assert found["execution.max_retries"] == "b.json:2"
    assert found["execution.task_concurrency"] == "b.json:3"
    assert found["execution.attempts.k"] == "config.yaml:4"
    assert found["execution.attempts.strategy"] == "default"
    assert found["runtime.provider_limits.docker"] == "default"


def test_what_a_null_made_forgotten_is_a_default_again(origin):
    found = origin(
        "b.yaml",
        "c.yaml",
        config_yaml="benchmarks: {toy: {limit: 1, path: a}}",
        b_yaml="benchmarks:\n  toy:\n",
        c_yaml="benchmarks:\n  toy:\n    path: b\n",
    )

    assert found["benchmarks.toy.path"] == "c.yaml:3"
    assert found["benchmarks.toy.limit"] == "default"


def test_another_spelling_has_the_line_where_it_is_written(origin):
    found = origin(
        config_yaml="environments:\n  docker:\n    pull: never\n    image: x\n"
        "runtime:\n  progress: none\n  cleanup_grace_seconds: 3\n"
    )

    assert found["environments.docker.setup.image"] == "config.yaml:4"
    assert found["execution.cleanup_grace_seconds"] == "config.yaml:7"


def test_what_is_merged_in_by_yaml_has_its_own_line(origin):
    found = origin(
        config_yaml="benchmarks:\n  toy: &all\n    limit: 3\n  needy:\n    <<: {folder: x}\n"
    )

    assert found["benchmarks.toy.limit"] == "config.yaml:3"
    assert found["benchmarks.needy.folder"] == "config.yaml:5"


def test_an_option_is_named_as_its_caller_writes_it():
    found = origins([Setting(label="--k", path=("execution", "attempts", "k"), value=2)])

    assert str(origin_at(found, ("execution", "attempts", "k"))) == "--k"
    assert origin_at(found, ("execution", "max_retries")) is None


def test_yaml_with_origins_is_still_yaml(tmp_path, toys):
    (tmp_path / "config.yaml").write_text(
        'benchmarks:\n  toy:\n    path: "two\\n\\nlines: # no comment"\n'
        "    sample_ids: [a, '#b']\n"
    )
    shown = effective_configuration((), {}, cwd=tmp_path, environ={})

    text = as_yaml(shown.tree, shown.origins)

    assert yaml.safe_load(text) == json.loads(json.dumps(shown.tree))
    assert "    sample_ids:  # config.yaml:4\n" in text
    assert "    # config.yaml:3\n    path: " in text
    assert "    limit: 5  # default\n" in text


TREES = st.recursive(
    st.none() | st.integers(0, 9) | st.lists(st.integers(0, 9), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abc"), TREES, max_size=3), max_size=4))
def test_an_origin_is_the_setting_that_has_the_value(layers):
    """Fails if the last setting that says anything of a path is taken, whatever a null reset."""
    given_by = {
        str(n): Setting(label=str(n), path=("s",), value=layer) for n, layer in enumerate(layers)
    }
    tree, found = combine(list(given_by.values())), origins(list(given_by.values()))

    for entry in as_list(tree, found):
        path = tuple(entry["path"])
        if entry["value"] == {}:
            continue  # an object without content has no value whose origin could be told
        setting = given_by[entry["origin"]]
        assert pick(setting.tree(), path) == entry["value"]
        later = list(given_by.values())[int(entry["origin"]) + 1 :]
        assert not any(each.holds(path) for each in later)


@pytest.mark.parametrize("text", ["", "a: [", "- 1", "a: *b", "? [x]\n: 1"])
def test_a_text_without_paths_has_no_lines(text):
    assert yaml_text.lines(text) == {}


def test_a_setting_of_no_file_has_no_line():
    setting = Setting(label="--k", path=("a",), value=1)

    assert setting.also_at(("b",), ("a",)) is setting
    assert attrs.evolve(setting, lines={("a",): 3}).also_at(("b",), ("a",)).lines[("b",)] == 3
