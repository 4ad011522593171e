"""File transfer between hosts over QUIC with FlashPass credits: `shallop send` and `shallop receive`.

Both functions take options of the commands as parameters and return the reports of ``--json``. They need Linux.
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
    """The outcome of the files."""

    files: int
    """Files that were moved and verified."""
    folders: int
    """Folders that are in place."""
    bytes: int
    """Bytes of files that went over the link."""
    skipped: int
    """Files that the receiver had already."""
    resumed_bytes: int
    """Bytes that the receiver had from an earlier transfer."""
    seconds: float
    failed: list[Failure]


class Credits(TypedDict):
    """Counts of emulation packets, credits and data packets of this side."""

    emulated: int
    path_tests: int
    granted: int
    used: int
    wasted: int
    skipped: int
    credits_sent: int
    dropped: dict[str, int]
    data_packets: int
    without_credit: int
    unscheduled: int
    unread: int
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
    datagram: int
    mtu_probes_lost: int
    ecn_cleared: bool


class Report(TypedDict):
    """The report of a transfer: the object that the commands print with ``--json``."""

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
    unscheduled: str | None = None,
    streams: int = 4,
    code: str | None = None,
    anybody: bool = False,
    ca: AnyPath | None = None,
    cert: AnyPath | None = None,
    key: AnyPath | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Report:
    """Sends files and folders to a host that receives.

    Other Python threads continue meanwhile. A transfer that broke off resumes when it is sent again.

    Parameters
    ----------
    paths
        A file or folder, or several.
    to
        The receiver: ``"HOST"`` or ``"HOST:PORT"``; default port 4747.
    rate_limit
        The rate of this host's link, or the part of it that the transfer may use.
    wait
        The time from an emulation packet to its data packet: longer than the longest round trip of the network.
    without_credits
        Whether to use QUIC with the controller of `fallback` alone.
    fallback
        The congestion controller without credits: ``"cubic"`` or ``"bbr"`` (version 1). It takes over on a path that
        is not fit for credits.
    unscheduled
        The amount of data, such as ``"250KB"``, that may leave before the first credit, and after pauses; default: ten
        packets.
    streams
        The number of files sent at a time, 1 to 64.
    code
        The code of the receiver; default: the environment variable ``SHALLOP_CODE``.
    anybody
        Whether to trust whoever answers, instead of a code: for receivers with `anybody`.
    ca
        Instead of a code, a file of authorities: trust a receiver whose certificate is for the name in `to` and signed
        by one of them.
    cert, key
        The certificate and key of this host, for receivers that ask for a certificate.
    progress
        Called in this thread, at most ten times a second, with the bytes that have arrived and the bytes of all
        files. An exception in it ends the transfer.

    Returns
    -------
    Report
        Files that did not arrive are in ``["transfer"]["failed"]``; they raise no exception.

    Raises
    ------
    ShallopError
        If no receiver answers, the receiver is not trusted, or the transfer breaks off.
    ValueError
        If a parameter has a value that the command refuses.
    KeyboardInterrupt
        On Ctrl-C; the bytes that have arrived are kept for the next transfer.
    """
    _need_linux()
    every = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not every:
        raise ValueError("nothing is to be sent: paths is empty")

    def on_message(message: Message) -> None:
        if message["type"] == "transfer" and progress is not None:
            progress(message["done"], message["total"])

    options = _options(
        rate_limit=rate_limit,
        wait=wait,
        without_credits=without_credits,
        fallback=fallback,
        unscheduled=unscheduled,
        streams=streams,
        anybody=anybody,
        ca=ca,
        cert=cert,
        key=key,
    )
    _only(code, anybody=anybody, ca=ca, cert=cert)
    with _in_parameters():
        # Exit code 1: some files did not arrive; the report has them.
        printed = ask(
            *("send", "--json", *options, "--", *every, to),
            code=code,
            good=(0, 1),
            on_message=on_message,
        )
    report: Report = json.loads(printed)
    return report


class Receiver:
    """Receives files until it is closed: an iterator over the reports of the senders, in the order in which they end.

    The receiver serves several senders at a time, also while the program does not iterate: it keeps 1,000 reports.
    Further ones are dropped, which a `RuntimeWarning` says in their place. A sender that breaks off causes a
    `RuntimeWarning`; it may connect again and resume. A ``with`` statement closes the receiver at its end.
    """

    address: str
    """The address and port at which it listens."""
    code: str | None
    """The code that senders have to give; ``None`` with `client_ca` or `anybody`."""

    def __init__(self, process: Process) -> None:
        self._process, self._is_closed = process, False
        for message in process.messages():
            if message["type"] == "listening":
                self.address, self.code = message["address"], message["code"]
                return
        process.end(())

    def close(self) -> None:
        """Stops receiving, and breaks off transfers in progress."""
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
            if message["type"] == "dropped":
                why = f"{message['count']} reports were dropped, as they were not taken in time"
                warnings.warn(why, RuntimeWarning, stacklevel=2)
        if not self._is_closed:
            # The command ended without having been stopped.
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
    code: str | None = None,
    anybody: bool = False,
    cert: AnyPath | None = None,
    key: AnyPath | None = None,
    client_ca: AnyPath | None = None,
    rate_limit: str = "1Gbps",
    wait: str = "100ms",
    without_credits: bool = False,
    fallback: str = "cubic",
    unscheduled: str | None = None,
) -> Receiver:
    """Starts to receive files into a folder; ``next(receive("inbox"))`` waits for the first sender.

    Senders have to give the receiver's `code`.

    Parameters
    ----------
    folder
        The folder for the files; it must exist.
    bind
        The address to listen at, ``"ADDRESS:PORT"``; port 0 is any free port; default: port 4747 of all addresses.
    overwrite
        Whether existing files with other contents are replaced.
    hidden
        Whether to accept files and folders whose path has a name that begins with a dot. Other programs read such
        files without being asked, so a sender may make this host run programs.
    code
        The code that senders have to give; default: the environment variable ``SHALLOP_CODE``, or a new code.
    anybody
        Whether to accept files of anybody who reaches the port, instead of a code.
    cert, key
        A certificate and its key, by which senders with `ca` know this host.
    client_ca
        Instead of a code, a file of authorities: accept only senders whose certificate is signed by one of them.

    The other parameters are those of `send`.

    Raises
    ------
    ShallopError
        If the folder does not exist or the address cannot be used.
    ValueError
        If a parameter has a value that the command refuses.
    """
    _need_linux()
    options = _options(
        bind=bind,
        overwrite=overwrite,
        hidden=hidden,
        anybody=anybody,
        cert=cert,
        key=key,
        client_ca=client_ca,
        rate_limit=rate_limit,
        wait=wait,
        without_credits=without_credits,
        fallback=fallback,
        unscheduled=unscheduled,
    )
    _only(code, anybody=anybody, cert=cert, client_ca=client_ca)
    with _in_parameters():
        return Receiver(Process("receive", "--quiet", *options, "--", folder, code=code))


def _only(code: str | None, **others: object) -> None:
    """Checks that a code does not meet another way to know the peer."""
    for name, value in others.items():
        if code is not None and value:
            raise ValueError(f"code and {name} exclude each other")


def _options(**parameters: object) -> list[str]:
    """The options of the command for these parameters."""
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
    """Errors name parameters, not options: ``client_ca=`` for ``--client-ca``."""
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
