"""`run`, `sweep` and `reproduce`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tqdm.auto import tqdm

from . import _native
from ._dask import Recipe, distribute
from ._native import Study
from ._results import Results, Summary
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
    KeyboardInterrupt
        On Ctrl-C; what was finished is in ``out/runs``.
    """
    study = Scenario(scenario).study(quick=quick, seed=seed, overrides=overrides)
    return _carry_out(study, out, jobs=jobs, resume=resume, progress=progress)


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
    changes = Recipe(
        Scenario(scenario), quick=quick, seed=seed, seeds=seeds, overrides=overrides, vary=vary
    )
    study = changes.study()
    if client is None:
        return _carry_out(study, out, jobs=jobs, resume=True, progress=progress, sweep=True)
    temporary, folder = _folder(out)
    with _Bar(progress, len(study.jobs)) as bar:
        distribute(client, changes, folder, bar.ended)
    results = _carry_out(study, folder, jobs=jobs, resume=True, progress=False, sweep=True)
    return Results(results.summary, folder, temporary)


def reproduce(
    *ids: str,
    quick: bool = False,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> dict[str, Results]:
    """Runs experiments of the papers, each with its claims judged; `experiments` lists them.

    Results are in a folder each under `out`.
    """
    studies = {id: Study.experiment(id, quick=quick) for id in ids}
    folders = {id: None if out is None else Path(out) / id for id in ids}
    return {
        id: _carry_out(study, folders[id], jobs=jobs, resume=resume, progress=progress)
        for id, study in studies.items()
    }


class _Bar:
    """A bar over the work that is done."""

    def __init__(self, shown: bool | None, runs: int) -> None:
        # tqdm shows none where there is no terminal, if it is told nothing.
        self._bar = tqdm(
            total=100.0,
            disable=None if shown is None else not shown,
            bar_format="{percentage:3.0f} % |{bar}| {elapsed} passed, {remaining} to go {postfix}",
        )
        self._runs = runs

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def show(self, part: float, ended: int, what: str) -> None:
        self._bar.set_postfix_str(f"{ended} of {self._runs} runs {what}".rstrip(), refresh=False)
        self._bar.update(100.0 * part - self._bar.n)

    def ended(self, count: int) -> None:
        self.show(count / max(self._runs, 1), count, "")


def _folder(
    out: str | os.PathLike[str] | None,
) -> tuple[tempfile.TemporaryDirectory[str] | None, Path]:
    if out is not None:
        return None, Path(out)
    temporary = tempfile.TemporaryDirectory(prefix="shallop-")
    return temporary, Path(temporary.name)


def _carry_out(
    study: Study,
    out: str | os.PathLike[str] | None,
    *,
    jobs: int | None,
    resume: bool,
    progress: bool | None,
    sweep: bool = False,
) -> Results:
    temporary, folder = _folder(out)
    with _Bar(progress, len(study.jobs)) as bar:
        summary, tables = study.run(
            out=str(folder), jobs=jobs or 0, resume=resume, sweep=sweep, progress=bar.show
        )
    return Results(Summary(summary, tables), folder, temporary)
