"""Sweeps, here and on a cluster."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from distributed import Client, LocalCluster
from scenarios import TWO

import shallop
from shallop import _dask
from shallop.__main__ import main

VARY: dict[str, list[shallop._scenario.Value]] = {
    "topology.senders": [2, 3, 4],
    "topology.delay": ["1ms", "2ms"],
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster


def test_every_combination_runs_once() -> None:
    results = shallop.sweep(TWO, VARY, seeds=2, progress=False)
    assert len(results.runs) == 3 * 2 * 2 * 2
    points = {(run["point"]["topology.senders"], run["point"]["topology.delay"]) for run in results.runs}
    assert len(points) == 6


def test_a_cluster_gives_the_rows_of_a_local_sweep_though_a_worker_dies(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    # Long enough for a worker to be in the middle of something.
    slow = {**TWO, "duration": "3s", "group": [{"name": "all"}]}
    local = shallop.sweep(slow, VARY, seeds=2, out=tmp_path / "local", progress=False)
    assert len(local.runs) == 24
    killed: list[int] = []

    def ended(count: int) -> None:
        if count == 5 and not killed:
            pids = client.run(os.getpid)
            killed.append(next(iter(pids.values())))
            os.kill(killed[0], signal.SIGKILL)

    with Client(cluster) as client:
        recipe = _dask.Recipe(
            shallop.Scenario(slow), quick=False, seed=None, seeds=2, overrides={}, vary=VARY
        )
        folder = tmp_path / "cluster"
        _dask.distribute(client, recipe, folder, ended)
        results = shallop.sweep(slow, VARY, seeds=2, out=folder, client=client, progress=False)
    assert killed
    for name in ("flows", "series"):
        here, there = (pl.DataFrame(getattr(one, name)) for one in (local, results))
        assert here.equals(there)
        assert here.height > 0
    without_time = [
        [{**run, "wall_s": 0} for run in one.runs] for one in (local, results)
    ]
    assert without_time[0] == without_time[1]


def test_runs_that_are_there_are_not_made_again(cluster: LocalCluster, tmp_path: Path) -> None:
    with Client(cluster) as client:
        shallop.sweep(TWO, VARY, out=tmp_path, client=client, progress=False)
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
        assert len(before) == 3 * 12
        time.sleep(0.01)
        shallop.sweep(TWO, VARY, out=tmp_path, client=client, progress=False)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}


def test_files_that_a_scenario_names_travel(cluster: LocalCluster, tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("size,cdf\n1000,0\n20000,1\n")
    scenario = {
        **TWO,
        "group": [
            {"name": "all", "sizes": "sizes.txt", "arrivals": {"per_second": 1000}, "flows": 5}
        ],
    }
    with Client(cluster) as client:
        results = shallop.sweep(
            shallop.Scenario(scenario, folder=tmp_path),
            {"topology.senders": [2, 3]},
            client=client,
            progress=False,
        )
    assert len(results.flows) == 2 * 2 * 5


def test_the_command_sweeps_on_a_scheduler(
    cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.toml"
    path.write_text(shallop.Scenario(TWO).text)
    out = tmp_path / "out"
    arguments = ["sweep", str(path), "--vary", "topology.senders=2,3", "--out", str(out)]
    assert main([*arguments, "--scheduler", cluster.scheduler_address]) == 0
    assert str(out) in capsys.readouterr().out
    assert (out / "summary.json").exists()
    bad = ["sweep", str(path), "--set", "topology.sendrs=2", "--out", str(out)]
    assert main([*bad, "--scheduler", cluster.scheduler_address]) == 2
    assert "did you mean" in capsys.readouterr().err
