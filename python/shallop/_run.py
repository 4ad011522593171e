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
from ._study import MADE, Made, work

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
    """The experiments of the papers, by name."""
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
    **overrides: Value,
) -> Results:
    """Runs a scenario under each of its schemes.

    Parameters
    ----------
    scenario
        A dictionary, a path, TOML text or a `Scenario`.
    quick
        Whether the changes in its [quick] table are made.
    seed
        The run seed, instead of the scenario's.
    jobs
        So many runs at a time; one for each core unless given.
    out
        A folder for the results, in the files that the command writes; a temporary one unless given.
    resume
        Whether finished runs that an earlier start left in `out` are taken as they are.
    progress
        Whether a bar is shown; on a terminal and in notebooks unless given.
    **overrides
        Keys of the scenario, two underscores for a dot: ``duration="2s"``, ``topology__senders=200``.

    Raises
    ------
    ScenarioError
        If the scenario is not a good one; nothing was run then.
    ValueError
        If `seed`, `jobs` or `out` is none that the command would take.
    KeyboardInterrupt
        On Ctrl-C; what was finished is in ``out/runs``.
    """
    study = Scenario(scenario).study(quick=quick, seed=seed, overrides=overrides)
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
    **overrides: Value,
) -> Results:
    """Runs a scenario at every combination of some keys' values; finished runs in `out` are not made again.

    Parameters
    ----------
    vary
        For each key its values: ``{"topology.senders": [20, 200]}``.
    seeds
        So many seeds at every point, from the scenario's first one on.
    client
        A Dask client: runs are made by its workers, one a task, and again when a worker dies. The rows are
        those that this machine alone would have made. Workers need the same version of shallop.

    The other parameters are those of `run`.
    """
    recipe = Recipe(
        Scenario(scenario), quick=quick, seed=seed, seeds=seeds, overrides=overrides, vary=vary
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
    """A sweep, made here or by the workers of a Dask client."""
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
    # Everything is there: nothing is left to watch.
    return recipe.study().run(folder, jobs=jobs, sweep=True, progress=False)


def reproduce(
    *ids: str,
    quick: bool = False,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> dict[str, Results]:
    """Runs experiments of the papers, each with its claims judged; `experiments` lists them, "all" is every one.

    "all" passes over those that need a kernel that is not there.

    Results are in a folder each under `out`. The other parameters are those of `run`.

    Raises
    ------
    ScenarioError
        If there is no such experiment; nothing was run then.
    """
    if not ids:
        return {}
    folder, made = ResultsFolder(out), Made()
    asked = [*work(folder.out, jobs), *["--quick"] * quick, *["--resume"] * resume]
    with Bar(progress) as bar:
        ask("reproduce", *asked, "--", *ids, good=MADE, told=lambda it: made.hear(it, bar))
    return {id: made.results(folder, id) for id in made.by_id if id is not None}
