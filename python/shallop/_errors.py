"""Exceptions, made from the error messages of the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ShallopError(Exception):
    """An error, with the message that the command prints."""


class ScenarioError(ShallopError):
    """An error of a scenario; the message shows the line."""


for _error in (ShallopError, ScenarioError):
    _error.__module__ = "shallop"

#: Arguments of the command whose parameters have other names.
_PARAMETERS = {"<HOST[:PORT]>": "to", "[DIR]": "folder", "<DIR>": "folder"}


def exception_of(fault: Mapping[str, Any]) -> Exception:
    """The exception for a message of type ``error``: docs/messages.md."""
    option: str | None = fault["option"]
    if fault["kind"] == "scenario" or option in ("--set", "--vary"):
        return ScenarioError(fault["text"])
    if fault["kind"] == "option":
        return ValueError(_wrong_option(fault))
    return ShallopError(fault["text"])


def _wrong_option(fault: Mapping[str, Any]) -> str:
    option, why = fault["option"], fault["message"]
    if option is None:
        return str(fault["text"])
    name = _PARAMETERS.get(option, option.removeprefix("--").replace("-", "_"))
    if fault["value"] is None:
        return f"{name}: {why}"
    if fault["allowed"]:
        why = "expected " + " or ".join(f'"{word}"' for word in fault["allowed"])
    return f"invalid value '{fault['value']}' for {name}: {why}"
