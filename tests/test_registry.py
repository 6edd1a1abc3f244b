"""Which components there are: those built in, and those of installed packages."""

from pathlib import Path
from typing import Any

import pytest

from agentcompass import registry
from agentcompass.registry import known, load


def install(folder: Path, name: str, entry_points: str | bytes) -> None:
    about = folder / f"{name}-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    text = entry_points.encode() if isinstance(entry_points, str) else entry_points
    (about / "entry_points.txt").write_bytes(text)


DAMAGED = {
    "no pair": "[agentcompass.harnesses]\nno pair\n",
    "no text": b"[agentcompass.harnesses]\n\xff\xfe = x:Y\n",
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_a_package_with_a_damaged_file_is_named_and_costs_no_other(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    damaged: str | bytes,
) -> None:
    install(tmp_path, "broken", damaged)
    install(tmp_path, "good", "[agentcompass.harnesses]\nmine = good:Mine\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert known("harness")["mine"] == "good:Mine"
    assert known("harness")["nop"] == "agentcompass.harnesses.nop:Nop"
    assert [record.getMessage() for record in caplog.records] == [
        f"passed over: the package broken in {tmp_path} has a damaged entry_points.txt"
    ]


def test_a_package_of_which_nothing_can_be_read_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install(tmp_path, "broken", DAMAGED["no pair"])
    (tmp_path / "broken-1.dist-info" / "METADATA").write_bytes(b"\xff\xfe")
    monkeypatch.syspath_prepend(tmp_path)

    assert "nop" in known("harness")
    assert f"a package in {tmp_path} has a damaged" in caplog.text


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The paths on which installed packages were looked for."""
    seen: list[list[str]] = []
    distributions: Any = registry.distributions

    def looking(*, path: list[str]) -> Any:
        seen.append(path)
        return distributions(path=path)

    monkeypatch.setattr(registry, "distributions", looking)
    return seen


def test_what_is_installed_is_looked_up_once_for_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: list[list[str]]
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for _ in range(3):
        assert "mine" not in known("harness")
        known("benchmark")
    install(tmp_path / "later", "good", "[agentcompass.harnesses]\nmine = good:Mine\n")
    monkeypatch.syspath_prepend(tmp_path / "later")

    assert known("harness")["mine"] == "good:Mine"
    assert len(looks) == 2


def test_a_built_in_component_is_found_without_reading_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: list[list[str]]
) -> None:
    monkeypatch.syspath_prepend(tmp_path)

    assert load("harness", "nop").id == "nop"
    assert looks == []


def test_of_two_packages_the_first_on_the_path_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an import would take it."""
    for name in ("one", "two"):
        install(tmp_path / name, name, f"[agentcompass.harnesses]\nmine = {name}:Mine\n")
        monkeypatch.syspath_prepend(tmp_path / name)

    assert known("harness")["mine"] == "two:Mine"
