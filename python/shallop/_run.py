"""`run`, `sweep` and `reproduce`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ._bar import Bar
from ._command import ask
from ._dask import Recipe, distribute
from ._results import Results, ResultsFolder
from ._scenario import Scenario, Source, Value
from ._study import WITH_RESULTS, Collector, run_options

if TYPE_CHECKING:
    from distributed import Client


class Experiment(NamedTuple):
    """An experiment that is built in."""

    id: str
    title: str
    about: str
    takes: str
    takes_quick: str


def experiments() -> list[Experiment]:
    """The built-in experiments, most of them from papers."""
    listed = json.loads(ask("reproduce", "--json"))["experiments"]
    return [Experiment(**experiment) for experiment in listed]


def run(
    scenario: Source,
    *,
    quick: bool = False,
    seed: int | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | None = None,
    allow_programs: bool = False,
    **overrides: Value,
) -> Results:
    """Runs a scenario under each of its schemes.

    Parameters
    ----------
    scenario
        A dictionary, a path, TOML text or a `Scenario`.
    quick
        Whether the scenario's smaller form is run, as its ``[quick]`` table says.
    seed
        The run seed, instead of the scenario's.
    jobs
        The number of runs at a time; default: one for each core.
    out
        The folder for the files that the command writes; default: a temporary folder.
    resume
        Whether finished runs in `out` are reused.
    progress
        Whether a progress bar is shown; default: on a terminal and in notebooks.
    allow_programs
        Whether the programs of the scenario (``command`` of groups) run, with all rights of this user, whoever wrote
        them. Without it they run only if the scenario is a file that this user owns and no other user may write to.
    **overrides
        Keys of the scenario, two underscores for a dot: ``duration="2s"``, ``topology__senders=200``.

    Raises
    ------
    ScenarioError
        If the scenario has an error; nothing was run then.
    ValueError
        If `seed`, `jobs` or `out` has a value that the command refuses.
    KeyboardInterrupt
        On Ctrl-C; finished runs are in ``out/runs``.
    """
    study = Scenario(scenario).study(
        quick=quick, seed=seed, overrides=overrides, allow_programs=allow_programs
    )
    return study.run(out, jobs=jobs, resume=resume, progress=progress)


def sweep(
    scenario: Source,
    vary: Mapping[str, Sequence[Value]],
    *,
    seeds: int | None = None,
    quick: bool = False,
    seed: int | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    client: Client | None = None,
    progress: bool | None = None,
    allow_programs: bool = False,
    **overrides: Value,
) -> Results:
    """Runs a scenario at every combination of some keys' values; finished runs in `out` are not made again.

    Parameters
    ----------
    vary
        The values of each key: ``{"topology.senders": [20, 200]}``.
    seeds
        The number of seeds at every point, from the scenario's seed on.
    client
        A Dask client. Its workers make the runs, one per task, and again if a worker dies. The results are those of
        a sweep on this machine. Workers need this version of shallop.

    The other parameters are those of `run`.
    """
    recipe = Recipe(
        Scenario(scenario),
        quick=quick,
        seed=seed,
        seeds=seeds,
        overrides=overrides,
        vary=vary,
        allow_programs=allow_programs,
    )
    return carry_out(recipe, out, jobs=jobs, client=client, progress=progress)


def carry_out(
    recipe: Recipe,
    out: str | os.PathLike[str] | None,
    *,
    jobs: int | None = None,
    client: Client | None = None,
    progress: bool | None = None,
) -> Results:
    """Makes a sweep, on this machine or on the workers of a Dask client."""
    if client is None:
        return recipe.study().run(out, jobs=jobs, sweep=True, progress=progress)
    folder = ResultsFolder(out)
    with Bar(progress) as bar:
        distribute(
            client,
            recipe,
            folder.path,
            lambda ended, runs: bar.show(ended / max(runs, 1), ended, runs),
        )
    # All runs are finished, so there is no progress to show.
    return recipe.study().run(folder, jobs=jobs, sweep=True, progress=False)


def reproduce(
    *ids: str,
    quick: bool = False,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> dict[str, Results]:
    """Runs experiments and judges their claims; `experiments` lists them, and "all" runs all.

    "all" skips experiments that need a Linux kernel if none is built.

    The results of each experiment are in a folder under `out`. The other parameters are those of `run`.

    Raises
    ------
    ScenarioError
        If an experiment does not exist; nothing was run then.
    """
    if not ids:
        return {}
    folder, collector = ResultsFolder(out), Collector()
    asked = [*run_options(folder.out, jobs), *["--quick"] * quick, *["--resume"] * resume]
    with Bar(progress) as bar:
        ask(
            "reproduce",
            *asked,
            "--",
            *ids,
            good=WITH_RESULTS,
            on_message=lambda message: collector.add(message, bar),
        )
    return {id: collector.results(folder, id) for id in collector.by_id if id is not None}
