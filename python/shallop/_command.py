"""The ``shallop`` command: its path, its process and its messages."""

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

from ._errors import ShallopError, exception_of
from ._version import __version__

Message = dict[str, Any]
Argument = Union[str, "os.PathLike[str]"]

#: The environment variable with the path of the command.
VARIABLE = "SHALLOP_COMMAND"
#: Seconds that the command has to end after SIGTERM; then it is killed.
GRACE = 10.0
#: The most unread messages; beyond that, messages of these types are dropped.
MOST_UNREAD = 1000
DROPPED = ("received", "broke_off")

_log = logging.getLogger("shallop")


def command() -> str:
    """The path of the command: ``SHALLOP_COMMAND``, else in this Python's folders of scripts, else on PATH."""
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
    """A process of the command. It ends with `stop`, and with the Python process, even if that is killed."""

    def __init__(
        self,
        *arguments: Argument,
        request: Mapping[str, Any] | None = None,
        code: str | None = None,
    ) -> None:
        program = command()
        self._out = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this
        try:
            self._popen = subprocess.Popen(
                [program, "--message-format=json", "--end-with-stdin", *arguments],
                stdin=subprocess.PIPE,
                stdout=self._out,
                stderr=subprocess.PIPE,
                # Other users can read arguments, and not the environment.
                env=None if code is None else {**os.environ, "SHALLOP_CODE": code},
                # Ctrl-C goes to Python alone, which then stops the command.
                start_new_session=True,
            )
        except OSError as error:
            raise ShallopError(f"could not start the command {program}: {error}") from error
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._said: list[str] = []
        self._program = program
        if request is not None:
            assert self._popen.stdin is not None
            # A command that has ended reports the reason itself.
            with suppress(BrokenPipeError):
                self._popen.stdin.write(json.dumps(request).encode() + b"\n")
                self._popen.stdin.flush()
        # The thread closes standard input after the command has ended, so the request is written before.
        Thread(target=_read, args=(self._popen, self._messages), daemon=True).start()

    def __del__(self) -> None:
        if hasattr(self, "_popen"):
            self._popen.terminate()

    def messages(self) -> Iterator[Message]:
        """The messages of the command, as they arrive, until it ends.

        Raises
        ------
        ShallopError, ScenarioError, ValueError
            The error that the command reports.
        """
        while (message := self._messages.get()) is not None:
            kind = message.get("type")
            if kind == "version":
                self._check(message["version"])
            elif kind == "error":
                raise exception_of(message)
            elif kind == "note":
                _log.info(message["text"])
            elif kind == "text":
                self._said.append(message["text"])
            else:
                yield message
        # The end, for the next call of this method.
        self._messages.put(None)

    def _check(self, version: str) -> None:
        if version != __version__:
            raise ShallopError(
                f"the command {self._program} is version {version}, and this package {__version__}: "
                f"install the same version of both, or set {VARIABLE} to the command's path"
            )

    def end(self, good: Sequence[int] = (0,)) -> str:
        """Waits for the end and returns the standard output; `good` are the exit codes that are no error."""
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
        """Ends the command as Ctrl-C does: finished runs are kept."""
        self._popen.terminate()
        try:
            self._popen.wait(GRACE)
        except BaseException as error:
            # The command does not end, or Ctrl-C was pressed again.
            self._popen.kill()
            self._popen.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise


def _read(popen: subprocess.Popen[bytes], messages: queue.SimpleQueue[Message | None]) -> None:
    """Passes on the messages. It holds no reference to the `Process`, so that an unused one is finalised."""
    assert popen.stderr is not None
    dropped = 0
    with popen.stderr as lines:
        for line in lines:
            message = _parsed(line)
            if message.get("type") in DROPPED and messages.qsize() >= MOST_UNREAD:
                dropped += 1
                continue
            if dropped:
                messages.put({"type": "dropped", "count": dropped})
                dropped = 0
            messages.put(message)
    if dropped:
        messages.put({"type": "dropped", "count": dropped})
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
    # The text of a panic, or of a command without --message-format.
    return {"type": "text", "text": line.decode(errors="replace").rstrip()}


def ask(
    *arguments: Argument,
    request: Mapping[str, Any] | None = None,
    code: str | None = None,
    good: Sequence[int] = (0,),
    on_message: Callable[[Message], object] = lambda message: None,
) -> str:
    """Runs the command and returns its standard output. `on_message` gets its messages, in this thread."""
    process = Process(*arguments, request=request, code=code)
    try:
        for message in process.messages():
            on_message(message)
    except BaseException:
        process.stop()
        raise
    return process.end(good)
