"""File transfers over loopback: between two Python processes, and compared with the command."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import shallop
from shallop._command import MOST_UNREAD, _read, command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="endpoints need Linux")

WAIT = "20ms"


def receiver(tmp_path: Path, **more: object) -> shallop.quic.Receiver:
    inbox = tmp_path / "inbox"
    inbox.mkdir(exist_ok=True)
    return shallop.quic.receive(inbox, bind="127.0.0.1:0", wait=WAIT, **more)  # type: ignore[arg-type]


def test_files_arrive_and_both_ends_return_a_report(tmp_path: Path) -> None:
    folder = tmp_path / "ship"
    folder.mkdir()
    (folder / "log").write_bytes(bytes(range(256)) * 2000)
    (folder / "empty").write_bytes(b"")
    seen: list[tuple[int, int]] = []
    with receiver(tmp_path) as inbox:
        sent = shallop.quic.send(
            folder,
            inbox.address,
            wait=WAIT,
            code=inbox.code,
            progress=lambda done, total: seen.append((done, total)),
        )
        received = next(inbox)
    assert sent["transfer"]["files"] == received["transfer"]["files"] == 2
    assert sent["transfer"]["bytes"] == received["transfer"]["bytes"] == 512_000
    assert sent["on_credits"]
    assert sent["credits"]["data_packets"] > 340
    assert received["credits"]["credits_sent"] >= sent["credits"]["granted"]
    assert seen[-1] == (512_000, 512_000)
    assert (tmp_path / "inbox/ship/log").read_bytes() == (folder / "log").read_bytes()
    assert (tmp_path / "inbox/ship/empty").stat().st_size == 0


def test_reports_equal_the_output_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "note"
    file.write_text("aye")
    with receiver(tmp_path) as inbox:
        args: list[str | Path] = [
            "send",
            file,
            inbox.address,
            "--wait",
            WAIT,
            f"--code={inbox.code}",
            "--json",
        ]
        output = subprocess.run([command(), *args], capture_output=True, check=True, text=True)
        of_command = json.loads(output.stdout)
        next(inbox)
        of_python = shallop.quic.send([file], inbox.address, wait=WAIT, code=inbox.code)
        next(inbox)
    for part, of_part in of_command.items():
        same = of_python[part]  # type: ignore[literal-required]
        assert not isinstance(of_part, dict) or of_part.keys() == same.keys()
    assert of_python["transfer"]["skipped"] == 1


def test_errors_have_the_messages_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "note"
    file.write_text("aye")
    with receiver(tmp_path) as inbox:
        with pytest.raises(shallop.ShallopError, match=r"the code of .* is missing") as missing:
            shallop.quic.send(file, inbox.address, wait=WAIT)
        assert "code=" in str(missing.value)
        with pytest.raises(shallop.ShallopError, match="the receiver has another code"):
            shallop.quic.send(file, inbox.address, wait=WAIT, code="0" * 26)
        with pytest.raises(ValueError, match="code and anybody exclude each other"):
            shallop.quic.send(file, inbox.address, code=inbox.code, anybody=True)
        with pytest.raises(shallop.ShallopError, match=r"(?s)cannot listen at.*port") as taken:
            shallop.quic.receive(tmp_path, bind=inbox.address)
        assert "bind=" in str(taken.value)
    assert not (tmp_path / "inbox/note").exists()
    with pytest.raises(shallop.ShallopError, match="nothing-here"):
        shallop.quic.send(tmp_path / "nothing-here", "127.0.0.1", wait=WAIT)
    with pytest.raises(shallop.ShallopError, match="is no folder"):
        shallop.quic.receive(file)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("rate_limit", "fast", "rate_limit"),
        ("wait", "0s", "1us to 600s"),
        ("streams", 65, "from 1 to 64"),
        ("fallback", "reno", '"cubic" or "bbr"'),
        ("unscheduled", "2TB", "at most 1 TB"),
        ("unscheduled", "much", "unscheduled"),
        ("code", "12", "26 digits and letters"),
        ("cert", "a.pem", "go together"),
    ],
)
def test_parameters_are_checked_before_anything_is_sent(
    tmp_path: Path, option: str, value: object, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        shallop.quic.send(tmp_path, "127.0.0.1", **{option: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("fallback", ["cubic", "bbr"])
def test_data_can_leave_early_or_without_credits(tmp_path: Path, fallback: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(100_000))
    with receiver(tmp_path, overwrite=True) as inbox:
        trust = {"wait": WAIT, "code": inbox.code}
        early = shallop.quic.send(file, inbox.address, unscheduled="50KB", **trust)  # type: ignore[arg-type]
        assert early["leaves"] == "credits"
        assert early["credits"]["unscheduled"] > 0
        file.write_bytes(bytes(range(250)) * 400)
        plain = shallop.quic.send(
            file,
            inbox.address,
            without_credits=True,
            fallback=fallback,
            **trust,  # type: ignore[arg-type]
        )
    assert plain["leaves"] == "without_credits"
    assert not plain["on_credits"]
    assert plain["transfer"]["bytes"] == 100_000
    assert plain["credits"]["emulated"] == 0


def test_host_names_and_paths_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a port is a number"):
        shallop.quic.send(tmp_path, "ship:0")
    with pytest.raises(ValueError, match="nothing is to be sent"):
        shallop.quic.send([], "ship")
    with pytest.raises(ValueError, match="bind"):
        shallop.quic.receive(tmp_path, bind="ship")


def refuse(done: int, total: int) -> None:
    if total:
        raise RuntimeError("enough")


def test_a_receiver_warns_of_a_sender_that_breaks_off_and_ends_when_closed(tmp_path: Path) -> None:
    file = tmp_path / "note"
    file.write_text("aye")
    inbox = receiver(tmp_path)
    large = tmp_path / "large"
    large.write_bytes(bytes(4_000_000))
    slow = {"wait": WAIT, "rate_limit": "10Mbps", "code": inbox.code}
    with pytest.raises(RuntimeError, match="enough"):
        shallop.quic.send(large, inbox.address, progress=refuse, **slow)  # type: ignore[arg-type]
    shallop.quic.send(file, inbox.address, wait=WAIT, code=inbox.code)
    with pytest.warns(RuntimeWarning, match="a sender broke off"):
        assert next(inbox)["transfer"]["files"] == 1
    inbox.close()
    assert list(inbox) == []


def test_unread_reports_are_bounded_and_dropped_ones_are_counted() -> None:
    script = f"""
import sys
for number in range({MOST_UNREAD + 100}):
    print('{{"type": "received"}}', file=sys.stderr)
"""
    popen = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
    messages: queue.SimpleQueue[dict[str, object] | None] = queue.SimpleQueue()
    _read(popen, messages)
    assert messages.qsize() == MOST_UNREAD + 2
    kept = [messages.get() for _ in range(MOST_UNREAD + 2)]
    assert kept[-2:] == [{"type": "dropped", "count": 100}, None]


def test_an_exception_in_progress_ends_the_transfer(tmp_path: Path) -> None:
    file = tmp_path / "much"
    file.write_bytes(b"\0" * 4_000_000)
    with receiver(tmp_path) as inbox, pytest.raises(RuntimeError, match="enough"):
        shallop.quic.send(
            file,
            inbox.address,
            wait=WAIT,
            rate_limit="10Mbps",
            code=inbox.code,
            progress=refuse,
        )
    assert not (tmp_path / "inbox/much").exists()


def test_ctrl_c_ends_a_transfer_and_other_threads_continue(tmp_path: Path) -> None:
    file = tmp_path / "much"
    file.write_bytes(b"\0" * 40_000_000)
    script = textwrap.dedent(
        """
        import signal, sys, threading, time
        import shallop
        # A shell that runs the tests in the background ignores SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ticks = []
        def tick():
            while True:
                ticks.append(time.monotonic())
                time.sleep(0.01)
        threading.Thread(target=tick, daemon=True).start()
        file, address, code = sys.argv[1:]
        print("begins", flush=True)
        try:
            shallop.quic.send(file, address, wait="20ms", rate_limit="10Mbps", code=code)
        except KeyboardInterrupt:
            gaps = [later - earlier for earlier, later in zip(ticks, ticks[1:])]
            print(max(gaps), flush=True)
            sys.exit(7)
        """
    )
    with receiver(tmp_path) as inbox:
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(file), inbox.address, str(inbox.code)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(1.5)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
        assert time.monotonic() - begun < 5
    assert process.returncode == 7
    # A thread that waited for the transfer would show a gap as long as the transfer.
    assert float(output) < 1.0
