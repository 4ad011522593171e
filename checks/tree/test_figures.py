"""Tests of figures on pages: a wrong digit, a number without an origin, and a moved record are found."""

import tempfile
import tomllib
import unittest
from pathlib import Path
from typing import Any

import bars
import measured
import pages
import records
from records import Figure, cell, decimals
from untraced import numbers

ROW = {"scheme": "cubic", "point": "", "metric": "goodput_bps", "mean": 4.154e8, "ci95": None}
KNOWN = {
    "compare": {"figures": [{**ROW, "min": 4.1e8, "max": 4.2e8}]},
    "fp-fig2": {
        "claims": [
            {"scheme": "bbr", "point": None, "metric": "jain", "measured": 0.5}
            | {"measured_min": 0.4, "measured_max": 0.6},
            {"scheme": "bbr", "point": "20 KB", "metric": "jain", "measured": None},
        ]
    },
}


class Records(unittest.TestCase):
    def test_figures_are_found_by_scheme_point_and_metric(self) -> None:
        known = records.find(KNOWN, "compare", "cubic", "", "goodput_bps")
        assert known == Figure(4.154e8, None, 4.1e8, 4.2e8)
        assert records.find(KNOWN, "fp-fig2", "bbr", "", "jain") == Figure(0.5, None, 0.4, 0.6)
        for key, expected in [
            (("dc", "cubic", "", "goodput_bps"), "no run is recorded under the name dc"),
            (("compare", "cubic", "2 MB", "goodput_bps"), "has no goodput_bps of cubic at '2 MB'"),
            (("compare", "cubic", "", "jain"), "has no jain of cubic"),
            (("fp-fig2", "bbr", "20 KB", "jain"), "was not measured"),
        ]:
            with self.assertRaisesRegex(ValueError, expected):
                records.find(KNOWN, *key)

    def test_figures_are_printed_as_on_the_pages(self) -> None:
        assert decimals(1_234_567.8, 0) == "1,234,568"
        assert (decimals(0.436, 2), decimals(-1234.5, 1)) == ("0.44", "-1,234.5")
        figure, zero = Figure(4.154e8, 1.2e7, 4.0e8, 4.4e8), Figure(0, None, 0, 0)
        for style, of, scale, digits, expected in [
            ("spread", figure, 1e6, 3, "415 (400 to 440)"),
            ("interval", figure, 1e6, 3, "415 ± 12"),
            ("interval", figure._replace(ci95=1.2e5), 1e6, 3, "415 ± 0.1"),
            ("mean", figure, 1e9, 2, "0.42"),
            ("spread", zero, 1, 3, "0"),
        ]:
            assert cell(style, of, scale, digits) == expected
        with self.assertRaisesRegex(ValueError, "not median"):
            cell("median", figure, 1, 3)

    def test_a_bar_is_as_long_as_its_figure(self) -> None:
        run = ["compare", "cubic", "", "goodput_bps", 83.08e6]
        rows = [["All"], ["paper", "#111111", 2.5], ["run", "#222222", run]]
        svg = bars.draw({"title": "A", "panels": [["Gb/s", 10.0, 1]], "bars": rows}, KNOWN)
        assert 'width="57.5" height="16" fill="#111111"' in svg, svg
        assert 'width="115.0" height="16" fill="#222222"' in svg
        assert 'x="370" y="93"' in svg
        assert ">5.0</text>" in svg


class Pages(unittest.TestCase):
    page = """\
CUBIC carries 415
Mb/s.

<!-- recorded: wan -->

| transport | goodput |
|---|---|
| `cubic` | 415 |

<!-- end of recorded -->
End.
"""
    text = "CUBIC carries {} Mb/s"

    def check(self, page: str, text: str = text, *more: str) -> pages.Checked:
        row = [text, "compare", "cubic", "", "goodput_bps", 1e6, 0, *more]
        columns = [["goodput", "", "goodput_bps", 1e6, "mean", 3]]
        rows = [["`cubic`", "cubic", ""]]
        table = {"record": "compare", "head": "transport", "rows": rows, "columns": columns}
        return pages.check(page, [row], {"wan": table}, KNOWN)

    def test_a_page_whose_figures_are_those_of_the_record_is_right(self) -> None:
        (begin, end), *others = self.check(self.page).traced
        assert self.check(self.page) == pages.Checked(self.page, [(begin, end)], [])
        assert (self.page[begin:end], others) == ("415", [])
        assert "the record says 410" in self.check(self.page, self.text, "min").wrong[0]

    def test_a_wrong_digit_is_found_and_mended_in_a_sentence_and_in_a_table(self) -> None:
        for right, planted in [("carries 415", "carries 475"), ("| 415 |", "| 4,751.5 |")]:
            checked = self.check(self.page.replace(right, planted))
            assert len(checked.wrong) == 1 and planted.split()[1] in checked.wrong[0], checked
            assert checked.written == self.page

    def test_a_sentence_or_a_table_that_is_missing_or_not_unique_is_wrong(self) -> None:
        page = self.page
        for planted, text, expected in [
            (page, "BBR carries {} Mb/s", "is not on the page"),
            (page.replace("End", "CUBIC carries 1 Mb/s"), self.text, "twice"),
            (page, "CUBIC carries 415", "no {}"),
            (page, "{} Mb/s", "has no words before the figure"),
            (page.replace(pages.END, ""), self.text, "has no <!--"),
            (page.replace("recorded: wan", "recorded: dc"), self.text, "not described"),
        ]:
            wrong = self.check(planted, text).wrong
            assert len(wrong) == 1 and expected in wrong[0], wrong
        assert "mean, min or max" in self.check(page, self.text, "median").wrong[0]

    def test_a_block_that_differs_from_the_shipped_file_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "edge.toml").write_text("# edge.toml\na = 1\n")
            for text, expected in [
                ("```toml\n# edge.toml\na = 1\n```\n", []),
                ("Text\n```toml\n# edge.toml\na = 2\n```\n```sh\nrun\n```\n", [2]),
                ("```sh\nb\n```\nText\n```toml\n# edge.toml\n```\n", [5]),
                ("```toml\n# other.toml\na = 2\n```\n```sh\nshallop run edge.toml\n```\n", []),
            ]:
                found = pages.differing(text, Path(folder))
                assert [line for line, _ in found] == expected, (text, found)


class Numbers(unittest.TestCase):
    def test_numbers_outside_code_links_and_generated_tables_are_found(self) -> None:
        page = """\
# Title 1

It carries 415
Mb/s of `2 Gb/s` ([page](a.md#3)), or 5 %.

<!-- recorded: wan -->
| 6 |
<!-- end of recorded -->

```sh
run 7
```

x8 and 1,234.5, twice in 20.
"""
        place = page.index("5 %")
        found = [(it.line, it.block, it.token) for it in numbers(page, [(place, place + 1)])]
        assert found == [(3, 1, "415 Mb/s"), (14, 2, "1,234.5"), (14, 2, "20")], found

    def test_list_items_and_tables_are_blocks_and_names_are_no_numbers(self) -> None:
        page = """\
By RFC 9438 and Figure
10 a (section 3.2) it takes 4 s.
1. Then 5 s
2. or 6 s,
   7 s.

| a | 8 |
| b | 9 |
"""
        found = [(it.block, it.digits) for it in numbers(page, [])]
        assert found == [(1, "4"), (2, "5"), (3, "6"), (3, "7"), (4, "8"), (4, "9")], found


class Measured(unittest.TestCase):
    page = "Ten of 20 hosts.\n\nIt takes 10.9 ms, or 51\nms with 3 flows.\n\n- 878 s\n- 4 s\n"
    file = """\
given = ['20 hosts', '4 s']
[[measured]]
what = 'It takes'
commit = 'abc'
date = '2026-11-25'
numbers = '10.9 51 3'
[[measured]]
what = '- 878 s'
source = 'RFC 1, 2'
numbers = '878'
"""

    def wrong(self, page: str) -> list[measured.Wrong]:
        return list(measured.wrong(measured.parse("a.toml", self.file), numbers(page, [])))

    def test_a_page_with_the_measured_figures_is_right_whatever_its_words(self) -> None:
        assert self.wrong(self.page) == []
        assert self.wrong(self.page.replace("It takes", "The time is")) == []

    def test_a_wrong_digit_is_found_with_its_line_and_its_origin(self) -> None:
        origin = '10.8 ms was measured as 10.9 (commit abc, 2026-11-25, "It takes" of a.toml)'
        for right, planted, line, expected in [
            ("10.9", "10.8", 3, origin),
            ("or 51", "or 57", 3, "57 ms was measured as 51"),
            ("878", "879", 0, 'has the figures of "- 878 s", which are not here'),
            (" with 3 flows", "", 3, "the measured 3 is missing"),
            (" with 3 flows", " with 3 flows and 4 hosts", 4, "4 hosts was not measured"),
            ("10.9 ms, or 51\nms with 3 flows", "nothing", 0, "are not here"),
            ("20 hosts", "21 hosts", 1, "21 hosts is of no record, of no measurement and not given"),
        ]:
            wrong = self.wrong(self.page.replace(right, planted))
            assert any(at == line and expected in what for at, what in wrong), (planted, wrong)

    def test_a_paragraph_about_a_record_that_has_moved_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder) / records.OF_EXPERIMENTS / "x.json"
            record.parent.mkdir(parents=True)

            def name(revision: str, claims: str) -> str:
                record.write_text(f'{{"revision": "{revision}",\n"claims": [{claims}]}}')
                return records.digest_of_claims(Path(folder), "x")

            then = name("abc", "1")
            entry = measured.Entry("Then", "", ["1"], [then])
            known = measured.Measured("a.toml", [], [entry])
            for revision, claims, count in [("abd", "1", 0), ("abd", "2", 1)]:
                now = name(revision, claims)
                moved = list(measured.moved(known, Path(folder)))
                assert len(moved) == count and (now != then) == bool(count), moved
            assert records.digest_of_claims(Path(folder), "y") == "y"

    def test_an_entry_without_an_origin_is_refused(self) -> None:
        for lines, expected in [
            ("numbers = '1'", "needs numbers, and commit and date, or source"),
            ("numbers = '1'\nsource = 'a'\ncommit = 'b'\ndate = 'c'", "needs numbers, and commit and date"),
            ("source = 'a'", "a.toml: an entry lacks 'numbers'"),
        ]:
            with self.assertRaisesRegex(ValueError, expected):
                measured.parse("a.toml", f"[[measured]]\nwhat = 'a'\n{lines}\n")

    def test_an_entry_is_printed_for_a_paragraph_of_which_nothing_is_known(self) -> None:
        known = measured.parse("a.toml", self.file)
        text = measured.entries_for(known, numbers(f"{self.page}\nNow 7.5 ms.\n", []))
        found: list[dict[str, Any]] = tomllib.loads(text)["measured"]
        entry = {"what": "Now 7.5 ms.", "commit": "", "date": "", "numbers": "7.5"}
        assert found == [entry], text
