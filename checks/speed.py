"""Speed of the command by `shallop bench`: user time for each packet that is offered to a port.

    checks/speed.py record COMMAND         writes checks/speed.csv
    checks/speed.py check COMMAND          fails if a case is 5 % slower than checks/speed.csv
    checks/speed.py gain COMMAND OTHER     fails if COMMAND is not faster than OTHER, in pairs of runs

speed.csv has the time for a packet in units of the time for an event of a plain binary heap, measured beside it, so that
it depends little on the clock of the machine. It still depends on the machine: record it anew on another one. Run all on
a machine without other load.
"""

import argparse
import csv
import json
import subprocess
import sys
from math import exp, log
from pathlib import Path

RECORD = Path(__file__).with_name("speed.csv")
SLOWER = 1.05


def bench(command: str, *options: str) -> list[dict]:
    run = subprocess.run([command, "bench", "--json", *options], stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)["cases"]


def gain(cases: list[dict], command: str, other: str) -> bool:
    for case in cases:
        low, median, high = case["ratio"]
        print(f"{case['case'] + ' ' + case['transport']:32} {median:6.3f}  [{low:.3f}-{high:.3f}]")
    mean = exp(sum(log(case["ratio"][1]) for case in cases) / len(cases))
    print(f"{other} takes {mean:.3f} times the user time of {command} (geometric mean).")
    return mean > 1


def check(cases: list[dict]) -> bool:
    if not RECORD.exists():
        print(f"{RECORD} does not exist: make record-speed writes it", file=sys.stderr)
        return False
    with RECORD.open() as file:
        recorded = {(row["case"], row["transport"]): float(row["events_per_packet"]) for row in csv.DictReader(file)}
    fine = True
    for case in cases:
        key = case["case"], case["transport"]
        if key not in recorded:
            print(f"{' '.join(key):32} is not recorded")
            fine = False
            continue
        ratio = case["events_per_packet"] / recorded[key]
        slow = ratio > SLOWER
        fine &= not slow
        print(f"{' '.join(key):32} {case['events_per_packet']:6.2f} {ratio:6.3f}{'  SLOWER' if slow else ''}")
    return fine


def record(cases: list[dict]) -> bool:
    with RECORD.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", "transport", "events_per_packet"])
        rows.writerows([case["case"], case["transport"], f"{case['events_per_packet']:.2f}"] for case in cases)
    return True


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["record", "check", "gain"])
    parser.add_argument("--rounds", default="7")
    parser.add_argument("command")
    parser.add_argument("other", nargs="?")
    args = parser.parse_args()
    options = ["--rounds", args.rounds]
    if args.what == "gain":
        cases = bench(args.command, *options, "--against", args.other)
        return 0 if gain(cases, args.command, args.other) else 1
    cases = bench(args.command, *options)
    return 0 if (check if args.what == "check" else record)(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
