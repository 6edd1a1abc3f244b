"""Configuration files: which apply, in which order, and what they may hold."""

import pytest

from agentcompass.config.merge import merged
from agentcompass.config.sources import config_files, file_settings


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home" / ".config" / "agentcompass"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("runtime: {progress: none}\n")
    return folder


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "config.yaml").write_text("runtime: {progress: plain}\n")
    return folder


def names(found):
    return [file.path.name for file in found]


def test_the_users_file_comes_before_the_projects_before_the_named(tmp_path, home, project):
    (project / "deep" / "more.yaml").write_text("")

    found = config_files(
        ["more.yaml"], cwd=project / "deep", environ={"HOME": str(tmp_path / "home")}
    )

    assert [file.path for file in found] == [
        home / "config.yaml",
        project / "config.yaml",
        project / "deep" / "more.yaml",
    ]


def test_the_projects_file_is_the_first_one_upwards(project):
    (project / "deep" / "config.yaml").write_text("")

    found = config_files([], cwd=project / "deep" / "er", environ={})

    assert found[0].path == project / "deep" / "config.yaml"


def test_the_xdg_folder_stands_for_the_usual_one(tmp_path, home):
    other = tmp_path / "xdg" / "agentcompass"
    other.mkdir(parents=True)
    (other / "config.yaml").write_text("")
    environ = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}

    assert config_files([], cwd=other, environ=environ)[0].path == other / "config.yaml"
    assert config_files([], cwd=tmp_path, environ=environ | {"XDG_CONFIG_HOME": "xdg"})[0].path == (
        home / "config.yaml"
    )


def test_a_file_named_twice_counts_once_at_its_last_place(project):
    (project / "a.yaml").write_text("")
    (project / "same.yaml").symlink_to(project / "config.yaml")

    assert names(config_files(["a.yaml", "same.yaml"], cwd=project, environ={})) == [
        "a.yaml",
        "same.yaml",
    ]
    assert names(config_files(["a.yaml", "same.yaml", "./a.yaml"], cwd=project, environ={})) == [
        "same.yaml",
        "a.yaml",
    ]


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.yaml", "runtme: {}", "a.yaml: unknown section runtme; known: benchmarks, harnesses"),
        ("a.yaml", "models: {x: {}}", "a.yaml: unknown section models"),
        ("a.yaml", "[1]", "a.yaml: expected sections, got list"),
        ("a.yaml", "execution: 5", "a.yaml: execution: expected an object, got int"),
        ("a.yaml", "benchmarks: [toy]", "a.yaml: benchmarks: expected an object, got list"),
        ("a.yaml", "a: 1\na: 2", "a.yaml: line 2 column 1: duplicate key a"),
        ("a.json", "execution: {}", "a.json: line 1 column 1: expecting value"),
        ("a.json", '{"execution": {}, "execution": {}}', "a.json: line 1 column 19: duplicate"),
        ("a.json", "[]", "a.json: expected sections, got list"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_place(tmp_path, name, text, fault):
    (tmp_path / name).write_text(text)
    faults = []

    settings = [
        setting
        for file in config_files([name], cwd=tmp_path, environ={})
        for setting in file_settings(file, faults)
    ]

    assert settings == []
    assert len(faults) == 1
    assert faults[0].startswith(fault)


@pytest.mark.parametrize(
    ("content", "fault"),
    [(None, "No such file or directory"), (b"\xff\xfe", "not UTF-8 at byte 0")],
)
def test_a_named_file_that_cannot_be_read_is_a_fault(tmp_path, content, fault):
    if content is not None:
        (tmp_path / "a.yaml").write_bytes(content)
    faults = []

    for file in config_files(["a.yaml"], cwd=tmp_path, environ={}):
        file_settings(file, faults)

    assert len(faults) == 1
    assert faults[0].startswith("a.yaml: ")
    assert faults[0].endswith(fault)


@pytest.mark.parametrize("text", ["", "# nothing\n", "execution:\nruntime: null\n", "\ufeff{}"])
def test_an_empty_file_or_section_says_nothing(tmp_path, text):
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    faults = []

    for file in config_files(["a.yaml"], cwd=tmp_path, environ={}):
        assert file_settings(file, faults) == []

    assert faults == []


def test_the_cleanup_grace_is_read_in_both_sections(tmp_path):
    (tmp_path / "a.json").write_text(
        '{"runtime": {"cleanup_grace_seconds": 3, "progress": "none"}}'
    )
    [file] = config_files(["a.json"], cwd=tmp_path, environ={})

    settings = file_settings(file, [])

    assert merged(*(setting.tree() for setting in settings)) == {
        "runtime": {"progress": "none"},
        "execution": {"cleanup_grace_seconds": 3},
    }
