"""Files between hosts by QUIC whose data packets leave on credits: `shallop send` and `shallop receive`.

Both take the options of the commands and give the reports of their ``--json``. They need Linux.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TypedDict, Union

from ._command import Message, Process, ask
from ._errors import ShallopError

__all__ = ["Credits", "Failure", "Path", "Receiver", "Report", "Transfer", "receive", "send"]

AnyPath = Union[str, "os.PathLike[str]"]


class Failure(TypedDict):
    """A file or folder that is not in place at the receiver, and why."""

    path: str
    reason: str


class Transfer(TypedDict):
    """What came of the files."""

    files: int
    """Files that were moved and verified."""
    folders: int
    """Folders that are in place."""
    bytes: int
    """Bytes of files that went over the link."""
    skipped: int
    """Files that the receiver had."""
    resumed_bytes: int
    """Bytes that the receiver had of an earlier try."""
    seconds: float
    failed: list[Failure]


class Credits(TypedDict):
    """Counts of emulation packets, credits and data packets of this side."""

    emulated: int
    granted: int
    used: int
    wasted: int
    skipped: int
    credits_sent: int
    dropped: dict[str, int]
    data_packets: int
    without_credit: int
    unscheduled: int
    late: list[int]
    lateness: dict[str, float]
    latest_s: float


class Path(TypedDict):
    """Round trips (seconds) and losses of QUIC packets."""

    min_rtt_s: float
    smoothed_rtt_s: float
    max_smoothed_rtt_s: float
    packets_sent: int
    packets_lost: int
    path_challenges: int


class Report(TypedDict):
    """What came of a transfer: the object that the commands print with ``--json``."""

    transfer: Transfer
    on_credits: bool
    leaves: str
    """How data leaves at the end: ``"credits"``, ``"without_credits"``, or why credits were left."""
    credits: Credits
    path: Path


def send(
    paths: AnyPath | Sequence[AnyPath],
    to: str,
    *,
    rate_limit: str = "1Gbps",
    wait: str = "100ms",
    without_credits: bool = False,
    fallback: str = "cubic",
    unscheduled: str = "0B",
    streams: int = 4,
    fingerprint: str | None = None,
    trust_new: bool = False,
    known_hosts: AnyPath | None = None,
    ca: AnyPath | None = None,
    cert: AnyPath | None = None,
    key: AnyPath | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Report:
    """Sends files and folders to a host that receives.

    Other Python threads continue meanwhile. What was broken off goes on where it was when it is sent again.

    Parameters
    ----------
    paths
        A file or folder, or several.
    to
        ``"HOST"`` or ``"HOST:PORT"``: who receives.
    rate_limit
        The rate of this host's link, or the part of it that may be used.
    wait
        The time from an emulation packet to its data packet: longer than the longest round trip of the network.
    without_credits
        QUIC with the controller of `fallback`.
    fallback
        The congestion controller without credits: ``"cubic"`` or ``"bbr"`` (version 1). It takes over on a path that
        is not fit for credits.
    unscheduled
        Up to this much of the first data leaves before the first credit, as ``"250KB"``.
    streams
        Files that are sent at a time, 1 to 64.
    fingerprint
        The receiver's; without it, the one in the file of known hosts.
    trust_new
        Whether a receiver that is not known yet is trusted, and its fingerprint kept.
    known_hosts
        The file of known hosts, in place of the one that the commands have.
    ca
        Trust a receiver whose certificate is for the name in `to` and is signed by an authority in this file.
    cert, key
        What this host shows to receivers that ask for a certificate.
    progress
        Called in this thread at most ten times a second, as the transfer advances, with the bytes that are at the
        receiver and those of all files; what it raises ends the transfer.

    Returns
    -------
    Report
        Files that are not in place are in ``["transfer"]["failed"]``; they raise nothing.

    Raises
    ------
    ShallopError
        If nobody is reached, or nobody that is trusted, or the transfer breaks off.
    ValueError
        If an option is none that the command would take.
    KeyboardInterrupt
        On Ctrl-C; what has arrived is kept for the next try.
    """
    _need_linux()
    every = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not every:
        raise ValueError("nothing is to be sent: paths is empty")

    def told(message: Message) -> None:
        if message["type"] == "transfer" and progress is not None:
            progress(message["done"], message["total"])

    options = _options(
        rate_limit=rate_limit,
        wait=wait,
        without_credits=without_credits,
        fallback=fallback,
        unscheduled=unscheduled,
        streams=streams,
        fingerprint=fingerprint,
        trust_new=trust_new,
        known_hosts=known_hosts,
        ca=ca,
        cert=cert,
        key=key,
    )
    with _in_parameters():
        # Files that are not in place are in the report.
        said = ask("send", "--json", *options, "--", *every, to, good=(0, 1), told=told)
    report: Report = json.loads(said)
    return report


class Receiver:
    """Receives files until it is closed: an iterator over the reports of the senders, in the order in which they end.

    Senders are served while nobody iterates, too, several at a time. Of one that breaks off there is a
    `RuntimeWarning`; it may come again and go on. As a context manager it closes at the end.
    """

    address: str
    """The address and port at which it listens."""
    fingerprint: str
    """The fingerprint that senders see."""

    def __init__(self, process: Process) -> None:
        self._process, self._is_closed = process, False
        for message in process.messages():
            if message["type"] == "listening":
                self.address, self.fingerprint = message["address"], message["fingerprint"]
                return
        process.end(())

    def close(self) -> None:
        """Receives no more, and breaks off what is under way."""
        self._is_closed = True
        self._process.stop()

    def __iter__(self) -> Iterator[Report]:
        return self

    def __next__(self) -> Report:
        for message in self._process.messages():
            if message["type"] == "received":
                found: Report = message["report"]
                return found
            if message["type"] == "broke_off":
                why = message["why"]
                warnings.warn(f"a sender broke off: {why}", RuntimeWarning, stacklevel=2)
        if not self._is_closed:
            # It was not to end.
            self._process.end(())
        raise StopIteration

    def __enter__(self) -> Receiver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def receive(
    folder: AnyPath,
    *,
    bind: str | None = None,
    overwrite: bool = False,
    hidden: bool = False,
    identity: AnyPath | None = None,
    cert: AnyPath | None = None,
    key: AnyPath | None = None,
    client_ca: AnyPath | None = None,
    rate_limit: str = "1Gbps",
    wait: str = "100ms",
    without_credits: bool = False,
    fallback: str = "cubic",
    unscheduled: str = "0B",
) -> Receiver:
    """Begins to receive files into a folder; ``next(receive("inbox"))`` waits for the first sender.

    Without `client_ca`, anybody who reaches the port may send files into the folder.

    Parameters
    ----------
    folder
        The folder that files are put into; it has to exist.
    bind
        ``"ADDRESS:PORT"`` to listen at, port 0 for any; port 4747 of all addresses unless given.
    overwrite
        Whether files of the same name and other contents are replaced.
    hidden
        Whether files and folders whose path has a name that begins with a dot are taken. Other programs read such
        files unasked: a sender may make this host run programs by them.
    identity
        The folder with this host's identity, which is made there the first time, in place of the one that the
        commands have.
    cert, key
        A certificate and its key in place of an identity.
    client_ca
        Take files only of senders whose certificate is signed by an authority in this file.

    The other parameters are those of `send`.

    Raises
    ------
    ShallopError
        If the folder is none or the address cannot be had.
    ValueError
        If an option is none that the command would take.
    """
    _need_linux()
    options = _options(
        bind=bind,
        overwrite=overwrite,
        hidden=hidden,
        identity=identity,
        cert=cert,
        key=key,
        client_ca=client_ca,
        rate_limit=rate_limit,
        wait=wait,
        without_credits=without_credits,
        fallback=fallback,
        unscheduled=unscheduled,
    )
    with _in_parameters():
        return Receiver(Process("receive", "--quiet", *options, "--", folder))


def _options(**parameters: object) -> list[str]:
    """Parameters as options of the command."""
    if (parameters["cert"] is None) != (parameters["key"] is None):
        raise ValueError("cert and key go together")
    options = []
    for name, value in parameters.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            options.append(option)
        elif value is not None and value is not False:
            options.append(
                f"{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}"
            )
    return options


@contextmanager
def _in_parameters() -> Iterator[None]:
    """Errors name parameters, not options: ``trust_new=`` for ``--trust-new``."""
    try:
        yield
    except ShallopError as error:
        text = re.sub(
            r"--([a-z][a-z-]*)", lambda option: f"{option[1].replace('-', '_')}=", str(error)
        )
        raise type(error)(text) from None


def _need_linux() -> None:
    if not sys.platform.startswith("linux"):
        raise ShallopError(f"shallop.quic needs Linux, and this is {sys.platform}")
