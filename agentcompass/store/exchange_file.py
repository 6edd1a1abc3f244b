"""exchanges.jsonl of one attempt: the calls of its model, one a line, only ever appended to."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import trio

from agentcompass.progress.event_file import open_for_append
from agentcompass.records.exchange import EXCHANGE_SCHEMA, Asked, Exchange, Marks
from agentcompass.store.atomic import Disk, named_errors
from agentcompass.store.encode import decode, dump, plain
from agentcompass.store.redact import Redactor
from agentcompass.store.shortening import Digests, digests, mark, shortened


def marks_of(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], redactor: Redactor
) -> Marks:
    """The digests of a request, of what is left of it once it is masked; blocking."""
    return Marks(
        messages=tuple(mark(redactor.known(message)) for message in messages),
        tools=mark(redactor.known(list(tools))),
    )


def masked_lines(data: bytes, redactor: Redactor) -> bytes:
    """The whole lines of a file, without what has become known to be secret since then.

    Raises `RecordCorrupt` where a line has to be masked and cannot be read.
    """
    lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
    return b"".join(
        dump(redactor.known(decode(line, source="a recorded call")), indent=False)
        if redactor.known_in(line)
        else line
        for line in lines
    )


@attrs.define(kw_only=True, eq=False)
class ExchangeFile:
    """Appends the calls of one execution, in the order in which they end.

    A line leaves out of its request what stood in the line before it, so that the file grows with
    the conversation, not with its square.
    """

    path: Path
    redactor: Redactor
    disk: Disk
    limiter: trio.CapacityLimiter
    _before: dict[str, Digests] = attrs.field(factory=dict, init=False)
    _turn: trio.Lock = attrs.field(factory=trio.Lock, init=False)

    async def append(self, exchange: Exchange, asked: Asked) -> None:
        """Write one call, masked; raises `StoreError`, and the next one starts on a fresh line."""
        async with self._turn:  # a line is told from the one before
            await trio.to_thread.run_sync(self._append, exchange, asked, limiter=self.limiter)

    def _append(self, exchange: Exchange, asked: Asked) -> None:
        before, self._before = self._before, {}  # nothing is left out after one that fails
        with named_errors(self.path):
            now, line = self._line(exchange, asked, before)
            self.disk.make_folders(self.path.parent)
            file = open_for_append(self.path, self.disk)
            try:
                self.disk.write(file, line)
            finally:
                os.close(file)
        self._before = now

    def _line(
        self, exchange: Exchange, asked: Asked, before: Mapping[str, Digests]
    ) -> tuple[dict[str, Digests], bytes]:
        marks = marks_of(asked.messages, asked.tools, self.redactor)
        # Names mean nothing in a reply: a harness has to get back what it was given.
        record = self.redactor.known(plain(exchange))
        record = {"schema_version": EXCHANGE_SCHEMA, **record}
        parts = {"marks": plain(marks), "body": self.redactor.record(plain(asked.body))}
        now = {name: digests(whole) for name, whole in parts.items()}
        for name, whole in parts.items():
            record[name] = shortened(whole, now[name], before.get(name, {}))
        return now, dump(record, indent=False)
