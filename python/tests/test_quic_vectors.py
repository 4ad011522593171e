"""The test vectors of packets and messages beside QUIC, checked by a second implementation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

VECTORS = Path(__file__).parents[2] / "crates/quic/vectors"


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(VECTORS / "check.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_every_packet_and_message_of_the_vectors_is_right() -> None:
    done = check()
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == [
        "packets.csv",
        "messages.csv",
    ]


def test_a_changed_bit_and_a_truncated_file_are_found(tmp_path: Path) -> None:
    for name, before, least in (("packets.csv", [], 10), ("messages.csv", ["packets.csv"], 9)):
        lines = (VECTORS / name).read_text().splitlines()
        changed = tmp_path / name
        files = [*(str(VECTORS / of) for of in before), str(changed)]
        last = lines[-1][:-1] + ("1" if lines[-1][-1] == "0" else "0")
        changed.write_text("\n".join([*lines[:-1], last]))
        done = check(*files)
        assert done.returncode == 1
        assert f"the {name[:-5]} is" in done.stderr
        changed.write_text("\n".join(lines[:least]))
        assert check(*files).returncode == 1
