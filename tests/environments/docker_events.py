"""What the engine says of containers and volumes while a test runs, and misses none."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import attrs

_WANTED = ("type=container", "event=create", "event=destroy", "type=volume", "event=mount")


@attrs.define(eq=False)
class Events:
    """The events since the beginning, for runs whose directories are below `root`."""

    root: Path
    _process: "subprocess.Popen[str]"
    _told: list[Mapping[str, Any]] = attrs.field(factory=list, init=False)

    def stop(self) -> None:
        """Take in what was told until now."""
        if self._process.poll() is None:
            self._process.terminate()
            lines = self._process.communicate()[0].splitlines()
            self._told += [json.loads(line) for line in lines]

    def most_containers(self) -> int:
        """How many there were at the same time at most."""
        steps = {"create": 1, "destroy": -1}
        told = (steps.get(event["Action"], 0) for event in self._told if self._is_ours(event))
        return max(accumulate(told, initial=0))

    def volumes(self) -> set[str]:
        """The volumes that the containers had."""
        ours = {event["Actor"]["ID"] for event in self._told if self._is_ours(event)}
        about = [event["Actor"] for event in self._told]
        return {actor["ID"] for actor in about if actor["Attributes"].get("container") in ours}

    def _is_ours(self, event: Mapping[str, Any]) -> bool:
        directory = event["Actor"]["Attributes"].get("agentcompass.directory", "")
        return Path(directory).is_relative_to(self.root)


@contextmanager
def events(root: Path) -> Iterator[Events]:
    """Listens until its end, or until it is stopped."""
    filters = [f"--filter={one}" for one in _WANTED]
    command = ["docker", "events", "--format", "{{json .}}", *filters]
    made = Events(root, subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    try:
        yield made
    finally:
        made.stop()
