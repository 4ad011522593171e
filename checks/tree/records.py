"""Records of full runs, from which pages take their figures: of example scenarios (docs/recorded), by scheme, point
and metric, and of experiments (docs/reproduction/recorded), by claim. Figures as pages print them.
"""

import hashlib
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from tree import ROOT

# The folder of the records of example scenarios, and of what describes figures and measurements.
FOLDER = "docs/recorded"
# The folder of the records of experiments.
OF_EXPERIMENTS = "docs/reproduction/recorded"

# A number in a text, with its commas and its decimals.
NUMBER = r"[0-9]++(?:[,.][0-9]++)*+"

Records = dict[str, Any]


class Figure(NamedTuple):
    """A figure over the seeds, in the unit of its metric or claim."""

    mean: float
    # Half the width of the 95 % confidence interval.
    ci95: float | None
    min: float
    max: float


def read() -> Records:
    """All records, by the names of their files."""
    files = [*(ROOT / FOLDER).glob("*.json"), *(ROOT / OF_EXPERIMENTS).glob("*.json")]
    return {file.stem: json.loads(file.read_text()) for file in files}


def find(records: Records, record: str, scheme: str, point: str, metric: str) -> Figure:
    """The figure of a scheme at a point, whose name is empty if there is only one."""
    if record not in records:
        raise ValueError(f"no run is recorded under the name {record}")
    for row in records[record].get("figures") or records[record].get("claims") or []:
        if (row["scheme"], row.get("point") or "", row["metric"]) == (scheme, point, metric):
            values = [row.get(name, row.get(of)) for name, of in NAMES]
            if None in (values[0], *values[2:]):
                raise ValueError(f"{record}: {metric} of {scheme} at {point!r} was not measured")
            return Figure(*values)
    raise ValueError(f"{record} has no {metric} of {scheme} at {point!r}")


# Of each value of a figure: its names in records of examples and of experiments.
NAMES = [("mean", "measured"), ("ci95", "ci95"), ("min", "measured_min"), ("max", "measured_max")]


def digest_of_claims(root: Path, experiment: str) -> str:
    """The experiment with the digest of the claims in its record; without one, the name alone."""
    file = root / OF_EXPERIMENTS / f"{experiment}.json"
    _, found, claims = file.read_text().partition('"claims"') if file.is_file() else ("", "", "")
    return f"{experiment} {hashlib.sha256(claims.encode()).hexdigest()[:8]}" if found else experiment


def decimals(value: float, digits: int) -> str:
    """A value with this many decimals and with commas between thousands."""
    return f"{value:,.{digits}f}"


def places(value: float, significant: int) -> int:
    """The decimals that show this many significant digits, at most 6."""
    return min(max(significant - 1 - math.floor(math.log10(abs(value))), 0), 6) if value else 0


def cell(style: str, of: Figure, scale: float, significant: int) -> str:
    """A cell of a table: the mean (`mean`), with the least and the largest seed where they are more than 5 % apart
    (`spread`), or with the 95 % confidence interval (`interval`).
    """
    mean, least, largest = of.mean / scale, of.min / scale, of.max / scale
    digits = places(mean, significant)
    text = decimals(mean, digits)
    if style == "spread" and largest - least > 0.05 * mean:
        return f"{text} ({decimals(least, digits)} to {decimals(largest, digits)})"
    if style == "interval" and of.ci95:
        half = of.ci95 / scale
        shown = places(half, 1) if half < 10**-digits else digits
        return f"{text} ± {decimals(half, shown)}"
    if style in ("spread", "interval", "mean"):
        return text
    raise ValueError(f"a column is spread, interval or mean, not {style}")
