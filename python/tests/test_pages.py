"""Runs the code blocks of the pages on Python: blocks of `python`, and marked blocks of `sh`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FENCED = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)
RUN_HERE = "python/tests/test_pages.py runs it"


class Block(NamedTuple):
    note: str
    kind: str
    text: str


def blocks(page: str) -> list[Block]:
    found = FENCED.finditer((DOCS / page).read_text())
    return [Block(one["note"] or "", one["kind"], one["text"]) for one in found]


@pytest.mark.parametrize(
    ("page", "programs", "needs"),
    [
        ("python.md", 11, ["altair", "pandas", "polars", "pyarrow", "vl_convert"]),
        ("clusters.md", 2, ["distributed"]),
    ],
)
def test_the_code_blocks_of_a_page_run(
    page: str, programs: int, needs: list[str], tmp_path: Path
) -> None:
    for library in needs:
        pytest.importorskip(library, reason=f"{library} is not installed, which {page} uses")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    python, ran = "", 0
    for block in blocks(page):
        if block.kind == "toml":
            name = block.text.splitlines()[0].removeprefix("# ")
            (tmp_path / name).write_text(block.text)
        elif block.kind == "sh" and RUN_HERE in block.note:
            subprocess.run(["bash", "-ec", block.text], cwd=tmp_path, env=environment, check=True)
            ran += 1
        elif block.kind == "python":
            python += block.text
            ran += 1
    # One process runs all blocks in order; multiprocessing with `spawn` needs a guard, which the pages leave out.
    program = "if __name__ == '__main__':\n" + "".join(
        f"    {line}\n" for line in python.splitlines()
    )
    (tmp_path / "page.py").write_text(program)
    subprocess.run([sys.executable, "page.py"], cwd=tmp_path, env=environment, check=True)
    assert ran == programs
