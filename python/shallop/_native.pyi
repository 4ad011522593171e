"""The compiled part: a thin layer over the library that the command uses."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import final

__all__ = [
    "ScenarioError",
    "ShallopError",
    "Study",
    "Table",
    "__version__",
    "aggregates",
    "checked_folder",
    "compare",
    "completion",
    "drops_by_cause",
    "groups",
    "links",
    "experiments",
    "figures",
    "read_text",
    "report",
    "schema",
    "table",
    "values",
    "warnings",
]

if sys.platform == "linux":
    __all__ += ["Receiver", "send"]
__version__: str

class ShallopError(Exception):
    """An error, with the message that the command prints."""

class ScenarioError(ShallopError):
    """An error of a scenario; the message shows the line."""

@final
class Table:
    """A table that libraries read batch by batch as an Arrow stream.

    ``polars.DataFrame(table)``, ``pandas.DataFrame.from_arrow(table)`` and ``pyarrow.table(table)`` read it.
    """

    @property
    def path(self) -> str | None:
        """The Parquet file of the table; None for a table in memory."""
    @property
    def columns(self) -> list[tuple[str, str, str]]:
        """Name, unit (empty if it has none) and definition of each column."""
    @property
    def rows(self) -> int:
        """The number of rows."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Study:
    """A checked scenario with its points and seeds."""

    @staticmethod
    def read(
        text: str,
        *,
        name: str,
        folder: str | None = None,
        files: Mapping[str, str] | None = None,
        quick: bool = False,
        seed: int | None = None,
        set: Sequence[tuple[str, str]] = ...,
        vary: Sequence[tuple[str, Sequence[str]]] = ...,
        seeds: int | None = None,
    ) -> Study:
        """Reads a scenario; `files` stand for those in `folder`. ValueError for what is no seed or number of seeds."""
    @staticmethod
    def experiment(id: str, *, quick: bool = False) -> Study:
        """Reads an experiment that is built in."""
    @property
    def title(self) -> str: ...
    @property
    def jobs(self) -> list[tuple[str, str, int]]:
        """The point, the scheme and the seed of each job."""
    @property
    def identities(self) -> list[str]:
        """The identity of each job: a digest of everything that determines its results."""
    @property
    def named_files(self) -> list[str]:
        """The files that the scenario names."""
    def run(
        self,
        *,
        out: str,
        jobs: int | None = None,
        resume: bool = False,
        shard: tuple[int, int] | None = None,
        sweep: bool = False,
        temporary: bool = False,
        progress: Callable[[float, int, str], object] | None = None,
    ) -> tuple[str, str]:
        """Makes the runs, writes the results to a folder, and returns the summary as JSON and the tables as text.

        `progress` is called with the part of the work that is done (0 to 1), the number of runs that ended, and
        what was started last; in the calling thread, several times a second. The text says where the results are
        unless that is `temporary`.
        """

def table(path: str, owner: object | None = None) -> Table:
    """A table in a file beside its summary.json; each key that differs between points has a column."""

def aggregates(folder: str) -> Table:
    """The means over seeds of the results in a folder: a row for each metric of each scheme at each point."""

def checked_folder(out: str | os.PathLike[str]) -> Path:
    """The folder of results; ValueError if it has no name."""

def compare(
    a: str,
    b: str,
    schemes: tuple[str, str] | None = None,
    points: tuple[str, str] | None = None,
) -> tuple[str, str]:
    """The results in two folders compared: as JSON, and as the text that the command prints."""

def completion(folder: str) -> Table:
    """The completion times of the results in a folder: a row for each run, size class and statistic."""

def drops_by_cause(folder: str) -> Table:
    """The causes of drops of the results in a folder: a row for each run, port, class and cause."""

def warnings(folder: str) -> list[str]:
    """The warnings of the results in a folder, each once."""

def links(folder: str) -> Table:
    """The links of the results in a folder: a row for each run and direction of a link."""

def groups(folder: str) -> Table:
    """The groups of flows of the results in a folder: a row for each run and group."""

def read_text(path: str) -> str:
    """The text of a scenario's file."""

def experiments() -> list[tuple[str, str, str, str, str]]:
    """Id, title, about, and the computing time in full and quick of each shipped experiment."""

def values(text: str) -> list[str]:
    """Values separated by commas, as typed; values that contain commas are in quotes."""

def schema() -> str:
    """The JSON Schema of scenarios."""

def figures(folder: str) -> list[tuple[str, str]]:
    """The figures of the results in a folder: name and Vega-Lite specification as JSON."""

def report(folder: str) -> str:
    """Writes report.html for the results in a folder and returns its path."""

if sys.platform == "linux":
    @final
    class Receiver:
        """An address at which files are received, each sender in a thread of its own."""

        @staticmethod
        def listen(
            folder: str | os.PathLike[str],
            *,
            bind: str | None,
            overwrite: bool,
            identity: str | os.PathLike[str] | None,
            cert: str | os.PathLike[str] | None,
            key: str | os.PathLike[str] | None,
            client_ca: str | os.PathLike[str] | None,
            rate_limit: str,
            wait: str,
            without_credits: bool,
            fallback: str,
            unscheduled: str,
        ) -> Receiver:
            """Begins to receive into a folder."""
        @property
        def address(self) -> str: ...
        @property
        def fingerprint(self) -> str: ...
        def next(self) -> tuple[str | None, str | None]:
            """Waits for the next sender to end: the report as JSON, or why there is none; neither once closed."""
        def close(self) -> None: ...

    def send(
        paths: Sequence[str | os.PathLike[str]],
        to: str,
        *,
        rate_limit: str,
        wait: str,
        without_credits: bool,
        fallback: str,
        unscheduled: str,
        streams: int,
        fingerprint: str | None,
        trust_new: bool,
        known_hosts: str | os.PathLike[str] | None,
        ca: str | os.PathLike[str] | None,
        cert: str | os.PathLike[str] | None,
        key: str | os.PathLike[str] | None,
        progress: Callable[[int, int], object] | None,
    ) -> str:
        """Sends files and folders, and returns the report as JSON."""
