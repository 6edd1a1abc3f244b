"""A run as an evaluation log of Inspect (PyPI inspect-ai), `.eval` or `.json`; blocking.

An `.eval` is a zip: `header.json`, `summaries.json` with what a list of samples shows, and each
sample in `samples/<id>_epoch_<n>.json`. A `.json` is one object with the samples last.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import attrs

from agentcompass.exporting.atif import agent_of
from agentcompass.exporting.attempts import Finished, Source, finished_attempts, trajectory
from agentcompass.exporting.inspect_header import Tally, header_of, log_name
from agentcompass.exporting.inspect_sample import sample_of, summary_of
from agentcompass.exporting.text import document
from agentcompass.records.metrics import MetricReport
from agentcompass.summarizing.recorded import Recorded, read_run
from agentcompass.summarizing.report import report_on

SUFFIXES = (".eval", ".json")


def write_log(source: Source, target: Path) -> Path:
    """Write `target`, by its suffix; into a folder, an `.eval` with a name as Inspect gives it.

    Returns the file. Raises `UsageError` for what is no run or has metrics that do not fit.
    """
    run = read_run(source.directory)
    run.request = source.redactor.record(run.request)
    log = _Log(source=source, run=run, report=report_on(run, {}))
    if target.suffix not in SUFFIXES:
        target /= f"{log_name(run)}.eval"
    with target.open("wb") as file, tempfile.TemporaryFile(dir=target.parent) as spool:
        write = log.write_json if target.suffix == ".json" else log.write_eval
        write(file, _List(spool))
    return target


@attrs.define(eq=False)
class _List:
    """A JSON list that is gathered in a file."""

    file: IO[bytes]

    def add(self, value: Any) -> None:
        self.file.write(b"," if self.file.tell() else b"[")
        self.file.write(document(value))

    def pour(self, into: IO[bytes]) -> None:
        """Write the whole list, and add no more to it."""
        self.file.write(b"]" if self.file.tell() else b"[]")
        self.file.seek(0)
        shutil.copyfileobj(self.file, into)


@attrs.define(kw_only=True, eq=False)
class _Log:
    source: Source
    run: Recorded
    report: MetricReport
    tally: Tally = attrs.field(factory=Tally)

    def write_json(self, file: IO[bytes], spool: _List) -> None:
        for sample in self._samples():
            spool.add(sample)
        file.write(document(self._header())[: -len(b"}\n")] + b',"samples":')
        spool.pour(file)
        file.write(b"}\n")

    def write_eval(self, file: IO[bytes], spool: _List) -> None:
        with ZipFile(file, "w") as archive:
            for sample in self._samples():
                name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
                archive.writestr(_member(name), document(sample))
                spool.add(summary_of(sample))
            with archive.open(_member("summaries.json"), "w", force_zip64=True) as summaries:
                spool.pour(summaries)
            archive.writestr(_member("header.json"), document(self._header()))

    def _samples(self) -> Iterator[dict[str, Any]]:
        agent, redactor = agent_of(self.source), self.source.redactor
        for found in finished_attempts(self.source):
            if isinstance(found, Finished):
                steps = redactor.record(trajectory(found, agent))
                sample = redactor.known(sample_of(found, steps, self.run.model_id))
                self.tally.count(sample)
                yield sample

    def _header(self) -> Any:
        return self.source.redactor.known(header_of(self.run, self.report, self.tally))


def _member(name: str) -> ZipInfo:
    """A file of the archive, with one date for all, so that the same run gives the same bytes."""
    member = ZipInfo(name)
    member.compress_type = ZIP_DEFLATED
    return member
