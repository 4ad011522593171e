"""Whether two simulators agree: arithmetic only.

Throughput agrees within 5 % or ns-3's own 95 % interval, whichever is more; loss within a factor of 1.5 where either
loses more than 0.05 %. What differs for a traced reason has a band of its own, as shallop's figure over ns-3's.
"""

import statistics
from dataclasses import dataclass

THROUGHPUT_SHARE = 0.05
LOSS_FACTOR = 1.5
LOSS_FLOOR_PERCENT = 0.05
# Student's t, two-sided 95 %, by degrees of freedom.
T_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


@dataclass(frozen=True)
class Mean:
    """A mean over seeds and half the width of its 95 % interval; `None` with one seed."""

    value: float
    half: float | None


@dataclass(frozen=True)
class Measured:
    """What a simulator measured of one combination."""

    throughput_mbps: Mean
    loss_percent: Mean


@dataclass(frozen=True)
class Band:
    """A difference whose reason is known: shallop's figure is this many times ns-3's. `low` and `high` may be equal to
    zero and infinity for losses that only one of them has."""

    low: float
    high: float
    reason: str


@dataclass(frozen=True)
class Verdict:
    """What is said of one figure of a combination."""

    passed: bool
    text: str


def mean(values: list[float]) -> Mean:
    """The mean of a few seeds, with Student's interval."""
    if len(values) == 1:
        return Mean(values[0], None)
    half = T_95[len(values) - 1] * statistics.stdev(values) / len(values) ** 0.5
    return Mean(statistics.fmean(values), half)


def ratio(ours: float, theirs: float) -> float:
    """Ours over theirs; infinite over nothing, one for nothing over nothing."""
    if theirs > 0:
        return ours / theirs
    return float("inf") if ours > 0 else 1.0


def throughput_agrees(theirs: Mean, ours: Mean) -> bool:
    """Within 5 % of ns-3's mean or within its interval."""
    tolerance = max(THROUGHPUT_SHARE * theirs.value, theirs.half or 0.0)
    return abs(ours.value - theirs.value) <= tolerance


def loss_agrees(theirs: Mean, ours: Mean) -> bool:
    """Within a factor of 1.5, unless both lose next to nothing."""
    if max(theirs.value, ours.value) <= LOSS_FLOOR_PERCENT:
        return True
    return 1 / LOSS_FACTOR <= ratio(ours.value, theirs.value) <= LOSS_FACTOR


def judge(agrees: bool, times: float, band: Band | None) -> Verdict:
    """Agreement, or a difference within the band that its reason has. A reason for what agrees is out of date."""
    if band is None:
        return Verdict(
            agrees, "agrees" if agrees else f"FAILS: {times:.3g} times ns-3's, no reason known"
        )
    if not band.low <= times <= band.high:
        return Verdict(
            False,
            f"FAILS: {times:.3g} times ns-3's, {band.low:g} to {band.high:g} for {band.reason}",
        )
    if agrees:
        return Verdict(False, f"FAILS: agrees, and yet a reason is given: {band.reason}")
    return Verdict(True, f"differs: {band.reason}")


def judge_both(theirs: Measured, ours: Measured, bands: dict[str, Band]) -> dict[str, Verdict]:
    """The verdicts on throughput and loss; `bands` by the same names."""
    throughput, loss = theirs.throughput_mbps, theirs.loss_percent
    return {
        "throughput": judge(
            throughput_agrees(throughput, ours.throughput_mbps),
            ratio(ours.throughput_mbps.value, throughput.value),
            bands.get("throughput"),
        ),
        "loss": judge(
            loss_agrees(loss, ours.loss_percent),
            ratio(ours.loss_percent.value, loss.value),
            bands.get("loss"),
        ),
    }
