"""Runs in the peer's own interpreter: its `summary` command on exported runs, by its public API.

    PEER_PYTHON peer_summary.py RUN_DIR...

The peer knows only benchmarks that were imported, so ours are registered first: the id and the
metrics that run_info.json has. Its exit code is the worst of the command's.
"""

import json
import sys
from pathlib import Path

from agentcompass.benchmarks.config import RuntimeBenchmarkConfig
from agentcompass.cli.main import main
from agentcompass.runtime.base import BaseBenchmark
from agentcompass.runtime.metrics import MetricContract, MetricReport
from agentcompass.runtime.registry import BENCHMARKS

AGGREGATION = ("sample_ids", "aggregation_mode", "category_hierarchy")


class Ours(BaseBenchmark):
    """A benchmark that can be summarized, under whichever id and with the metrics of the run."""

    description = "of another program"

    def build_config(self, req):
        """The parameters that every benchmark of the peer has."""
        given = {name: req.benchmark.params.get(name) for name in AGGREGATION}
        set_ones = {name: value for name, value in given.items() if value is not None}
        return RuntimeBenchmarkConfig(model=req.model.id, **set_ones)

    def load_tasks(self, *_):
        """Never called by `summary`."""
        raise NotImplementedError

    prepare_task = evaluate = load_tasks


def register(info):
    """Let the next summary find the benchmark of this run."""
    benchmark = info["request"]["benchmark"]["id"]
    if benchmark not in BENCHMARKS.names():
        BENCHMARKS.register(benchmark)(Ours)
    specs = {metric.pop("metric_id"): metric for metric in info["metric_basis"]["metrics"]}
    Ours.metric_contract = MetricContract(metrics=specs)


def summarize(directory):
    """The exit code; the exported metrics.json, which the command replaces, has to be valid too."""
    MetricReport.model_validate(json.loads((directory / "metrics.json").read_text()))
    register(json.loads((directory / "run_info.json").read_text()))
    return main(["summary", str(directory)]) or 0


if __name__ == "__main__":
    sys.exit(max(summarize(Path(name)) for name in sys.argv[1:]))
