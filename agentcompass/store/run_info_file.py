"""run_info.json member by member: its plans, megabytes of a long run, are neither parsed nor held.

That goes by lines, where the file is written as this store and the peer write it: indented by two
spaces, so that only its own members stand behind exactly two, and no string holds a line end. Any
other file is parsed whole.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

from agentcompass.errors import RecordCorrupt
from agentcompass.store.atomic import (
    Disk,
    named_errors,
    open_regular,
    read_record,
    replace_file,
    write_record,
)
from agentcompass.store.encode import decode, encode

_PLANS = b"resolved_execution_plans"
_BEGIN = b"{\n"
_MEMBER = b'  "'
_AFTER_MEMBER = re.compile(rb'\n(?=  "|[^ ])')
_LONGEST_AFTER = 3  # bytes of such a match that may stand before a block
_BLOCK = 1 << 20


def read_without_plans(path: Path) -> Any:
    """What the file holds but for the plans, which may be there all the same; None without a file.

    Raises as `read_record` does.
    """
    with named_errors(path):
        try:
            with open_regular(path) as file:
                data = b"".join(_without_plans(file))
        except FileNotFoundError:
            return None
    try:
        return decode(data, source=str(path))
    except RecordCorrupt:
        return read_record(path)


def _without_plans(file: BinaryIO) -> Iterator[bytes]:
    for name, line in _by_member(file):
        if name == _PLANS:
            _skip_member(file)
        else:
            yield line


def _skip_member(file: BinaryIO) -> None:
    """Go on behind the member whose first line was read; by blocks, since its lines are many."""
    before = b"\n"
    while block := file.read(_BLOCK):
        data = before + block
        if found := _AFTER_MEMBER.search(data):
            file.seek(found.start() + 1 - len(data), os.SEEK_CUR)
            return
        before = data[-_LONGEST_AFTER:]


def set_member(disk: Disk, path: Path, name: str, value: Any) -> None:
    """Replace the file by one in which its member `name` is `value`, and the others are as before.

    Raises `StoreError`, also where it is no JSON object; the file is then as it was.
    """
    wanted, names = name.encode(), _names(path)
    has_place = wanted in names or max(names, default=b"") > wanted
    if not has_place:  # which no member has in a file of another form
        record = read_record(path)
        if not isinstance(record, dict):
            raise RecordCorrupt(f"{path}: expected an object")
        write_record(disk, path, {**record, name: value}, sort_keys=True)
        return
    text = encode({name: value}, sort_keys=True).removeprefix(_BEGIN).removesuffix(b"\n}\n")
    with named_errors(path), open_regular(path) as file:
        replace_file(disk, path, _changed(file, wanted, text, is_there=wanted in names))


def _names(path: Path) -> set[bytes]:
    """The names of its members; none where that is in doubt, as in a file edited by hand."""
    name, data = b"", bytearray()
    names: set[bytes] = set()
    with named_errors(path), open_regular(path) as file:
        for name, line in _by_member(file):
            names.add(name)
            data += line if name != _PLANS else b""
    try:
        record = decode(bytes(data), source=str(path))
    except RecordCorrupt:
        return set()
    ends_alone = name == b"" and isinstance(record, dict)
    parsed = {key.encode(errors="surrogatepass") for key in record} if ends_alone else set()
    return names if parsed == names - {b"", _PLANS} else set()


def _by_member(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each line with the name of its member; without one outside, and in a file of another form."""
    name, in_form = b"", False
    for number, line in enumerate(lines):
        if number < 2:
            in_form = line == _BEGIN if number == 0 else in_form and line.startswith(_MEMBER)
        if line.startswith(_MEMBER):
            name = line[len(_MEMBER) :].partition(b'"')[0]
        elif not line.startswith(b" "):
            name = b""
        yield name if in_form else b"", line


def _changed(
    lines: Iterable[bytes], wanted: bytes, text: bytes, *, is_there: bool
) -> Iterator[bytes]:
    """The lines with `text` for the member `wanted`, or before the first that sorts after it."""
    for name, member in groupby(_by_member(lines), key=itemgetter(0)):
        if name == wanted:
            *_, (_, last) = member
            yield text + (b",\n" if last.rstrip().endswith(b",") else b"\n")
            continue
        if not is_there and name > wanted:
            is_there = True
            yield text + b",\n"
        yield from (line for _, line in member)
