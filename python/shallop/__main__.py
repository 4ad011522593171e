"""``python -m shallop sweep``: a sweep on a Dask cluster, with the arguments of ``shallop sweep``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from . import ShallopError, __version__
from ._dask import Recipe
from ._run import carry_out
from ._scenario import Scenario, Typed

if TYPE_CHECKING:
    from distributed import Client


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code: 0 done, 2 bad input, 130 interrupted."""
    args = _parser().parse_args(arguments)
    try:
        scenario = Scenario(args.scenario)
        recipe = Recipe(
            scenario,
            quick=args.quick,
            seed=args.seed,
            seeds=args.seeds,
            overrides=dict(args.set),
            vary=dict(args.vary),
            allow_programs=args.allow_programs,
        )
        # Bad input stops here, before anything is asked of a cluster.
        recipe.pack()
        with ExitStack() as stack:
            results = carry_out(recipe, args.out, client=_client(args, stack))
    except (ShallopError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted: finished runs are kept. To resume, run this again.", file=sys.stderr)
        return 130
    print(results.summary)
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
    one.add_argument(
        "--allow-programs",
        action="store_true",
        help="run the programs of the scenario on the workers, with all rights of their user",
    )
    one.add_argument("--out", metavar="DIR", required=True, help="the folder for the results")
    one.add_argument(
        "--vary",
        metavar="KEY=V1,V2,...",
        action="append",
        default=[],
        type=_setting,
        help="vary a key: every combination of all keys' values is a point",
    )
    one.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], type=_setting)
    one.add_argument("--seeds", metavar="N", type=_count, help="run every point with N seeds")
    one.add_argument("--seed", metavar="N", type=_count, help="the first seed")
    one.add_argument("--quick", action="store_true", help="the smaller form of the scenario")
    where = one.add_mutually_exclusive_group(required=True)
    where.add_argument("--scheduler", metavar="ADDRESS", help="use this Dask scheduler")
    where.add_argument("--slurm", action="store_true", help="start workers as jobs of Slurm")
    where.add_argument("--local", action="store_true", help="start workers on this machine")
    one.add_argument(
        "--workers", metavar="N", type=_count, default=2, help="workers of --slurm or --local"
    )
    one.add_argument("--memory", metavar="SIZE", default="4GB", help="memory of a Slurm job")
    one.add_argument("--queue", metavar="NAME", help="partition of Slurm")
    one.add_argument("--interface", metavar="NAME", help="network interface of the nodes: ib0")
    one.add_argument(
        "--walltime", metavar="HH:MM:SS", default="04:00:00", help="time limit of a Slurm job"
    )
    return parser


def _client(args: argparse.Namespace, stack: ExitStack) -> Client:
    """The Dask client. The stack closes it, and the workers that were started for it."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ShallopError("this needs Dask: pip install 'shallop[dask]'") from error
    client: Client
    where = args.scheduler or stack.enter_context(_cluster(args))
    try:
        client = stack.enter_context(Client(where))
    except (OSError, ValueError) as error:
        raise ShallopError(f"--scheduler {where}: no scheduler there: {error}") from error
    return client


def _cluster(args: argparse.Namespace) -> Any:
    """Workers of one thread each, since a run has one thread."""
    from distributed import LocalCluster

    if args.local:
        # The dashboard listens on the loopback address only.
        return LocalCluster(
            n_workers=args.workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        )
    try:
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError as error:
        raise ShallopError("--slurm needs dask-jobqueue: pip install 'shallop[slurm]'") from error
    # One worker per job: a batch system can place a job of one core anywhere.
    cluster = SLURMCluster(
        cores=1,
        processes=1,
        memory=args.memory,
        walltime=args.walltime,
        queue=args.queue,
        interface=args.interface,
        scheduler_options={"dashboard_address": "127.0.0.1:0"},
    )
    cluster.scale(jobs=args.workers)
    return cluster


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, not {text!r}")
    return int(text)


def _setting(text: str) -> tuple[str, Typed]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise argparse.ArgumentTypeError("expected KEY=VALUE, for example duration=2s")
    return key.strip(), Typed(value)


if __name__ == "__main__":
    sys.exit(main())
