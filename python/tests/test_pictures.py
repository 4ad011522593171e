"""Pictures: vl-convert draws the output of `shallop report --json`, as docs/reports.md shows."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from shallop._command import command

ROOT = Path(__file__).parents[2]
#: A scenario with names that contain special characters of XML.
SCENARIO = """
title = "A title <b>of ours</b> & theirs"
duration = "60ms"
sample = "1ms"
topology = { kind = "dumbbell", senders = 4, rate = "1Gbps", delay = "1ms" }
scheme = [{ transport = "cubic", name = "<cubic> & co" }, { transport = "flashpass" }]
group = [{ name = "all", start = "0s..5ms" }]
"""


def test_the_example_of_reports_md_draws_equal_files_every_time(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="vl-convert is not installed, which draws figures")
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    vary = ["--vary", "topology.senders=2,4"]
    swept = [command(), "sweep", "scenario.toml", *vary, "--out", "results"]
    subprocess.run(swept, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    report = [command(), "report", "results", "--json"]
    with (tmp_path / "figures.json").open("w") as figures:
        subprocess.run(report, cwd=tmp_path, check=True, stdout=figures)
    page = (ROOT / "docs/reports.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    drawings = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
        pictures = sorted(tmp_path.glob("*.svg"))
        drawings.append({path.name: path.read_text() for path in pictures})
    assert drawings[0] == drawings[1]
    assert {"goodput.svg", "queue-over-time.svg"} <= set(drawings[0])
    for name, svg in drawings[0].items():
        words = "".join(ElementTree.fromstring(svg).itertext())
        assert "role-mark" in svg, name
        assert "NaN" not in svg, name
        assert "undefined" not in words, name
    goodput = "".join(ElementTree.fromstring(drawings[0]["goodput.svg"]).itertext())
    assert "<cubic> & co" in goodput
    assert "topology senders" in goodput
