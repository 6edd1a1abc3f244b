"""A model without a network: its replies come from a script, or from an earlier run's record."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar, Self

import attrs
import trio

from agentcompass.deadlines import deadline
from agentcompass.errors import ConfigInvalid, ModelFailed
from agentcompass.models import _params
from agentcompass.models._faults import ModelTimeout
from agentcompass.models._meter import Meter
from agentcompass.models._recorded import RecordedPlayback, Source
from agentcompass.models._script import Script, Scripts, read_scripts
from agentcompass.records.exchange import RecordedReplies
from agentcompass.records.model import Reply
from agentcompass.records.request import ModelSpec

_NO_FILE = (
    "--model-params: the protocol replay needs a path to its replies, "
    "since the benchmark ships none"
)


@attrs.frozen(kw_only=True)
class ReplayParams(_params.Common):
    """The parameters of `replay`; there are no others."""

    path: str | None = attrs.field(
        default=None,
        metadata={"help": "The replies, or a run directory; null is what the benchmark ships."},
    )
    strict: bool = attrs.field(
        default=False,
        metadata={"help": "Of a run: answer only the requests that were recorded."},
    )


class Replay:
    """Replays JSON lines: `{"task_id": "..." or "*", "attempt": n, "messages": [...]}`.

    `messages` are assistant messages in OpenAI chat form, each also as `{"message": ..., "usage":
    ..., "finish_reason": ...}`; `delay_seconds` is slept before each. `attempt` may be left out.
    The file is the model parameter `path`, by default what the benchmark ships. Where `path` is a
    run directory, its recorded calls are replayed, with `strict` the same requests only.
    """

    id: ClassVar[str] = "replay"
    description: ClassVar[str] = "Replies from a script, or from a recorded run; needs no network"
    Params: ClassVar[type[Any]] = ReplayParams

    def __init__(
        self, spec: ModelSpec, *, replies: Path | RecordedReplies | None, connections: int
    ) -> None:
        """`replies` are a script or recorded calls; any number of calls may run at once."""
        self.spec = spec
        self._shipped = replies if isinstance(replies, Path) else None
        self._source: Source | None = None
        if replies is not None and not isinstance(replies, Path):
            self._source = Source(calls=replies, strict=bool(spec.params.get("strict")))
        self._scripts: Scripts | None = None

    async def preflight(self) -> None:
        """Raise `ConfigInvalid` where there is no file, or with every line that cannot be used."""
        if found := [*self._param_faults(), *_params.faults(self.spec.params)]:
            raise ConfigInvalid(found)
        if self._source is None:
            self._scripts = await trio.to_thread.run_sync(read_scripts, self._path())

    async def __aenter__(self) -> Self:
        if self._scripts is None and self._source is None:
            await self.preflight()
        return self

    async def __aexit__(self, *exc: object) -> None:
        return

    def conversation(self, task_id: str, attempt: int) -> "Playback | RecordedPlayback":
        """A fresh conversation: a script starts over, of a run it is the next execution."""
        if self._source is not None:
            return RecordedPlayback(source=self._source, task_id=task_id, attempt=attempt)
        return Playback(
            task_id=task_id,
            attempt=attempt,
            script=self._scripts.find(task_id, attempt) if self._scripts else None,
            request_timeout=_params.request_timeout(self.spec.params),
        )

    def _param_faults(self) -> list[str]:
        params = self.spec.params
        known = {field.name for field in attrs.fields(ReplayParams)}
        known -= {"strict"} if self._source is None else set()
        found = [
            f"--model-params: {name} means nothing to the protocol replay of a"
            f" {'script' if self._source is None else 'run'}; known: {', '.join(sorted(known))}"
            for name in sorted(params.keys() - known - _params.ELSEWHERE.keys())
        ]
        if self._source is not None and not isinstance(params.get("strict", False), bool):
            found.append(f"--model-params: strict is true or false, not {params['strict']!r}")
        return found

    def _path(self) -> Path:
        path = self.spec.params.get("path", self._shipped)
        if path is None:
            raise ConfigInvalid([_NO_FILE])
        if not isinstance(path, str | Path) or not str(path):
            raise ConfigInvalid([f"--model-params: path must be text, not {path!r}"])
        return Path(path).expanduser()


@attrs.define(kw_only=True)
class Playback:
    """One conversation on its way through a script."""

    task_id: str
    attempt: int
    script: Script | None
    request_timeout: float | None
    meter: Meter = attrs.field(factory=Meter)
    _step: int = attrs.field(init=False, default=0)

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Reply:
        """The next reply, whatever was said; raises `ModelFailed` where there is none."""
        self._step += 1
        reply, delay = self._next()
        started = trio.current_time()
        with self.meter.call() as bill:
            with deadline(
                self.request_timeout, stretch="model call (request_timeout)", error=ModelTimeout
            ):
                await trio.sleep(delay)
            bill.usage, bill.good = reply.usage, True
        seconds = trio.current_time() - started
        return attrs.evolve(reply, message=deepcopy(reply.message), seconds=seconds)

    def spent(self) -> Mapping[str, Any]:
        """What the replies so far would have taken, as telemetry."""
        return self.meter.telemetry()

    def _next(self) -> tuple[Reply, float]:
        where = f"task {self.task_id!r}, attempt {self.attempt}"
        if self.script is None:
            raise ModelFailed(f"the replies hold nothing for {where}")
        if self._step > len(self.script.replies):
            raise ModelFailed(
                f"the replies for {where} have run out at step {self._step}: "
                f"they hold {len(self.script.replies)}"
            )
        return self.script.replies[self._step - 1], self.script.delay_seconds
