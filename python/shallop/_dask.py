"""Sweeps on many machines: Dask distributes the runs, and this module collects their files.

A run is determined by its scenario, seed and code, and its files are named by a digest of all three. A worker makes
one run in an empty folder and returns the files. They are stored among the finished runs, where the local sweep
finds them. A run that is made twice gives identical files.
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

#: Names and contents of the files of a run; the file that completes the run is last.
Files = list[tuple[str, bytes]]


class Recipe:
    """Everything that a worker needs to read the study: texts, no paths."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        quick: bool,
        seed: int | None,
        seeds: int | None,
        overrides: Mapping[str, Value],
        vary: Mapping[str, Sequence[Value]],
        allow_programs: bool = False,
    ) -> None:
        self._scenario, self._allow_programs = scenario, allow_programs
        self._quick, self._seed, self._seeds = quick, seed, seeds
        self._overrides, self._vary = dict(overrides), dict(vary)
        self._files: dict[str, str] | None = None

    def study(self) -> Study:
        """The study, on this machine or on a worker."""
        return self._scenario.study(
            quick=self._quick,
            seed=self._seed,
            seeds=self._seeds,
            overrides=self._overrides,
            vary=self._vary,
            files=self._files,
            allow_programs=self._allow_programs,
        )

    def pack(self) -> Study:
        """Checks the study, and reads the files that its scenario names."""
        study, folder = self.study(), self._scenario.folder
        self._files = {
            name: (folder / name).read_text(encoding="utf-8") for name in study.named_files
        }
        return study


def distribute(
    client: Client, recipe: Recipe, folder: Path, ended: Callable[[int, int], None]
) -> None:
    """Makes the runs of a study that are not finished in a folder, on the workers, and stores them there.

    Parameters
    ----------
    client
        The Dask client whose workers make the runs.
    recipe
        The study.
    folder
        The folder for the results; finished runs are in its folder ``runs``.
    ended
        Called with the numbers of finished runs and of all runs, whenever a run is finished.

    Raises
    ------
    ShallopError
        If a run cannot be made, or a worker has other code. Finished runs are kept.
    distributed.KilledWorker
        If more workers than the scheduler's `allowed-failures` died while they made one run.
    """
    from distributed import as_completed

    study = recipe.pack()
    kept = folder / "runs"
    kept.mkdir(parents=True, exist_ok=True)
    wanted = _wanted(study, kept)
    there = len(study.jobs) - len(wanted)
    ended(there, len(study.jobs))
    # The recipe is not scattered: scattered data is lost with the workers that hold it. Tasks are not retried: an
    # error is the same each time, and Dask gives a run whose worker died to another worker anyway.
    tasks = [client.submit(make, recipe, identity, pure=False) for identity in wanted]
    try:
        for count, future in enumerate(as_completed(tasks), start=there + 1):
            for name, content in future.result():
                _write(kept / name, content)
            # The files are stored, so the worker need not keep them.
            future.release()
            ended(count, len(study.jobs))
    finally:
        client.cancel(tasks, force=True)


def make(recipe: Recipe, identity: str) -> Files:
    """Makes one run, on a worker."""
    with tempfile.TemporaryDirectory(prefix="shallop-") as folder:
        recipe.study().run_one(identity, folder)
        paths = sorted((Path(folder) / "runs").glob(f"{identity}.*"), key=_completes)
        return [(path.name, path.read_bytes()) for path in paths]


def _wanted(study: Study, kept: Path) -> list[str]:
    """The identities of the runs that are missing, each once."""
    identities = dict.fromkeys(job.identity for job in study.jobs)
    return [one for one in identities if not (kept / f"{one}.json").exists()]


def _completes(path: Path) -> bool:
    """Whether the file completes its run: a run with its JSON is finished, so the JSON is written last."""
    return path.suffix == ".json"


def _write(path: Path, content: bytes) -> None:
    """Writes a file under a temporary name and renames it, so that it appears whole."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
