"""Toy components, installed for every test of this folder that asks for them."""

from pathlib import Path

import pytest

from tests.toys import install_toys


@pytest.fixture
def toys(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return install_toys(tmp_path_factory.mktemp("toys"), monkeypatch)
