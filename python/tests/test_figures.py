"""Figures: each one is a valid Vega-Lite specification, which Altair saves as SVG, PNG and PDF with its marks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import altair as alt
import jsonschema
import pytest

import shallop
from shallop._results import specs

#: The names of all figures, by the module in crates/view/src/figures that makes them.
FIGURES = {
    "paper-and-measured",
    "goodput",
    "loss",
    "longest-queue",
    "fairness",
    "fct-mean",
    "fct-p99",
    "fct-small-p99",
    "completion-percentiles",
    "completion-times",
    "slowdown-by-size",
    "queue-over-time",
    "throughput-over-time",
    "links",
    "flow-rates-over-time",
    "windows-over-time",
}

STATIC = """
title = "Flows without end"
seeds = [1, 2]
duration = "60ms"
sample = "1ms"
topology = { kind = "dumbbell", senders = 4, rate = "1Gbps", delay = "1ms", sender_delay = "0ms..2ms" }
scheme = [{ transport = "cubic" }, { transport = "flashpass" }]
group = [{ name = "all", start = "0s..5ms" }]
claim = [{ what = "CUBIC: throughput", scheme = "cubic", metric = "throughput_bps", unit = "Gb/s", paper = 0.9,
           low = 0.01, high = 0.99, source = "section 0" }]
"""

DYNAMIC = """
title = "Flows that come and go"
duration = "20ms"
sample = "1ms"
topology = { kind = "dumbbell", senders = 4, rate = "1Gbps", delay = "1ms" }
classes = { small = "10KB", large = "100KB" }
scheme = [{ transport = "cubic" }, { transport = "newreno" }]
group = [
    { name = "web", sizes = "web-server", flows = 300, start = "0s..19ms" },
    { name = "bulk", size = "1MB", flows = 2 },
]
"""


def marks(svg: str) -> int:
    """The number of marks in an SVG picture: points, bars and lines, without axes and legends."""
    count = 0
    # Vega puts the marks of each layer into a group.
    for group in re.findall(
        r'<g class="mark-(?:symbol|rect|line|area|rule) role-mark.*?</g>', svg, re.S
    ):
        count += len(re.findall(r"<(?:path|line|rect)[ >]", group))
    return count


def check_saved(results: shallop.Results, folder: Path) -> set[str]:
    """Saves the figures of some results as a user does. Altair refuses a figure that its schema does not accept."""
    of_report = specs(results.folder)
    for name, chart in results.figures.items():
        spec = chart.to_dict(validate=False)
        # Altair's schema has another minor version.
        assert alt.SCHEMA_URL.startswith(spec["$schema"].removesuffix("json")), name
        for ending in ("svg", "png", "pdf"):
            chart.save(str(folder / f"{name}.{ending}"))
        svg = (folder / f"{name}.svg").read_text(encoding="utf-8")
        vl_convert = pytest.importorskip("vl_convert")
        # The figure in the report has equally many marks.
        assert marks(svg) == marks(vl_convert.vegalite_to_svg(of_report[name])) > 0, name
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    return set(results.figures)


def every_kind() -> list[Callable[[], shallop.Results]]:
    """Functions that make results of each kind: runs, sweeps of one or two keys, judged experiments."""
    senders: dict[str, list[shallop._scenario.Value]] = {"topology.senders": [2, 4]}
    buffers: dict[str, list[shallop._scenario.Value]] = {
        **senders,
        "switch.default.buffer": ["8pkt", "20KB"],
    }
    without_classes = DYNAMIC.replace("classes =", "# classes =")
    return [
        lambda: shallop.run(STATIC, progress=False),
        lambda: shallop.run(DYNAMIC, progress=False),
        lambda: shallop.sweep(STATIC, senders, progress=False),
        lambda: shallop.sweep(STATIC, {"topology.senders": [2, 3, 4]}, seeds=1, progress=False),
        lambda: shallop.sweep(STATIC, buffers, progress=False),
        lambda: shallop.sweep(DYNAMIC, senders, progress=False),
        lambda: shallop.sweep(DYNAMIC, buffers, seeds=2, progress=False),
        lambda: shallop.sweep(without_classes, senders, progress=False),
        lambda: shallop.reproduce("ae-table2", quick=True, progress=False)["ae-table2"],
        # Too many flows for one line each.
        lambda: shallop.run(STATIC.replace("senders = 4", "senders = 40"), progress=False),
        *(lambda path=path: example(path) for path in sorted(EXAMPLES.glob("*.toml"))),
    ]


EXAMPLES = Path(__file__).parents[2] / "examples"


def example(path: Path) -> shallop.Results:
    """A short run of an example."""
    return shallop.run(path, quick=True, duration="210ms", windows=["0s..210ms"], progress=False)


@pytest.mark.full
def test_altair_saves_every_kind_of_figure(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="vl-convert is not installed, which saves charts")
    saved: set[str] = set()
    for make in every_kind():
        saved |= check_saved(make(), tmp_path)
    assert saved == FIGURES


def test_an_invalid_specification_is_refused() -> None:
    spec = next(iter(shallop.run(DYNAMIC, progress=False).figures.values())).to_dict()
    spec["encoding"] = {"x": {"field": 7}}
    with pytest.raises(jsonschema.ValidationError, match="7 is not of type"):
        alt.Chart.from_dict(spec)


def test_report_writes_the_page_again(tmp_path: Path) -> None:
    results = shallop.run(DYNAMIC, out=tmp_path, progress=False)
    page = tmp_path / "report.html"
    before = page.read_bytes()
    page.unlink()
    assert results.report() == page
    assert page.read_bytes() == before
