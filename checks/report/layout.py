"""The layout of pages: at the width of a phone, a tablet and a desktop, light and dark, and on paper. No texts overlap,
nothing is wider than the page or cut off, and axe-core finds no problem of accessibility.
"""

import pathlib
from typing import Any

from browser import Browser

# Widths in CSS pixels: of screens, and of an A4 sheet without its margins of 14 mm.
WIDTHS = (390, 768, 1280)
PAPER = 688
# The height of an A4 sheet without margins: printed figures must be lower, so that no page break cuts them.
SHEET = 1017
THEMES = ("light", "dark")

# Finds overlapping texts by the boxes of their lines. Folded or clipped texts have no box. Boxes are reduced to the
# height of the letters, which is below the line height.
TEXTS = """
    const found = [];
    const clip = (box, element) => {
      let { left, right, top, bottom } = box;
      for (let at = element; at && at !== document.body; at = at.parentElement) {
        if (getComputedStyle(at).overflowX === "visible" || at instanceof SVGElement) continue;
        const edge = at.getBoundingClientRect();
        [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
        [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
      }
      return { left: left + 0.5, right: right - 0.5, top: top + 2.5, bottom: bottom - 2.5 };
    };
    const add = (text, box, element) => {
      const cut = clip(box, element);
      if (cut.right > cut.left && cut.bottom > cut.top) found.push({ text, ...cut, y: scrollY });
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode, parent = node.parentElement, text = node.textContent.trim();
      if (!text || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(parent.tagName)) continue;
      if (!parent.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) continue;
      if (parent instanceof SVGElement && Number(getComputedStyle(parent).opacity) < 0.05) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const boxes = parent instanceof SVGElement ? [parent.getBoundingClientRect()] : range.getClientRects();
      for (const box of boxes) add(text.slice(0, 60), box, parent);
    }
    found.sort((a, b) => a.top - b.top);
    const pairs = [];
    for (let one = 0; one < found.length; one++) {
      for (let other = one + 1; other < found.length && found[other].top < found[one].bottom; other++) {
        const [a, b] = [found[one], found[other]];
        if (a.left < b.right && b.left < a.right) pairs.push([a.text, b.text]);
      }
    }
    return { texts: found.length, pairs: pairs.slice(0, 5) };"""

# Finds elements wider than the page, and parts of figures that the surrounding box cuts off.
EDGES = """
    const root = document.documentElement, bad = [];
    const width = root.clientWidth;
    if (root.scrollWidth > width) bad.push(`the page is ${root.scrollWidth} wide on ${width}`);
    for (const element of document.body.querySelectorAll("*")) {
      if (element.closest(".scroll, svg, script") || element.tagName === "SCRIPT") continue;
      const box = element.getBoundingClientRect();
      if (box.width > 0 && box.right > width + 0.5) bad.push(`${element.tagName} ${element.className} ends at ${box.right}`);
    }
    for (const plot of document.querySelectorAll(".plot")) {
      const edge = plot.getBoundingClientRect();
      for (const text of plot.querySelectorAll("text")) {
        const box = text.getBoundingClientRect();
        // Labels that would overlap others are there, but not seen.
        if (Number(getComputedStyle(text).opacity) < 0.05) continue;
        if (box.width > 0 && (box.right > edge.right + 1 || box.left < edge.left - 1)) {
          bad.push(`${plot.parentElement.id}: "${text.textContent}" is cut off`);
        }
      }
    }
    return bad.slice(0, 5);"""

FIGURES = """
    return [...document.querySelectorAll("figure")].map((it) =>
      [it.id, it.getBoundingClientRect().height, getComputedStyle(it).breakInside]);"""

AXE = """
    window.axed = null;
    axe.run(document, { resultTypes: ["violations"] }).then((it) => {
      window.axed = it.violations.map((bad) => `${bad.id}: ${bad.help}: ${bad.nodes[0].target} (${bad.nodes.length})`);
    }, (error) => { window.axed = [String(error)]; });
    return true;"""


def check_layout(browser: Browser, name: str, page: pathlib.Path, axe: str, shots: pathlib.Path | None) -> None:
    """Runs all layout checks for one page. `axe` is the source of axe-core; pictures are saved in `shots`."""
    for width in WIDTHS:
        for theme in THEMES:
            where = f"{name}, {width} pixels, {theme}"
            set_screen(browser, width, theme)
            browser.open(page)
            drawn(browser)
            check_texts(browser, where)
            check_axe(browser, where, axe)
            assert not browser.console(), where
            if shots:
                (shots / f"{name}-{width}-{theme}.png").write_bytes(browser.picture(width))
    # A printed page was shown on a screen before, perhaps in dark mode.
    set_screen(browser, WIDTHS[-1], THEMES[-1])
    browser.open(page)
    drawn(browser)
    if shots:
        (shots / f"{name}.pdf").write_bytes(browser.pdf())
    browser.run("window.dispatchEvent(new Event('beforeprint')); return true")
    browser.devtools("Emulation.setEmulatedMedia", media="print", features=[])
    browser.devtools("Emulation.setDeviceMetricsOverride", width=PAPER, height=SHEET, deviceScaleFactor=1, mobile=False)
    check_texts(browser, f"{name}, on paper")
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)", f"{name}: paper is {ground}"
    for figure, height, inside in browser.run(FIGURES):
        assert inside == "avoid" and height <= SHEET, f"{name}: {figure} is {height} high on paper, break {inside}"
    browser.devtools("Emulation.setEmulatedMedia", media="", features=[])
    set_screen(browser, 1366, THEMES[0])


def set_screen(browser: Browser, width: int, theme: str) -> None:
    browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1,
                     mobile=width == WIDTHS[0])
    browser.devtools("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": theme}])


def drawn(browser: Browser) -> None:
    """Waits for the figures, if the page has any."""
    browser.wait("return !document.getElementById('data') || document.documentElement.dataset.drawn")


def check_texts(browser: Browser, where: str) -> None:
    """Checks that no texts overlap, and that nothing is wider than the page."""
    found: dict[str, Any] = browser.run(TEXTS)
    assert found["texts"] > 10, f"{where}: {found}"
    assert not found["pairs"], f"{where}: these overlap: {found['pairs']}"
    edges = browser.run(EDGES)
    assert not edges, f"{where}: {edges}"


def check_axe(browser: Browser, where: str, axe: str) -> None:
    """Checks that axe-core reports no problem of accessibility."""
    browser.run(f"{axe}; return true")
    browser.run(AXE)
    found = browser.wait("return window.axed")
    assert not found, f"{where}: {found}"
