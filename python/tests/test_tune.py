"""The search with Optuna, here and on Dask workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_sweep import client_of, local_cluster

import shallop

SCENARIO: dict[str, Any] = {
    "title": "A few flows",
    "duration": "20ms",
    "stack": "ns2",
    "topology": {"kind": "dumbbell", "senders": 2, "rate": "1Gbps", "delay": "100us"},
    "switch": {"default": {"buffer": "500KB", "mark": {"above": "15KB"}}},
    "scheme": [{"transport": "dctcp"}],
    "group": [{"name": "all", "start": "0s..1ms"}],
}


def test_the_search_finds_the_shortest_queue_and_keeps_the_bounds(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna", reason="optuna is not installed")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space: dict[str, shallop._tune.Choice] = {"switch.default.mark.above": ["3KB", "30KB", "300KB"]}
    tuned = shallop.tune(SCENARIO, "rtt.mean_s", space, trials=8, seeds=2, out=tmp_path)
    assert tuned.best == {"switch.default.mark.above": "3KB"}
    assert tuned.meets_bounds
    assert len(tuned.results.runs) == 2
    rows = {trial.params["switch.default.mark.above"]: trial.value for trial in tuned.study.trials}
    assert rows["3KB"] == min(value for value in rows.values() if value is not None)
    # Longer queues, so that the round trips are twice as long.
    longest = tuned.results.runs[0]["rtt"]["mean_s"] * 1.5
    bounded = shallop.tune(
        SCENARIO,
        "groups.all.goodput_bps",
        {"switch.default.mark.above": (2, 200, "pkt")},
        maximise=True,
        subject_to=[f"rtt.mean_s <= {longest}"],
        trials=8,
        seeds=1,
    )
    assert bounded.meets_bounds
    assert bounded.results.runs[0]["rtt"]["mean_s"] <= longest
    with pytest.raises(ValueError, match="subject_to"):
        shallop.tune(SCENARIO, "rtt.mean_s", space, subject_to=["rtt.mean_s < 3"])


@pytest.mark.full
def test_dask_workers_make_the_runs() -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    space: dict[str, shallop._tune.Choice] = {"switch.default.mark.above": ["3KB", "300KB"]}
    with local_cluster() as cluster, client_of(cluster) as client:
        tuned = shallop.tune(SCENARIO, "rtt.mean_s", space, trials=4, seeds=2, client=client)
    assert tuned.best == {"switch.default.mark.above": "3KB"}
