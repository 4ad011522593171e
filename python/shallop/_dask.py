"""Sweeps on many machines: Dask hands out the runs, this puts what they leave together.

A run is a function of its scenario and seed, and is kept under a digest of both and of the code. So a worker makes
one run into an empty folder and sends the files it finds there; here they are put among the finished runs, where
the local sweep takes them from. A run that is made twice gives the same files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ._scenario import Scenario, Value
from ._study import Study

if TYPE_CHECKING:
    from distributed import Client

#: Names and contents of the files of a run, the one that makes it count last.
Files = list[tuple[str, bytes]]


class Recipe:
    """All that a worker needs to read the same study: texts, no paths."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        quick: bool,
        seed: int | None,
        seeds: int | None,
        overrides: Mapping[str, Value],
        vary: Mapping[str, Sequence[Value]],
    ) -> None:
        self._scenario = scenario
        self._quick, self._seed, self._seeds = quick, seed, seeds
        self._overrides, self._vary = dict(overrides), dict(vary)
        self._files: dict[str, str] | None = None

    def study(self) -> Study:
        """The study, on whatever machine this is."""
        return self._scenario.study(
            quick=self._quick,
            seed=self._seed,
            seeds=self._seeds,
            overrides=self._overrides,
            vary=self._vary,
            files=self._files,
        )

    def pack(self) -> Study:
        """Checks the study, and takes along the files that its scenario names."""
        study, folder = self.study(), self._scenario.folder
        self._files = {
            name: (folder / name).read_text(encoding="utf-8") for name in study.named_files
        }
        return study


def distribute(
    client: Client, recipe: Recipe, folder: Path, ended: Callable[[int, int], None]
) -> None:
    """Has all runs of a study made that are not among the finished ones in a folder, and puts them there.

    Parameters
    ----------
    client
        Who makes them.
    recipe
        What they are runs of.
    folder
        Where the results go; finished runs are in its folder ``runs``.
    ended
        Is told how many of how many runs are finished, whenever one is.

    Raises
    ------
    ShallopError
        If a run cannot be made, or a worker's code is not this one's. Runs that were finished are kept.
    distributed.KilledWorker
        If one run was under way on several workers that died, more than the scheduler's `allowed-failures`.
    """
    from distributed import as_completed

    study = recipe.pack()
    kept = folder / "runs"
    kept.mkdir(parents=True, exist_ok=True)
    wanted = _wanted(study, kept)
    there = len(study.jobs) - len(wanted)
    ended(there, len(study.jobs))
    # Not scattered: that would be lost with the workers that hold it. Not retried: an error is the same each time,
    # and a run whose worker died is handed to another one anyway.
    tasks = [client.submit(make, recipe, identity, pure=False) for identity in wanted]
    try:
        for count, future in enumerate(as_completed(tasks), start=there + 1):
            for name, content in future.result():
                _write(kept / name, content)
            # Its files are here: the worker need not hold them any longer.
            future.release()
            ended(count, len(study.jobs))
    finally:
        client.cancel(tasks, force=True)


def make(recipe: Recipe, identity: str) -> Files:
    """Makes one run, on a worker."""
    with tempfile.TemporaryDirectory(prefix="shallop-") as folder:
        recipe.study().run_one(identity, folder)
        paths = sorted((Path(folder) / "runs").glob(f"{identity}.*"), key=_makes_it_count)
        return [(path.name, path.read_bytes()) for path in paths]


def _wanted(study: Study, kept: Path) -> list[str]:
    """The identities of the runs that are not there; runs that come to the same only once."""
    identities = dict.fromkeys(job.identity for job in study.jobs)
    return [one for one in identities if not (kept / f"{one}.json").exists()]


def _makes_it_count(path: Path) -> bool:
    """Whoever finds the JSON finds the run, so it is written last."""
    return path.suffix == ".json"


def _write(path: Path, content: bytes) -> None:
    """Writes a file that is there whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
