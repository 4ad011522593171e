"""A scenario with its changes, and the runs that it makes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ._bar import Bar
from ._command import Message, ask
from ._results import Results, ResultsFolder, Summary

#: Exit codes of runs that were made: 1 if a claim fails or is undecided, 4 if a rehearsal is void.
MADE = (0, 1, 4)


class Job(NamedTuple):
    """A run that is to be made."""

    point: str
    scheme: str
    seed: int
    identity: str
    """A digest of everything that determines the results of the run."""


class Study:
    """A scenario with its changes. It is read and checked whenever the command is asked for something."""

    def __init__(self, request: Mapping[str, Any], options: Sequence[str]) -> None:
        self._request = request
        self._options = list(options)

    @cached_property
    def _listed(self) -> dict[str, Any]:
        asked = ("check", "-", "--runs", "--json", *self._options)
        listed: dict[str, Any] = json.loads(ask(*asked, request=self._request))
        return listed

    @property
    def jobs(self) -> list[Job]:
        """The runs.

        Raises
        ------
        ScenarioError
            With the line and what is allowed there.
        """
        return [Job(**run) for run in self._listed["runs"]]

    @property
    def named_files(self) -> list[str]:
        """The files that the scenario names."""
        files: list[str] = self._listed["files"]
        return files

    def run(
        self,
        out: str | os.PathLike[str] | ResultsFolder | None,
        *,
        jobs: int | None = None,
        resume: bool = False,
        sweep: bool = False,
        progress: bool | None = None,
    ) -> Results:
        """Makes the runs, and writes their results to a folder, or to a temporary one."""
        folder = out if isinstance(out, ResultsFolder) else ResultsFolder(out)
        asked = ["sweep" if sweep else "run", "-", *self._options, *work(folder.out, jobs)]
        # Finished runs of a sweep are always taken.
        asked += ["--resume"] if resume and not sweep else []
        made = Made()
        with Bar(progress) as bar:
            ask(*asked, request=self._request, good=MADE, told=lambda it: made.hear(it, bar))
        return made.results(folder)

    def run_one(self, identity: str, out: str) -> None:
        """Makes one run; its files are in the folder ``runs`` of `out` then."""
        asked = ["sweep", "-", *self._options, f"--identity={identity}", *work(out, 1)]
        ask(*asked, request=self._request)


def work(out: str, jobs: int | None) -> list[str]:
    """The options of all commands that make runs."""
    return [f"--out={out}", *([] if jobs is None else [f"--jobs={jobs}"])]


class Made:
    """What a command that makes runs says of its results."""

    def __init__(self) -> None:
        #: By the name of the experiment; of a scenario that is None.
        self.by_id: dict[str | None, Message] = {}

    def hear(self, message: Message, bar: Bar) -> None:
        if message["type"] == "progress":
            bar.show(message["part"], message["ended"], message["runs"], message["last"])
        elif message["type"] == "results":
            self.by_id[message["id"]] = message

    def results(self, folder: ResultsFolder, id: str | None = None) -> Results:
        """The results that are in a folder by now."""
        message = self.by_id[id]
        path = Path(message["folder"])
        text = (path / "summary.json").read_text(encoding="utf-8")
        notes = "" if folder.temporary else message["notes"]
        tables = f"{message['tables']}{notes}\n{message['legend']}"
        return Results(Summary(text, tables), folder, path)
