"""The allowed dependencies of crates, compared with those that cargo reports, and their picture.

A crate depends on exactly the crates of its line. Its tests may also use indirect dependencies. Optional dependencies
count like all others.
"""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

from tree import ROOT, finding

# The crates of the workspace without `shallop-`, each with its dependencies.
RULE = {
    "core": "",
    "options-derive": "",
    "options": "core options-derive",
    "control": "core options",
    "switch": "core options",
    "proto": "core options control",
    "topology": "core options switch",
    "workload": "core options",
    "results": "",
    "plan": "core options control switch proto topology workload results",
    "device": "core",
    "scenario": "core options control switch proto topology workload results plan device",
    "sim": "core switch proto topology",
    "measure": "core switch proto topology workload results plan sim",
    "hosts": "core proto results plan sim measure",
    "bpf": "core control proto",
    "kernel": "core options control proto results plan sim measure hosts bpf",
    "linux": "core control results plan measure hosts bpf quic",
    "quic": "core control proto",
    "transfer": "core quic",
    "store": "core",
    "view": "core results",
    "workbench": "core options results plan device scenario measure control kernel bpf linux store view",
    "shallop": "control core results plan device scenario workbench quic transfer",
    "aimd": "shallop control core options",
    "testing": "",
    "xtask": "results testing workbench",
}
# Further dependencies of tests: tests of drivers write plans as scenarios, and tests of QUIC have switch ports between
# hosts.
IN_TESTS = {"measure": "scenario", "linux": "scenario", "quic": "switch"}
# Libraries that only some crates may use, or none. A name also covers names that begin with it and a dash.
BELONGS = {
    "arrow getrandom libc": "",
    "tempfile": "shallop-store shallop-kernel shallop-transfer",
    "parquet": "shallop-store",
    "console indicatif rayon clap comfy-table miette": "shallop-workbench shallop",
}
# Libraries that the tests of any crate may use.
FOR_TESTS = ("tempfile", "shallop-testing")

PICTURE = "docs/figures/crates.svg"
WIDTH, BOX_WIDTH, BOX_HEIGHT, ROW = 860, 112, 30, 74
# Crates without code of the product.
APART = ("testing", "xtask")


def check() -> Iterator[str]:
    command = "cargo metadata --no-deps --offline --format-version 1".split()
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        raise ValueError(f"cargo metadata: {listed.stderr}")
    yield from compare(json.loads(listed.stdout)["packages"])


def compare(packages: list[dict[str, Any]]) -> Iterator[str]:
    """Dependencies against the rule, in packages as cargo describes them."""
    known = {short(package["name"]) for package in packages}
    for name in (name for name in RULE if name not in known):
        yield finding(name, 0, "is in the dependency rule and not in the workspace")
    for package in packages:
        name = package["name"]
        if short(name) not in RULE:
            yield finding(name, 0, "is not in the rule: say in checks/tree/layers.py what it may use")
        for dependency in package["dependencies"]:
            what = objection(name, dependency)
            if what:
                yield finding(name, 0, what)


def objection(package: str, dependency: dict[str, Any]) -> str | None:
    """Why a package may not have this dependency."""
    name, of_tests = dependency["name"], dependency["kind"] == "dev"
    if of_tests and name in FOR_TESTS:
        return None
    if dependency.get("path") or name.startswith("shallop"):
        may, allowed = "may build on", below(package)
        if of_tests:
            more = IN_TESTS.get(short(package), "").split()
            may, allowed = "tests may use", with_indirect(allowed + more)
        listed = ", ".join(allowed) or "no crate"
        return None if short(name) in allowed else f"uses {name}; it {may} {listed}"
    for libraries, owners in BELONGS.items():
        covers = any(f"{name}-".startswith(f"{library}-") for library in libraries.split())
        if covers and package not in owners.split():
            return f"uses {name}, which belongs to {owners or 'no crate'}"
    return None


def short(package: str) -> str:
    """The name of a crate without the common prefix."""
    return package.removeprefix("shallop-")


def below(package: str) -> list[str]:
    return RULE.get(short(package), "").split()


def with_indirect(names: list[str]) -> list[str]:
    """These crates with all that they build on, directly or indirectly."""
    found = list(names)
    for name in found:
        found += [other for other in below(name) if other not in found]
    return found


def check_picture() -> Iterator[str]:
    file = ROOT / PICTURE
    if not file.is_file() or file.read_text() != picture():
        yield finding(PICTURE, 0, "is not the picture of the dependency rule: make write-docs")


def row(name: str) -> int:
    """The row of a crate, from the top: below every crate that depends on it."""
    return max((row(other) + 1 for other in RULE if name in below(other)), default=0)


def places() -> dict[str, tuple[int, int]]:
    """The centre of each crate's box."""
    rows: dict[int, list[str]] = {}
    for name in (name for name in RULE if name not in APART):
        rows.setdefault(row(name), []).append(name)
    found = {}
    for number, names in rows.items():
        step = WIDTH // len(names)
        for place, name in enumerate(names):
            found[name] = (step // 2 + step * place, ROW * number + BOX_HEIGHT)
    return found


def picture() -> str:
    """The picture as SVG: a box for each crate, above the boxes of its dependencies. An arrow leads to each dependency
    that no other dependency uses, directly or indirectly.
    """
    centre, arrows, boxes = places(), "", ""
    for name in (name for name in RULE if name in centre):
        for other in below(name):
            between = with_indirect([direct for direct in below(name) if direct != other])
            if other not in between:
                (x, y), (to_x, to_y) = centre[name], centre[other]
                line = f"M{x} {y + BOX_HEIGHT // 2}L{to_x} {to_y - BOX_HEIGHT // 2}"
                arrows += f'<path d="{line}" marker-end="url(#to)"/>\n'
    for name, (x, y) in sorted(centre.items()):
        corner = f'x="{x - BOX_WIDTH // 2}" y="{y - BOX_HEIGHT // 2}"'
        boxes += f'<rect {corner} width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4"/>\n'
        boxes += f'<text fill="#123" stroke="none" x="{x}" y="{y + 5}">{name}</text>\n'
    height = max(y for _, y in centre.values()) + BOX_HEIGHT
    title = "The crates of shallop: an arrow leads from a crate to one that it builds on"
    font = 'font-family="sans-serif" font-size="14" text-anchor="middle"'
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="title">
<title id="title">{title}</title>
<defs><marker id="to" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>
<rect width="{WIDTH}" height="{height}" fill="#fff"/>
<g stroke="#667" fill="none">
{arrows}</g>
<g fill="#e8eef7" stroke="#345" {font}>
{boxes}</g>
</svg>
"""
