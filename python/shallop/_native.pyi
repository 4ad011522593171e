"""What the compiled part has: a thin face of the same library that the command uses."""

from collections.abc import Callable, Mapping, Sequence
from typing import final

__all__ = [
    "ScenarioError",
    "ShallopError",
    "Study",
    "Table",
    "__version__",
    "experiments",
    "figures",
    "read_text",
    "report",
    "schema",
    "table",
    "values",
]
__version__: str

class ShallopError(Exception):
    """Something is wrong, in the words that the command prints."""

class ScenarioError(ShallopError):
    """A scenario is not a good one; the message shows the line."""

@final
class Table:
    """Rows in a Parquet file, read batch by batch by whoever takes Arrow streams.

    ``polars.DataFrame(table)``, ``pandas.DataFrame.from_arrow(table)`` and ``pyarrow.table(table)`` read it.
    """

    @property
    def path(self) -> str:
        """The file: one of the results', or, without a folder for those, of a temporary one."""
    @property
    def columns(self) -> list[tuple[str, str, str]]:
        """For each column its name, its unit (empty if it has none) and its definition."""
    @property
    def rows(self) -> int:
        """How many rows there are."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Study:
    """A scenario that was read and checked, with everything it varies."""

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
        """Reads a scenario; `files` stand for those in `folder`."""
    @staticmethod
    def experiment(id: str, *, quick: bool = False) -> Study:
        """Reads an experiment that is built in."""
    @property
    def title(self) -> str: ...
    @property
    def jobs(self) -> list[tuple[str, str, int]]:
        """For each run to make its point, its scheme and its seed."""
    @property
    def identities(self) -> list[str]:
        """For each run the name it is kept under: a digest of all that decides what comes of it."""
    @property
    def named_files(self) -> list[str]:
        """The files that the scenario names."""
    def run(
        self,
        *,
        out: str,
        jobs: int = 0,
        resume: bool = False,
        shard: tuple[int, int] | None = None,
        sweep: bool = False,
        temporary: bool = False,
        progress: Callable[[float, int, str], object] | None = None,
    ) -> tuple[str, str]:
        """Makes the runs, writes the results to a folder, and gives the summary as JSON and the tables as text.

        `progress` is called with the part of the work that is done (0 to 1), the number of runs that ended, and
        what was started last; in the calling thread, several times a second. The text says where the results are
        unless that is `temporary`.
        """

def table(path: str, owner: object | None = None) -> Table:
    """A table in a file, which `owner` may remove once nobody holds it."""

def read_text(path: str) -> str:
    """The text of a scenario's file."""

def experiments() -> list[tuple[str, str, str, str, str]]:
    """For each experiment that is built in: id, title, about, and how long it takes in full and quick."""

def values(text: str) -> list[str]:
    """Values with commas between them, as they are typed; those with commas of their own in quotes."""

def schema() -> str:
    """The JSON Schema of scenarios."""

def figures(folder: str) -> list[tuple[str, str]]:
    """The figures of the results in a folder: for each its name and its Vega-Lite specification, as JSON."""

def report(folder: str) -> str:
    """Writes report.html for the results in a folder and gives its path."""
