"""Numbers on a page that come from no record. Code, links, comments, generated tables and headings do not count, nor do
numbers that name something, such as `RFC 9438` and `Figure 10a`.
"""

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import NamedTuple

from pages import BEGIN, END, Span
from records import NUMBER

# Words before a number that names a place or a version.
REFERENCES = set(
    "RFC RFCs Figure Figures Fig. Table Tables section Section sections chapter Algorithm Eq. "
    "Theorem Linux Python Rust iproute2 clang version release SIGCOMM NSDI seed".split()
)
# Where numbers do not count, from one mark to the next other mark, and in headings.
MARKS = [(BEGIN, END), ("<!-- generated", "<!-- end of generated"), ("```", "```"), ("<!--", "-->"), ("](", ")")]
SKIPPED = [re.escape(begin) + ".*?" + re.escape(end) for begin, end in MARKS]
SKIPPED.append(r"^#[^\n]*")


class Number(NamedTuple):
    line: int
    # The paragraph, list item or table in which it stands; the first words of it.
    block: int
    words: str
    digits: str
    # The number with the word after it, such as `20 KB`.
    token: str


def numbers(page: str, traced: Iterable[Span]) -> list[Number]:
    """Numbers of a page. `traced` are the places of figures that come from records."""
    text = without_code(page, traced)
    found = []
    block, words, start, is_open = 0, "", 0, False
    for line, shown in enumerate(text.split("\n"), 1):
        item = re.match(r"\s*(?:-|[0-9]{1,2}\.) +(?=\S)", shown)
        if not shown.strip():
            is_open = False
        elif item or not is_open:
            block, is_open = block + 1, True
            words = " ".join(page[start : start + 400].split()[:8])
        for digits in re.compile(NUMBER).finditer(shown, item.end() if item else 0):
            before = shown[: digits.start()][-1:]
            at = start + digits.start()
            if not (before.isalnum() or before in (".", "_")) and not is_reference(text[:at]):
                token = digits[0] + unit(text[start + digits.end() :][:80])
                found.append(Number(line, block, words, digits[0], token))
        start += len(shown) + 1
    return found


def without_code(page: str, traced: Iterable[Span]) -> str:
    """The page with spaces for everything whose numbers do not count."""
    text = page
    for pattern in SKIPPED:
        for skipped in re.finditer(pattern, page, re.DOTALL | re.MULTILINE):
            text = blank(text, skipped.span())
    for code in re.finditer("`.*?`", text, re.DOTALL):
        text = blank(text, code.span())
    for span in traced:
        text = blank(text, span)
    return text


def blank(text: str, span: Span) -> str:
    """A text with spaces in this place; line breaks stay."""
    begin, end = span
    return text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]


def is_reference(before: str) -> bool:
    """Whether the text before a number makes it a name."""
    return re.split(r"[ \n(\[*]", before.rstrip()[-16:])[-1] in REFERENCES


def unit(after: str) -> str:
    """The word after a number, with a space unless it is attached."""

    def word(text: str) -> str:
        return "".join(takewhile(lambda letter: letter.isalpha() or letter in "%/-*°", text))

    attached = word(after)
    if attached or not after.startswith((" ", "\n")):
        return attached
    found = word(after.lstrip())
    return f" {found}" if found else ""
