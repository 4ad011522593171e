"""Runs, results and errors."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scenarios import TWO

import shallop


def test_a_dictionary_a_text_and_a_file_are_the_same_scenario(tmp_path: Path) -> None:
    scenario = shallop.Scenario(TWO)
    path = tmp_path / "two.toml"
    path.write_text(scenario.text)
    runs = [shallop.run(source, progress=False) for source in (TWO, scenario.text, path)]
    frames = [pl.DataFrame(results.flows) for results in runs]
    assert frames[0].height == 4
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])


def test_a_summary_is_data_and_prints_as_tables() -> None:
    summary = shallop.run(TWO, progress=False).summary
    assert [run["scheme"] for run in summary["runs"]] == ["cubic", "flashpass"]
    assert "flashpass" in str(summary)
    assert "goodput" in str(summary)
    assert summary["version"] == shallop.__version__
    assert "<pre>" in summary._repr_html_()


def test_whoever_reads_arrow_reads_the_tables() -> None:
    results = shallop.run(TWO, progress=False)
    table = pa.table(results.flows)
    assert table.num_rows == len(results.flows) == 4
    assert table.schema.field("fct_s").metadata[b"unit"] == b"s"
    assert ("fct_s", "s") in [(name, unit) for name, unit, _ in results.flows.columns]
    assert pl.DataFrame(results.flows)["received_bytes"].to_list() == [20_000] * 4
    assert pd.DataFrame.from_arrow(results.flows)["received_bytes"].tolist() == [20_000] * 4
    assert pl.DataFrame(results.series).height == len(results.series) > 0


def test_the_files_are_those_of_the_command(tmp_path: Path) -> None:
    results = shallop.run(TWO, out=tmp_path / "out", progress=False)
    on_disk = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert on_disk == dict(results.summary)
    again = shallop.run(TWO, out=tmp_path / "out", resume=True, progress=False)
    assert dict(again.summary) == on_disk


def test_a_temporary_folder_goes_with_its_results() -> None:
    results = shallop.run(TWO, progress=False)
    folder = results.folder
    assert folder.is_dir()
    del results
    assert not folder.exists()


def test_keys_are_changed() -> None:
    results = shallop.run(TWO, progress=False, topology__senders=3, duration="20ms", seed=9)
    assert results.runs[0]["seed"] == 9
    assert results.runs[0]["duration_s"] <= 0.02
    assert len(results.flows) == 6


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ({**TWO, "topology": {"kind": "dumbel"}}, ["dumbel", "did you mean", "dumbbell"]),
        ("title = [\n", ["scenario", "title = ["]),
        ("nothing.toml", ["nothing.toml", "could not read"]),
        ({**TWO, "title": {1, 2}}, ["cannot be written as TOML"]),
    ],
)
def test_a_bad_scenario_is_pointed_at(scenario: shallop._scenario.Source, words: list[str]) -> None:
    with pytest.raises(shallop.ScenarioError) as error:
        shallop.run(scenario, progress=False)
    for word in words:
        assert word in str(error.value)
    assert "\x1b" not in str(error.value)


def test_an_experiment_that_is_not_there_is_guessed_at() -> None:
    with pytest.raises(shallop.ScenarioError, match="fp-fig10a"):
        shallop.reproduce("fp-fig10")


def test_an_experiment_is_judged() -> None:
    experiments = {experiment.id: experiment for experiment in shallop.experiments()}
    assert "fp-fig10a" in experiments
    assert experiments["fp-fig10a"].takes_quick
    results = shallop.reproduce("ae-table2", quick=True, progress=False)["ae-table2"]
    assert results.claims
    assert {claim["verdict"] for claim in results.claims} <= {"holds", "differs", "not run"}


def test_ctrl_c_ends_a_run_soon_and_keeps_what_was_finished(tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import shallop
        from scenarios import TWO
        two = {{**TWO, "duration": "10000s", "group": [{{"name": "all"}}]}}
        print("on", flush=True)
        try:
            shallop.run(two, out={str(tmp_path / "out")!r}, jobs=1)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "on\n"
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(1)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=20)
    assert out == "interrupted\n"
    assert not list((tmp_path / "out").glob("*.json"))


def test_other_threads_go_on_while_a_run_is_made() -> None:
    import threading

    ticks = 0
    over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.wait(0.005):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        shallop.run({**TWO, "duration": "2s", "group": [{"name": "all"}]}, progress=False)
    finally:
        over.set()
        thread.join()
    assert ticks > 10
