"""Progress bars."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest
from scenarios import TWO

RUN = f"import shallop\nshallop.run({TWO!r}).summary['version']"


def test_a_progress_bar_is_shown_on_a_terminal_and_not_in_a_pipe() -> None:
    here, there = pty.openpty()
    rows_and_columns = struct.pack("HHHH", 24, 100, 0, 0)
    fcntl.ioctl(there, termios.TIOCSWINSZ, rows_and_columns)
    # A terminal buffers a small output until it is read.
    child = subprocess.run([sys.executable, "-c", RUN], stderr=there, stdout=subprocess.PIPE)
    os.close(there)
    said = os.read(here, 1 << 16).decode()
    os.close(here)
    assert child.returncode == 0
    assert child.stdout == b""
    assert "2 of 2 runs" in said
    assert "100 % |" in said
    piped = subprocess.run([sys.executable, "-c", RUN], capture_output=True, check=True)
    assert piped.stderr == b""


def test_a_progress_bar_is_shown_in_a_notebook() -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(RUN)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    kinds = [output.get("data", {}).keys() for output in notebook.cells[0].outputs]
    assert any("application/vnd.jupyter.widget-view+json" in kind for kind in kinds)
    assert not [output for output in notebook.cells[0].outputs if output.get("name") == "stderr"]
