"""The figures of one page that come from records: those in sentences, and tables between `<!-- recorded: NAME -->` and
`<!-- end of recorded -->`.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from records import NUMBER, Records, cell, decimals, find

BEGIN = "<!-- recorded: "
END = "<!-- end of recorded -->"

Span = tuple[int, int]


class Checked(NamedTuple):
    # The page with the figures of its records, and where those in sentences stand.
    written: str
    traced: list[Span]
    wrong: list[str]


def check(page: str, figures: list[Any], tables: dict[str, Any], records: Records) -> Checked:
    """Compares a page with the records. `figures`: numbers in its sentences; `tables`: the tables of every page."""
    written, wrong = with_tables(page, tables, records)
    texts = []
    for row in figures:
        try:
            text, figure = sentence(row, records)
            begin, end = place(written, text)
        except ValueError as why:
            wrong.append(str(why))
            continue
        if written[begin:end] != figure:
            wrong.append(f'"{text}" has {written[begin:end]}, and the record says {figure}')
            written = written[:begin] + figure + written[end:]
        texts.append(text)
    return Checked(written, [place(written, text) for text in texts], wrong)


def sentence(row: Any, records: Records) -> tuple[str, str]:
    """The words around a figure, which stands at `{}`, and the figure."""
    try:
        text, record, scheme, point, metric, scale, digits, *of = row
        found = find(records, record, scheme, point, metric)._asdict()
        value = found[of[0] if of else "mean"] / scale
    except (KeyError, TypeError) as why:
        what = "is not [text, record, scheme, point, metric, scale, decimals], and mean, min or max"
        raise ValueError(f"{row} {what}") from why
    return text, decimals(value, digits)


def place(page: str, text: str) -> Span:
    """The place of the number that stands at `{}` in a text of the page, across lines."""
    before, found, after = text.partition("{}")
    if not (before and found):
        raise ValueError(f'"{text}" has no words before the figure, or no {{}}')
    first, last = (r"\s+".join(map(re.escape, part.split(" "))) for part in (before, after))
    spans = [match.span(1) for match in re.finditer(f"{first}({NUMBER}){last}", page)]
    if len(spans) != 1:
        raise ValueError(f'"{text}" is {"on the page twice" if spans else "not on the page"}')
    return spans[0]


def table(of: dict[str, Any], records: Records) -> str:
    """A table of figures: a row is `[label, scheme, point]`, a column `[heading, point, metric, scale, style, digits]`.
    The point of a row counts, unless it is empty.
    """
    try:
        headings = [of["head"], *(column[0] for column in of["columns"])]
        lines = [headings, ["---"] * (len(headings) + of["head"].count("|"))]
        for label, scheme, own in of["rows"]:
            lines.append([label])
            for _, point, metric, scale, style, digits in of["columns"]:
                figure = find(records, of["record"], scheme, own or point, metric)
                lines[-1].append(cell(style, figure, scale, digits))
    except KeyError as why:
        raise ValueError(f"lacks {why}") from why
    rule = "|" + "|".join(lines.pop(1)) + "|"
    head, *rows = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, rule, *rows]) + "\n"


def with_tables(page: str, tables: dict[str, Any], records: Records) -> tuple[str, list[str]]:
    """The page with the tables of the records, and which of them differ."""
    text, *parts = page.split(BEGIN)
    wrong = []
    for part in parts:
        name, mark, rest = part.partition(" -->")
        old, end, after = rest.partition(END)
        new = old
        try:
            if not (mark and end):
                raise ValueError(f"has no {END}")
            if name not in tables:
                raise ValueError("is not described")
            new = f"\n\n{table(tables[name], records)}\n"
        except ValueError as why:
            wrong.append(f"table {name}: {why}")
        if new != old:
            pairs = zip(old.split("\n"), new.split("\n"), strict=False)
            rows = next((pair for pair in pairs if pair[0] != pair[1]), ("another length", ""))
            wrong.append(f"table {name} has {rows[0]}, and the record says {rows[1]}")
        text += BEGIN + name + mark + new + end + after
    return text, wrong


def differing(page: str, examples: Path) -> list[tuple[int, str]]:
    """The blocks of a page, by line, that differ from the shipped file of their name: a block that begins with
    `# NAME` is examples/NAME, if there is one.
    """
    found = []
    for block in re.finditer(r"^```[^\n]*\n((?:# ([^\n/]+)\n)?.*?)^```$", page, re.M | re.S):
        name = block[2]
        shipped = examples / name if name else examples
        if shipped.is_file() and shipped.read_text() != block[1]:
            line = page.count("\n", 0, block.start()) + 1
            found.append((line, f"differs from examples/{name}"))
    return found
