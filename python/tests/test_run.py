"""Runs, results and errors."""

from __future__ import annotations

import contextlib
import doctest
import functools
import json
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import polars as pl
import pytest
from scenarios import TWO

import shallop
from shallop._scenario import _dump


def test_a_dictionary_a_text_and_a_file_give_equal_results(tmp_path: Path) -> None:
    scenario = shallop.Scenario(TWO)
    path = tmp_path / "two.toml"
    path.write_text(scenario.text)
    runs = [shallop.run(source, progress=False) for source in (TWO, scenario.text, path)]
    frames = [pl.DataFrame(results.flows) for results in runs]
    assert frames[0].height == 4
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])


def test_a_summary_is_a_mapping_and_prints_as_tables() -> None:
    summary = shallop.run(TWO, progress=False).summary
    assert [run["scheme"] for run in summary["runs"]] == ["cubic", "flashpass"]
    assert "flashpass" in str(summary)
    assert "goodput" in str(summary)
    assert summary["version"] == shallop.__version__
    assert "<pre>" in summary._repr_html_()


def test_arrow_libraries_read_the_tables() -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    results = shallop.run(TWO, progress=False)
    table = pa.table(results.flows)
    assert table.num_rows == len(results.flows) == 4
    assert table.schema.field("fct_s").metadata[b"unit"] == b"s"
    assert ("fct_s", "s") in [(name, unit) for name, unit, _ in results.flows.columns]
    assert pl.DataFrame(results.flows)["received_bytes"].to_list() == [20_000] * 4
    assert pd.DataFrame.from_arrow(results.flows)["received_bytes"].tolist() == [20_000] * 4
    assert pl.DataFrame(results.series).height == len(results.series) > 0
    drops = results.drops_by_cause
    assert pa.table(drops).num_rows == len(drops)


def test_traces_have_a_row_for_each_flow_at_each_time() -> None:
    results = shallop.run(TWO, progress=False, record__flows="100us")
    traces = pl.DataFrame(results.traces)
    assert traces.height == len(results.traces) > 0
    assert traces.select("scheme", "flow", "time_s").is_unique().all()
    cubic = traces.filter(pl.col("scheme") == "cubic")
    assert (cubic["cwnd_segments"] >= 1).all()
    assert cubic["ca_state"].is_in(range(5)).all()
    flashpass = traces.filter(pl.col("scheme") == "flashpass")
    assert flashpass.height > 0
    assert flashpass["cwnd_segments"].is_null().all()
    assert len(shallop.run(TWO, progress=False).traces) == 0


def test_polars_reads_the_tables_without_pyarrow() -> None:
    program = textwrap.dedent(
        f"""
        import sys
        sys.modules["pyarrow"] = None
        import polars, shallop
        results = shallop.run({TWO!r})
        print(polars.DataFrame(results.flows)["received_bytes"].to_list())
        print(polars.scan_parquet(results.flows.parquet).select("fct_s").collect().height)
        print(polars.DataFrame(results.links).height == len(results.links) > 0)
        """
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (child.stdout, child.stderr) == ("[20000, 20000, 20000, 20000]\n4\nTrue\n", "")


def test_without_a_parquet_library_columns_work_and_rows_name_what_to_install() -> None:
    program = textwrap.dedent(
        f"""
        import sys
        sys.modules["pyarrow"] = sys.modules["polars"] = None
        import shallop
        flows = shallop.run({TWO!r}).flows
        print(len(flows), flows.columns[3][:2])
        flows.__arrow_c_stream__()
        """
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert child.stdout == "4 ('flow', '')\n"
    assert "tables need polars or pyarrow" in child.stderr


def test_drops_by_cause_are_a_table() -> None:
    results = shallop.run(TWO, progress=False, switch__default__buffer="5KB")
    drops = pl.DataFrame(results.drops_by_cause)
    assert drops.columns == ["point", "scheme", "seed", "place", "class", "cause", "packets"]
    rows = [
        (run["scheme"], run["seed"], drop["place"], drop["class"], drop["cause"], drop["packets"])
        for run in results.runs
        for drop in run["drops_by_cause"]
    ]
    assert drops.drop("point").rows() == rows
    lost = drops.filter((pl.col("scheme") == "cubic") & (pl.col("class") == "data"))
    assert lost["packets"].sum() == results.runs[0]["drops"]["data"] > 0
    assert ("packets", "packets") in [
        (name, unit) for name, unit, _ in results.drops_by_cause.columns
    ]
    assert results.drops_by_cause.path is None
    assert drops.height == len(results.drops_by_cause) == len(rows)
    none = shallop.run(TWO, progress=False, switch__default__buffer="1MB").drops_by_cause
    assert len(none) == pl.DataFrame(none).height


def test_completion_times_mark_lower_bounds() -> None:
    cut = shallop.run(TWO, progress=False, duration="4ms")
    tails = pl.DataFrame(cut.completion)
    assert tails["unfinished"].sum() > 0
    bounds = tails.filter(pl.col("at_least") & (pl.col("statistic") == "p99_s"))
    assert bounds.height > 0
    assert max(bounds["value"].to_list()) <= 0.004
    assert "p99_s" in cut.runs[0]["fct"]["all"]["lower_bounds"]
    assert ("value", "s or ratio") in [(name, unit) for name, unit, _ in cut.completion.columns]
    assert not pl.DataFrame(shallop.run(TWO, progress=False).completion)["at_least"].any()


def test_compare_pairs_two_results_by_seed(tmp_path: Path) -> None:
    seeds = [1, 2, 3]
    one = shallop.run(TWO, progress=False, seeds=seeds)
    other = shallop.run(
        TWO, progress=False, seeds=seeds, out=tmp_path / "out", switch__default__buffer="5KB"
    )
    found = shallop.compare(one, tmp_path / "out")
    assert [pair["seeds"] for pair in found["pairs"]] == [[1, 2, 3]] * 2
    assert found["finding"].split(";")[0] in str(found)
    between = shallop.compare(other, other, schemes=("cubic", "flashpass"))
    assert (between["pairs"][0]["a"], between["pairs"][0]["b"]) == ("cubic", "flashpass")
    with pytest.raises(shallop.ShallopError, match="no scheme"):
        shallop.compare(one, other, schemes=("cubic", "bbr"))


def test_results_show_their_warnings() -> None:
    late = {"name": "all", "size": "20KB", "flows": 40, "arrivals": {"per_second": 10}}
    results = shallop.run({**TWO, "group": [late]}, progress=False)
    assert len(results.warnings) == 1, results.warnings
    assert results.warnings[0].startswith("cubic, flashpass: ")
    assert "2 of 2 runs with warnings" in repr(results)
    assert "<li>cubic, flashpass: " in results._repr_html_()


def test_out_gets_the_files_of_the_command(tmp_path: Path) -> None:
    results = shallop.run(TWO, out=tmp_path / "out", progress=False)
    on_disk = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert on_disk == dict(results.summary)
    again = shallop.run(TWO, out=tmp_path / "out", resume=True, progress=False)
    assert dict(again.summary) == on_disk


def test_a_temporary_folder_is_removed_with_its_results_and_tables() -> None:
    results = shallop.run(TWO, progress=False)
    folder = results.folder
    assert folder.is_dir()
    assert str(folder) not in str(results.summary)
    flows = results.flows
    del results
    assert pl.DataFrame(flows).height == 4
    del flows
    assert not folder.exists()
    assert pl.DataFrame(shallop.run(TWO, progress=False).flows).height == 4


def test_keyword_arguments_set_keys() -> None:
    results = shallop.run(TWO, progress=False, topology__senders=3, duration="20ms", seed=9)
    assert results.runs[0]["seed"] == 9
    assert results.runs[0]["duration_s"] <= 0.02
    assert len(results.flows) == 6


def test_values_are_written_as_toml() -> None:
    numpy = pytest.importorskip("numpy")
    results = shallop.run(
        TWO,
        progress=False,
        topology__senders=numpy.int64(3),
        switch__default__buffer="30KB",
        windows=["0s..2ms", "2ms..4ms"],
    )
    assert len(results.flows) == 6
    assert len(results.runs[0]["windows"]) == 2
    with pytest.raises(shallop.ScenarioError, match="not object"):
        shallop.run(TWO, progress=False, duration=object())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ({**TWO, "topology": {"kind": "dumbel"}}, ["dumbel", "did you mean", "dumbbell"]),
        ("title = [\n", ["scenario", "title = ["]),
        ("nothing.toml", ["nothing.toml", "could not read"]),
        ("", ["could not read"]),
        ({**TWO, "title": {1, 2}}, ["cannot be written as TOML"]),
    ],
)
def test_scenario_errors_name_the_place(
    scenario: shallop._scenario.Source, words: list[str]
) -> None:
    with pytest.raises(shallop.ScenarioError) as error:
        shallop.run(scenario, progress=False)
    for word in words:
        assert word in str(error.value)
    assert "\x1b" not in str(error.value)


def test_programs_run_only_from_own_files_or_if_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = {"name": "all", "command": ["true"], "from": "s0", "to": "r0"}
    text = _dump({**TWO, "stack": "kernel", "scheme": [{"transport": "cubic"}], "group": [group]})
    monkeypatch.setenv("SHALLOP_KERNELS", str(tmp_path))
    file = tmp_path / "programs.toml"
    file.write_text(text)
    file.chmod(0o644)
    sources: list[Path | str] = [file, text]
    for source in sources:
        with pytest.raises(shallop.ShallopError, match="kernel"):
            shallop.run(source, allow_programs=source is text)
    file.chmod(0o646)
    for source in sources:
        with pytest.raises(shallop.ScenarioError, match="allow_programs=True"):
            shallop.run(source)


def test_the_examples_in_docstrings_run() -> None:
    for module in (shallop._scenario, shallop._run):
        assert not doctest.testmod(module).failed
    assert doctest.testmod(shallop._scenario).attempted == 2


def test_an_unknown_experiment_gets_a_suggestion() -> None:
    with pytest.raises(shallop.ScenarioError, match="fp-fig10a"):
        shallop.reproduce("fp-fig10")


def test_a_missing_file_has_the_error_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(shallop.ScenarioError, match="No such file"):
        shallop.run(tmp_path / "none.toml")
    empty = tmp_path / "empty.toml"
    empty.touch()
    with pytest.raises(shallop.ScenarioError, match="the file is empty"):
        shallop.run(empty)


def test_reproduce_judges_an_experiment() -> None:
    experiments = {experiment.id: experiment for experiment in shallop.experiments()}
    assert "fp-fig10a" in experiments
    assert experiments["fp-fig10a"].takes_quick
    results = shallop.reproduce("ae-table2", quick=True, progress=False)["ae-table2"]
    assert results.claims
    assert {claim["verdict"] for claim in results.claims} <= {
        "reported",
        "holds",
        "differs",
        "not run",
    }


def test_ctrl_c_ends_a_sweep_soon_and_keeps_finished_runs(tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import shallop
        try:
            shallop.sweep({TWO!r}, {{"duration": ["50ms", "10000s"]}}, out="out", jobs=1,
                          group__all__size="1TB")
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    out = tmp_path / "out"
    until = time.monotonic() + 60
    # Both runs of 50 ms are finished, and the first long run is in progress.
    while len(list(out.glob("runs/*.json"))) < 2 or not list(out.glob("runs/.*.tmp")):
        assert child.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    asked = time.monotonic()
    said, _ = child.communicate(timeout=20)
    assert said == "interrupted\n"
    assert time.monotonic() - asked < 2
    summary = json.loads((out / "summary.json").read_text())
    assert summary["interrupted"]
    assert [run["duration_s"] for run in summary["runs"]] == [0.05, 0.05]
    assert len(list((out / "runs").iterdir())) == 2 * 3
    assert not list(out.rglob(".*"))


def processes(word: str) -> list[int]:
    """The processes with this word in their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if word.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_a_python_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    program = (
        "import shallop, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"shallop.run({TWO!r}, out=sys.argv[1], duration='10000s', group__all__size='1TB', jobs=1)"
    )
    out = tmp_path / "results"
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(out)], stderr=subprocess.DEVNULL, cwd=tmp_path
    )
    until = time.monotonic() + 60
    while not list(out.glob("runs/.*.tmp")):
        assert child.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    assert len(processes(f"--out={out}")) == 1
    child.send_signal(how)
    child.wait(20)
    until = time.monotonic() + 10
    while processes(f"--out={out}"):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_missing_command_is_named_and_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHALLOP_COMMAND", str(tmp_path / "nowhere"))
    with pytest.raises(shallop.ShallopError, match="could not start the command .*nowhere"):
        shallop.experiments()
    other = tmp_path / "shallop"
    other.write_text("""#!/bin/sh\necho '{"type":"version","version":"0.0.9"}' >&2\n""")
    other.chmod(0o755)
    monkeypatch.setenv("SHALLOP_COMMAND", str(other))
    with pytest.raises(shallop.ShallopError, match=r"is version 0\.0\.9, and this package"):
        shallop.experiments()


def test_a_killed_command_raises_an_error() -> None:
    endless = {**TWO, "duration": "10000s", "group": [{"name": "all", "size": "1TB"}]}
    process = shallop._command.Process("run", "-", request={"text": shallop.Scenario(endless).text})
    process._popen.kill()
    assert not [it for it in process.messages() if it["type"] == "results"]
    with pytest.raises(shallop.ShallopError, match="ended by SIGKILL"):
        process.end()


def test_other_threads_continue_during_a_run() -> None:
    import threading
    import time

    ticks: list[float] = []
    over = threading.Event()

    def tick() -> None:
        while not over.wait(0.005):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    try:
        shallop.run({**TWO, "duration": "60s", "group": [{"name": "all"}]}, progress=False)
    finally:
        end = time.monotonic()
        over.set()
        thread.join()
    # A run that holds the interpreter lock leaves a gap as long as the run.
    moments = [start, *(tick for tick in ticks if start < tick < end), end]
    longest_gap = max(later - earlier for earlier, later in zip(moments, moments[1:], strict=False))
    assert longest_gap < (end - start) / 2


def test_invalid_arguments_have_the_errors_of_the_command(tmp_path: Path) -> None:
    run = functools.partial(shallop.run, TWO, progress=False)
    number = "expected a whole number from"
    for arguments, message in (
        ({"jobs": 0}, f"invalid value '0' for jobs: {number} 1 to 1024"),
        ({"jobs": -1}, f"invalid value '-1' for jobs: negative; {number} 1 to 1024"),
        ({"jobs": 1.5}, f"invalid value '1.5' for jobs: {number} 1 to 1024"),
        ({"seed": -1}, f"invalid value '-1' for seed: negative; {number} 0 to {2**63 - 1}"),
        ({"seed": 2**64}, f"invalid value '{2**64}' for seed: {number} 0 to {2**63 - 1}"),
        ({"seed": True}, f"invalid value 'True' for seed: {number} 0 to {2**63 - 1}"),
        ({"out": ""}, "invalid value '' for out: the name of the folder is empty"),
    ):
        with pytest.raises(ValueError, match="invalid value") as error:
            run(**arguments)
        assert str(error.value).startswith(message)
    with pytest.raises(ValueError, match="for seeds: expected a whole number from 1 to 10000"):
        shallop.sweep(TWO, {"topology.senders": [1, 2]}, seeds=0, progress=False)
    with pytest.raises(ValueError, match="for out: the name of the folder is empty"):
        shallop.reproduce("ae-table2", quick=True, out="", progress=False)
    assert run(seed=2**63 - 1, jobs=1, out=tmp_path / "out").runs[0]["seed"] == 2**63 - 1


def test_a_second_run_is_refused_a_folder_in_use(tmp_path: Path) -> None:
    program = "import shallop, sys; shallop.run(sys.argv[1], out='out', jobs=1, progress=False)"
    endless = {**TWO, "duration": "10000s", "group": [{"name": "all", "size": "1TB"}]}
    (tmp_path / "endless.toml").write_text(shallop.Scenario(endless).text)
    child = subprocess.Popen([sys.executable, "-c", program, "endless.toml"], cwd=tmp_path)
    try:
        while not list((tmp_path / "out").glob("runs/.*")):
            assert child.poll() is None
            time.sleep(0.01)
        with pytest.raises(shallop.ShallopError, match="another shallop is writing"):
            shallop.run(TWO, out=tmp_path / "out", progress=False)
    finally:
        child.kill()
        child.wait()
    assert shallop.run(TWO, out=tmp_path / "out", progress=False).runs
    assert not (tmp_path / "out/.shallop.lock").exists()
