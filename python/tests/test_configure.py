"""Configurations of EOS: pyavd renders the structured form to the lines that the command prints."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shallop._command import command

pyavd = pytest.importorskip("pyavd", reason="pip install pyavd (make python-full)")
yaml = pytest.importorskip("yaml", reason="pip install pyyaml, which pyavd needs")

RACK = """
title = "A rack"
duration = "1s"
[topology]
kind = "leaf-spine"
spines = 1
leaves = 1
hosts = 8
rate = "100Gbps"
delay = "20us"
[switch.default]
shared = { size = "3MB", private = "128KB", ports = 8, alpha = 4 }
[[group]]
name = "all"
from = "hosts"
to = "hosts"
pattern = "permutation"
[[scheme]]
transport = "flashpass"
[[scheme]]
name = "aeolus"
transport = "expresspass"
aeolus = true
[[scheme]]
name = "red"
transport = "cubic"
ecn = "classic"
set = { "switch.default.mark" = { min = "50KB", max = "150KB", probability = 0.1 } }
[[scheme]]
name = "bcc"
transport = "dctcp"
set = { "switch.default.bcc" = { rtt = "80us", lambda = 0.72 } }
"""
#: BCC, V.A and Figure 8: thresholds of the paper's switch.
PAPER = "qos random-detect ecn global-buffer minimum-threshold 1802 kbytes maximum-threshold 2602 kbytes"


def config(scenario: Path, scheme: str, *options: str) -> str:
    fixed = [command(), "config", str(scenario), "--os", "eos", "--switch", "leaf0"]
    words = [*fixed, "--schemes", scheme, *options]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def lines(text: str) -> list[str]:
    """The lines without comments and indentation."""
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith("!") and line != "end"]


@pytest.mark.parametrize("scheme", ["flashpass", "aeolus", "red", "bcc"])
def test_pyavd_renders_the_structured_form_to_the_printed_lines(
    tmp_path: Path, scheme: str
) -> None:
    scenario = tmp_path / "rack.toml"
    scenario.write_text(RACK)
    data = yaml.safe_load(config(scenario, scheme, "--structured"))
    result = pyavd.validate_structured_config(data).validation_result
    assert [str(violation) for violation in result.violations] == []
    printed = lines(config(scenario, scheme))
    assert len(printed) > 10
    assert (PAPER in printed) == (scheme == "bcc")
    assert lines(pyavd.get_device_config(data)) == printed
