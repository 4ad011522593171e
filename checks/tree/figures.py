"""Where the numbers on pages come from. Every number of README.md and of docs is one of these.

1. a figure of a recorded run of a shipped file (`docs/recorded/figures.toml`: sentences, tables and
   pictures), or between marks of a generator, whose page a test compares with its records;
2. a figure of a measurement (`docs/recorded/pages/PAGE.toml`, see `measured.py`);
3. given: a setting, count or citation, in the list `given` of that file;
4. no figure: code, links, headings, and numbers that name something (see `untraced.py`).

All others are found, and so are figures that differ from their record. No page is exempt.

| key | meaning |
|---|---|
| `["PAGE"] figures` | `[text, record, scheme, point, metric, scale, decimals]`; `{}` in the text is the figure |
| `[pictures.NAME]` | a bar chart, docs/figures/NAME.svg (see `bars.py`) |
| `[tables.NAME]` | a table, between `<!-- recorded: NAME -->` and `<!-- end of recorded -->`; also in tables-*.toml |
"""

import tomllib
from collections.abc import Iterator

import bars
import measured
import pages
import records
import untraced
from layers import PICTURE, picture
from tree import ROOT, Source, finding, sources, write

DESCRIPTION = f"{records.FOLDER}/figures.toml"


def check() -> Iterator[str]:
    for path, (old, new) in charts().items():
        if old != new:
            yield finding(path, 0, "shows other figures than the records")
    for page, checked in all_pages():
        wrong = [(0, what) for what in checked.wrong]
        known = measured.read(ROOT, page.path)
        wrong += measured.wrong(known, untraced.numbers(checked.written, checked.traced))
        wrong += measured.moved(known, ROOT)
        wrong += pages.differing(page.text, ROOT / "examples")
        yield from (finding(page.path, line, what) for line, what in wrong)


def write_all() -> None:
    """Writes the figures of the records to the pages, and the pictures."""
    write(PICTURE, picture())
    for path, (_, new) in charts().items():
        write(path, new)
    for page, checked in all_pages():
        write(page.path, checked.written)


def entries(path: str) -> str:
    """Entries for the numbers of a page of which nothing is known."""
    for page, checked in all_pages():
        if page.path == path:
            numbers = untraced.numbers(checked.written, checked.traced)
            return measured.entries_for(measured.read(ROOT, path), numbers)
    raise ValueError(f"{path} is neither README.md nor a page of docs")


def charts() -> dict[str, tuple[str, str]]:
    """The bar charts by path: as they are, and as the records have them."""
    found, known = {}, records.read()
    for name, of in tomllib.loads((ROOT / DESCRIPTION).read_text())["pictures"].items():
        path = f"docs/figures/{name}.svg"
        old = (ROOT / path).read_text() if (ROOT / path).is_file() else ""
        found[path] = (old, bars.draw(of, known))
    return found


def all_pages() -> Iterator[tuple[Source, pages.Checked]]:
    described, known = tomllib.loads((ROOT / DESCRIPTION).read_text()), records.read()
    tables, _ = described.pop("tables"), described.pop("pictures")
    for more in sorted((ROOT / DESCRIPTION).parent.glob("tables-*.toml")):
        tables |= tomllib.loads(more.read_text())["tables"]
    for page in filter(is_page, sources()):
        figures = described.pop(page.path, {}).get("figures", [])
        yield page, pages.check(page.text, figures, tables, known)
    if described:
        raise ValueError(f"{DESCRIPTION} has figures for pages that do not exist: {', '.join(described)}")


def is_page(source: Source) -> bool:
    is_of_docs = source.path.startswith("docs/") and source.path != "docs/SUMMARY.md"
    return source.extension == ".md" and (is_of_docs or source.path == "README.md")
