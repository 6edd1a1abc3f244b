"""`agentcompass data`: what there is, what is here, and whether it is right."""

import pytest
from asyncclick.testing import CliRunner

from agentcompass.cli.app import commands
from tests.datasets.files import place, served
from tests.datasets.rows_benchmark import Rows, install
from tests.loopback import answer, serve

ROWS = b'{"id": "a", "correct": true}\n'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    install(tmp_path / "site", monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


async def data(*arguments):
    return await CliRunner().invoke(commands, ["data", *arguments])


@pytest.fixture
def publish(monkeypatch, here):
    return lambda url: monkeypatch.setattr(Rows, "data_set", place(here, url, data=ROWS).data_set)


async def test_a_data_set_is_listed_fetched_and_checked(here, publish):
    async with serve(served(ROWS)) as server:
        publish(server.url)
        before = await data("list")
        fetched = await data("fetch", "toys")
        checked = await data("check", "toys")
        after = await data("list")

    assert "toys" in before.stdout
    (line,) = [line for line in before.stdout.splitlines() if line.startswith("toys")]
    assert line.split()[1:3] == ["missing", "0.0"]
    assert "CC0-1.0" in line
    assert fetched.exit_code == 0
    assert fetched.stdout == f"toys: {here / 'data' / 'toys'}\n"
    assert "fetching data set toys, revision 7" in fetched.stderr
    assert (checked.exit_code, checked.stdout) == (0, "")
    assert checked.stderr == f"toys in {here / 'data' / 'toys'} (revision 7): nothing is wrong\n"
    (line,) = [line for line in after.stdout.splitlines() if line.startswith("toys")]
    assert line.split()[1] == "complete"


async def test_faults_of_files_and_of_rows_are_lines_and_exit_code_1(here, publish):
    async with serve(served(ROWS)) as server:
        publish(server.url)
        await data("fetch", "toys")
    (here / "data/toys/rows.jsonl").write_bytes(b'{"id": "A", "correct": true}\n{"id": "b"}\n')
    (here / "data/toys/other").write_bytes(b"")
    ended = await data("check", "toys")

    assert ended.exit_code == 1
    assert ended.stdout.splitlines() == [
        "other was not fetched",
        f"rows.jsonl has 41 bytes, and {len(ROWS)} were fetched",
        "row-2: rows.jsonl row 2: KeyError: 'correct'",
    ]
    assert ended.stderr.endswith("3 faults\n")


async def test_a_change_of_the_same_size_is_found_by_its_checksum(here, publish):
    async with serve(served(ROWS)) as server:
        publish(server.url)
        await data("fetch", "toys")
    (here / "data/toys/rows.jsonl").write_bytes(ROWS.replace(b'"a"', b'"b"'))
    ended = await data("check", "toys")

    assert ended.exit_code == 1
    assert ended.stdout.startswith("rows.jsonl has the SHA-256 ")


async def test_what_the_user_put_there_is_checked_row_by_row(here):
    folder = here / "elsewhere" / "toys"
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_bytes(ROWS)
    ended = await data("check", "toys", "--data-dir", str(here / "elsewhere"))

    assert ended.exit_code == 0
    assert "(your own): nothing is wrong" in ended.stderr


async def test_the_configured_folder_is_where_it_is_looked_for(here):
    (here / "config.yaml").write_text("runtime:\n  data_dir: configured\n")
    ended = await data("check", "toys")

    assert ended.exit_code == 2
    assert ended.stderr.startswith(f"Error: no data set 'toys' in {here}/configured/toys: fetch it")


async def test_a_damaged_one_does_not_hide_the_others(here):
    (here / "data" / "toys").mkdir(parents=True)
    (here / "data" / "toys" / ".agentcompass-data").write_bytes(b"{")
    ended = await data("list")

    assert ended.exit_code == 0
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("toys")]
    assert line.split()[1] == "damaged"
    assert "swebench_verified" in ended.stdout
    assert "is damaged" in ended.stderr


async def test_a_failed_fetch_is_one_line(here, publish):
    async with serve(answer({}, status=404)) as server:
        publish(server.url)
        ended = await data("fetch", "toys")

    assert ended.exit_code == 2
    assert "Error: data set 'toys' cannot be fetched" in ended.stderr
    assert "answers 404" in ended.stderr.splitlines()[-1]


async def test_an_unknown_data_set_is_refused_with_the_known_ones(here):
    ended = await data("fetch", "nope")

    assert ended.exit_code == 2
    assert "data set 'nope' is not known; known: " in ended.stderr
    assert "toys" in ended.stderr
