"""Opens reports in a headless Chromium and checks that every figure is drawn, legends and downloads work, the console
has no message, and nothing is fetched; that a report of 100,000 flows is small and opens quickly; and the layout on
screens of three widths, light and dark, and on paper (layout.py). With --python, also checks the figures of a sweep
that Python saves.

    python3 checks/report/check.py target/release/shallop --axe axe.min.js [--python .venv/bin/python] [--keep DIR] [--shots]
"""

import argparse
import csv
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import xml.etree.ElementTree
from typing import Any

from browser import Browser
from layout import check_layout

# Limits for a report of 100,000 flows: its size in bytes, and the seconds until the last figure is drawn. Seconds are
# the working time of the page's thread, the best of three, so that other work of the machine does not count.
MOST_BYTES = 1_000_000
MOST_SECONDS = 2.0
OPENINGS = 3

SWEEP = """
title = "A sweep, <b>bold</b> & \\"quoted\\" </script><script>window.broken = 1</script>"
duration = "60ms"
sample = "1ms"
[topology]
kind = "dumbbell"
senders = 4
rate = "1Gbps"
delay = "1ms"
sender_delay = "0ms..2ms"
[[scheme]]
transport = "cubic"
name = "c\\u001b[2J"
[[scheme]]
transport = "flashpass"
[[group]]
name = "all"
start = "0s..5ms"
"""

SINGLE = """
title = "Two flows of one scheme"
duration = "200ms"
topology = { kind = "dumbbell", senders = 2, rate = "100Mbps", delay = "1ms" }
scheme = [{ transport = "cubic" }]
group = [{ name = "all" }]
"""

TEN = """
title = "Ten schemes"
duration = "200ms"
sample = "2ms"
seeds = [1, 2, 3]
topology = { kind = "dumbbell", senders = 4, rate = "100Mbps", delay = "2ms", sender_delay = "0ms..2ms" }
scheme = [
    { transport = "cubic" }, { transport = "newreno" }, { transport = "vegas" }, { transport = "copa" },
    { transport = "bbr" }, { transport = "dctcp" }, { transport = "ecn-star" }, { transport = "gemini" },
    { transport = "expresspass" }, { transport = "flashpass" },
]
group = [{ name = "all", start = "0s..5ms" }]
[switch.default]
mark = { above = "8pkt" }
"""

# As many results as there are experiments.
RESULTS = 54

MANY = """
title = "A hundred thousand flows"
duration = "60s"
sample = "10ms"
[topology]
kind = "leaf-spine"
rate = "10Gbps"
delay = "1us"
spines = 2
leaves = 4
hosts = 8
[classes]
small = "10KB"
large = "30KB"
[[scheme]]
transport = "cubic"
[[scheme]]
transport = "newreno"
[[group]]
name = "all"
pattern = "uniform"
from = "hosts"
to = "hosts"
sizes = "sizes.txt"
flows = 100_000
arrivals = { load = 0.4, of = "fabric" }
"""

# Flow sizes in bytes, each with the fraction of flows up to it.
SIZES = "0 0\n500 0.1\n2000 0.5\n10000 0.8\n100000 1\n"


def make(shallop: pathlib.Path, folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Makes the reports with the ordinary commands."""
    def run(*words: str) -> None:
        subprocess.run([shallop.resolve(), *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    (folder / "sweep.toml").write_text(SWEEP)
    (folder / "many.toml").write_text(MANY)
    (folder / "single.toml").write_text(SINGLE)
    (folder / "ten.toml").write_text(TEN)
    (folder / "sizes.txt").write_text(SIZES)
    run("reproduce", "fp-fig10a", "ae-fig3", "gm-fig3.13", "--quick", "--out", "papers")
    run("sweep", "sweep.toml", "--vary", "topology.senders=2,4,8", "--vary", "switch.default.buffer=8pkt,200KB/Gbps",
        "--seeds", "3", "--out", "sweep")
    run("run", "many.toml", "--out", "many")
    run("run", "single.toml", "--out", "single")
    run("sweep", "ten.toml", "--vary", "switch.default.buffer=20KB,200KB,3MB", "--out", "ten")
    make_index(folder)
    run("report", "all")
    pages = {
        "static": folder / "papers/fp-fig10a/report.html",
        "dynamic": folder / "papers/ae-fig3/report.html",
        "sweep": folder / "sweep/report.html",
        "many": folder / "many/report.html",
    }
    before = {name: page.read_bytes() for name, page in pages.items()}
    for words in (["papers"], ["sweep"], ["many"]):
        run("report", *words)
    for name, page in pages.items():
        assert page.read_bytes() == before[name], f"{name}: report wrote another page than the run"
    return pages


def make_index(folder: pathlib.Path) -> None:
    """A folder as for all experiments: the results of one experiment under many names."""
    for number in range(RESULTS):
        one = folder / f"all/gm-fig3.{number}"
        shutil.copytree(folder / "papers/gm-fig3.13", one, ignore=shutil.ignore_patterns("runs", "report.html"))


def opened(browser: Browser, page: pathlib.Path) -> float:
    """Opens a page and waits for its figures. Returns the duration in seconds."""
    start = time.monotonic()
    browser.open(page)
    browser.wait("return document.documentElement.dataset.drawn")
    return time.monotonic() - start


def worked(browser: Browser, page: pathlib.Path) -> float:
    """Opens a page and waits for its figures. Returns the working time of its thread in seconds."""
    browser.devtools("Performance.disable")
    browser.open(pathlib.Path(__file__).with_name("empty.html"))
    browser.devtools("Performance.enable", timeDomain="threadTicks")
    opened(browser, page)
    metrics = browser.devtools("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def check_drawn(browser: Browser, name: str) -> list[str]:
    """Checks that every figure has marks, and axis titles with units. Returns the names of the figures."""
    drawn = browser.run("""
        return [...document.querySelectorAll("figure")].map((figure) => {
          const svg = figure.querySelector(".plot svg");
          const box = svg ? svg.getBoundingClientRect() : { width: 0, height: 0 };
          const marks = svg ? svg.querySelectorAll(".role-mark path, .role-mark line, .role-mark rect").length : 0;
          const titles = svg ? [...svg.querySelectorAll(".role-axis-title text")].map((it) => it.textContent) : [];
          const words = svg ? svg.textContent : "";
          return { id: figure.id, width: box.width, height: box.height, marks, titles, words };
        });""")
    assert drawn, f"{name}: no figure"
    for figure in drawn:
        assert figure["width"] > 200 and figure["height"] > 50 and figure["marks"] > 0, f"{name}: {figure}"
        assert figure["titles"], f"{name}: {figure['id']} has an axis without a title"
        assert "undefined" not in figure["words"] and "NaN" not in figure["words"], f"{name}: {figure}"
    ids = [figure["id"] for figure in drawn]
    said = browser.run("return document.documentElement.dataset.drawn")
    assert said == f"{len(ids)}/{len(ids)}", f"{name}: {said} were drawn"
    errors = browser.console()
    assert not errors, f"{name}: the console says {errors}"
    return ids


def check_toggle(browser: Browser, name: str, figure: str) -> None:
    """Checks that a click on a name in the legend fades the other names' marks, and a second click restores them."""
    faded = """
        const marks = document.querySelectorAll(`#${arguments[0]} .plot svg .role-mark path`);
        const many = [...marks].filter((mark) => Number(mark.getAttribute("opacity") ?? 1) < 0.1).length;
        return many > 0 === arguments[1] ? "yes" : null;"""
    click = """
        const symbol = document.querySelector(`#${arguments[0]} .plot svg .role-legend-symbol path`);
        symbol.scrollIntoView({ block: "center" });
        const at = symbol.getBoundingClientRect();
        const where = { bubbles: true, view: window, clientX: at.x + at.width / 2, clientY: at.y + at.height / 2 };
        for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) {
          symbol.dispatchEvent(new (kind.startsWith("p") ? PointerEvent : MouseEvent)(kind, where));
        }
        return true;"""
    browser.wait(faded, figure, False)
    browser.run(click, figure)
    browser.wait(faded, figure, True)
    browser.run(click, figure)
    browser.wait(faded, figure, False)
    press = """
        const name = document.querySelector(`#${arguments[0]} .plot .role-legend-label text[role=button]`);
        name.focus();
        if (document.activeElement !== name) return false;
        name.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
        return true;"""
    assert browser.run(press, figure), f"{name}: the keyboard does not reach the legend of {figure}"
    browser.wait(faded, figure, True)
    browser.run(press, figure)
    browser.wait(faded, figure, False)
    assert not browser.console(), name


def check_pictures(browser: Browser, downloads: pathlib.Path) -> None:
    """Checks that the buttons under the first figure save it as well-formed SVG and as PNG."""
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        figure = browser.run("""
            const button = document.querySelector(`button.${arguments[0]}`);
            button.click();
            return button.closest("figure").id;""", kind)
        target = downloads / f"{figure}.{kind}"
        until = time.monotonic() + 20
        while not target.exists() and time.monotonic() < until:
            time.sleep(0.02)
        assert target.read_bytes().startswith(start), target
        if kind == "svg":
            xml.etree.ElementTree.parse(target)
        target.unlink()


# Chromium allows a page ten downloads without user input.
MOST_DOWNLOADS = 8


def check_csv(browser: Browser, page: pathlib.Path, shallop: pathlib.Path, downloads: pathlib.Path) -> None:
    """Checks that the CSV of every figure has the rows of its specification."""
    told = subprocess.run([shallop, "report", page.parent, "--json"], check=True, stdout=subprocess.PIPE)
    for number, figure in enumerate(json.loads(told.stdout)["figures"]):
        if number % MOST_DOWNLOADS == 0:
            opened(browser, page)
        target = downloads / f"{figure['id']}.csv"
        target.unlink(missing_ok=True)
        browser.run("document.querySelector(`#${arguments[0]} button.csv`).click(); return true", figure["id"])
        until = time.monotonic() + 20
        while not (target.exists() and target.stat().st_size) and time.monotonic() < until:
            time.sleep(0.02)
        with target.open(newline="", encoding="utf-8") as file:
            found = list(csv.DictReader(file))
        wanted = figure["spec"]["data"]["values"]
        assert len(found) == len(wanted) > 0, f"{figure['id']}: {len(found)} rows, {len(wanted)} in the spec"
        for row, values in zip(found, wanted, strict=True):
            assert all(same(row[key], value) for key, value in values.items()), f"{figure['id']}: {row}, {values}"


def same(cell: str, value: Any) -> bool:
    """Whether a cell shows this value."""
    if value is None:
        return cell == ""
    return float(cell) == value if isinstance(value, int | float) else cell == value


# Saves every figure of a numeric sweep as a page that works without a network.
FROM_PYTHON = """
import sys, shallop
results = shallop.sweep(sys.argv[1], {"topology.senders": [2, 4, 8]}, seeds=2, progress=False)
for name, chart in results.figures.items():
    chart.save(f"{sys.argv[2]}/{name}.html", inline=True)
"""


def check_python(browser: Browser, python: pathlib.Path, folder: pathlib.Path) -> None:
    """Checks that every figure that Python saves is drawn with marks."""
    pages = folder / "python"
    pages.mkdir(exist_ok=True)
    subprocess.run([python, "-c", FROM_PYTHON, folder / "sweep.toml", pages], check=True)
    names = sorted(pages.glob("*.html"))
    assert names, "Python saved no figure"
    for page in names:
        browser.open(page)
        browser.wait("""
            const marks = document.querySelectorAll(".role-mark path, .role-mark line, .role-mark rect, canvas");
            return marks.length > 0 || document.querySelector(".error") !== null;""")
        blank = browser.run("""
            const canvas = document.querySelector("canvas");
            if (!canvas) return document.querySelectorAll(".role-mark path").length === 0;
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size < 5;""")
        errors = browser.console()
        assert not blank and not errors, f"{page.name}: blank: {blank}; the console says {errors}"
    print(f"python: {len(names)} figures")


def check_large(browser: Browser, page: pathlib.Path) -> None:
    """Checks the size and the opening time of a report of 100,000 flows for each scheme."""
    size = page.stat().st_size
    clock = [opened(browser, page) for _ in range(OPENINGS)]
    times = [worked(browser, page) for _ in range(OPENINGS)]
    print(f"100,000 flows: {size / 1e6:.2f} MB; seconds of work: {', '.join(f'{it:.2f}' for it in times)}; "
          f"on the clock: {', '.join(f'{it:.2f}' for it in clock)}")
    assert size < MOST_BYTES, f"{size} bytes"
    assert min(times) < MOST_SECONDS, f"{times} s"


def check(shallop: pathlib.Path, axe: str, folder: pathlib.Path, shots: bool, python: pathlib.Path | None) -> None:
    """Runs all checks."""
    pages = make(shallop, folder)
    downloads = folder / "downloads"
    downloads.mkdir(exist_ok=True)
    with Browser(downloads) as browser:
        toggled = {"static": "queue-over-time", "dynamic": "completion-times", "sweep": "goodput",
                   "many": "completion-times"}
        for name, page in pages.items():
            took = opened(browser, page)
            figures = check_drawn(browser, name)
            assert not browser.run("return window.broken === 1"), f"{name}: a title ran as a script"
            check_toggle(browser, name, toggled[name])
            check_csv(browser, page, shallop, downloads)
            opened(browser, page)
            check_pictures(browser, downloads)
            print(f"{name}: {page.stat().st_size / 1e6:.2f} MB, {took:.2f} s, {len(figures)} figures: "
                  f"{', '.join(figures)}")
        if python is not None:
            check_python(browser, python, folder)
        check_large(browser, pages["many"])
        browser.open(folder / "papers/report.html")
        assert browser.run("return document.links.length") == 3 and not browser.console(), "the index"
        looked_at = {"single": "single", "sweep": "sweep", "ten schemes": "ten", "leaf-spine": "many",
                     "web search": "papers/gm-fig3.13", "index": "all"}
        for name, where in looked_at.items():
            start = time.monotonic()
            check_layout(browser, name, folder / where / "report.html", axe, folder if shots else None)
            print(f"{name}: looks right at every width, light, dark and on paper ({time.monotonic() - start:.0f} s)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shallop", type=pathlib.Path, help="the command, built")
    parser.add_argument("--axe", type=pathlib.Path, required=True, help="axe.min.js of axe-core")
    parser.add_argument("--python", type=pathlib.Path, help="a Python that has shallop: its figures are drawn too")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the reports in this folder")
    parser.add_argument("--shots", action="store_true", help="with --keep: pictures of the pages too")
    arguments = parser.parse_args()
    axe = arguments.axe.read_text(encoding="utf-8")
    # The link is not resolved: Python finds its virtual environment by the path of the link.
    python = arguments.python and arguments.python.absolute()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        check(arguments.shallop.resolve(), axe, arguments.keep.resolve(), arguments.shots, python)
        return
    with tempfile.TemporaryDirectory() as folder:
        check(arguments.shallop.resolve(), axe, pathlib.Path(folder), False, python)


if __name__ == "__main__":
    main()
