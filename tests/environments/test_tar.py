"""Archives from a sandbox: whatever is in them, nothing outside the target is made or touched."""

import io
import os
import resource
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcompass.environments._tar import HEADER_BYTES, unpack
from agentcompass.environments._tar_pack import pack
from agentcompass.errors import ArtifactOverBudget, EnvironmentFailed
from agentcompass.records.environment import Transfer, TransferLimits

MEGABYTE = 1 << 20


def check() -> None:
    """Nothing breaks off."""


class Pipe(io.RawIOBase):
    """Bytes that come one piece after the other, as from a pipe or a socket."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def member(name: str, kind: bytes = tarfile.REGTYPE, **fields: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = kind, 0o755 if kind == tarfile.DIRTYPE else 0o644
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def link(name: str, leads_to: str) -> tarfile.TarInfo:
    return member(name, tarfile.SYMTYPE, linkname=leads_to)


def hard_link(name: str, first: str) -> tarfile.TarInfo:
    return member(name, tarfile.LNKTYPE, linkname=first)


def folder(name: str, mode: int = 0o755) -> tarfile.TarInfo:
    return member(name, tarfile.DIRTYPE, mode=mode)


def archive(*members: tarfile.TarInfo, data: bytes = b"data") -> bytes:
    """An archive of these; each regular file of no other size holds `data`."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for info in members:
            if info.isreg():
                info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return written.getvalue()


def put(target: Path, stream: bytes | Iterable[bytes], **options: Any) -> Transfer:
    pieces = [stream] if isinstance(stream, bytes) else stream
    return unpack(io.BufferedReader(Pipe(pieces)), target, check=check, **options)


def look_at(folder: Path) -> dict[str, object]:
    """Every entry below: a link's target, a folder's mode, a file's mode, time and contents."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        status, name = path.lstat(), str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            contents = None if path.is_dir() else path.read_bytes()
            found[name] = (stat.S_IMODE(status.st_mode), int(status.st_mtime), contents)
    return found


def make_tree(top: Path) -> Path:
    (top / "sub/empty").mkdir(parents=True)
    (top / "sub" / ("long" * 40)).write_bytes(os.urandom(3_000_000))
    (top / "naïve ☃ name\n").write_text("x")
    (top / os.fsdecode(b"no utf-8 \xbc")).write_text("x")
    (top / "tool").write_text("#!/bin/sh\n")
    (top / "tool").chmod(0o750)
    (top / "link").symlink_to("/nowhere/at/all")
    (top / "sub/locked").mkdir()
    (top / "sub/locked/file").write_text("x")
    (top / "sub/locked/file").chmod(0o400)
    (top / "sub/locked").chmod(0o555)
    return top


def test_what_is_packed_unpacks_the_same(tmp_path: Path) -> None:
    source = make_tree(tmp_path / "source")

    came = put(tmp_path / "target", pack(source, check=check))

    assert look_at(tmp_path / "target") == look_at(source)
    assert came.entries == len(look_at(source))
    assert came.skipped == ()


def test_a_folder_or_file_is_found_by_the_name_that_it_has_in_the_archive(tmp_path: Path) -> None:
    """As in Docker's archives."""
    source = make_tree(tmp_path / "source")

    put(tmp_path / "target", pack(source, name="out", check=check), root="out")
    came = put(tmp_path / "tool", pack(source / "tool", name="tool", check=check), root="tool")

    assert look_at(tmp_path / "target") == look_at(source)
    assert (tmp_path / "tool").read_text() == "#!/bin/sh\n"
    assert came == Transfer(size_bytes=10, entries=1)
    with pytest.raises(EnvironmentFailed, match="is not in 'out'"):
        put(tmp_path / "other", pack(source, name="elsewhere", check=check), root="out")


def test_gnu_tar_reads_what_is_packed_and_its_archives_are_read(tmp_path: Path) -> None:
    """Also with holes and hard links, which only it writes."""
    source = make_tree(tmp_path / "source")
    (tmp_path / "theirs").mkdir()
    untar = ["tar", "-xf", "-", "-C", tmp_path / "theirs"]
    subprocess.run(untar, input=b"".join(pack(source, check=check)), check=True)
    assert look_at(tmp_path / "theirs") == look_at(source)

    os.link(source / "tool", source / "twin")
    with (source / "sparse").open("wb") as file:
        file.seek(50 * MEGABYTE)
        file.write(b"end")
    for form in ("gnu", "pax"):
        tar = ["tar", f"--format={form}", "-S", "-cf", "-", "-C", source, "."]
        packed = subprocess.run(tar, capture_output=True, check=True).stdout
        put(tmp_path / form, packed)

        assert look_at(tmp_path / form) == look_at(source)
        assert (tmp_path / form / "sparse").stat().st_blocks * 512 < 3 * MEGABYTE


@pytest.mark.parametrize(
    ("members", "names"),
    [
        ([member("../x")], "'../x'"),
        ([member("a/../../x")], "'a/../../x'"),
        ([member("/x")], "'/x'"),
        ([link("a", ".."), member("a/x")], "'a/x'.*behind the link 'a'"),
        ([folder("b"), link("b/a", "../.."), folder("b/a/c")], "'b/a/c'.*behind the link 'b/a'"),
        ([link("a", "/"), link("a/x", "/")], "'a/x'.*behind the link"),
        ([link(".", "/"), member("x")], "neither a file nor a folder"),
        ([hard_link("x", "../outside/file")], "'x'.*outside/file"),
        ([hard_link("x", "/etc/passwd")], "'x'.*/etc/passwd"),
        ([link("a", "../outside"), hard_link("x", "a/file")], "'x'.*did not come before"),
        ([hard_link("x", "y")], "'x'.*did not come before"),
        ([member("a"), member("a/b")], "'a/b'.*cannot be unpacked"),
        ([folder("a"), member("a")], "'a'.*cannot be unpacked"),
        ([folder("a"), link("a", "..")], "'a'.*cannot be unpacked"),
    ],
)
def test_a_member_that_leaves_or_cannot_be_is_named(
    tmp_path: Path, members: list[tarfile.TarInfo], names: str
) -> None:
    """cases.md 46."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("untouched")
    before = look_at(outside)

    with pytest.raises(EnvironmentFailed, match=names):
        put(tmp_path / "target", archive(folder("."), member("first"), *members))

    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside", "target"]
    assert look_at(outside) == before
    assert (tmp_path / "target/first").read_text() == "data"


def test_links_that_lead_out_twins_and_duplicates_are_kept_as_they_are(tmp_path: Path) -> None:
    """cases.md 46."""
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    twins = (member("A"), member("a"), member("a"))

    put(tmp_path / "target", archive(link("away", str(outside)), *twins))

    assert (tmp_path / "target/away").readlink() == outside
    put(tmp_path / "target", archive(member("away")))
    assert sorted(look_at(tmp_path / "target")) == ["A", "a", "away"]
    assert (tmp_path / "target/away").read_text() == "data"
    assert outside.read_text() == "untouched"


def test_a_link_in_place_of_a_folder_gives_way(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / "target/sub").symlink_to(tmp_path / "outside")

    put(tmp_path / "target", archive(folder("sub"), member("sub/file")))

    assert (tmp_path / "target/sub/file").read_text() == "data"
    assert list((tmp_path / "outside").iterdir()) == []


def test_special_files_are_passed_over_and_noted(tmp_path: Path) -> None:
    """cases.md 45."""
    kinds = (tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, b"Z")
    odd = [member(f"sub/{number}", kind) for number, kind in enumerate(kinds)]

    came = put(tmp_path, archive(folder("sub"), *odd, member("kept")))

    assert sorted(look_at(tmp_path)) == ["kept", "sub"]
    assert came.skipped == ("sub/0", "sub/1", "sub/2", "sub/3")
    assert came.entries == 6


def test_modes_without_privileges_are_kept_and_a_closed_folder_is_filled(tmp_path: Path) -> None:
    modes = [folder("closed", 0o000), member("closed/file", mode=0o4000), member("s", mode=0o6755)]

    put(tmp_path, archive(*modes))

    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")} == {
        "closed": 0,
        "file": 0,
        "s": 0o755,
    }


def test_what_is_excluded_is_skipped_in_the_stream(tmp_path: Path) -> None:
    big = b"x" * (2 * HEADER_BYTES)
    packed = archive(member("a.log"), folder("b"), member("b/c"), member("d/e.log"), data=big)
    kept = archive(hard_link("twin", "a.log"), member("kept"))

    came = put(
        tmp_path, packed[: -2 * 512 - _filling(packed)] + kept, exclude=["*.log", "b", "none"]
    )

    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert came == Transfer(size_bytes=4, entries=2, skipped=("twin",))


def _filling(packed: bytes) -> int:
    """The zeros at the end beyond the two blocks that must be there."""
    return len(packed) - len(packed.rstrip(b"\0")) - (-len(packed.rstrip(b"\0")) % 512) - 1024


def endless_file() -> Iterator[bytes]:
    yield member("big", size=8**11 - 1).tobuf()
    yield from repeat(b"x" * MEGABYTE)


def endless_entries() -> Iterator[bytes]:
    yield from (member(f"file-{number}").tobuf() for number in count())


def deep() -> Iterator[bytes]:
    yield member("a/" * 100 + "file").tobuf(tarfile.PAX_FORMAT)


def copies() -> Iterator[bytes]:
    yield member("file", size=MEGABYTE).tobuf() + b"x" * MEGABYTE
    yield from (hard_link(f"copy-{number}", "file").tobuf() for number in count())


@pytest.mark.parametrize(
    ("stream", "limit"),
    [(endless_file, "bytes"), (endless_entries, "entries"), (deep, "entries"), (copies, "bytes")],
)
def test_limits_hold_while_it_streams(tmp_path: Path, stream: Any, limit: str) -> None:
    """Fails, by never ending, where they are looked at afterwards."""
    limits = TransferLimits(max_bytes=3 * MEGABYTE, max_entries=20)

    with pytest.raises(ArtifactOverBudget, match=limit):
        put(tmp_path, stream(), limits=limits)

    assert len(list(tmp_path.rglob("*"))) <= 20


def test_a_file_is_as_before_until_all_of_it_has_come(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")

    with pytest.raises(EnvironmentFailed, match=r"'file'.*cannot be unpacked|cannot be read"):
        put(tmp_path, archive(member("file"), data=b"x" * 100_000)[:60_000])

    assert look_at(tmp_path).keys() == {"file"}
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize("length", [0, 100, 512, 1024, 1536, 2048])
def test_an_archive_that_ends_too_early_is_an_error(tmp_path: Path, length: int) -> None:
    """Fails where tarfile's word is taken: it ends quietly between two members."""
    packed = archive(member("a"), member("b"))

    with pytest.raises(EnvironmentFailed, match=r"cut short|cannot be read|cannot be unpacked"):
        put(tmp_path / "target", packed[:length])


def test_breaking_off_works_in_the_middle(tmp_path: Path) -> None:
    calls = iter(range(100))

    def stop() -> None:
        if next(calls) == 5:
            raise ZeroDivisionError

    stream = io.BufferedReader(Pipe([archive(member("a"), data=bytes(10 * MEGABYTE))]))
    with pytest.raises(ZeroDivisionError):
        unpack(stream, tmp_path, check=stop)

    assert list(tmp_path.iterdir()) == []


HOSTILE = """
import io, sys, tarfile
from itertools import repeat
from pathlib import Path
from agentcompass.environments._tar import unpack
from tests.environments.test_tar import Pipe, check, member

def header(kind):
    info = member("x", kind, size=8**11 - 1)
    return info.tobuf(tarfile.GNU_FORMAT)

def endless(first):
    yield first
    yield b"999999999999\\n"
    yield from repeat(b"1\\n" * 50_000)

sparse = member("x", pax_headers={"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}, size=8**11-1)
streams = [header(kind) for kind in (b"L", b"K", b"x", b"g")] + [sparse.tobuf(tarfile.PAX_FORMAT)]
for first in streams:
    try:
        unpack(io.BufferedReader(Pipe(endless(first))), Path(sys.argv[1]), check=check)
    except Exception as error:
        print(type(error).__name__)
"""


def test_headers_that_never_end_take_no_memory(tmp_path: Path) -> None:
    """Fails, for want of memory, where tarfile reads as much as a header says."""
    bound = 600 * MEGABYTE

    def bind() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))

    done = subprocess.run(
        [sys.executable, "-c", HOSTILE, tmp_path],
        preexec_fn=bind,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.split() == ["EnvironmentFailed"] * 5


NAMES = st.sampled_from(
    [
        *("a", "b", "a/b", "a/b/c", ".", "./a", "..", "../outside/file", "a/../../outside/new"),
        *("/", "", "../target/x", "a//b", "a/./b", "x" * 120, "b/" + "../" * 8 + "etc/new"),
    ]
)
LEADS = st.one_of(NAMES, st.sampled_from(["../..", "../outside", "/etc/hostname", "OUTSIDE"]))
KINDS = st.sampled_from(
    [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE]
)
MEMBERS = st.lists(st.tuples(NAMES, KINDS, LEADS, st.integers(0, 0o7777)), max_size=8)


@given(MEMBERS, st.sampled_from([".", "a"]))
@settings(deadline=None)
def test_no_members_write_outside_the_target(
    members: list[tuple[str, bytes, str, int]], root: str
) -> None:
    """cases.md 46. Fails without the look for links on the way, or for `..` in a hard link."""
    with TemporaryDirectory() as top:
        outside, target = Path(top, "outside"), Path(top, "target")
        outside.mkdir()
        (outside / "file").write_text("untouched")
        before = (look_at(outside), outside.stat().st_mtime_ns, (outside / "file").stat())
        packed = archive(
            *[
                member(name, kind, mode=mode, linkname=leads.replace("OUTSIDE", str(outside)))
                for name, kind, leads, mode in members
            ]
        )
        with suppress(EnvironmentFailed):
            put(target, packed, root=root)

        assert (look_at(outside), outside.stat().st_mtime_ns, (outside / "file").stat()) == before
        assert {path.name for path in Path(top).iterdir()} <= {"outside", "target"}
        assert not target.is_symlink()
        subprocess.run(["chmod", "-R", "u+rwx", top], check=True)


@given(st.binary(max_size=1500), st.integers(0, 3000), st.binary(min_size=1, max_size=40))
@settings(deadline=None)
def test_any_bytes_are_an_archive_or_an_error_of_ours(
    noise: bytes, place: int, bits: bytes
) -> None:
    """Fails where what tarfile trips over comes through: a broken number, a missing keyword."""
    whole = archive(member("a", pax_headers={"path": "ä" * 200, "mtime": "1.5"}), link("b", "c"))
    for stream in (noise, whole[:place] + bits + whole[place + len(bits) :]):
        with TemporaryDirectory() as top:
            with suppress(EnvironmentFailed):
                put(Path(top, "target"), stream)
            subprocess.run(["chmod", "-R", "u+rwx", top], check=True)
