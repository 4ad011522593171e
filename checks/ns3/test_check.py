"""Tests of the comparison: intervals, tolerances, verdicts, and equal inputs for both simulators."""

import tomllib
import unittest

from grid import combinations, draw
from simulators import Counts, key, scenario, words
from verdict import Band, Mean, Measured, judge_both, mean


def measured(throughput: float, loss: float, half: float = 0.0) -> Measured:
    return Measured(Mean(throughput, half), Mean(loss, 0.0))


def passes(theirs: Measured, ours: Measured, **bands: Band) -> dict[str, bool]:
    return {name: verdict.passed for name, verdict in judge_both(theirs, ours, bands).items()}


class Verdicts(unittest.TestCase):
    def test_five_seeds_have_students_interval(self) -> None:
        known = mean([1.0, 2.0, 3.0, 4.0, 5.0])
        self.assertEqual(known.value, 3.0)
        self.assertAlmostEqual(known.half, 2.776 * 2.5**0.5 / 5**0.5)
        self.assertIsNone(mean([7.0]).half)

    def test_throughput_agrees_within_five_percent_or_the_interval(self) -> None:
        rows = [(95.0, 0, True), (94.9, 0, False), (105.1, 0, False), (90.0, 10.0, True)]
        for ours, half, agrees in rows:
            found = passes(measured(100.0, 0.0, half), measured(ours, 0.0))
            self.assertEqual(found["throughput"], agrees, ours)

    def test_loss_agrees_within_a_factor_of_one_and_a_half_above_the_floor(self) -> None:
        agreeing = [(1.0, 1.5), (1.5, 1.0), (0.05, 0.0), (0.0, 0.05)]
        differing = [(1.0, 1.51), (1.51, 1.0), (0.0, 0.06), (0.06, 0.0)]
        for pair in agreeing + differing:
            theirs, ours = (measured(100.0, loss) for loss in pair)
            self.assertEqual(passes(theirs, ours)["loss"], pair in agreeing, pair)

    def test_a_reason_is_accepted_only_within_its_band(self) -> None:
        band = Band(1.8, 2.2, "known")
        for ours, passed in [(2.0, True), (1.7, False), (2.3, False)]:
            verdict = judge_both(measured(100.0, 1.0), measured(100.0, ours), {"loss": band})[
                "loss"
            ]
            self.assertEqual(verdict.passed, passed, ours)
            self.assertEqual(verdict.text.startswith("differs: known"), passed)

    def test_a_reason_for_an_agreeing_figure_fails(self) -> None:
        self.assertFalse(
            passes(measured(100.0, 1.0), measured(100.0, 1.2), loss=Band(1.0, 2.0, "old"))["loss"]
        )

    def test_a_band_may_be_unbounded_if_only_one_simulator_loses(self) -> None:
        band = Band(5.0, float("inf"), "known")
        self.assertTrue(passes(measured(100.0, 0.0), measured(100.0, 0.4), loss=band)["loss"])


class Runs(unittest.TestCase):
    def test_the_grid_has_every_combination_once(self) -> None:
        self.assertEqual(len({cell.name for cell in combinations()}), 5 * 2 * 2 * 2)

    def test_draws_are_equal_for_both_simulators_and_differ_between_seeds(self) -> None:
        for cell in combinations():
            told, table = words(cell, 1), tomllib.loads(scenario(cell, 1))
            delays = [f"{delay}ns" for delay in told["delays"].split(",")]
            self.assertEqual(table["topology"]["sender_delay"], delays)
            self.assertEqual(
                [group["start"] for group in table["group"]],
                [f"{n}ns" for n in told["starts"].split(",")],
            )
            self.assertEqual(table["switch"]["default"]["buffer"], told["buffer"] + "pkt")
            self.assertNotEqual(draw(cell, 1), draw(cell, 2))
            longest = max(map(int, told["delays"].split(","))) + int(told["delay"])
            self.assertLessEqual(2 * longest, 1.05 * cell.path.rtt_ms * 1e6)

    def test_every_run_of_ns3_has_a_key_of_its_own(self) -> None:
        keys = {key(cell, seed) for cell in combinations() for seed in (1, 2)}
        self.assertEqual(len(keys), 2 * len(combinations()))

    def test_rates_and_loss_are_measured_at_the_bottleneck(self) -> None:
        counts = Counts(sent=900, dropped=100, marked=0, payload=0)
        self.assertEqual(counts.throughput_mbps(2.0), 900 * 1500 * 8 / 2 / 1e6)
        self.assertEqual(counts.loss_percent(), 10.0)


if __name__ == "__main__":
    unittest.main()
