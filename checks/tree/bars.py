"""The bar charts of docs that show recorded figures, as SVG: `[pictures.NAME]` of `docs/recorded/figures.toml` is
docs/figures/NAME.svg. `panels` are `[title, largest value, decimals]`; `bars` are `[label, colour, value...]` with a
value for each panel, or `[heading]`. A value is a number, which is the paper's, or
`[record, scheme, point, metric, scale]`.
"""

from typing import Any

from records import Records, decimals, find

LABELS, PANEL, GAP, ROW, TOP = 250, 230, 60, 22, 34
BOLD = 'start" font-weight="bold'


def draw(of: dict[str, Any], records: Records) -> str:
    width = LABELS + len(of["panels"]) * (PANEL + GAP)
    height = TOP + len(of["bars"]) * ROW + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="13">',
        f"<title>{of['title']}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for place, panel in enumerate(of["panels"]):
        lines.append(text(left(place), 20, BOLD, panel[0]))
    for place, (label, *bar) in enumerate(of["bars"]):
        y = TOP + place * ROW
        if not bar:
            lines.append(text(10, y + 16, BOLD, label))
            continue
        lines.append(text(LABELS - 10, y + 15, "end", label))
        colour, *values = bar
        for panel, (value, (_, largest, digits)) in enumerate(zip(values, of["panels"], strict=True)):
            if isinstance(value, list):
                *key, scale = value
                value = find(records, *key).mean / scale
            x, length = left(panel), min(max(value / largest * PANEL, 0), PANEL)
            lines.append(f'<rect x="{x}" y="{y + 3}" width="{length:.1f}" height="{ROW - 6}" fill="{colour}"/>')
            lines.append(text(x + length + 5, y + 15, "start", decimals(value, digits)))
    return "\n".join([*lines, "</svg>", ""])


def left(panel: int) -> int:
    return LABELS + panel * (PANEL + GAP)


def text(x: float, y: int, anchor: str, words: str) -> str:
    place = f'x="{repr(x).removesuffix(".0")}" y="{y}"'
    return f'<text {place} fill="#1a1a1a" text-anchor="{anchor}">{words}</text>'
