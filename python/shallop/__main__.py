"""``python -m shallop sweep``: a sweep on a Dask cluster, with the arguments of ``shallop sweep``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from . import ShallopError, __version__, _native, sweep
from ._scenario import Typed

if TYPE_CHECKING:
    from distributed import Client


def main(arguments: Sequence[str] | None = None) -> int:
    """Carries out what is typed and gives the exit code: 0 done, 2 bad input, 130 interrupted."""
    args = _parser().parse_args(arguments)
    try:
        with _client(args) as client:
            results = sweep(
                args.scenario,
                dict(args.vary),
                seeds=args.seeds,
                seed=args.seed,
                quick=args.quick,
                out=args.out,
                client=client,
                **dict(args.set),
            )
    except ShallopError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted: what was finished is kept; the same command goes on.", file=sys.stderr)
        return 130
    print(results.summary)
    print(f"Results are in {results.folder}.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m shallop", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    one = parser.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "sweep",
        help="run a scenario at every combination of some keys' values, on many machines",
        epilog="example: python -m shallop sweep edge.toml --vary topology.senders=20,200 "
        "--seeds 3 --out edge --slurm --workers 16 --memory 4GB",
    )
    one.add_argument("scenario", help="the scenario, a TOML file")
    one.add_argument("--out", metavar="DIR", required=True, help="where the results go")
    one.add_argument(
        "--vary",
        metavar="KEY=V1,V2,...",
        action="append",
        default=[],
        type=_varied,
        help="vary a key: every combination of all keys' values is a point",
    )
    one.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], type=_setting)
    one.add_argument("--seeds", metavar="N", type=int, help="so many seeds at every point")
    one.add_argument("--seed", metavar="N", type=int, help="the first seed")
    one.add_argument("--quick", action="store_true", help="the smaller form of the scenario")
    where = one.add_mutually_exclusive_group(required=True)
    where.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler that is there")
    where.add_argument("--slurm", action="store_true", help="workers as jobs of Slurm")
    where.add_argument("--local", action="store_true", help="workers on this machine")
    one.add_argument("--workers", metavar="N", type=int, default=2, help="with --slurm or --local")
    one.add_argument("--memory", metavar="SIZE", default="4GB", help="of a worker of Slurm")
    one.add_argument("--queue", metavar="NAME", help="of Slurm")
    one.add_argument("--walltime", metavar="HH:MM:SS", default="04:00:00", help="of Slurm")
    return parser


def _client(args: argparse.Namespace) -> AbstractContextManager[Client]:
    from distributed import Client, LocalCluster

    if args.scheduler:
        return Client(args.scheduler)
    if args.local:
        return Client(LocalCluster(n_workers=args.workers, threads_per_worker=1))
    from dask_jobqueue import SLURMCluster

    # A run has one thread; a job, one worker: what a batch system can place anywhere.
    options: dict[str, Any] = {"queue": args.queue} if args.queue else {}
    cluster = SLURMCluster(
        cores=1, processes=1, memory=args.memory, walltime=args.walltime, **options
    )
    cluster.scale(jobs=args.workers)
    return Client(cluster)


def _setting(text: str) -> tuple[str, Typed]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise argparse.ArgumentTypeError("expected KEY=VALUE, for example duration=2s")
    return key.strip(), Typed(value)


def _varied(text: str) -> tuple[str, list[Typed]]:
    key, values = _setting(text)
    return key, [Typed(value) for value in _native.values(values)]


if __name__ == "__main__":
    sys.exit(main())
