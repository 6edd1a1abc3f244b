"""A data set says exactly what is fetched, or is none."""

import pytest

from agentcompass.records.data_set import DataFile, DataSet, GitTree

SHA = "a" * 64
FILE = {"name": "rows.jsonl", "url": "https://example.org/rows", "sha256": SHA, "size": 3}
TREE = {"url": "https://example.org/tasks.git", "commit": "b" * 40}
SET = {
    "title": "t",
    "homepage": "h",
    "licence": "l",
    "revision": "1",
    "looks_for": "rows",
    "source": (DataFile(**FILE),),
}


def test_what_it_is_known_by_is_the_checksum_of_its_source():
    files = DataSet(id="a", **SET)
    tree = DataSet(id="a", **{**SET, "source": GitTree(**TREE)})

    assert files.checksum == f"rows.jsonl sha256:{SHA}"
    assert tree.checksum == f"commit:{'b' * 40}"
    assert (files.kind, tree.kind) == ("files", "git")


@pytest.mark.parametrize("id", ["", "..", "a/b", ".hidden", "a b", "-x"])
def test_an_id_that_is_no_plain_folder_is_refused(id):  # noqa: A002
    with pytest.raises(ValueError, match="cannot be a folder"):
        DataSet(id=id, **SET)


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "../rows"},
        {"name": "/rows"},
        {"url": "file:///etc/passwd"},
        {"sha256": "A" * 64},
        {"sha256": "a" * 63},
        {"size": -1},
    ],
)
def test_a_file_that_cannot_be_checked_or_kept_inside_is_refused(change):
    with pytest.raises(ValueError):
        DataFile(**{**FILE, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"commit": "main"},
        {"commit": "b" * 7},
        {"url": ""},
        {"url": "--upload-pack=x"},
        {"subfolder": "../x"},
        {"subfolder": "/x"},
    ],
)
def test_a_tree_that_says_not_exactly_which_commit_is_refused(change):
    with pytest.raises(ValueError):
        GitTree(**{**TREE, **change})
