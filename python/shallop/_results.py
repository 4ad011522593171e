"""What came of runs."""

from __future__ import annotations

import html
import json
import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._native import Table

if TYPE_CHECKING:
    import altair


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

    Results without a folder of their own are in a temporary one, which goes with this object.
    """

    summary: Summary
    folder: Path

    def __init__(
        self,
        summary: Summary,
        folder: Path,
        temporary: tempfile.TemporaryDirectory[str] | None = None,
    ) -> None:
        self.summary = summary
        self.folder = folder
        self._temporary = temporary

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
        """A row for each flow: times in seconds, sizes in bytes; `Table.columns` has the definitions."""
        return _native.table(str(self.folder / "flows.parquet"))

    @cached_property
    def series(self) -> Table:
        """Queues and rates over time: `time_s`, `what`, `place`, `value`, beside the run's names."""
        return _native.table(str(self.folder / "series.parquet"))

    @cached_property
    def figures(self) -> dict[str, altair.Chart]:
        """The report's figures by name, as Altair charts of the same specifications.

        Needs the extra ``figures``.
        """
        import altair

        # The scripts of the report and Altair may be of different minor versions: both read these.
        charts = _native.figures(str(self.folder))
        return {
            name: altair.Chart.from_dict(json.loads(spec), validate=False) for name, spec in charts
        }

    def report(self) -> Path:
        """Writes report.html, one page that needs nothing else, and gives its path."""
        return Path(_native.report(str(self.folder)))
