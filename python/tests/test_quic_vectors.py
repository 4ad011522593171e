"""The vectors of packets beside QUIC, checked without the crate that made them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

VECTORS = Path(__file__).parents[2] / "crates/quic/vectors"


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(VECTORS / "check.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_every_packet_is_right() -> None:
    done = check()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("packets are right\n")


def test_a_changed_bit_and_a_short_file_are_noticed(tmp_path: Path) -> None:
    lines = (VECTORS / "packets.csv").read_text().splitlines()
    changed = tmp_path / "changed.csv"
    last = lines[-1][:-1] + ("1" if lines[-1][-1] == "0" else "0")
    changed.write_text("\n".join([*lines[:-1], last]))
    done = check(str(changed))
    assert done.returncode == 1
    assert "the packet is" in done.stderr
    changed.write_text("\n".join(lines[:10]))
    assert check(str(changed)).returncode == 1
