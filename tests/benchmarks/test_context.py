"""What of environment/ is laid out beside a Dockerfile that is not built, and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcompass.benchmarks._context import context_entries, dockerfile_workdir


def laid_out(folder, files):
    """The files that the entries name, whole folders opened."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    found = set()
    for entry in context_entries(folder):
        below = entry.source.rglob("*") if entry.source.is_dir() else [entry.source]
        found |= {path.relative_to(folder).as_posix() for path in below if path.is_file()}
    return found


def test_everything_is_laid_out_but_the_files_that_say_how_to_build(tmp_path):
    files = [
        "Dockerfile",
        ".dockerignore",
        "docker-compose.yaml",
        "a",
        ".hidden",
        "d/Dockerfile",
        "d/e/b",
    ]

    assert laid_out(tmp_path, dict.fromkeys(files, "")) == {"a", ".hidden", "d/Dockerfile", "d/e/b"}


def test_a_folder_with_nothing_to_leave_out_is_one_copy(tmp_path):
    laid_out(tmp_path, {"d/a": "", "d/e/b": "", "c": "", "Dockerfile": ""})

    assert [entry.target for entry in context_entries(tmp_path)] == ["c", "d"]


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ("*.log", {"b.txt", "d/a.log", "d/keep/c.txt"}),
        ("**/*.log", {"b.txt", "d/keep/c.txt"}),
        ("d", {"a.log", "b.txt"}),
        ("/d/\n", {"a.log", "b.txt"}),
        ("d/*\n!d/keep", {"a.log", "b.txt", "d/keep/c.txt"}),
        ("*\n!b.txt", {"b.txt"}),
        ("# a.log\n\n?.txt", {"a.log", "d/a.log", "d/keep/c.txt"}),
        ("[", {"a.log", "b.txt", "d/a.log", "d/keep/c.txt"}),
    ],
)
def test_a_dockerignore_is_honoured(tmp_path, rules, left):
    files = dict.fromkeys(["a.log", "b.txt", "d/a.log", "d/keep/c.txt"], "")

    assert laid_out(tmp_path, {**files, ".dockerignore": rules}) == left


def test_a_link_is_named_and_never_followed(tmp_path):
    laid_out(tmp_path, {"d/a": "", "d/e/b": ""})
    (tmp_path / "d" / "out").symlink_to("/etc/passwd")
    (tmp_path / "in").symlink_to("d")

    links = {entry.target: entry.link for entry in context_entries(tmp_path)}

    assert links == {"d/a": None, "d/e": None, "d/out": "/etc/passwd", "in": "d"}


NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)


@given(st.sets(NAMES, max_size=8), st.sets(NAMES, max_size=3), st.data())
def test_what_is_laid_out_is_what_no_rule_hides(tmp_path_factory, names, hidden, data):
    """Fails where a folder that is hidden in part is copied whole."""
    files = {f"{name}.f": "" for name in names}
    rules = "\n".join(f"{name}.f" if data.draw(st.booleans()) else name for name in hidden)

    found = laid_out(tmp_path_factory.mktemp("context"), {**files, ".dockerignore": rules})

    def hides(rule, name):
        return name == rule or name.startswith(f"{rule}/")

    assert found == {n for n in files if not any(hides(r, n) for r in rules.split("\n") if r)}


@pytest.mark.parametrize(
    ("text", "workdir"),
    [
        ("FROM a\nWORKDIR /app\nCOPY . /app", "/app"),
        ("FROM a\nworkdir /app\nWORKDIR src/x", "/app/src/x"),
        ('FROM a\nWORKDIR\t"/my app"', "/my app"),
        ("FROM a AS b\nWORKDIR /build\nFROM c\nRUN x", None),
        ("FROM a\nWORKDIR rel", "/rel"),
        ("FROM a\nWORKDIR $HOME/x", None),
        ("FROM a\nRUN y", None),
        ("", None),
    ],
)
def test_the_working_directory_is_that_of_the_last_stage(text, workdir):
    assert dockerfile_workdir(text) == workdir
