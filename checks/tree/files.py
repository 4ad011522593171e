"""Files that git must not hold: binaries, and files above 300 KB. Build products (libraries, wheels, commands) and
generated data make a repository grow unnoticed.
"""

from collections.abc import Iterator, Mapping

from tree import contents, finding, text_of

# The most bytes of a file in git.
BYTES = 300_000

# The binary or large files that are wanted, each with the reason.
WANTED = {
    "crates/linux/tests/tapes/bbr.tape": "a rehearsal that tests replay",
    "crates/linux/tests/tapes/cubic.tape": "a rehearsal that tests replay",
    "crates/shallop/tests/it/hostile/scenario.toml.gz": "input that the command refuses",
    "crates/shallop/tests/it/hostile/utf16.toml": "input that the command refuses",
    "crates/view/vendor/vega-embed.min.js.gz": "built into reports; see SHA256SUMS beside it",
    "crates/view/vendor/vega-lite.min.js.gz": "built into reports; see SHA256SUMS beside it",
    "crates/view/vendor/vega.min.js.gz": "built into reports; see SHA256SUMS beside it",
}


def check() -> Iterator[str]:
    yield from compare(contents(), WANTED)


def compare(files: Mapping[str, bytes], wanted: Mapping[str, str]) -> Iterator[str]:
    found = {path: what for path, content in files.items() if (what := objection(content))}
    yield from (finding(path, 0, f"{found[path]}: remove it from git") for path in found if path not in wanted)
    gone = "no such binary or large file: remove it from checks/tree/files.py"
    yield from (finding(path, 0, gone) for path in wanted if path not in found)


def objection(content: bytes) -> str | None:
    """Why these contents may not be in the repository, whatever the name of the file."""
    text, length = text_of(content), len(content)
    if text is None or "\0" in text:
        return f"is binary ({length} bytes)"
    return f"has {length} bytes, more than {BYTES}" if length > BYTES else None
