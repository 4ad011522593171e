"""The results of runs."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._command import Message, ask
from ._errors import ShallopError
from ._table import Table

if TYPE_CHECKING:
    import altair


class ResultsFolder:
    """The folder of results: a given one, or a temporary one that is removed with the last reference."""

    out: str
    """The path as it was given."""
    path: Path
    temporary: bool

    def __init__(self, out: str | os.PathLike[str] | None) -> None:
        self.temporary = out is None
        self.out = tempfile.mkdtemp(prefix="shallop-") if out is None else os.fspath(out)
        self.path = Path(self.out)
        if self.temporary:
            weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class Printed(Mapping[str, Any]):
    """The content of a JSON text as a mapping; its text form is what the command prints."""

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

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._tables)}</pre>"


class Summary(Printed):
    """The content of summary.json as a mapping; its text form is the tables that the command prints."""

    def __repr__(self) -> str:
        return f"<Summary of {self['scenario']!r}: {len(self['runs'])} runs>"


class Comparison(Printed):
    """A comparison of two results, as `compare --json` prints it; its text form is what `compare` prints.

    `finding` is a sentence, `pairs` has the differences by metric with their 95 % intervals, and `unpaired` has what
    was not compared.
    """

    def __repr__(self) -> str:
        return f"<Comparison: {self['finding']}>"


class Results:
    """The results of a scenario, a sweep or an experiment.

    Without `out`, the files are in a temporary folder, which is removed with this object and its tables.
    """

    summary: Summary
    """The content of summary.json; its text form is the tables that the command prints."""
    folder: Path
    """The folder of summary.json, flows.parquet, series.parquet, report.html and the finished runs."""

    def __init__(self, summary: Summary, results_folder: ResultsFolder, folder: Path) -> None:
        self.summary = summary
        self.folder = folder
        self._results_folder = results_folder

    def __repr__(self) -> str:
        warned = sum(1 for run in self.runs if run["warnings"])
        warnings = f", {warned} of {len(self.runs)} runs with warnings" if warned else ""
        return f"<Results of {self.summary['scenario']!r} in {str(self.folder)!r}{warnings}>"

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in self.warnings)
        warnings = f"<ul>{lines}</ul>" if lines else ""
        return warnings + self.summary._repr_html_()

    @cached_property
    def warnings(self) -> list[str]:
        """The warnings that the command prints; empty if there are none.

        A warning of several schemes and runs is listed once. `warnings` of each of `runs` has all warnings of a run.
        """
        text = ask("export", "--table=warnings", "--", self.folder)
        rows = csv.DictReader(io.StringIO(text, newline=""))
        return [
            f"{row['warning']} ({row['place']})" if row["place"] else row["warning"] for row in rows
        ]

    @property
    def runs(self) -> list[dict[str, Any]]:
        """`runs` of summary.json: a dictionary for each run. The ends of keys name the units."""
        runs: list[dict[str, Any]] = self.summary["runs"]
        return runs

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The claims with their measured figures and verdicts; empty if there are none."""
        claims: list[dict[str, Any]] = self.summary["claims"]
        return claims

    @cached_property
    def flows(self) -> Table:
        """Shape (flows of all runs, columns): times in seconds, sizes in bytes; `Table.columns` defines each.

        In a sweep, each swept key has a column with its value, in this table and the others.
        """
        return self._table("flows")

    @cached_property
    def series(self) -> Table:
        """Queues and rates over time, with the columns `time_s`, `what`, `place`, `value` and those of the run.

        The end of `what` is the unit of `value`: ``queue_bytes``, ``rate_bps``.
        """
        return self._table("series")

    @cached_property
    def traces(self) -> Table:
        """The state of each flow over time, of runs with ``record__flows="1ms"``; otherwise empty.

        A row for each flow at each time: `point`, one column for each swept key, `scheme`, `seed`, `time_s`, `flow`,
        `cwnd_segments`, `ssthresh_segments`, `pacing_bps`, `srtt_s`, `delivered_segments`, `ca_state`.
        """
        return self._table("traces")

    @cached_property
    def aggregates(self) -> Table:
        """Means over seeds with 95 % confidence intervals: a row for each metric of each scheme at each point.

        Columns: `point`, one for each swept key, `scheme`, `metric`, `mean`, `ci95` (half the width of the interval;
        null where there is none), `low` and `high` (its ends, within what is possible), `at_least` (the mean is a lower
        bound), `n`. The end of `metric` is the unit: ``throughput_bps``, ``fct.all.p99_s``.
        """
        return self._table("aggregates")

    @property
    def completion(self) -> Table:
        """Completion times: a row for each run, size class and statistic.

        Columns: `point`, one for each swept key, `scheme`, `seed`, `size`, `count`, `unfinished`, `statistic`,
        `value`, `at_least`, `few_samples`; `Table.columns` defines each. Where `at_least` is true, the value is a lower
        bound, because flows did not finish.
        """
        return self._table("completion")

    @cached_property
    def drops_by_cause(self) -> Table:
        """The causes of drops: a row for each run, port, class and cause, with the number of packets.

        Columns: `point`, one for each swept key, `scheme`, `seed`, `place`, `class`, `cause`, `packets`;
        `Table.columns` defines each. Ports, classes and causes without drops have no row.
        """
        return self._table("drops_by_cause")

    @cached_property
    def links(self) -> Table:
        """The links: a row for each run and direction of a link that carried anything, the most utilised first.

        Columns: `point`, one for each swept key, `scheme`, `seed`, `link`, `rate_bps`, `offered`, `utilization`,
        `loss_rate`, `marks`, `max_queue_bytes`; `Table.columns` defines each. At most 1,000 rows a run; `left_out` of
        a run counts the rest.
        """
        return self._table("links")

    @cached_property
    def groups(self) -> Table:
        """The groups of flows: a row for each run and `[[group]]`, with losses and completion times.

        Columns begin with `point`, `scheme`, `seed`, `group`; `Table.columns` defines each.
        """
        return self._table("groups")

    def _table(self, name: str) -> Table:
        swept = any(point["set"] for point in self.summary["points"])
        return Table(self.folder, name, swept=swept, owner=self._results_folder)

    @cached_property
    def figures(self) -> dict[str, altair.TopLevelMixin]:
        """The figures of the report by name, as Altair charts. Needs the extra ``figures``."""
        import altair

        # altair.Chart.from_dict would try all kinds of charts in turn, which takes seconds.
        kinds: dict[str, type[altair.Chart | altair.LayerChart | altair.FacetChart]]
        kinds = {"layer": altair.LayerChart, "facet": altair.FacetChart}
        charts: dict[str, altair.TopLevelMixin] = {}
        for name, spec in specs(self.folder).items():
            kind = next((kinds[key] for key in kinds if key in spec), altair.Chart)
            charts[name] = kind.from_dict(spec)
        return charts

    def report(self) -> Path:
        """Writes report.html, one page that needs no other files, and returns its path."""
        ask("report", "--", self.folder)
        return self.folder / "report.html"


def specs(folder: Path) -> dict[str, dict[str, Any]]:
    """The figures of the results in a folder, by name, as Vega-Lite specifications."""
    figures = json.loads(ask("report", "--json", "--", folder))["figures"]
    return {figure["id"]: figure["spec"] for figure in figures}


def compare(
    a: Results | str | os.PathLike[str],
    b: Results | str | os.PathLike[str],
    *,
    schemes: tuple[str, str] | None = None,
    points: tuple[str, str] | None = None,
) -> Comparison:
    """Compares two results pair by pair of seeds; each is `Results` or their folder.

    Parameters
    ----------
    schemes
        A scheme of `a` and one of `b` to compare; schemes of equal names unless given.
    points
        Points of `a` and of `b` to compare, ``KEY=VALUE`` or their names: ``("buffer=20KB", "buffer=200KB")``; points
        with equal keys unless given.

    Raises
    ------
    ShallopError
        If nothing in them can be paired.
    """
    folders = [one.folder if isinstance(one, Results) else Path(one) for one in (a, b)]
    for folder in folders:
        # The command takes a file for a scenario and would run it.
        if not folder.is_dir():
            raise ShallopError(f"{folder}: there is no such folder of results")
    options = ["--json"]
    if schemes is not None:
        options += [f"--scheme={schemes[0]}", f"--with={schemes[1]}"]
    if points is not None:
        options += ["--points", *points]
    text = ""

    def on_message(message: Message) -> None:
        nonlocal text
        if message["type"] == "comparison":
            text = message["text"]

    return Comparison(ask("compare", *options, "--", *folders, on_message=on_message), text)
