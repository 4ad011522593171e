"""Scenarios from files, TOML text or dictionaries."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Union

import tomli_w

from ._errors import ScenarioError
from ._study import Study

Value = Union[bool, int, float, str, Sequence["Value"]]
Source = Union["Scenario", Mapping[str, object], str, "os.PathLike[str]"]


class Typed(str):
    """A value as typed on the command line: TOML, where a string may lack its quotes."""


class Scenario:
    """A network, a workload and the transports to compare.

    Parameters
    ----------
    source
        A dictionary, a path, or TOML text. A string with a line break is text; any other string is a path.
    folder
        The folder of the files that the scenario names; default: the folder of the scenario's file, or the working
        directory.

    Examples
    --------
    >>> two = Scenario({
    ...     "title": "Two flows",
    ...     "duration": "100ms",
    ...     "topology": {"kind": "dumbbell", "senders": 2, "rate": "1Gbps", "delay": "1ms"},
    ...     "scheme": [{"transport": "cubic"}],
    ...     "group": [{"name": "all"}],
    ... })
    >>> two.name
    'scenario'
    """

    text: str
    name: str
    folder: Path
    file: Path | None
    """The file of the text, if it has one."""

    def __init__(self, source: Source, folder: str | os.PathLike[str] | None = None) -> None:
        self.file = None
        if isinstance(source, Scenario):
            self.file = source.file
            self.text, self.name, self.folder = source.text, source.name, source.folder
        elif isinstance(source, Mapping):
            self.text, self.name, self.folder = _dump(source), "scenario", Path()
        elif isinstance(source, str) and "\n" in source:
            self.text, self.name, self.folder = source, "scenario", Path()
        else:
            path = Path(source)
            self.file = path
            self.text, self.name, self.folder = _read(path), str(path), path.parent
        if folder is not None:
            self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"Scenario({self.name!r}, folder={str(self.folder)!r})"

    def study(
        self,
        *,
        quick: bool = False,
        seed: int | None = None,
        seeds: int | None = None,
        overrides: Mapping[str, Value] | None = None,
        vary: Mapping[str, Sequence[Value]] | None = None,
        files: Mapping[str, str] | None = None,
        allow_programs: bool = False,
    ) -> Study:
        """The runs of the scenario, with changes. `files` replaces the files in its folder."""
        numbers = {"--seed": seed, "--seeds": seeds}
        options = [f"{name}={number}" for name, number in numbers.items() if number is not None]
        request = {
            "name": self.name,
            "text": self.text,
            "file": None if self.file is None else os.path.abspath(self.file),
            "folder": os.path.abspath(self.folder),
            "files": files,
            "set": [(_key(key), _literal(key, value)) for key, value in (overrides or {}).items()],
            "vary": [(_key(key), _literals(key, values)) for key, values in (vary or {}).items()],
        }
        return Study(request, options + ["--quick"] * quick, allow_programs=allow_programs)


def _read(path: Path) -> str:
    """The text of a scenario's file, with its line ends unchanged."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ScenarioError(f"{path}: could not read the file: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(
            f"{path}: not UTF-8 text, from byte {error.start} on; save it as UTF-8"
        ) from error


def _dump(source: Mapping[str, object]) -> str:
    try:
        return tomli_w.dumps(dict(source))
    except (TypeError, ValueError) as error:
        raise ScenarioError(f"the dictionary cannot be written as TOML: {error}") from error


def _key(key: str) -> str:
    """The key of a keyword argument, which has two underscores for a dot."""
    return key.replace("__", ".")


def _literals(key: str, values: Sequence[Value]) -> str | list[str]:
    """Values as a list of TOML values, or as one string as typed, with commas."""
    return values if isinstance(values, Typed) else [_literal(key, value) for value in values]


def _literal(key: str, value: Value) -> str:
    """A value as TOML."""
    if isinstance(value, Typed):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    # NumPy's numbers included, whose repr names their type.
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, str):
        # Except for DEL, which no key takes, a JSON string is a basic string of TOML.
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Sequence):
        return f"[{', '.join(_literal(key, item) for item in value)}]"
    raise ScenarioError(
        f"{key}: a value must be a string, a number, a truth value or a list of them, "
        f"not {type(value).__name__}"
    )
