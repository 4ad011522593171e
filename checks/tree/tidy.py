"""Checks of source files: length, width, unfinished code, the licence of C, and lifted bans."""

import re
import tomllib
from collections.abc import Iterator

from tree import Source, finding, sources

# The most lines of a source file, its tests included.
LINES = 500
COLUMNS = 120
# As patterns that do not find themselves.
LOOSE_ENDS = r"\b(?:TO(?:DO)\b|FIX(?:ME)\b|to(?:do!)|unimple(?:mented!))"
MACHINE = r"(?<!\w)/wo(?:rk)/|(?<!\w)/t(?:mp/wt)\b|\.\./sh(?:ared)\b|\barti(?:factory)\b"
# The folders of C that runs in a kernel, or is linked with GPL-2.0-only code (ns-3).
GPL_C = ("checks/ns3/", "crates/bpf/c/", "examples/controllers/")

WRITTEN = {".rs", ".py", ".pyi", ".toml", ".md", ".sh", ".c", ".h", ".yml", ".yaml"}


def check() -> Iterator[str]:
    for source in sources():
        yield from objections(source)


def objections(source: Source) -> Iterator[str]:
    path, text, extension = source.path, source.text, source.extension
    lines = text.count("\n") + (not text.endswith("\n"))
    if extension in (".rs", ".py", ".toml") and lines > LINES:
        yield finding(path, 0, f"has {lines} lines, more than {LINES}: split it")
    for pattern, what in line_rules(source):
        for found in re.finditer(pattern, text, re.MULTILINE):
            line = text.count("\n", 0, found.start()) + 1
            yield finding(path, line, what.format(found[0], columns=len(found[0])))
    if extension == ".rs" and "src/" in path and not text.startswith("//!"):
        yield finding(path, 0, "does not begin with //! and what it is")
    if path.rsplit("/")[-1] == "Cargo.toml":
        manifest = tomllib.loads(text)
        if "package" in manifest and manifest.get("lints") != {"workspace": True}:
            yield finding(path, 0, "does not take over the lints: [lints] workspace = true")
    if extension in (".c", ".cc", ".h"):
        in_kernel = path.endswith(".bpf.c") or path.startswith(GPL_C)
        licence = "GPL-2.0-only OR BSD-2-Clause" if in_kernel else "Apache-2.0"
        wanted = f"SPDX-License-Identifier: {licence}"
        if text.split("\n")[0].strip("/* ") != wanted:
            yield finding(path, 1, f'is not "{wanted}"')


def line_rules(source: Source) -> Iterator[tuple[str, str]]:
    """Patterns of lines that the file may not have, each with its message."""
    yield MACHINE, "names {0}, which is of one machine only"
    # Other files are generated or copied.
    if source.extension in WRITTEN or not (source.extension or source.path.endswith("LICENSE")):
        yield r"[^\S\n]$", "white space at the end of the line"
        yield LOOSE_ENDS, "a loose end: {0}"
        if not source.path.endswith("Makefile"):
            yield r"\t", "a tab"
    # A table or a link cannot be broken.
    breakable = r"(?!\s*\||.*\]\(|.*://)" if source.extension == ".md" else ""
    if source.extension in (".rs", ".md"):
        yield rf"^{breakable}.{{{COLUMNS + 1},}}$", f"{{columns}} columns, more than {COLUMNS}"
