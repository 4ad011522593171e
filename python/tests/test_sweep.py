"""Sweeps, here and on a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from scenarios import TWO

import shallop
from shallop.__main__ import main

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

VARY: dict[str, list[shallop._scenario.Value]] = {
    "topology.senders": [2, 3, 4],
    "topology.delay": ["1ms", "2ms"],
}


def local_cluster() -> LocalCluster:
    """Two workers that listen only on the loopback address."""
    pytest.importorskip("distributed", reason="distributed (Dask) is not installed")
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    )


def client_of(cluster: LocalCluster) -> Client:
    from distributed import Client

    return Client(cluster)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster() as cluster:
        yield cluster


def test_every_combination_runs_once() -> None:
    results = shallop.sweep(TWO, VARY, seeds=2, progress=False)
    assert len(results.runs) == 3 * 2 * 2 * 2
    points = {
        (run["point"]["topology.senders"], run["point"]["topology.delay"]) for run in results.runs
    }
    assert len(points) == 6


def test_swept_keys_are_columns_with_their_values() -> None:
    vary: dict[str, list[shallop._scenario.Value]] = {
        "topology.senders": [2, 3],
        "switch.default.buffer": ["8pkt", "20KB"],
    }
    results = shallop.sweep(TWO, vary, seeds=2, progress=False)
    flows = pl.DataFrame(results.flows)
    assert flows.columns[:4] == ["point", "switch.default.buffer", "topology.senders", "scheme"]
    assert flows.schema["topology.senders"] == pl.Int64
    counts = (
        flows.group_by("topology.senders", "switch.default.buffer").len().sort("topology.senders")
    )
    # Two schemes and two seeds, with one flow for each sender.
    assert counts["len"].to_list() == [8, 8, 12, 12]
    assert set(flows["switch.default.buffer"]) == {"8pkt", "20KB"}
    assert pl.DataFrame(results.series)["topology.senders"].n_unique() == 2
    assert [name for name, _, _ in results.flows.columns] == flows.columns
    assert flows.height == len(results.flows) == 40
    assert pl.read_parquet(results.flows.parquet).columns == flows.columns


def test_aggregates_are_a_table_of_means_over_seeds() -> None:
    results = shallop.sweep(TWO, {"topology.senders": [2, 3]}, seeds=3, progress=False)
    means = pl.DataFrame(results.aggregates)
    interval = ["mean", "ci95", "low", "high", "at_least", "n"]
    assert means.columns == ["point", "topology.senders", "scheme", "metric", *interval]
    rates = means.filter((pl.col("metric") == "throughput_bps") & (pl.col("scheme") == "cubic"))
    assert rates["topology.senders"].to_list() == [2, 3]
    assert rates["n"].to_list() == [3, 3]
    runs = [
        run["throughput_bps"]
        for run in results.runs
        if run["scheme"] == "cubic" and run["point"]["topology.senders"] == 3
    ]
    assert rates["mean"][1] == pytest.approx(sum(runs) / 3)
    # Values that are equal for all seeds have no interval.
    assert rates["low"].is_null().to_list() == rates["ci95"].is_null().to_list()
    varied = means.filter((pl.col("metric") == "rtt.mean_s") & (pl.col("scheme") == "cubic"))
    assert varied["ci95"][1] > 0
    assert 0 <= varied["low"][1] < varied["mean"][1] < varied["high"][1]
    once = pl.DataFrame(shallop.run(TWO, progress=False).aggregates)
    assert once.columns == ["point", "scheme", "metric", *interval]
    assert once["ci95"].null_count() == once.height > 10


def finished(out: Path) -> int:
    return len(list((out / "runs").glob("[!.]*.json")))


def test_a_cluster_with_a_dying_worker_gives_the_rows_of_a_local_sweep(tmp_path: Path) -> None:
    # Long enough for a worker to be in the middle of a run.
    slow = {**TWO, "duration": "8s", "group": [{"name": "all"}]}
    out = tmp_path / "cluster"
    there_when_killed = []

    def kill(pid: int) -> None:
        until = time.monotonic() + 120
        while finished(out) < 5 and time.monotonic() < until:
            time.sleep(0.005)
        os.kill(pid, signal.SIGKILL)
        there_when_killed.append(finished(out))

    # A separate cluster, so that the workers of other tests are not killed.
    with local_cluster() as cluster, client_of(cluster) as client:
        before = set(client.run(os.getpid).values())
        assert len(before) == 2
        killer = threading.Thread(target=kill, args=(min(before),))
        killer.start()
        results = shallop.sweep(slow, VARY, seeds=2, out=out, client=client, progress=False)
        killer.join()
        # Dask may have started a new worker already.
        after = set(client.run(os.getpid).values())
        assert min(before) not in after
        assert max(before) in after
    assert 5 <= there_when_killed[0] < 24
    local = shallop.sweep(slow, VARY, seeds=2, out=tmp_path / "local", progress=False)
    assert len(local.runs) == 24
    check_same(local, results)
    runs = pl.DataFrame(results.flows).group_by("point", "scheme", "seed").len()
    assert runs.height == 24
    assert sorted(runs["len"]) == sorted([2, 3, 4] * 8)


def check_same(one: shallop.Results, other: shallop.Results) -> None:
    for name in ("flows", "series"):
        here, there = (pl.DataFrame(getattr(of, name)) for of in (one, other))
        assert here.equals(there)
        assert here.height > 0
    here_runs, there_runs = ([{**run, "wall_s": 0} for run in of.runs] for of in (one, other))
    assert here_runs == there_runs


def test_a_killed_sweep_resumes(tmp_path: Path) -> None:
    slow = {**TWO, "duration": "8s", "group": [{"name": "all"}]}
    (tmp_path / "slow.toml").write_text(shallop.Scenario(slow).text)
    program = (
        f"import shallop; shallop.sweep('slow.toml', {VARY!r}, out='a', jobs=1, progress=False)"
    )
    child = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    while finished(tmp_path / "a") < 3:
        assert child.poll() is None
        time.sleep(0.005)
    child.kill()
    child.wait()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "a/runs").glob("[!.]*.json")}
    assert 3 <= len(kept) < 12
    results = shallop.sweep(slow, VARY, out=tmp_path / "a", progress=False)
    assert finished(tmp_path / "a") == 12
    assert kept == {path: path.stat().st_mtime_ns for path in kept}
    assert not list((tmp_path / "a").rglob(".*"))
    check_same(shallop.sweep(slow, VARY, progress=False), results)


def test_finished_runs_are_not_made_again(cluster: LocalCluster, tmp_path: Path) -> None:
    with client_of(cluster) as client:
        shallop.sweep(TWO, VARY, out=tmp_path, client=client, progress=False)
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
        assert len(before) == 3 * 12
        time.sleep(0.01)
        shallop.sweep(TWO, VARY, out=tmp_path, client=client, progress=False)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}


def test_workers_receive_the_files_of_a_scenario(cluster: LocalCluster, tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("size,cdf\n1000,0\n20000,1\n")
    scenario = {
        **TWO,
        "group": [
            {"name": "all", "sizes": "sizes.txt", "arrivals": {"per_second": 1000}, "flows": 5}
        ],
    }
    with client_of(cluster) as client:
        results = shallop.sweep(
            shallop.Scenario(scenario, folder=tmp_path),
            {"topology.senders": [2, 3]},
            client=client,
            progress=False,
        )
    assert len(results.flows) == 2 * 2 * 5


def test_the_command_line_sweeps_on_a_scheduler(
    cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.toml"
    path.write_text(shallop.Scenario(TWO).text)
    out = tmp_path / "out"
    arguments = ["sweep", str(path), "--vary", "topology.senders=2,3", "--out", str(out)]
    assert main([*arguments, "--scheduler", cluster.scheduler_address]) == 0
    assert str(out) in capsys.readouterr().out
    assert (out / "summary.json").exists()
    seed = [
        "sweep",
        str(path),
        "--set",
        "duration=9ms",
        "--seed",
        "7",
        "--out",
        str(tmp_path / "b"),
    ]
    assert main([*seed, "--scheduler", cluster.scheduler_address]) == 0
    assert json.loads((tmp_path / "b/summary.json").read_text())["seeds"] == [7]
    bad = ["sweep", str(path), "--set", "topology.sendrs=2", "--out", str(out)]
    assert main([*bad, "--scheduler", cluster.scheduler_address]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert main(["sweep", str(path), "--out", str(out), "--scheduler", "nowhere"]) == 2
    assert "--scheduler nowhere" in capsys.readouterr().err


def test_slurm_job_scripts_have_the_given_options(tmp_path: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    from shallop import __main__ as command

    arguments = ["sweep", "two.toml", "--out", str(tmp_path), "--slurm", "--workers", "0"]
    options = ["--memory", "3GB", "--queue", "short", "--walltime", "00:30:00", "--interface", "lo"]
    args = command._parser().parse_args([*arguments, *options])
    with command._cluster(args) as cluster:
        script = cluster.job_script()
    for line in ("-p short", "--cpus-per-task=1", "--mem=3G", "-t 00:30:00"):
        assert f"#SBATCH {line}" in script
    assert "--nthreads 1" in script
    assert "tcp://127.0.0.1:" in script


def test_an_error_on_a_worker_is_raised_here(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shallop import _dask

    wrong = ["of another version"]
    monkeypatch.setattr(_dask, "_wanted", lambda *_: wrong)
    with client_of(cluster) as client, pytest.raises(shallop.ShallopError, match="another version"):
        shallop.sweep(TWO, VARY, out=tmp_path, client=client, progress=False)
    assert not finished(tmp_path)
