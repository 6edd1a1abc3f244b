"""The rows of SWE-bench as they lie in files; what is wrong with one is that row's fault."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import attrs

from agentcompass.errors import DependencyMissing, RecordCorrupt, UsageError
from agentcompass.records.convert import structure_record

START_MARK, END_MARK = ">>>>> Start Test Output", ">>>>> End Test Output"

_TESTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
_NEWER = ("image", "eval_script", "log_parser", "eval_type")


def _is(pattern: str, what: str) -> Any:
    """A validator of text: all of it matches, or `what` it is not is said."""

    def check(_instance: object, attribute: "attrs.Attribute[Any]", value: str) -> None:
        if not re.fullmatch(pattern, value, re.DOTALL):
            raise ValueError(f"{attribute.name} {value!r:.60} is not {what}")

    return check


_filled = _is(r".*\S.*", "a text of any characters")
_trimmed = _is(r"\S|\S.*\S", "a text without white space around it")
_commit = _is(r"[0-9a-f]{40}", "a commit of 40 hexadecimal digits")
_project = _is(r"[\w.-]+/[\w.-]+", "OWNER/NAME")


def _one_test(_instance: object, attribute: "attrs.Attribute[Any]", value: Sequence[str]) -> None:
    if not value:
        raise ValueError(f"{attribute.name} names no test: every patch would resolve the task")


def _marked(_instance: object, attribute: "attrs.Attribute[Any]", value: str) -> None:
    after = value.partition(START_MARK)[2].partition("\n")[2]
    if END_MARK not in after:
        raise ValueError(
            f"{attribute.name} lacks the marks {START_MARK!r} and {END_MARK!r}, each in its line"
        )


def _writable(_instance: object, attribute: "attrs.Attribute[Any]", value: str) -> None:
    if re.search("[\0\ud800-\udfff]", value):
        raise ValueError(
            f"{attribute.name} has half a character, or NUL, which no file of text has"
        )


_optional = attrs.validators.optional


@attrs.frozen(kw_only=True)
class Row:
    """One task, by the column names of the public data set; its other columns have no effect.

    The last four came with version 5 of the `swebench` package. Without `eval_script` the commands
    are those that version 4 has for `version` of `repo`.
    """

    instance_id: str = attrs.field(validator=_trimmed)
    repo: str = attrs.field(validator=_project)
    base_commit: str = attrs.field(validator=_commit)
    problem_statement: str = attrs.field(validator=(_filled, _writable))
    test_patch: str = attrs.field(validator=(_filled, _writable))
    version: str
    FAIL_TO_PASS: tuple[str, ...] = attrs.field(validator=_one_test)
    PASS_TO_PASS: tuple[str, ...]
    patch: str | None = attrs.field(default=None, validator=_optional(_writable))
    hints_text: str | None = attrs.field(default=None, validator=_optional(_writable))
    image: str | None = attrs.field(default=None, validator=_optional(_trimmed))
    eval_script: str | None = attrs.field(default=None, validator=_optional((_marked, _writable)))
    log_parser: str | None = None
    eval_type: Literal["pass_and_fail", "fail_only"] = "pass_and_fail"

    def __attrs_post_init__(self) -> None:
        """Refuse half of what belongs together."""
        if self.eval_script is not None and not self.log_parser:
            raise ValueError("log_parser is required beside eval_script")


@attrs.frozen(kw_only=True)
class Read:
    """One row as it was read: `row`, or the `fault` that names its `place` and field."""

    task_id: str
    place: str
    row: Row | None = None
    fault: str | None = None


def read_rows(folder: Path) -> list[Read]:
    """Every row of every file in `folder`, in order of file names; hidden files are passed over.

    Blocking. Raises `UsageError` where there is no file of rows, or for one that is not such a
    file as a whole.
    """
    files = sorted(file for file in folder.glob("[!.]*") if file.suffix in _READERS)
    if not files:
        raise UsageError(f"no rows: looked for {', '.join(f'*{s}' for s in _READERS)} in {folder}")
    return [_read(value, f"{file.name} row {n}") for file in files for n, value in _values(file)]


def _values(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        yield from enumerate(_READERS[file.suffix](file), 1)
    except (OSError, ValueError) as error:  # JSON's and pyarrow's faults are ValueErrors too
        raise UsageError(f"{file} cannot be read as rows: {error}") from error


def _json_lines(file: Path) -> Iterator[Any]:
    for line in file.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if line.strip():
            yield _json_line(line)


def _json_line(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return error


def _json(file: Path) -> Sequence[Any]:
    rows = json.loads(file.read_text("utf-8-sig"))
    if not isinstance(rows, list):
        raise ValueError("expected a list of rows")
    return rows


def _parquet(file: Path) -> Sequence[Any]:
    try:
        parquet = import_module("pyarrow.parquet")  # 100 MB, and needed for these files alone
    except ModuleNotFoundError as error:
        raise DependencyMissing(
            f"{file} needs the package 'pyarrow': pip install 'agentcompass[parquet]'"
        ) from error
    rows: list[Any] = parquet.read_table(file).to_pylist()
    return rows


_READERS = {".jsonl": _json_lines, ".json": _json, ".parquet": _parquet}


def _read(value: Any, place: str) -> Read:
    if isinstance(value, Exception):
        return Read(task_id=place, place=place, fault=f"{place}: not JSON: {value}")
    name = value.get("instance_id") if isinstance(value, Mapping) else None
    task_id = name.strip() if isinstance(name, str) and name.strip() else place
    try:
        row = structure_record(_as_columns(value), Row, source=place)
    except RecordCorrupt as error:
        return Read(task_id=task_id, place=place, fault=str(error))
    return Read(task_id=task_id, place=place, row=row)


def _as_columns(value: Any) -> Any:
    """The lists of tests as lists, which public files have as JSON in a text.

    Without the columns that are only there because other rows of the file fill them.
    """
    if not isinstance(value, Mapping):
        return value
    texts = {name: value[name] for name in _TESTS if isinstance(value.get(name), str)}
    filled = {name: cell for name, cell in value.items() if cell is not None or name not in _NEWER}
    return {**filled, **{name: _list(text) for name, text in texts.items()}}


def _list(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # refused with its field
