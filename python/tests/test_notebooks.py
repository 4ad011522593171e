"""The example notebooks run from top to bottom, and are stored as they ran.

With UPDATE_NOTEBOOKS=1 they are stored instead of compared.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def without_bars(notebook: Any) -> Any:
    """The notebook without outputs that only a running kernel can show, such as progress bars."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [
                output
                for output in cell.outputs
                if "application/vnd.jupyter.widget-view+json" not in output.get("data", {})
            ]
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def shown(notebook: Any) -> list[set[str]]:
    """The kinds of output of each code cell."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        {kind for output in cell.outputs for kind in output.get("data", {output.output_type: ""})}
        for cell in cells
    ]


@pytest.mark.notebooks
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs_and_gives_its_stored_outputs(path: Path, tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    stored = nbformat.read(path, as_version=4)
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(
        notebook, timeout=900, kernel_name="python3", resources=resources
    ).execute()
    notebook = without_bars(notebook)
    if os.environ.get("UPDATE_NOTEBOOKS"):
        nbformat.write(notebook, path)
    else:
        assert shown(notebook) == shown(stored)


def test_both_notebooks_are_stored_with_their_outputs() -> None:
    assert len(NOTEBOOKS) == 2
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
        kinds = set().union(*shown(notebook))
        assert kinds == {"stream", "text/html", "text/plain"}
        assert "vega-embed" in path.read_text(), "a chart"
        assert "/tmp/" not in path.read_text()
