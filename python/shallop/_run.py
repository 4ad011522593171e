"""`run`, `sweep` and `reproduce`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import _native
from ._bar import Bar
from ._dask import Recipe, distribute
from ._native import Study
from ._results import Results, ResultsFolder, Summary
from ._scenario import Scenario, Source, Value

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
    return [Experiment(*row) for row in _native.experiments()]


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
    return _carry_out(study, ResultsFolder(out), jobs=jobs, resume=resume, progress=progress)


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
    study, results_folder = recipe.study(), ResultsFolder(out)
    if client is not None:
        with Bar(progress, len(study.jobs)) as bar:
            distribute(client, recipe, results_folder.path, bar.ended)
        # Everything is there: nothing is left to watch.
        progress = False
    return _carry_out(study, results_folder, jobs=jobs, resume=True, progress=progress, sweep=True)


def reproduce(
    *ids: str,
    quick: bool = False,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> dict[str, Results]:
    """Runs experiments of the papers, each with its claims judged; `experiments` lists them, "all" is every one.

    Results are in a folder each under `out`. The other parameters are those of `run`.

    Raises
    ------
    ScenarioError
        If there is no such experiment; nothing was run then.
    """
    names = [one.id for one in experiments()] if "all" in ids else list(dict.fromkeys(ids))
    studies = {id: Study.experiment(id, quick=quick) for id in names}
    parent = None if out is None else _native.checked_folder(out)
    folders = {id: ResultsFolder(None if parent is None else parent / id) for id in names}
    return {
        id: _carry_out(study, folders[id], jobs=jobs, resume=resume, progress=progress)
        for id, study in studies.items()
    }


def _carry_out(
    study: Study,
    results_folder: ResultsFolder,
    *,
    jobs: int | None,
    resume: bool,
    progress: bool | None,
    sweep: bool = False,
) -> Results:
    with Bar(progress, len(study.jobs)) as bar:
        summary, tables = study.run(
            out=str(results_folder.path),
            jobs=jobs,
            resume=resume,
            sweep=sweep,
            temporary=results_folder.temporary,
            progress=bar.show,
        )
    return Results(Summary(summary, tables), results_folder)
