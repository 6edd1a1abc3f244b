"""A run has the data it needs, fetched and checked, or says which folder it looked in; odd data."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from agentcompass import UsageError, async_run_evaluation
from agentcompass.errors import DataUnavailable, DependencyMissing, RequestError
from agentcompass.records.needs import Needs
from tests.datasets.files import place, served
from tests.datasets.rows_benchmark import Rows, install
from tests.loopback import hang, serve

GOOD = [{"id": "a", "correct": True}, {"id": "b", "correct": False}]


def as_rows(*rows: Any) -> bytes:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(tmp_path / "site", monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch):
    """Say where the data set is published, and what it holds."""

    def set_(url: str, data: bytes, **fields: Any) -> None:
        found = place(Path("data"), url, data=data).data_set
        for name, value in fields.items():
            object.__setattr__(found, name, value)
        monkeypatch.setattr(Rows, "data_set", found)

    return set_


def put(here: Path, data: bytes) -> None:
    folder = here / "data" / "toys"
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_bytes(data)


async def run(**settings: Any) -> dict[str, Any]:
    given = {"harness": "nop", "model": "none", "environment": "host_process", "progress": "none"}
    return await async_run_evaluation(benchmark="rows", **{**given, **settings})


def record(result: dict[str, Any]) -> dict[str, Any]:
    return json.loads(Path(result["paths"]["run_info"]).read_text())


def value(result: dict[str, Any]) -> Any:
    return json.loads(Path(result["paths"]["metrics_json"]).read_text())["series"][0]["value"]


async def test_a_missing_data_set_is_fetched_announced_and_on_record(here, publish, caplog):
    caplog.set_level(logging.INFO, "agentcompass")
    async with serve(served(as_rows(*GOOD))) as server:
        publish(server.url, as_rows(*GOOD))
        first = await run()
        second = await run()

    assert len(server.asked) == 1
    assert value(first) == value(second) == 0.5
    assert (
        "fetching data set toys, revision 7, from http://toys.example into data/toys" in caplog.text
    )
    assert record(second)["data_set"] == {
        "id": "toys",
        "path": "data/toys",
        "revision": "7",
        "checksum": Rows.data_set.checksum,
    }


async def test_without_a_network_the_folder_is_named_and_nothing_is_made(here, publish):
    async with serve(served()) as server:
        pass
    publish(server.url, as_rows(*GOOD))

    with pytest.raises(DataUnavailable, match=r"by hand: put rows.jsonl, of http.* into data/toys"):
        await run()
    assert not (here / "results").exists()


async def test_the_parameter_download_keeps_a_run_from_fetching(here, publish):
    async with serve(served(as_rows(*GOOD))) as server:
        publish(server.url, as_rows(*GOOD))
        with pytest.raises(UsageError) as caught:
            await run(benchmark_params={"download": False})

    assert server.asked == []
    assert str(caught.value).startswith(
        "no data set 'toys' in data/toys, and the parameter download"
    )
    assert not (here / "results").exists()


async def test_data_that_the_user_put_there_are_taken_as_they_are(here, publish):
    publish("http://127.0.0.1:9/never", as_rows(*GOOD))
    put(here, as_rows({"id": "mine", "correct": True}))
    result = await run(benchmark_params={"download": False})

    assert value(result) == 1.0
    assert record(result)["data_set"] == {"id": "toys", "path": "data/toys"}


async def test_data_that_were_changed_since_the_fetch_are_not_measured_on(here, publish):
    async with serve(served(as_rows(*GOOD))) as server:
        publish(server.url, as_rows(*GOOD))
        await run()
        (here / "data/toys/rows.jsonl").write_bytes(as_rows(*GOOD, *GOOD))
        with pytest.raises(DataUnavailable, match=r"rows.jsonl has .* bytes, and .* were fetched"):
            await run()


async def test_fetching_counts_against_the_deadline_of_the_request(here, publish):
    async with serve(hang) as server:
        publish(server.url, as_rows(*GOOD))
        with pytest.raises(RequestError) as caught:
            await run(timeout_seconds=0.5)

    assert caught.value.exit_code == 124


async def test_what_reading_the_published_form_takes_is_asked_for_before_it_is_fetched(
    here, publish
):
    needs = Needs(packages=("a-package-that-nobody-has>=2",), extra="parquet")
    async with serve(served(as_rows(*GOOD))) as server:
        publish(server.url, as_rows(*GOOD), needs=needs)
        with pytest.raises(DependencyMissing) as caught:
            await run()
        assert server.asked == []
        put(here, as_rows(*GOOD))  # in a form of one's own
        await run()

    assert str(caught.value) == (
        "data set 'toys' needs a-package-that-nobody-has>=2: pip install 'agentcompass[parquet]'"
    )


async def test_ids_that_are_there_twice_are_refused_by_name(here, publish):
    """cases.md 69."""
    put(here, as_rows(*GOOD, {"id": "a", "correct": False}))

    with pytest.raises(UsageError, match="more than one task with the id 'a'"):
        await run()
    assert not (here / "results").exists()


async def test_an_empty_data_set_finishes_with_a_warning_and_valid_files(here, caplog):
    put(here, b"")
    result = await run()

    assert "no task is selected: the run ends with empty metrics" in caplog.text
    assert result["metadata"]["status"] == "completed"
    assert result["metadata"]["total_tasks"] == 0
    series = json.loads(Path(result["paths"]["metrics_json"]).read_text())["series"]
    assert all(one["counts"]["total"] == 0 and one["value"] is None for one in series)
    assert Path(result["paths"]["summary_md"]).read_text().startswith("# ROWS")


async def test_a_bad_row_costs_its_task_alone(here):
    put(here, as_rows(GOOD[0], "{", {"id": "c"}, GOOD[1]))

    with pytest.raises(RequestError) as caught:
        await run()
    results = {
        json.loads((path.parent.parent / "task.json").read_text())["task_id"]: json.loads(
            path.read_text()
        )
        for path in here.glob("results/**/attempt-1/result.json")
    }
    assert set(results) == {"a", "row-2", "row-3", "b"}
    assert results["a"]["metrics"] == {"correct": True}
    assert results["b"]["metrics"] == {"correct": False}
    assert [i["severity"] for i in results["row-2"]["issues"]] == ["fatal"]
    assert "rows.jsonl row 2: JSONDecodeError" in results["row-2"]["issues"][0]["message"]
    assert "rows.jsonl row 3: KeyError: 'correct'" in results["row-3"]["issues"][0]["message"]
    assert caught.value.result["metadata"]["total_tasks"] == 4
