"""Where a run goes, and what is refused before anything is made (cases 27 and 76)."""

import datetime as dt
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from agentcompass.errors import UsageError
from agentcompass.records.request import ComponentSpec, ModelSpec, OutputOptions, RunRequest
from agentcompass.store import location as module
from agentcompass.store.atomic import Disk
from agentcompass.store.location import RunLocation, check_location, reserve, run_location


def request(run_name: str = "", run_id: str | None = None, model: str = "org/m 1") -> RunRequest:
    return RunRequest(
        benchmark=ComponentSpec(id="toy"),
        harness=ComponentSpec(id="none"),
        model=ModelSpec(id=model),
        output=OutputOptions(run_name=run_name, run_id=run_id),
    )


@pytest.mark.parametrize(
    ("run_name", "run_id", "path"),
    [
        ("", None, "org_m_1_toy_none"),
        ("nightly", "r1", "nightly/org_m_1_toy_none/r1"),
        ("x/ y z", "a b", "x/y_z/org_m_1_toy_none/a_b"),
        ("./x\\y//", "20260806_120000", "x/y/org_m_1_toy_none/20260806_120000"),
        ("/abs", "é", "abs/org_m_1_toy_none/_"),
    ],
)
def test_a_run_goes_below_the_results_folder(run_name: str, run_id: str | None, path: str) -> None:
    found = run_location(Path("results"), request(run_name, run_id))

    assert found.parent / (found.run_id or "") == Path("results", path)


@pytest.mark.parametrize("text", ["..", ".", "a/../../b", "/", " ", "..\\x", "a\0b", "x" * 256])
@pytest.mark.parametrize("option", ["run_name", "run_id"])
def test_a_name_that_could_lead_elsewhere_is_refused(option: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"^--{option.replace('_', '-')}: ") as caught:
        run_location(Path("results"), request(**{option: text}))

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("req a", "n/req_a"),
        ("a/../b", "n/a_.._b"),
        ("terminal-bench-2.1", "n/terminal-bench-2.1"),
        ("日本", "n/_"),
        ("x" * 300, f"n/{'x' * 189}--"),
    ],
)
def test_a_request_of_a_launch_is_found_by_its_name(name: str, path: str) -> None:
    asked = attrs.evolve(request("n"), metadata={"request_name": name})

    assert "/".join(run_location(Path("results"), asked).namespace).startswith(path)


@pytest.mark.parametrize("name", [".", "..", " "])
def test_a_name_that_is_no_folder_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"^name: .* is not the name of a folder$"):
        run_location(Path("results"), attrs.evolve(request(), metadata={"request_name": name}))


def test_an_empty_run_id_is_refused_and_an_empty_run_name_is_none() -> None:
    with pytest.raises(UsageError, match="--run-id"):
        run_location(Path("results"), request(run_id=""))
    assert run_location(Path("results"), request(run_name="")).namespace == ("org_m_1_toy_none",)


def test_a_model_with_a_very_long_id_still_has_a_folder(tmp_path: Path) -> None:
    found = run_location(tmp_path, request(model="/weights/" + "m" * 400))

    assert reserve(found, Disk()).is_dir()


def test_checking_a_place_makes_nothing(tmp_path: Path) -> None:
    place = RunLocation(tmp_path / "deep" / "results", ("a", "b"), "r1")
    check_location(place)

    assert list(tmp_path.iterdir()) == []


def test_an_existing_run_is_refused_and_left_alone(tmp_path: Path) -> None:
    place = RunLocation(tmp_path, ("ns",), "r1")
    kept = reserve(place, Disk()) / "result.json"
    kept.touch()

    for act in (check_location, lambda place: reserve(place, Disk())):
        with pytest.raises(UsageError, match=r"^--run-id: .*ns/r1 already exists"):
            act(place)
    assert kept.exists()


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_anything_in_the_place_of_the_run_counts_as_existing(tmp_path: Path, kind: str) -> None:
    (tmp_path / "ns").mkdir()
    if kind == "file":
        (tmp_path / "ns" / "r1").touch()
    else:
        (tmp_path / "ns" / "r1").symlink_to("/nowhere")

    with pytest.raises(UsageError, match="already exists"):
        check_location(RunLocation(tmp_path, ("ns",), "r1"))


def test_a_link_below_the_results_folder_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    results = tmp_path / "results"
    results.mkdir()
    (results / "ns").symlink_to(outside)
    place = RunLocation(results, ("ns",), "r1")

    for act in (check_location, lambda place: reserve(place, Disk())):
        with pytest.raises(UsageError, match="is a link"):
            act(place)
    assert list(outside.iterdir()) == []


def test_the_results_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "disk")

    reserve(RunLocation(tmp_path / "results", ("ns",), "r1"), Disk())

    assert (tmp_path / "disk" / "ns" / "r1").is_dir()


def test_a_file_where_the_results_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results").touch()

    with pytest.raises(UsageError, match=r"^--results-dir: .*cannot be written to"):
        check_location(RunLocation(tmp_path / "results", ("ns",)))


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder that even root cannot write to."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)]
    if os.geteuid():
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    elif subprocess.run(options, capture_output=True).returncode:
        pytest.skip("cannot make a folder that root cannot write to")
    yield folder
    if os.geteuid():
        folder.chmod(stat.S_IRWXU)
    else:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_results_folder_without_permission_is_refused(read_only: Path) -> None:
    with pytest.raises(
        UsageError, match=r"^--results-dir: .*cannot be written to: (Read-only|Perm)"
    ):
        check_location(RunLocation(read_only / "results", ("ns",)))


def test_runs_that_start_in_one_second_get_different_ids(tmp_path: Path) -> None:
    place = RunLocation(tmp_path, ("ns",))
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(reserve(place, Disk()))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(found)) == 8
    for path in found:
        dt.datetime.strptime(path.name, "%Y%m%d_%H%M%S").astimezone()


def test_processes_that_start_in_one_second_get_different_ids(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from agentcompass.store.atomic import Disk;"
        "from agentcompass.store.location import RunLocation, reserve;"
        "print(reserve(RunLocation(Path(sys.argv[1]), ('ns',)), Disk()))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    found = {child.communicate()[0] for child in children}

    assert len(found) == 3


def test_when_every_id_of_the_next_minute_is_taken_the_user_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ID_TRIES", 0)
    now = dt.datetime.now().astimezone()
    for seconds in range(-1, 3):
        name = (now + dt.timedelta(seconds=seconds)).strftime("%Y%m%d_%H%M%S")
        (tmp_path / "ns" / name).mkdir(parents=True)

    with pytest.raises(UsageError, match="no free id"):
        reserve(RunLocation(tmp_path, ("ns",)), Disk())
