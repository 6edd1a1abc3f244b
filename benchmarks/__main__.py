"""How fast and how flat is this engine, beside loops without one and the peers that are installed?

    python -m benchmarks [SCENARIO ...] [--rounds N] [--only CONTESTANT ...] [--quick]
                         [--dir DIR] [--out DIR]

Tables go to stdout; tables, plots and all numbers to the folder that `--out` names.
"""

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.catalogue import SCENARIOS
from benchmarks.contestants import CONTESTANTS, PEERS
from benchmarks.machine import facts
from benchmarks.outcome import Outcome
from benchmarks.processes import open_place
from benchmarks.report import markdown
from benchmarks.scenario import Scenario
from benchmarks.turns import Rounds
from benchmarks.written import write


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the scenarios one after another; what is done is written before the next begins."""
    options = _options(arguments)
    # ends like Ctrl-C: what is measured is killed, and the temporary folder removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    versions = {name: CONTESTANTS[name].version() for name in _asked(options)}
    with open_place(options.dir) as place:
        rounds = Rounds(
            count=options.rounds or (1 if options.quick else 3),
            contestants={who: CONTESTANTS[who] for who, version in versions.items() if version},
            place=place,
        )
        for name in options.scenarios or SCENARIOS:
            _run(SCENARIOS[name](options.quick), rounds, versions, options.out)


def _asked(options: argparse.Namespace) -> Sequence[str]:
    left_out = PEERS if options.quick else ()
    return options.only or [name for name in CONTESTANTS if name not in left_out]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    parser.add_argument("--rounds", type=int, help="default: 3, with --quick 1")
    parser.add_argument(
        "--only", nargs="+", choices=CONTESTANTS, metavar="CONTESTANT", help=", ".join(CONTESTANTS)
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a small version of each scenario, without the peers that --only does not name",
    )
    parser.add_argument("--dir", type=Path, help="where to write runs: decides on the disk")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("build/bench"),
        help="for tables, plots and numbers; default: build/bench",
    )
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.scenarios if name not in SCENARIOS]:
        parser.error(f"unknown scenario {', '.join(unknown)}; there are {', '.join(SCENARIOS)}")
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if options.dir is not None and not options.dir.is_dir():
        parser.error(f"--dir {options.dir} is no folder")
    return options


def _run(scenario: Scenario, rounds: Rounds, versions: Mapping[str, str | None], out: Path) -> None:
    machine = facts()
    outcome = Outcome(
        scenario=scenario, rows=list(rounds.rows(scenario)), versions=versions, machine=machine
    )
    sys.stdout.write(markdown(outcome) + "\n")
    write(outcome, out)


if __name__ == "__main__":
    main()
