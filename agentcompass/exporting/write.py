"""Writes a run for another program, in one of the formats; the run is only read."""

from collections.abc import Callable, Mapping
from pathlib import Path

from agentcompass.errors import UsageError
from agentcompass.exporting.atif import write_atif
from agentcompass.exporting.attempts import Source
from agentcompass.exporting.copy import write_copy
from agentcompass.exporting.inspect_log import SUFFIXES, write_log
from agentcompass.exporting.target import check_target, made_at_once
from agentcompass.store.atomic import named_errors

FORMATS: Mapping[str, Callable[[Source, Path], Path]] = {
    "peer": write_copy,
    "atif": write_atif,
    "inspect": write_log,
}


def write_export(
    source: Source, target: Path, *, form: str, spell: Callable[[str], str] = str
) -> Path:
    """Write `target` from the run, in one of `FORMATS`, and return what was written; blocking.

    `target`, a folder or with `inspect` also a file, is there whole or not at all. Raises
    `UsageError` where the target or the run will not do, and `StoreError` where something cannot
    be read or written.
    """
    if form not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f"{spell('format')}: {form!r} is not known; known: {known}")
    name = target.name if form == "inspect" and target.suffix in SUFFIXES else ""
    kind = "file" if name else "folder"
    check_target(source.directory, target, kind=kind, label=spell("output"))
    with named_errors(target), made_at_once(target, name=name) as folder:
        written = FORMATS[form](source, folder / name)
    return target / written.relative_to(folder / name)
