"""What a model says, in each protocol, whole and as a stream; checked with the vendors' clients."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import h11
import trio

from tests.loopback import Act, Exchange, answer

USAGE = {"prompt": 100, "cached": 40, "completion": 20, "reasoning": 5}


@attrs.frozen(kw_only=True)
class Said:
    """One reply: text, what was thought before, tool calls as (id, name, arguments)."""

    text: str | None = "hi"
    thought: str = ""
    calls: Sequence[tuple[str, str, str]] = ()
    finish: str = "stop"


def chat_body(said: Said) -> dict[str, Any]:
    """A chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.thought:
        message["reasoning_content"] = said.thought
    if said.calls:
        message["tool_calls"] = [
            {"id": call, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call, name, arguments in said.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": said.finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], "usage": _chat_usage()}


def chat_events(said: Said) -> list[Any]:
    """The same as chunks."""

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**head, "choices": [choice]}

    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [chunk({"role": "assistant", "content": "" if said.text else None})]
    events += [chunk({"reasoning_content": piece}) for piece in said.thought]
    events += [chunk({"content": piece}) for piece in said.text or ""]
    for index, (call, name, arguments) in enumerate(said.calls):
        function = {"name": name, "arguments": ""}
        first = {"index": index, "id": call, "type": "function", "function": function}
        events.append(chunk({"tool_calls": [first]}))
        for piece in arguments:
            more = {"index": index, "function": {"arguments": piece}}
            events.append(chunk({"tool_calls": [more]}))
    events.append(chunk({}, said.finish))
    return [*events, {**head, "choices": [], "usage": _chat_usage()}]


def _chat_usage() -> dict[str, Any]:
    return {
        "prompt_tokens": USAGE["prompt"],
        "completion_tokens": USAGE["completion"],
        "total_tokens": USAGE["prompt"] + USAGE["completion"],
        "prompt_tokens_details": {"cached_tokens": USAGE["cached"]},
        "completion_tokens_details": {"reasoning_tokens": USAGE["reasoning"]},
    }


def responses_body(said: Said) -> dict[str, Any]:
    """A response."""
    cut = said.finish == "length"
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "output": responses_items(said),
        "usage": {
            "input_tokens": USAGE["prompt"],
            "input_tokens_details": {"cached_tokens": USAGE["cached"]},
            "output_tokens": USAGE["completion"],
            "output_tokens_details": {"reasoning_tokens": USAGE["reasoning"]},
            "total_tokens": USAGE["prompt"] + USAGE["completion"],
        },
    }


def responses_items(said: Said) -> list[dict[str, Any]]:
    """The output of a response."""
    items: list[dict[str, Any]] = []
    if said.thought:
        summary = [{"type": "summary_text", "text": said.thought}]
        items.append({"id": "rs_1", "type": "reasoning", "summary": summary})
    if said.text is not None:
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        head = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
        items.append({**head, "content": content})
    for call, name, arguments in said.calls:
        head = {"id": f"fc_{call}", "type": "function_call", "status": "completed"}
        items.append({**head, "call_id": call, "name": name, "arguments": arguments})
    return items


def responses_events(said: Said) -> list[Any]:
    """The same as events."""
    body = responses_body(said)
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(body["output"]):
        place = {"item_id": item["id"], "output_index": index}
        empty = {**item, "arguments": ""} if "arguments" in item else {**item, "content": []}
        if item["type"] == "reasoning":
            empty = {**item, "summary": []}
        events.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        for piece in item.get("arguments", ""):
            kind = "response.function_call_arguments.delta"
            events.append({"type": kind, "delta": piece, **place})
        if item["type"] == "message":
            events += _text_events(said.text or "", item["content"][0], place)
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": f"response.{body['status']}", "response": body})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _text_events(
    text: str, part: Mapping[str, Any], place: Mapping[str, Any]
) -> list[dict[str, Any]]:
    place = {**place, "content_index": 0}
    begun, kind = {**part, "text": ""}, "response.output_text"
    return [
        {"type": "response.content_part.added", "part": begun, **place},
        *({"type": f"{kind}.delta", "delta": piece, "logprobs": [], **place} for piece in text),
        {"type": f"{kind}.done", "text": text, "logprobs": [], **place},
        {"type": "response.content_part.done", "part": part, **place},
    ]


_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def anthropic_body(said: Said) -> dict[str, Any]:
    """A message."""
    blocks: list[dict[str, Any]] = []
    if said.thought:
        blocks.append({"type": "thinking", "thinking": said.thought, "signature": "c2ln"})
    if said.text is not None:
        blocks.append({"type": "text", "text": said.text})
    for call, name, arguments in said.calls:
        blocks.append(
            {"type": "tool_use", "id": call, "name": name, "input": json.loads(arguments)}
        )
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks,
        "stop_reason": _STOPS[said.finish],
        "stop_sequence": None,
        "usage": {
            "input_tokens": USAGE["prompt"] - USAGE["cached"],
            "cache_read_input_tokens": USAGE["cached"],
            "cache_creation_input_tokens": 0,
            "output_tokens": USAGE["completion"],
        },
    }


def anthropic_events(said: Said) -> list[Any]:
    """The same as events."""
    body = anthropic_body(Said(text=said.text, thought=said.thought, finish=said.finish))
    usage = body["usage"]
    begun = {**body, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[Any] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    blocks = [
        *(_block(block) for block in body["content"]),
        *(_tool_block(call) for call in said.calls),
    ]
    for index, (empty, deltas) in enumerate(blocks):
        start = {"type": "content_block_start", "index": index, "content_block": empty}
        events.append(start)
        kind = {"type": "content_block_delta", "index": index}
        events += [{**kind, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}})
    return [*events, {"type": "message_stop"}]


def _block(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in block["text"]]
        return {"type": "text", "text": ""}, deltas
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in block["thinking"]]
    deltas.append({"type": "signature_delta", "signature": block["signature"]})
    return {"type": "thinking", "thinking": "", "signature": ""}, deltas


def _tool_block(call: tuple[str, str, str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    name, tool, arguments = call
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *arguments]]
    return {"type": "tool_use", "id": name, "name": tool, "input": {}}, deltas


BODIES = {
    "openai-chat": chat_body,
    "openai-responses": responses_body,
    "anthropic": anthropic_body,
}
_EVENTS = {
    "openai-chat": chat_events,
    "openai-responses": responses_events,
    "anthropic": anthropic_events,
}
PROTOCOLS = tuple(BODIES)


def events_of(protocol: str, said: Said) -> list[Any]:
    """The events of a streamed reply."""
    return _EVENTS[protocol](said)


def written(events: Iterable[Any], *, done: bool = False) -> bytes:
    """Events as a stream has them."""
    lines = []
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        lines.append(f"{name}data: {json.dumps(event)}\n\n".encode())
    return b"".join(lines) + (b"data: [DONE]\n\n" if done else b"")


def whole(protocol: str, said: Said) -> Act:
    """Answer without a stream."""
    return answer(BODIES[protocol](said))


def stream(data: bytes, *, pieces: int = 1, clean: bool = True) -> Act:
    """Answer with a chunked stream, in so many pieces; not `clean` is cut off at its end."""

    async def act(exchange: Exchange) -> None:
        fields = [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")]
        await exchange.send(h11.Response(status_code=200, headers=fields))
        size = max(1, -(-len(data) // pieces))
        for start in range(0, len(data), size):
            await exchange.send(h11.Data(data=data[start : start + size]))
            await trio.lowlevel.checkpoint()
        if clean:
            await exchange.send(h11.EndOfMessage())
        else:
            await exchange.stream.aclose()

    return act


def streamed(protocol: str, said: Said, *, pieces: int = 1) -> Act:
    """Answer with a stream."""
    data = written(events_of(protocol, said), done=protocol == "openai-chat")
    return stream(data, pieces=pieces)


def asked_for_stream(protocol: str, said: Said) -> Act:
    """Answer as asked: with a stream or without."""

    async def act(exchange: Exchange) -> None:
        chosen = streamed if exchange.asked.json().get("stream") else whole
        await chosen(protocol, said)(exchange)

    return act
