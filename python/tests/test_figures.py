"""Figures: each is a good Vega-Lite specification, by the schema that comes with Altair."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import jsonschema
import pytest

import shallop

#: Every figure there is, by the module that makes it: crates/view/src/figures.
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
    "flow-rates-over-time",
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


def drawn(results: shallop.Results) -> set[str]:
    """The names of the figures of some results; what the schema does not take makes no chart."""
    for name, chart in results.figures.items():
        spec = chart.to_dict(validate=False)
        # Altair's schema is of a minor version of the same.
        assert alt.SCHEMA_URL.startswith(spec["$schema"].removesuffix("json")), name
    return set(results.figures)


def test_every_figure_is_valid() -> None:
    senders: dict[str, list[shallop._scenario.Value]] = {"topology.senders": [2, 4]}
    buffers: dict[str, list[shallop._scenario.Value]] = {
        **senders,
        "switch.default.buffer": ["8pkt", "20KB"],
    }
    without_classes = DYNAMIC.replace("classes =", "# classes =")
    each = [
        shallop.run(STATIC, progress=False),
        shallop.run(DYNAMIC, progress=False),
        shallop.sweep(STATIC, buffers, progress=False),
        shallop.sweep(DYNAMIC, senders, progress=False),
        shallop.sweep(without_classes, senders, progress=False),
    ]
    assert set().union(*map(drawn, each)) == FIGURES


def test_what_is_no_specification_is_refused() -> None:
    spec = next(iter(shallop.run(DYNAMIC, progress=False).figures.values())).to_dict()
    spec["encoding"] = {"x": {"field": 7}}
    with pytest.raises(jsonschema.ValidationError, match="7 is not of type"):
        alt.Chart.from_dict(spec)


def test_the_page_is_written_again(tmp_path: Path) -> None:
    results = shallop.run(DYNAMIC, out=tmp_path, progress=False)
    page = tmp_path / "report.html"
    before = page.read_bytes()
    page.unlink()
    assert results.report() == page
    assert page.read_bytes() == before
