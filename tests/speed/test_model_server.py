"""The model of the benchmarks answers whole and streamed, and counts what it was asked."""

import json

import httpx

from benchmarks.model_server import model_server


def test_it_answers_whole_or_as_a_stream_and_counts_both() -> None:
    asked = {"model": "mock", "messages": []}
    with model_server(latency_seconds=0) as server, httpx.Client(trust_env=False) as client:
        url = f"{server.url}/chat/completions"
        whole = client.post(url, json=asked)
        streamed = client.post(url, json={**asked, "stream": True})
        stats = server.stats()

    assert whole.json()["choices"][0]["message"]["content"] == "DONE"
    events = [line.removeprefix("data: ") for line in streamed.text.split("\n\n") if line]
    assert (len(events), events[-1]) == (21, "[DONE]")
    assert json.loads(events[-2])["usage"]["completion_tokens"] == 1
    assert (stats["requests"], stats["in_flight"]) == (2, 0)
