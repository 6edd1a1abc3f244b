"""Which protocol a request's model is spoken to in, checked before anything is created."""

from pathlib import Path
from typing import TYPE_CHECKING

import trio

from agentcompass.abilities import PricesCalls, TalksItself
from agentcompass.errors import UsageError
from agentcompass.protocols import Benchmark, Harness, Model
from agentcompass.records.model import Usage
from agentcompass.records.request import RunRequest
from agentcompass.registry import known, load
from agentcompass.store.redact import Redactor

if TYPE_CHECKING:
    from agentcompass.store.recorded_calls import RecordedCalls

# The protocol that needs no endpoint, whichever others a harness speaks.
REPLAY = "replay"


async def choose_model(
    request: RunRequest, benchmark: Benchmark, harness: Harness | None, redactor: Redactor
) -> Model | None:
    """A model that speaks a protocol which is wanted and which the harness speaks; None needs none.

    Raises `UsageError` where there is none, or where no call could be made, recorded or paid for.
    """
    if harness is not None and not harness.needs_model:
        return None
    if isinstance(harness, TalksItself) and request.model.params.get("record"):
        raise UsageError(
            f"--model-params: record: harness {request.harness.id!r} runs a program that calls the"
            " model itself, so that there is nothing to record"
        )
    protocol = _protocol(request, harness)
    recorded = None
    if protocol == REPLAY:
        recorded = await trio.to_thread.run_sync(_recorded_calls, request, redactor)
    model: Model = load("model", protocol)(
        request.model,
        replies=benchmark.replies if recorded is None else recorded,
        connections=request.execution.task_concurrency,
    )
    await model.preflight()
    _check_price(request, model)
    return model


def _recorded_calls(request: RunRequest, redactor: Redactor) -> "RecordedCalls | None":
    """Those of the earlier run that is to be replayed; None where it is a script."""
    path = request.model.params.get("path")
    if not path or not isinstance(path, str) or not (where := Path(path).expanduser()).is_dir():
        return None
    from agentcompass.store.recorded_calls import open_recorded_calls

    return open_recorded_calls(where, request.benchmark.id, redactor)


def _protocol(request: RunRequest, harness: Harness | None) -> str:
    """The first wanted protocol that the harness speaks; with no wish, the harness's first."""
    spoken = ("openai-chat", *known("model")) if harness is None else tuple(harness.protocols)
    if not isinstance(harness, TalksItself):
        spoken = tuple(dict.fromkeys((*spoken, REPLAY)))  # to who asks through us, all answer alike
    wanted = request.model.api_protocol
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    names = tuple(name for name in names if name not in ("", "auto"))
    if not names:
        return spoken[0]
    for name in names:
        load("model", name)
    chosen = next((name for name in names if name in spoken), None)
    if chosen is None:
        raise UsageError(
            f"--model-api-protocol: harness {request.harness.id!r} speaks"
            f" {', '.join(spoken)}, not {', '.join(names)}"
        )
    return chosen


def _check_price(request: RunRequest, model: Model) -> None:
    """Refuse a budget in dollars where no price is known: it could bound nothing."""
    options = request.execution
    budgets = {"attempt_budget": options.attempt_budget, "run_budget": options.run_budget}
    asked = [name for name, budget in budgets.items() if budget.max_cost_usd is not None]
    nothing = Usage(prompt_tokens=0, completion_tokens=0)
    if asked and isinstance(model, PricesCalls) and model.cost(nothing) is None:
        raise UsageError(
            f"--execution-params: {asked[0]}.max_cost_usd cannot be held, since no price of model"
            f" {request.model.id!r} is known; give it in US dollars for a million tokens:"
            """ --model-params '{"prices": {"input": ..., "output": ...}}'"""
        )
