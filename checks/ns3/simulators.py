"""Runs one combination with one seed in ns-3 and in shallop, and returns both measurements in one form."""

import csv
import hashlib
import json
import re
import subprocess
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from grid import ACK_DELAY_MS, FRAME, IP_BYTES, RECEIVE_BUFFER, RTO_MIN_MS, Combination, draw

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM = HERE / "dumbbell.cc"
REQUIREMENTS = HERE / "requirements.txt"
LIBRARIES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
# A frame has 2 B of PPP in ns-3 and 38 B of Ethernet in shallop around 1500 B. With rates in this proportion, a packet
# takes equally long in both.
NS3_FRAME = IP_BYTES + 2
ACCESS_FACTOR = 10


class Failed(Exception):
    """A requirement of the check is missing. The text names it and the remedy."""


@dataclass(frozen=True)
class Counts:
    """Counts at the bottleneck from the end of the warm-up to the end of the run."""

    sent: int
    dropped: int
    marked: int
    payload: int

    def throughput_mbps(self, window_s: float) -> float:
        """The throughput of IP bytes through the bottleneck, Mb/s."""
        return self.sent * IP_BYTES * 8 / window_s / 1e6

    def loss_percent(self) -> float:
        """The fraction of arriving packets that were dropped."""
        return 100 * self.dropped / max(1, self.dropped + self.sent)


def command(arguments: list[str], what: str) -> str:
    """Runs a command and returns its output; its standard error becomes the message of an exception."""
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=ROOT)
    except OSError as error:
        raise Failed(f"{what}: {error}") from error
    if done.returncode != 0:
        raise Failed(f"{what}: exit code {done.returncode}\n{done.stderr.strip()[-2000:]}")
    return done.stdout


def version() -> str:
    """The pinned version of the ns-3 package."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return next(line.strip() for line in lines if line.startswith("ns3=="))


def build(wheel: Path, target: Path) -> Path:
    """Compiles the program against the libraries of the wheel, unless it is compiled already."""
    source = hashlib.sha256(PROGRAM.read_bytes()).hexdigest()[:12]
    binary = target / f"dumbbell-{source}"
    if binary.exists():
        return binary
    target.mkdir(parents=True, exist_ok=True)
    libraries = wheel / "ns3" / "lib64"
    release = version().partition("==")[2].partition(".post")[0].removeprefix("3.")
    half = binary.with_suffix(".tmp")
    arguments = [
        "g++",
        "-std=c++20",
        "-O2",
        f"-I{wheel / 'ns3' / 'include'}",
        str(PROGRAM),
        "-o",
        str(half),
    ]
    arguments += [f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
    arguments += [f"-lns3.{release}-{library}" for library in LIBRARIES]
    command(arguments, "compiling checks/ns3/dumbbell.cc (is g++ installed?)")
    half.rename(binary)
    return binary


def words(combination: Combination, seed: int) -> dict[str, str]:
    """The arguments of the ns-3 program."""
    drawn = draw(combination, seed)
    path = combination.path
    rate = path.rate_bps * NS3_FRAME / FRAME
    return {
        "transport": combination.transport.ns3,
        "rate": str(round(rate)),
        "access": str(round(rate * ACCESS_FACTOR)),
        "delay": str(drawn.bottleneck_delay_ns),
        "buffer": str(combination.buffer_packets),
        "mark": str(combination.mark_packets),
        "warm_up": str(round(path.warm_up_s * 1e9)),
        "end": str(round(combination.end_s * 1e9)),
        "rto_min": str(RTO_MIN_MS * 1_000_000),
        "ack_delay": str(ACK_DELAY_MS * 1_000_000),
        "receive_buffer": str(RECEIVE_BUFFER),
        "seed": str(seed),
        "delays": ",".join(map(str, drawn.sender_delays_ns)),
        "starts": ",".join(map(str, drawn.starts_ns)),
    }


def key(combination: Combination, seed: int) -> str:
    """A digest of everything that an ns-3 run depends on: package, program without comments, arguments."""
    program = re.sub(r"//[^\n]*|\s+", "", PROGRAM.read_text(encoding="utf-8"))
    everything = json.dumps([version(), program, words(combination, seed)], sort_keys=True)
    return hashlib.sha256(everything.encode()).hexdigest()[:16]


def counts_of(row: dict) -> Counts:
    """The counters among the fields of a row."""
    return Counts(**{field.name: int(row[field.name]) for field in fields(Counts)})


def kept_as(cache: Path, combination: Combination, seed: int) -> Path:
    """The file in which a run of ns-3 is kept."""
    return cache / f"{key(combination, seed)}.json"


def run_ns3(binary: Path, cache: Path, combination: Combination, seed: int) -> Counts:
    """Runs ns-3, or reads the kept result of an earlier run."""
    kept = kept_as(cache, combination, seed)
    if not kept.exists():
        arguments = [str(binary)] + [
            f"{name}={value}" for name, value in words(combination, seed).items()
        ]
        text = command(arguments, f"ns-3, {combination.name}, seed {seed}")
        cache.mkdir(parents=True, exist_ok=True)
        half = kept.with_suffix(".tmp")
        half.write_text(text, encoding="utf-8")
        half.rename(kept)
    return counts_of(json.loads(kept.read_text(encoding="utf-8")))


def scenario(combination: Combination, seed: int) -> str:
    """The run as a shallop scenario, with a group for each flow, because each flow has its own start."""
    drawn = draw(combination, seed)
    rate = combination.path.rate_bps
    mark = combination.mark_packets
    lines = [
        f'title = "{combination.name}"',
        f"seed = {seed}",
        f'duration = "{round(combination.end_s * 1e9)}ns"',
        'stack = "ns3"',
        'nic_jitter = "0s"',
        "[topology]",
        'kind = "dumbbell"',
        f"senders = {combination.flows}",
        f'rate = "{rate}bps"',
        f'access_rate = "{rate * ACCESS_FACTOR}bps"',
        f'delay = "{drawn.bottleneck_delay_ns}ns"',
        "sender_delay = [" + ", ".join(f'"{delay}ns"' for delay in drawn.sender_delays_ns) + "]",
        "[switch.default]",
        f'buffer = "{combination.buffer_packets}pkt"',
        *([f'mark = {{ above = "{mark}pkt" }}'] if mark else []),
        "[[scheme]]",
        f'transport = "{combination.transport.name}"',
        f'rto_min = "{RTO_MIN_MS}ms"',
        f'ack_delay = "{ACK_DELAY_MS}ms"',
        f'receive_buffer = "{RECEIVE_BUFFER}B"',
        *combination.transport.keys,
    ]
    for flow, start in enumerate(drawn.starts_ns):
        lines += ["[[group]]", f'name = "f{flow}"', f'from = "s{flow}"', f'start = "{start}ns"']
    return "\n".join(lines) + "\n"


def run_shallop(binary: Path, place: Path, combination: Combination, seed: int) -> Counts:
    """Runs shallop twice, to the end of the warm-up and to the end of the run. Both runs have equal packets, so the
    difference of their counts is the time in between."""
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"{combination.name}-{seed}.toml"
    file.write_text(scenario(combination, seed), encoding="utf-8")
    before, after = (
        shallop_until(binary, file, seconds)
        for seconds in (combination.path.warm_up_s, combination.end_s)
    )
    return Counts(**{name: value - before[name] for name, value in after.items()})


def shallop_until(binary: Path, file: Path, seconds: float) -> dict[str, int]:
    """The counts of one run from its beginning."""
    arguments = [str(binary), "run", str(file), "--jobs", "1", "--json"]
    arguments += ["--set", f"duration={round(seconds * 1e9)}ns"]
    run = json.loads(command(arguments, f"shallop, {file.name}"))["runs"][0]
    return {
        "sent": run["delivered_data_packets"],
        "dropped": run["drops"]["data"],
        "marked": run["marks"],
        "payload": round(run["goodput_bps"] * run["duration_s"] / 8),
    }


def read_record(file: Path) -> dict[str, Counts]:
    """The recorded runs of ns-3, by key."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return {row["key"]: counts_of(row) for row in rows}


def write_record(file: Path, date: str, runs: list[tuple[Combination, int, Counts]]) -> None:
    """Keeps the runs of ns-3 as data."""
    names = [field.name for field in fields(Counts)]
    half = file.with_suffix(".tmp")
    with half.open("w", encoding="utf-8", newline="") as out:
        out.write(
            f"# Measured with {version()} (PyPI) on {date} by 'make check-ns3' (check.py --record).\n"
        )
        out.write(
            "# Packets at the bottleneck and payload bytes at the receivers, from the warm-up to the end.\n"
        )
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["key", "combination", "seed", *names])
        for combination, seed, counts in runs:
            table.writerow(
                [key(combination, seed), combination.name, seed, *asdict(counts).values()]
            )
    half.rename(file)
