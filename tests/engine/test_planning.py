"""What a provider ignores of tasks is said once, and as loud as it matters."""

from pathlib import Path

import pytest

from tests.whole_runs import run


@pytest.mark.parametrize(
    ("task_toml", "told"),
    [
        ("", [("INFO", "build_context, build_timeout_seconds")]),
        (
            "[environment]\ncpus = 1\n",
            [("INFO", "build_context, build_timeout_seconds"), ("WARNING", "cpu")],
        ),
    ],
)
async def test_a_dockerfile_that_is_not_built_is_no_warning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    task_toml: str,
    told: list[tuple[str, str]],
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    files = {"task.toml": task_toml, "environment/Dockerfile": "FROM scratch\n"}
    with caplog.at_level("INFO"):
        await run(tmp_path, {"t": files})

    said = "host_process ignores what tasks say of: "
    found = [
        (record.levelname, record.getMessage().removeprefix(said))
        for record in caplog.records
        if record.getMessage().startswith(said)
    ]
    assert found == told
