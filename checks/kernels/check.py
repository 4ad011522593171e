"""Compares simulated hosts with real kernels in networks that were drawn, and prints where they agree.

Goodput agrees within 10 %, loss within a factor of 1.5 or if both are at most 0.05 %, means over three seeds: the rules
of docs/agreement.md. Kernels' results are kept in `recorded.csv`, by network, seed and release of the kernel, and used
again; `--kernels` makes those that are missing. A network whose scenario changes has another name.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path

from networks import SEEDS, Network, networks

HERE = Path(__file__).resolve().parent
RECORD = HERE / "recorded.csv"
SHALLOP = HERE.parents[1] / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "shallop"
COLUMNS = ("network", "seed", "release", "goodput_mbps", "loss_percent", "jain")
GOODPUT_SHARE = 0.10
LOSS_FACTOR = 1.5
LOSS_FLOOR_PERCENT = 0.05
# The part of the networks that must agree.
AGREEING = 0.9


class Failed(Exception):
    """An error whose text is the whole message."""


@dataclass(frozen=True)
class Counts:
    """What a run measured."""

    goodput_mbps: float
    loss_percent: float
    jain: float


Record = dict[tuple[str, int, str], Counts]


def run(shallop: Path, network: Network, stack: str, seed: int) -> Counts:
    """Runs the scenario once."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(network.scenario(stack))
        file.flush()
        words = [shallop, "run", file.name, "--set", f"seed={seed}", "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{network.name}, {stack}: {done.stderr.strip()}")
    (result,) = json.loads(done.stdout)["runs"]
    return Counts(result["goodput_bps"] / 1e6, 100 * result["loss_rate"], result["jain"])


def release_of(shallop: Path) -> str:
    """The newest installed kernel; empty if there is none."""
    words = [shallop, "kernel", "list", "--json"]
    listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    kernels = json.loads(listed) if listed else []
    return kernels[-1]["release"] if kernels else ""


def read_record() -> Record:
    """The kept results of kernels."""
    if not RECORD.exists():
        return {}
    with RECORD.open(encoding="utf-8", newline="") as file:
        return {
            (row["network"], int(row["seed"]), row["release"]): Counts(
                float(row["goodput_mbps"]), float(row["loss_percent"]), float(row["jain"])
            )
            for row in csv.DictReader(file)
        }


def write_record(record: Record) -> None:
    """Keeps the results of kernels, whole or not at all."""
    half = RECORD.with_suffix(".tmp")
    with half.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for key, counts in sorted(record.items()):
            writer.writerow([*key, *(f"{value:.6g}" for value in astuple(counts))])
    half.rename(RECORD)


def mean(runs: list[Counts]) -> Counts:
    """Means over the seeds."""
    return Counts(*(sum(values) / len(runs) for values in zip(*map(astuple, runs), strict=True)))


def verdict(theirs: Counts, ours: Counts) -> str:
    """What differs, goodput first."""
    if abs(ours.goodput_mbps - theirs.goodput_mbps) > GOODPUT_SHARE * theirs.goodput_mbps:
        return "goodput differs"
    least, most = sorted((theirs.loss_percent, ours.loss_percent))
    differs = most > LOSS_FLOOR_PERCENT and most > LOSS_FACTOR * least
    return "loss differs" if differs else "agrees"


def row(network: Network, theirs: Counts, ours: Counts) -> list[str]:
    """A line of the table."""
    pairs = [(counts.goodput_mbps, counts.loss_percent, counts.jain) for counts in (theirs, ours)]
    figures = [f"{value:.{digits}f}" for pair, digits in zip(zip(*pairs, strict=True), (1, 3, 2)) for value in pair]
    return [network.name, *figures, f"{ours.goodput_mbps / theirs.goodput_mbps:.2f}", verdict(theirs, ours)]


def add_kernels(shallop: Path, chosen: list[Network], seeds: list[int], record: Record) -> None:
    """Runs kernels where the record has no result, and keeps each at once."""
    release = release_of(shallop)
    if not release:
        raise Failed("no kernel is installed: run 'shallop kernel build'")
    for seed in seeds:
        for network in sorted(chosen, key=lambda of: of.rate_mbps * of.duration_s):
            key = (network.name, seed, release)
            if key not in record:
                record[key] = run(shallop, network, "kernel", seed)
                write_record(record)


def main() -> int:
    """Runs the check. Returns 0 if nine of ten networks agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shallop", type=Path, default=SHALLOP, help="the command")
    parser.add_argument("--kernels", action="store_true", help="run kernels where no result of theirs is kept")
    parser.add_argument("--only", default="", help="only networks whose name contains this")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="so many seeds, instead of all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="so many runs at a time")
    options = parser.parse_args()
    chosen = [network for network in networks() if options.only in network.name]
    seeds = list(SEEDS[: options.seeds])
    record = read_record()
    if options.kernels:
        add_kernels(options.shallop, chosen, seeds, record)
    kept: dict[tuple[str, int], Counts] = {key[:2]: counts for key, counts in sorted(record.items())}
    complete = [network for network in chosen if all((network.name, seed) in kept for seed in seeds)]
    if not complete:
        raise Failed("no network has results of kernels for all seeds: run with --kernels")
    with ThreadPoolExecutor(options.jobs) as pool:
        ours = [[pool.submit(run, options.shallop, of, "linux", seed) for seed in seeds] for of in complete]
        means = [mean([task.result() for task in tasks]) for tasks in ours]
    heads = ["network", "Mb/s kernel", "ours", "loss % kernel", "ours", "Jain kernel", "ours", "ratio", ""]
    rows = [heads]
    for network, our_mean in zip(complete, means, strict=True):
        rows.append(row(network, mean([kept[network.name, seed] for seed in seeds]), our_mean))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for line in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    agreeing = sum(line[-1] == "agrees" for line in rows[1:])
    print(f"\n{agreeing} of {len(complete)} networks agree; {len(chosen) - len(complete)} have no kernels' results.")
    return 0 if agreeing >= AGREEING * len(complete) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failed:
        sys.exit(f"check-kernels: {failed}")
