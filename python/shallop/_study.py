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

#: Exit codes with results: 1 if a claim fails or is undecided, 4 if a rehearsal is void.
WITH_RESULTS = (0, 1, 4)


class Job(NamedTuple):
    """A run to make."""

    point: str
    scheme: str
    seed: int
    identity: str
    """A digest of everything that determines the results of the run."""


class Study:
    """A scenario with its changes. Each method starts the command, which reads and checks the scenario."""

    def __init__(
        self, request: Mapping[str, Any], options: Sequence[str], *, allow_programs: bool = False
    ) -> None:
        self._request = request
        self._allowed = ["--allow-programs"] * allow_programs
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
            If the scenario has an error; the message has the line and the allowed values.
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
        asked = ["sweep" if sweep else "run", "-", *self._options, *run_options(folder.out, jobs)]
        asked += self._allowed
        # A sweep always reuses finished runs.
        asked += ["--resume"] if resume and not sweep else []
        collector = Collector()
        with Bar(progress) as bar:
            ask(
                *asked,
                request=self._request,
                good=WITH_RESULTS,
                on_message=lambda message: collector.add(message, bar),
            )
        return collector.results(folder)

    def run_one(self, identity: str, out: str) -> None:
        """Makes one run; its files are in the folder ``runs`` of `out` afterwards."""
        asked = ["sweep", "-", *self._options, f"--identity={identity}", *run_options(out, 1)]
        ask(*asked, *self._allowed, request=self._request)


def run_options(out: str, jobs: int | None) -> list[str]:
    """Options that all commands with runs have."""
    return [f"--out={out}", *([] if jobs is None else [f"--jobs={jobs}"])]


class Collector:
    """Collects the messages of type ``results``, and shows those of type ``progress``."""

    def __init__(self) -> None:
        #: By the name of the experiment; None for a scenario.
        self.by_id: dict[str | None, Message] = {}

    def add(self, message: Message, bar: Bar) -> None:
        if message["type"] == "progress":
            bar.show(message["part"], message["ended"], message["runs"], message["last"])
        elif message["type"] == "results":
            self.by_id[message["id"]] = message

    def results(self, folder: ResultsFolder, id: str | None = None) -> Results:
        """The results in a folder, after the command has ended."""
        message = self.by_id[id]
        path = Path(message["folder"])
        text = (path / "summary.json").read_text(encoding="utf-8")
        notes = "" if folder.temporary else message["notes"]
        tables = f"{message['tables']}{notes}\n{message['legend']}"
        return Results(Summary(text, tables), folder, path)
