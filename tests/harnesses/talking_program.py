#!/usr/bin/env python3
"""Stands for Claude Code or Codex, by its name: talks to its endpoint, and runs what it is told.

A script of its own, for any Python 3: it is put into sessions that have nothing of this package.
"""

import json
import os
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path
from typing import Any

NAME = Path(sys.argv[0]).name


def main() -> None:
    if "--version" in sys.argv:
        print("1.2.3 (talks)")
        return
    prompt = sys.stdin.read()
    (claude if NAME == "claude" else codex)(prompt)


def claude(prompt: str) -> None:
    settings = json.loads(Path(sys.argv[sys.argv.index("--settings") + 1]).read_text())
    given = settings["env"]
    url = given["ANTHROPIC_BASE_URL"] + "/v1/messages"
    messages: list[Any] = [{"role": "user", "content": prompt}]
    while True:
        body = {"model": settings["model"], "max_tokens": 100, "messages": messages}
        message = post(url, given["ANTHROPIC_AUTH_TOKEN"], body)
        say({"type": "assistant", "message": message})
        messages.append({"role": "assistant", "content": message["content"]})
        calls = [block for block in message["content"] if block["type"] == "tool_use"]
        if not calls:
            say({"type": "result", "is_error": False, "result": message["content"][0]["text"]})
            return
        results = [
            {"type": "tool_result", "tool_use_id": c["id"], "content": run(c["input"]["command"])}
            for c in calls
        ]
        messages.append({"role": "user", "content": results})
        say({"type": "user", "message": messages[-1]})


def codex(prompt: str) -> None:
    settings = tomllib.loads((Path(os.environ["CODEX_HOME"]) / "config.toml").read_text())
    provider = settings["model_providers"][settings["model_provider"]]
    items: list[Any] = [{"role": "user", "content": prompt}]
    while True:
        body = {"model": settings["model"], "input": items}
        url, key = provider["base_url"] + "/responses", os.environ[provider["env_key"]]
        output = post(url, key, body)["output"]
        items += output
        for item in output:
            if item["type"] == "message":
                done("agent_message", "m", text=item["content"][0]["text"])
        calls = [item for item in output if item["type"] == "function_call"]
        for call in calls:
            command = json.loads(call["arguments"])["command"]
            printed = run(command)
            done("command_execution", call["call_id"], command=command, aggregated_output=printed)
            items.append(
                {"type": "function_call_output", "call_id": call["call_id"], "output": printed}
            )
        if not calls:
            return


def post(url: str, key: str, body: Any) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    asked = urllib.request.Request(url, data=json.dumps(body).encode(), headers=headers)
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)


def run(command: str) -> str:
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return str(subprocess.run(["bash", "-c", command], **told).stdout)


def done(kind: str, name: str, **fields: Any) -> None:
    say({"type": "item.completed", "item": {"type": kind, "id": name, **fields}})


def say(event: Any) -> None:
    print(json.dumps(event), flush=True)


main()
