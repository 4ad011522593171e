"""Compares shallop with ns-3 over a grid of networks and prints where they agree: docs/ns3.md.

`make check-ns3` runs both; `--recorded` takes ns-3's figures from the file that is kept with the program.
"""

import argparse
import datetime
import os
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import simulators
from grid import SEEDS, Combination, combinations
from simulators import Counts, Failed
from verdict import Band, Mean, Measured, Verdict, judge_both, mean

HERE = Path(__file__).resolve().parent
RECORD = HERE / "recorded.csv"
REASONS = HERE / "reasons.toml"
SHALLOP = simulators.ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "shallop"
RESULTS = simulators.ROOT / "results" / "ns3"
COLUMNS = ("combination", "Mb/s ns-3", "shallop", "loss % ns-3", "shallop", "throughput", "loss")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--wheel", type=Path, help="the folder into which the wheel of ns-3 was installed"
    )
    parser.add_argument(
        "--recorded", action="store_true", help="compare with the recorded figures of ns-3"
    )
    parser.add_argument(
        "--record", action="store_true", help="keep ns-3's figures as the recorded ones"
    )
    parser.add_argument("--only", default="", help="only combinations whose name contains this")
    parser.add_argument(
        "--seeds", type=int, default=len(SEEDS), help="so many seeds, instead of all"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="so many runs at a time"
    )
    chosen = parser.parse_args()
    if chosen.recorded == (chosen.wheel is not None):
        parser.error("either --wheel DIR or --recorded")
    if not 1 <= chosen.seeds <= len(SEEDS):
        parser.error(f"--seeds must be 1 to {len(SEEDS)}")
    if chosen.record and (chosen.recorded or chosen.only or chosen.seeds < len(SEEDS)):
        parser.error("--record keeps the whole grid, measured now")
    return chosen


def bands_of(combination: Combination, reasons: dict) -> dict[str, Band]:
    """The accepted bands in reasons.toml for this combination, by figure."""
    bands = {}
    for entry in reasons["difference"]:
        if combination.name in entry["combinations"]:
            for figure in ("throughput", "loss"):
                if figure in entry:
                    bands[figure] = Band(*entry[figure], entry["reason"])
    return bands


def read_reasons() -> dict:
    """Reads the traced reasons; the combinations that they name must exist."""
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    known = {combination.name for combination in combinations()}
    for entry in reasons["difference"]:
        unknown = set(entry["combinations"]) - known
        if unknown:
            raise Failed(f"{REASONS.name}: no such combinations: {', '.join(sorted(unknown))}")
    return reasons


def measured(runs: list[Counts], window_s: float) -> Measured:
    """Means over the seeds of one combination."""
    return Measured(
        mean([counts.throughput_mbps(window_s) for counts in runs]),
        mean([counts.loss_percent() for counts in runs]),
    )


def tell_work(cells: list[Combination], seeds: tuple[int, ...]) -> None:
    """Prints the number of runs, because nothing else is printed before the end."""
    kept = [simulators.kept_as(RESULTS / "ns3", cell, seed) for cell in cells for seed in seeds]
    missing = sum(not file.exists() for file in kept)
    print(f"{missing} of {len(kept)} runs of ns-3 to make, about 4 s each.", file=sys.stderr)


def all_runs(
    chosen: argparse.Namespace, cells: list[Combination]
) -> tuple[list[list[Counts]], list[list[Counts]]]:
    """Runs every combination with every seed in both simulators; returns the results of ns-3 and of shallop."""
    seeds = SEEDS[: chosen.seeds]
    if not SHALLOP.exists():
        raise Failed(f"{SHALLOP} is not there: run 'cargo build --release'")
    record = simulators.read_record(RECORD) if chosen.recorded else None
    binary = None
    if not chosen.recorded:
        binary = simulators.build(chosen.wheel.resolve(), RESULTS / "bin")
        tell_work(cells, seeds)

    def theirs(cell: Combination, seed: int) -> Counts:
        if record is None:
            return simulators.run_ns3(binary, RESULTS / "ns3", cell, seed)
        kept = record.get(simulators.key(cell, seed))
        if kept is None:
            raise Failed(
                f"{RECORD.name} is of another set-up: {cell.name}, seed {seed}. Run 'make check-ns3'."
            )
        return kept

    def ours(cell: Combination, seed: int) -> Counts:
        return simulators.run_shallop(SHALLOP, RESULTS / "shallop", cell, seed)

    with ThreadPoolExecutor(chosen.jobs) as pool:
        tasks = [
            [[pool.submit(run, cell, seed) for seed in seeds] for cell in cells]
            for run in (theirs, ours)
        ]
        try:
            theirs_done, ours_done = (
                [[task.result() for task in cell] for cell in side] for side in tasks
            )
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    if chosen.record:
        runs = [
            (cell, seed, counts)
            for cell, row in zip(cells, theirs_done, strict=True)
            for seed, counts in zip(seeds, row, strict=True)
        ]
        simulators.write_record(RECORD, datetime.date.today().isoformat(), runs)
    return theirs_done, ours_done


def figure(value: Mean, digits: int) -> str:
    """A mean and its interval, as text."""
    text = f"{value.value:.{digits}f}"
    return text if value.half is None else f"{text} ± {value.half:.{digits}f}"


def row(
    cell: Combination, theirs: Measured, ours: Measured, verdicts: dict[str, Verdict]
) -> list[str]:
    """A line of the table."""
    return [
        cell.name,
        figure(theirs.throughput_mbps, 1),
        f"{ours.throughput_mbps.value:.1f}",
        figure(theirs.loss_percent, 3),
        f"{ours.loss_percent.value:.3f}",
        verdicts["throughput"].text,
        verdicts["loss"].text,
    ]


def show(rows: list[list[str]]) -> None:
    """Prints the table with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for line in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )


def main() -> int:
    """Runs the check. Returns 0 if every combination agrees or has a known difference."""
    chosen = arguments()
    reasons = read_reasons()
    cells = [cell for cell in combinations() if chosen.only in cell.name]
    if not cells:
        raise Failed(f"no combination has '{chosen.only}' in its name")
    theirs, ours = all_runs(chosen, cells)
    rows, passed, differing = [list(COLUMNS)], 0, 0
    for cell, their_runs, our_runs in zip(cells, theirs, ours, strict=True):
        both = [measured(runs, cell.window_s) for runs in (their_runs, our_runs)]
        verdicts = judge_both(*both, bands_of(cell, reasons))
        rows.append(row(cell, *both, verdicts))
        passed += all(verdict.passed for verdict in verdicts.values())
        differing += any(verdict.text.startswith("differs") for verdict in verdicts.values())
    show(rows)
    used = {band.reason for cell in cells for band in bands_of(cell, reasons).values()}
    for name in sorted(used):
        print(f"\n{name}: {reasons['reason'][name].strip()}")
    print(
        f"\n{passed} of {len(cells)} combinations pass, {differing} of them with a difference whose reason is known."
    )
    return 0 if passed == len(cells) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failed:
        sys.exit(f"check-ns3: {failed}")
