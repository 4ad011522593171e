"""Processor time of ns-3 and of shallop for the runs of the comparison, in seconds, and their numbers of packets.

Both run once from the beginning to the end, one after the other, on one core; what is timed is the whole process. ns-3
is the wheel's build, with this program compiled by -O2; shallop is the release build. See docs/comparison.md.
"""

import argparse
import os
import resource
import sys
import time
from pathlib import Path

import simulators
from grid import Combination, combinations
from simulators import Failed

RESULTS = simulators.ROOT / "results" / "ns3"
SHALLOP = simulators.ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "shallop"


def timed(arguments: list[str], what: str) -> tuple[float, str]:
    """The processor time of a command, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = simulators.command(arguments, what)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime), text


def one(ns3: Path, shallop: Path, cell: Combination, seed: int) -> tuple[float, float]:
    """Processor time of ns-3 and of shallop for one run."""
    words = [f"{name}={value}" for name, value in simulators.words(cell, seed).items()]
    theirs, _ = timed([str(ns3), *words], f"ns-3, {cell.name}")
    file = RESULTS / "speed" / f"{cell.name}-{seed}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(simulators.scenario(cell, seed), encoding="utf-8")
    ours, _ = timed([str(shallop), "run", str(file), "--jobs", "1", "--json"], f"shallop, {cell.name}")
    return theirs, ours


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, required=True, help="where ns-3's wheel is installed")
    parser.add_argument("--shallop", type=Path, default=SHALLOP, help="the release binary")
    parser.add_argument("--only", default="", help="only combinations whose name contains this")
    parser.add_argument("--times", type=int, default=3, help="so often; the least time counts")
    chosen = parser.parse_args()
    try:
        ns3 = simulators.build(chosen.wheel.resolve(), RESULTS / "bin")
        print(f"{'combination':<20}{'simulated s':>12}{'ns-3 s':>9}{'shallop s':>11}{'ratio':>7}")
        for cell in combinations():
            if chosen.only in cell.name:
                runs = [one(ns3, chosen.shallop, cell, 1) for _ in range(chosen.times)]
                theirs, ours = (min(times) for times in zip(*runs, strict=True))
                print(f"{cell.name:<20}{cell.end_s:>12.1f}{theirs:>9.2f}{ours:>11.2f}{theirs / ours:>7.1f}")
    except Failed as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    started = time.monotonic()
    code = main()
    print(f"{time.monotonic() - started:.0f} s in all", file=sys.stderr)
    sys.exit(code)
