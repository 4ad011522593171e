"""What came of runs."""

from __future__ import annotations

import html
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._native import Table

if TYPE_CHECKING:
    import altair


class Place:
    """The folder of some results; without a name for it a temporary one, which goes when nobody holds this."""

    folder: Path
    temporary: bool

    def __init__(self, out: str | os.PathLike[str] | None) -> None:
        self.temporary = out is None
        self.folder = Path(tempfile.mkdtemp(prefix="shallop-") if out is None else out)
        if self.temporary:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


class Summary(Mapping[str, Any]):
    """What summary.json holds, as a mapping; printed, the tables that the command prints."""

    def __init__(self, text: str, tables: str) -> None:
        self._data: dict[str, Any] = json.loads(text)
        self._tables = tables

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __str__(self) -> str:
        return self._tables

    def __repr__(self) -> str:
        return f"<Summary of {self['scenario']!r}: {len(self['runs'])} runs>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._tables)}</pre>"


class Results:
    """The results of a scenario, a sweep or an experiment.

    Without a folder of their own they are in a temporary one, which goes with this object and its tables.
    """

    summary: Summary
    """What summary.json holds; printed, the tables that the command prints."""
    folder: Path
    """Where the files are: summary.json, flows.parquet, series.parquet, report.html and the finished runs."""

    def __init__(self, summary: Summary, place: Place) -> None:
        self.summary = summary
        self.folder = place.folder
        self._place = place

    def __repr__(self) -> str:
        return f"<Results of {self.summary['scenario']!r} in {str(self.folder)!r}>"

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()

    @property
    def runs(self) -> list[dict[str, Any]]:
        """For each run what is in `runs` of summary.json: SI units, named in each key's end."""
        runs: list[dict[str, Any]] = self.summary["runs"]
        return runs

    @property
    def claims(self) -> list[dict[str, Any]]:
        """What is claimed, with what was measured and the verdict; empty if nothing is."""
        claims: list[dict[str, Any]] = self.summary["claims"]
        return claims

    @cached_property
    def flows(self) -> Table:
        """Shape (flows of all runs, columns): times in seconds, sizes in bytes; `Table.columns` defines each."""
        return self._table("flows.parquet")

    @cached_property
    def series(self) -> Table:
        """Queues and rates over time, a row each: `time_s`, `what`, `place`, `value`, beside the run's names.

        The end of `what` is the unit of `value`: ``queue_bytes``, ``rate_bps``.
        """
        return self._table("series.parquet")

    def _table(self, name: str) -> Table:
        return _native.table(str(self.folder / name), self._place)

    @cached_property
    def figures(self) -> dict[str, altair.TopLevelMixin]:
        """The report's figures by name, as Altair charts of the same specifications.

        Needs the extra ``figures``.
        """
        import altair

        # Altair would try all its kinds of charts in turn, which takes seconds.
        kinds: dict[str, type[altair.Chart | altair.LayerChart | altair.FacetChart]]
        kinds = {"layer": altair.LayerChart, "facet": altair.FacetChart}
        charts: dict[str, altair.TopLevelMixin] = {}
        for name, text in _native.figures(str(self.folder)):
            spec = json.loads(text)
            kind = next((kinds[key] for key in kinds if key in spec), altair.Chart)
            charts[name] = kind.from_dict(spec)
        return charts

    def report(self) -> Path:
        """Writes report.html, one page that needs nothing else, and gives its path."""
        return Path(_native.report(str(self.folder)))
