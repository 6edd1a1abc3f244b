"""A file that the engine sends is there whole, or is said not to be."""

import io
import tarfile

import pytest

from agentcompass.environments._docker_pulled import only_file
from agentcompass.errors import EnvironmentFailed

DATA = b"x" * 5000


def archive() -> bytes:
    info = tarfile.TarInfo("file")
    info.size = len(DATA)
    target = io.BytesIO()
    with tarfile.open(mode="w", fileobj=target) as made:
        made.addfile(info, io.BytesIO(DATA))
    return target.getvalue()


def test_a_whole_file_is_read():
    assert only_file(io.BytesIO(archive())) == DATA


@pytest.mark.parametrize("size", [0, 100, 512, 3000])
def test_one_that_is_cut_short_is_a_fault_of_the_environment(size):
    """As an engine sends it of a file that became shorter meanwhile."""
    with pytest.raises(EnvironmentFailed, match="sent no"):
        only_file(io.BytesIO(archive()[:size]))
