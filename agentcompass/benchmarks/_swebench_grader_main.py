"""Grades one log by the package `swebench`, in a process of its own; run by its path.

A request in JSON on stdin: `spec` (fields of its TestSpec), `log` (a path). Its report of the
instance goes to stdout as JSON, with `parsed`, how many tests its parser found. The package's
`harness` imports docker, datasets and modal; an empty one stands for it here, so that its grading
is all that is loaded.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def main() -> None:
    """Answer the request."""
    package = import_module("swebench")
    harness = ModuleType("swebench.harness")
    harness.__path__ = [str(Path(package.__path__[0]) / "harness")]
    sys.modules["swebench.harness"] = harness
    grading, types = import_module("swebench.harness.grading"), import_module("swebench.types")

    request = json.load(sys.stdin)
    spec = types.TestSpec(**request["spec"])
    # Of the patch it asks only whether there is one.
    prediction = {"instance_id": spec.instance_id, "model_patch": "applied"}
    report = grading.get_eval_report(spec, prediction, request["log"], include_tests_status=True)
    json.dump({**report[spec.instance_id], "parsed": parsed(spec, request["log"])}, sys.stdout)


def parsed(spec: Any, log: str) -> int:
    """How many tests the parser finds in a log, also where the log counts for nothing.

    None in one that was cut off, which may be long: a parser takes some 30 microseconds a line.
    """
    text = Path(log).read_text(encoding="utf-8")
    if ">>>>> End Test Output" not in text:
        return 0
    parsers = import_module("swebench.harness.log_parsers").PARSER_REGISTRY
    return len(parsers[spec.log_parser](text, spec))


if __name__ == "__main__":
    main()
