"""Draws the figure of the README, docs/fig10a.svg, from results of fp-fig10a: bars are means over seeds, diamonds are
the figures of the paper. With --check the file is compared instead, by the values and colours that it shows.

    shallop reproduce fp-fig10a --out results
    python3 checks/figures.py target/release/shallop results/fp-fig10a docs/fig10a.svg [--check]
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
from typing import Any

import vl_convert

SCHEMES = ["cubic", "expresspass", "flashpass-mimd", "flashpass"]
#: Metric, axis title, and the divisor of its values.
PANELS = [("throughput_bps", "Throughput (Gb/s)", 1e9), ("loss_rate", "Loss of data packets (%)", 0.01)]


def colours(shallop: pathlib.Path, results: pathlib.Path) -> dict[str, str]:
    """The colours of schemes in the report of these results."""
    told = subprocess.run([shallop, "report", results, "--json"], check=True, stdout=subprocess.PIPE).stdout
    goodput = next(figure for figure in json.loads(told)["figures"] if figure["id"] == "goodput")
    scale = goodput["spec"]["layer"][0]["encoding"]["color"]["scale"]
    return dict(zip(scale["domain"], scale["range"], strict=True))


def rows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The mean and the paper's figure of each metric and scheme, in the unit of its axis."""
    means = {of["scheme"]: of["metrics"] for of in summary["aggregates"]}
    paper = {(of["metric"], of["scheme"]): of["paper"] for of in summary["claims"] if of["paper"] is not None}
    # If the paper says that a scheme drops nothing, its loss is zero.
    for metric, scheme in list(paper):
        if metric == "drops.data" and paper[metric, scheme] == 0:
            paper["loss_rate", scheme] = 0
    return [
        {"scheme": scheme, "metric": metric, "measured": round(means[scheme][metric]["mean"] / unit, 3),
         "paper": paper.get((metric, scheme))}
        for metric, _, unit in PANELS for scheme in SCHEMES
    ]


def panel(metric: str, title: str, range_of: dict[str, str]) -> dict[str, Any]:
    """A panel of the figure."""
    colour = {"field": "scheme", "type": "nominal", "legend": None,
              "scale": {"domain": SCHEMES, "range": [range_of[scheme] for scheme in SCHEMES]}}
    bar = {"x": {"field": "measured", "type": "quantitative", "title": title}, "color": colour}
    label = {"text": {"field": "measured", "format": ".2f"}, "x": bar["x"]}
    return {
        "transform": [{"filter": {"field": "metric", "equal": metric}}],
        "width": 250,
        "height": {"step": 28},
        "encoding": {"y": {"field": "scheme", "type": "nominal", "sort": SCHEMES, "title": None}},
        "layer": [
            {"mark": "bar", "encoding": bar},
            {"mark": {"type": "text", "align": "right", "dx": -4, "color": "white"}, "encoding": label,
             "transform": [{"filter": "datum.measured > 1"}]},
            {"mark": {"type": "point", "shape": "diamond", "filled": True, "size": 70, "color": "#111111",
                      "opacity": 1},
             "encoding": {"x": {"field": "paper", "type": "quantitative"}},
             "transform": [{"filter": "datum.paper !== null"}]},
        ],
    }


def draw(shallop: pathlib.Path, results: pathlib.Path) -> str:
    """The figure as SVG."""
    summary = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    range_of = colours(shallop, results)
    return vl_convert.vegalite_to_svg({
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": "white",
        "data": {"values": rows(summary)},
        "hconcat": [panel(metric, title, range_of) for metric, title, _ in PANELS],
        "config": {"font": "sans-serif", "axis": {"labelFontSize": 12, "titleFontSize": 12}},
    })


def shown(svg: str) -> list[str]:
    """The descriptions and colours of the marks of a figure."""
    return re.findall(r'<path aria-label="([^"]*)"', svg) + re.findall(r'fill="(#\w{6})"', svg)


def main() -> None:
    """Draws the figure, or compares it with the existing one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shallop", type=pathlib.Path, help="the command, built")
    parser.add_argument("results", type=pathlib.Path, help="results of fp-fig10a")
    parser.add_argument("figure", type=pathlib.Path, help="docs/fig10a.svg")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    svg = draw(arguments.shallop.resolve(), arguments.results)
    if not arguments.check:
        arguments.figure.write_text(svg, encoding="utf-8")
    elif shown(svg) != shown(arguments.figure.read_text(encoding="utf-8")):
        sys.exit(f"{arguments.figure} shows other figures than {arguments.results}: draw it without --check")


if __name__ == "__main__":
    main()
