"""Evaluations over HTTP, on trio: start them, ask how they stand, follow their events, end them.

    pip install hypercorn starlette   # beside agentcompass
    python service.py 127.0.0.1:8080 results

POST    /evaluations             the keywords of `open_evaluation` as JSON
GET     /evaluations/ID          how it stands, and what came out
GET     /evaluations/ID/events   its events, one JSON object a line, until it ends
DELETE  /evaluations/ID          cancels it; answers once it is cleaned up

There are no users and no passwords: whoever reaches the port may run commands on this machine.
"""

import json
import logging
import signal
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import attrs
import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agentcompass import (
    AgentCompassError,
    Evaluation,
    EventsDropped,
    ProgressEvent,
    RequestError,
    UsageError,
    open_evaluation,
)

ENDED_KEPT = 100

log = logging.getLogger(__name__)


@attrs.define(eq=False)
class Service:
    """The evaluations by id. Each runs in a task of `nursery`, and ends with it at the latest."""

    nursery: trio.Nursery
    results_dir: str
    evaluations: dict[str, Evaluation] = attrs.field(factory=dict)

    async def create(self, request: Request) -> Response:
        """Start one; answered once its settings are checked."""
        try:
            settings = await request.json()
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the body is no JSON: {error}") from error
        if not isinstance(settings, dict) or {"results_dir", "log_file"} & settings.keys():
            raise UsageError("expected an object of settings, without results_dir and log_file")
        name = await self.nursery.start(self._hold, settings)
        told = await how_it_stands(name, self.evaluations[name])
        return Answer(told, status_code=201, headers={"Location": f"/evaluations/{name}"})

    async def show(self, request: Request) -> Response:
        """How it stands, and what came out."""
        return Answer(await how_it_stands(*self._asked_for(request)))

    async def events(self, request: Request) -> Response:
        """The events that are still held, and those that follow."""
        _, evaluation = self._asked_for(request)
        return StreamingResponse(Lines(evaluation.events()), media_type="application/x-ndjson")

    async def cancel(self, request: Request) -> Response:
        """End it; answered once it is cleaned up."""
        name, evaluation = self._asked_for(request)
        evaluation.cancel()
        with suppress(AgentCompassError):
            await evaluation.result()
        return Answer(await how_it_stands(name, evaluation))

    async def _hold(
        self, settings: dict[str, Any], task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED
    ) -> None:
        name = uuid.uuid4().hex
        try:
            async with open_evaluation(**settings, results_dir=self.results_dir) as evaluation:
                self.evaluations[name] = evaluation
                task_status.started(name)
                with suppress(AgentCompassError):  # whoever asks for the evaluation is told
                    await evaluation.result()
        except Exception:
            if name not in self.evaluations:
                raise  # to the client
            log.exception("evaluation %s met a bug; the others go on", name)
        self._forget()

    def _forget(self) -> None:
        ended = [name for name, evaluation in self.evaluations.items() if evaluation.has_ended]
        for name in ended[:-ENDED_KEPT]:
            del self.evaluations[name]

    def _asked_for(self, request: Request) -> tuple[str, Evaluation]:
        name = request.path_params["name"]
        if name not in self.evaluations:
            raise HTTPException(404, f"there is no evaluation {name!r}")
        return name, self.evaluations[name]


class Answer(JSONResponse):
    """JSON in ASCII, which holds any text that a client may have sent."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, default=str).encode()


@attrs.define
class Lines(AsyncIterator[str]):
    """Events as lines of JSON. A client that reads slowly is told how many it missed."""

    events: AsyncIterator[ProgressEvent | EventsDropped]

    async def __anext__(self) -> str:
        event = await anext(self.events)
        return json.dumps(attrs.asdict(event), default=str) + "\n"


async def how_it_stands(name: str, evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as the service tells of it."""
    said: dict[str, Any] = {
        "id": name,
        "ended": evaluation.has_ended,
        "run_dir": evaluation.run_dir and str(evaluation.run_dir),
        "progress": attrs.asdict(evaluation.progress),
    }
    if evaluation.has_ended:
        try:
            result = await evaluation.result()
        except AgentCompassError as error:
            said["error"] = str(error)
            result = dict(error.result) if isinstance(error, RequestError) else {}
        said["summary"] = result.get("summary")
    return said


async def refuse(_request: Request, error: Exception) -> Response:
    """Tell the client what it has to change."""
    status, headers = getattr(error, "status_code", 400), getattr(error, "headers", None)
    return Answer({"error": str(error)}, status_code=status, headers=headers)


def make_app(service: Service) -> Starlette:
    """The HTTP side of a service."""
    return Starlette(
        routes=[
            Route("/evaluations", service.create, methods=["POST"]),
            Route("/evaluations/{name}", service.show, methods=["GET"]),
            Route("/evaluations/{name}/events", service.events, methods=["GET"]),
            Route("/evaluations/{name}", service.cancel, methods=["DELETE"]),
        ],
        exception_handlers=dict.fromkeys((UsageError, ClientDisconnect, HTTPException), refuse),
    )


async def main(address: str, results_dir: str) -> None:
    """Serve until SIGINT or SIGTERM; then end what runs, and clean it up."""
    config = Config()
    config.bind = [address]
    asked_to_end = trio.Event()
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:

        async def listen() -> None:
            async for _ in signals:  # also those that follow, which end no cleanup
                asked_to_end.set()

        async with trio.open_nursery() as listener:
            listener.start_soon(listen)
            async with trio.open_nursery() as nursery:
                app: Any = make_app(Service(nursery, results_dir))
                await serve(app, config, shutdown_trigger=asked_to_end.wait)
                nursery.cancel_scope.cancel()
            listener.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main, sys.argv[1], sys.argv[2])
