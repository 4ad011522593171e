"""The wheel, installed in an environment without Rust."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scenarios import TWO

pytestmark = pytest.mark.full


def wheel() -> Path:
    """The wheel in SHALLOP_WHEEL, or the newest wheel of ``make wheel``."""
    given = os.environ.get("SHALLOP_WHEEL")
    built = (Path(__file__).parents[2] / "target/wheels").glob("shallop-*.whl")
    found = [Path(given)] if given else sorted(built, key=lambda path: path.stat().st_mtime)
    if not found:
        pytest.skip("there is no wheel: make wheel")
    return found[-1]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare virtual environment in which the wheel is installed."""
    home: Path = tmp_path_factory.mktemp("bare") / "venv"
    begun = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip: list[str | Path] = [
        home / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run([*pip, f"{wheel()}[figures]"], check=True)
    assert time.monotonic() - begun < 60
    return home


def environment(home: Path) -> dict[str, str]:
    """An environment whose PATH has only the virtual environment: no Rust, and no other command."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("SHALLOP_")}
    kept.pop("PYTHONPATH", None)
    return {**kept, "PATH": str(home / "bin")}


def test_the_wheel_gives_a_bare_environment_the_command_a_run_and_a_figure(
    home: Path, tmp_path: Path
) -> None:
    begun = time.monotonic()
    bare = environment(home)
    said = subprocess.run(
        [home / "bin/shallop", "--version"], env=bare, capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith("shallop 0.")
    program = (
        "import shallop\n"
        f"results = shallop.run({TWO!r})\n"
        "next(iter(results.figures.values())).save('figure.svg')\n"
        "print(shallop.__version__, len(results.runs), len(results.flows))\n"
    )
    done = subprocess.run(
        [home / "bin/python", "-c", program],
        cwd=tmp_path,
        env=bare,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{said.stdout.split()[1]} 2 4\n"
    assert "<svg" in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert time.monotonic() - begun < 60


def test_an_interrupted_run_leaves_no_process(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = (
        "import shallop, signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"shallop.run({TWO!r}, out={str(out)!r}, duration='10000s', group__all__size='1TB', jobs=1)\n"
    )
    child = subprocess.Popen(
        [home / "bin/python", "-c", program], env=environment(home), stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while not list(out.glob("runs/.*.tmp")):
        assert child.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    child.wait(20)
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert str(out) not in listed.stdout
