"""The tree that the checks read: the files that git tracks, and findings in them."""

import functools
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
# Folders at the root with generated files, which are skipped if git is not available.
MADE = (".git", ".venv", ".venv-ns3", "results", "target")


class Source(NamedTuple):
    path: str
    text: str

    @property
    def extension(self) -> str:
        return os.path.splitext(self.path)[1]


def finding(path: str, line: int, what: str) -> str:
    """A violation of a rule; line 0 is the whole file."""
    return f"{path}:{line}: {what}" if line else f"{path}: {what}"


def tracked(root: Path) -> list[str]:
    # Another user may own the clone, as in a container; listing files is safe in any case.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    try:
        listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return [name for name in listed.decode().split("\0") if name]


def walk(root: Path) -> Iterator[str]:
    """All files that are not generated."""
    for folder, below, names in os.walk(root):
        if Path(folder) == root:
            below[:] = [name for name in below if name not in MADE]
        yield from (Path(folder, name).relative_to(root).as_posix() for name in names)


@functools.cache
def contents() -> dict[str, bytes]:
    """Every file by its path, without links: their targets have paths of their own."""
    files = {path: ROOT / path for path in sorted(tracked(ROOT) or walk(ROOT))}
    # A tracked file that does not exist is being removed.
    return {path: file.read_bytes() for path, file in files.items() if file.is_file() and not file.is_symlink()}


def text_of(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


@functools.cache
def sources() -> list[Source]:
    """The text files of the tree."""
    return [Source(path, text) for path, content in contents().items() if (text := text_of(content)) is not None]


def write(path: str, text: str) -> None:
    """Writes a file, unless it has this text already."""
    file = ROOT / path
    if not file.is_file() or file.read_bytes() != text.encode():
        file.write_bytes(text.encode())
        print(f"wrote {path}")
