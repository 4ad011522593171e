"""Figures of measurements that no recorded run repeats: rehearsals, kernels, other simulators, long runs and tests.
`docs/recorded/pages/PAGE.toml` has an entry for each paragraph, list item or table with such figures.

| key of `[[measured]]` | meaning |
|---|---|
| `what` | the first words of the paragraph |
| `numbers` | all numbers of the paragraph, in order, but for figures of recorded runs |
| `command` | what measured them, where one command did |
| `commit`, `date` | the commit that handed these figures in, and its date |
| `source` | instead of a commit: a publication and its section, or the test that holds the figures |
| `records` | experiments that the paragraph is about: `ID DIGEST`, a digest of the record's claims |

The file's `given` are the other numbers of the page: settings, counts and citations.
"""

import json
import tomllib
from collections.abc import Iterator
from itertools import groupby, zip_longest
from pathlib import Path
from typing import NamedTuple

from records import FOLDER, digest_of_claims
from untraced import Number

# What is wrong, with its line; zero for the whole page.
Wrong = tuple[int, str]
Block = list[Number]


class Entry(NamedTuple):
    what: str
    origin: str
    numbers: list[str]
    records: list[str]


class Measured(NamedTuple):
    file: str
    given: list[str]
    entries: list[Entry]


def read(root: Path, page: str) -> Measured:
    """Reads the file of a page; without one, no number of the page is known."""
    name = page.removeprefix("docs/").removesuffix(".md").replace("/", "-")
    file = f"{FOLDER}/pages/{name}.toml"
    path = root / file
    return parse(file, path.read_text() if path.is_file() else "")


def parse(file: str, text: str) -> Measured:
    """Reads the text of such a file."""
    try:
        described = tomllib.loads(text)
        entries = []
        for of in described.get("measured", []):
            source, commit = of.get("source"), of.get("commit") and of.get("date")
            if not (of["what"] and of["numbers"]) or bool(source) == bool(commit):
                raise ValueError(f'"{of["what"]}" needs numbers, and commit and date, or source')
            origin = source or f"commit {of['commit']}, {of['date']}"
            entries.append(Entry(of["what"], origin, of["numbers"].split(" "), of.get("records", [])))
    except KeyError as why:
        raise ValueError(f"{file}: an entry lacks {why}") from why
    except ValueError as why:
        raise ValueError(f"{file}: {why}") from why
    return Measured(file, described.get("given", []), entries)


def moved(measured: Measured, root: Path) -> Iterator[Wrong]:
    """Paragraphs about experiments whose record has other claims than when they were written."""
    for entry in measured.entries:
        for record in entry.records:
            now = digest_of_claims(root, record.split(" ")[0])
            if now != record:
                then = f"correct what it says, then put this name into {measured.file}"
                yield 0, f'the record {now} has moved since "{entry.what}" was written: {then}'


def wrong(measured: Measured, numbers: list[Number]) -> Iterator[Wrong]:
    """What is wrong with the numbers of a page."""
    blocks, missing = blocks_of(numbers), []
    for entry in measured.entries:
        if same := next((block for block in blocks if digits(block) == entry.numbers), None):
            blocks.remove(same)
        else:
            missing.append(entry)
    for entry in missing:
        nearest = max(blocks, key=lambda block: alike(entry, block), default=None)
        if nearest is None or alike(entry, nearest) == 0:
            yield 0, f'{measured.file} has the figures of "{entry.what}", which are not here'
            continue
        blocks.remove(nearest)
        line, what = difference(entry, nearest)
        yield line, f'{what} ({entry.origin}, "{entry.what}" of {measured.file})'
    for number in (number for block in blocks for number in block):
        if number.token not in measured.given:
            what = "is of no record, of no measurement and not given: `figures-of PAGE` prints an entry"
            yield number.line, f"{number.token} {what} for {measured.file}"


def entries_for(measured: Measured, numbers: list[Number]) -> str:
    """An entry for each paragraph that has numbers of which nothing is known."""
    text, known = "", [entry.numbers for entry in measured.entries]
    for block in blocks_of(numbers):
        tokens = [number.token for number in block]
        if digits(block) not in known and not set(tokens) <= set(measured.given):
            text += "[[measured]]\n"
            text += f"what = {json.dumps(block[0].words, ensure_ascii=False)}\n"
            text += f'commit = ""\ndate = ""\nnumbers = "{" ".join(digits(block))}"\n'
            text += f"# or given = {json.dumps(tokens, ensure_ascii=False)}\n\n"
    return text


def blocks_of(numbers: list[Number]) -> list[Block]:
    return [list(block) for _, block in groupby(numbers, key=lambda number: number.block)]


def digits(block: Block) -> list[str]:
    return [number.digits for number in block]


def alike(entry: Entry, block: Block) -> int:
    """How many numbers of the paragraph are at their place in the entry, from one end."""
    own, found = entry.numbers, digits(block)

    def count(one: list[str], other: list[str]) -> int:
        return sum(a == b for a, b in zip(one, other, strict=False))

    return max(count(own, found), count(own[::-1], found[::-1]))


def difference(entry: Entry, block: Block) -> Wrong:
    """The first difference of a paragraph, with its line."""
    for number, own in zip_longest(block, entry.numbers):
        if number is None:
            return block[-1].line, f"the measured {own} is missing"
        if number.digits != own:
            was = f"was measured as {own}" if own else "was not measured"
            return number.line, f"{number.token} {was}"
    raise AssertionError("such a paragraph is of the entry")
