"""The ``shallop`` command: where it is, how it is started, and what it says."""

from __future__ import annotations

import json
import logging
import os
import queue
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, Union

from ._errors import ShallopError, of_fault
from ._version import __version__

Message = dict[str, Any]
Argument = Union[str, "os.PathLike[str]"]

#: The command in place of the installed one.
VARIABLE = "SHALLOP_COMMAND"
#: Seconds for a command that was asked to end; then it is killed.
GRACE = 10.0

_log = logging.getLogger("shallop")


def command() -> str:
    """The path of the command: ``SHALLOP_COMMAND``, else that of this installation, else the one on PATH."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    name = "shallop" + (sysconfig.get_config_var("EXE") or "")
    folders = [
        sysconfig.get_path("scripts"),
        str(Path(sys.executable).parent),
        # pip install --user
        sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")),
    ]
    for path in (Path(folder) / name for folder in folders):
        if os.access(path, os.X_OK) and path.is_file():
            return str(path)
    found = shutil.which(name)
    if found is None:
        raise ShallopError(
            f"the command 'shallop' is neither in {folders[0]} nor on PATH: install this package with "
            f"pip, or set {VARIABLE} to the command's path"
        )
    return found


class Process:
    """The command at work. It ends when `stop` is called, and when this process ends, however it does."""

    def __init__(self, *arguments: Argument, request: Mapping[str, Any] | None = None) -> None:
        program = command()
        self._out = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this
        try:
            self._popen = subprocess.Popen(
                [program, "--message-format=json", "--end-with-stdin", *arguments],
                stdin=subprocess.PIPE,
                stdout=self._out,
                stderr=subprocess.PIPE,
                # Ctrl-C is Python's; what it does to the command is decided here.
                start_new_session=True,
            )
        except OSError as error:
            raise ShallopError(f"could not start the command {program}: {error}") from error
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._said: list[str] = []
        self._program = program
        if request is not None:
            assert self._popen.stdin is not None
            # A command that has ended says why itself.
            with suppress(BrokenPipeError):
                self._popen.stdin.write(json.dumps(request).encode() + b"\n")
                self._popen.stdin.flush()
        # It closes standard input once the command has ended, so nothing is written any more.
        Thread(target=_read, args=(self._popen, self._messages), daemon=True).start()

    def __del__(self) -> None:
        if hasattr(self, "_popen"):
            self._popen.terminate()

    def messages(self) -> Iterator[Message]:
        """What the command says, as it says it, until it ends.

        Raises
        ------
        ShallopError, ScenarioError, ValueError
            Why it could not do what was asked.
        """
        while (message := self._messages.get()) is not None:
            kind = message.get("type")
            if kind == "version":
                self._check(message["version"])
            elif kind == "error":
                raise of_fault(message)
            elif kind == "note":
                _log.info(message["text"])
            elif kind == "text":
                self._said.append(message["text"])
            else:
                yield message
        # For whoever asks again.
        self._messages.put(None)

    def _check(self, version: str) -> None:
        if version != __version__:
            raise ShallopError(
                f"the command {self._program} is version {version}, and this package {__version__}: "
                f"install the same version of both, or set {VARIABLE} to the command's path"
            )

    def end(self, good: Sequence[int] = (0,)) -> str:
        """Waits for the end, and gives what was printed; `good` are the exit codes of a command that did its work."""
        code = self._popen.wait()
        if code in good:
            self._out.seek(0)
            return self._out.read().decode()
        said = "".join(f"\n{line}" for line in self._said)
        if code < 0:
            with suppress(ValueError):
                raise ShallopError(f"the command was ended by {signal.Signals(-code).name}{said}")
        raise ShallopError(f"the command ended with exit code {code}: please report it{said}")

    def stop(self) -> None:
        """Ends the command as Ctrl-C does: what was finished is kept."""
        self._popen.terminate()
        try:
            self._popen.wait(GRACE)
        except BaseException as error:
            # It does not end, or whoever waits has pressed Ctrl-C again.
            self._popen.kill()
            self._popen.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise


def _read(popen: subprocess.Popen[bytes], messages: queue.SimpleQueue[Message | None]) -> None:
    """Passes on what a command says. It holds no `Process`, so that one that nobody uses any longer ends."""
    assert popen.stderr is not None
    with popen.stderr as lines:
        for line in lines:
            messages.put(_parsed(line))
    popen.wait()
    if popen.stdin is not None:
        with suppress(OSError):
            popen.stdin.close()
    messages.put(None)


def _parsed(line: bytes) -> Message:
    with suppress(ValueError):
        message = json.loads(line)
        if isinstance(message, dict):
            return message
    # A panic, or a command of another age.
    return {"type": "text", "text": line.decode(errors="replace").rstrip()}


def ask(
    *arguments: Argument,
    request: Mapping[str, Any] | None = None,
    good: Sequence[int] = (0,),
    told: Callable[[Message], object] = lambda message: None,
) -> str:
    """Has the command do something and gives what it printed; `told` is given its messages in this thread."""
    process = Process(*arguments, request=request)
    try:
        for message in process.messages():
            told(message)
    except BaseException:
        process.stop()
        raise
    return process.end(good)
