"""Runs in the interpreter of Inspect: what PyPI `inspect-ai` reads in exported logs, as JSON.

    INSPECT_PYTHON inspect_logs.py OUT LOG...

Each log is read whole, by its header and by the summaries of its samples, and written and read
once more, which must change nothing.
"""

import json
import sys
import tempfile
from pathlib import Path

from inspect_ai.log import (
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
    write_eval_log,
)


def plain(log):
    """All that the log says, but for where it lies."""
    return {**log.model_dump(mode="json"), "location": ""}


def read(path):
    """What Inspect makes of one log; an assertion fails where its ways of reading disagree."""
    log = read_eval_log(path)
    header = read_eval_log(path, header_only=True)
    assert plain(header) == {**plain(log), "samples": None}
    listed = {(row.id, row.epoch): row for row in read_eval_log_sample_summaries(path)}
    assert listed.keys() == {(sample.id, sample.epoch) for sample in log.samples}
    for sample in log.samples:
        one = read_eval_log_sample(path, id=sample.id, epoch=sample.epoch)
        assert one.model_dump() == sample.model_dump()
        row = listed[sample.id, sample.epoch]
        assert row.message_count == len(sample.messages)
        assert row.error == (sample.error and sample.error.message)
    with tempfile.TemporaryDirectory() as folder:
        again = str(Path(folder) / Path(path).name)
        write_eval_log(log, again)
        assert plain(read_eval_log(again)) == plain(log)
    return plain(log)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps({path: read(path) for path in sys.argv[2:]}))
