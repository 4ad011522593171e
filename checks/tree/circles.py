"""Circular imports between the files of a crate, and the distribution of lines among crates.

A file imports another if it mentions a path of the same crate that leads there. A path through a re-export in `lib.rs`
or `mod.rs` leads to the re-exported file. `mod NAME;` and `pub(super)` are not imports.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from tree import Source, finding, sources

MAX_FILES = 3
# The largest share of all lines in one crate, in percent.
MAX_PERCENT = 16

# Comments, strings and characters: they cannot hide or fake a path.
NOISE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | \b[bc]?r(\#*)".*?"\1 | "(?:[^"\\]|\\.)*" | '(?:[^'\\\n]|\\[^'\n]+|\\')'""",
    re.DOTALL | re.VERBOSE,
)
# The attribute of an item, or of a file, that is compiled for tests only.
TEST = re.compile(r"#\s*(!?)\s*\[\s*(?:test|cfg\((?:all\()?test(?:\)+|,[^\]]*))\s*\]")
SIGN = re.compile(r"[\[\](){};,]")
USE = re.compile(r"\buse\s+([^;]+);")
BRACES = re.compile(r"([\w:]*)\{([^{}]*)\}")
PATH = re.compile(r"\b(?:\w+\s*::\s*)+\w+")

# The path of a module from the root of its crate: ("import", "gml"); empty for the root.
Module = tuple[str, ...]


def check() -> Iterator[str]:
    rust = [source for source in sources() if source.extension == ".rs"]
    yield from too_large(rust)
    crates: dict[str, list[Source]] = {}
    for source in rust:
        name, found, _ = source.path.partition("/src/")
        if found:
            crates.setdefault(name, []).append(source)
    for name, files in crates.items():
        yield from circles(name, files)


def too_large(rust: Iterable[Source]) -> Iterator[str]:
    lines: Counter[str] = Counter()
    for source in rust:
        folder, _, rest = source.path.partition("/")
        if folder == "crates":
            lines[rest.split("/")[0]] += source.text.count("\n")
    for name, count in lines.items():
        if count * 100 > lines.total() * MAX_PERCENT:
            what = f"{count} of {lines.total()} lines, more than {MAX_PERCENT} %: cut it"
            yield finding(f"crates/{name}", 0, what)


def circles(name: str, files: Iterable[Source]) -> Iterator[str]:
    """The circles among the files of a crate that are too long."""
    graph = imports(name, files)
    reach = {file: reached(file, graph) for file in graph}
    seen = set()
    for file in graph:
        circle = sorted(other for other in reach[file] if file in reach[other])
        if len(circle) > MAX_FILES and circle[0] not in seen:
            seen.add(circle[0])
            yield finding(name, 0, f"{len(circle)} files import each other: {', '.join(circle)}")


def reached(file: str, graph: dict[str, set[str]]) -> set[str]:
    """The files that this one imports, directly or through others."""
    found: set[str] = set()
    ahead = [file]
    while ahead:
        new = graph[ahead.pop()] - found
        found |= new
        ahead += new
    return found


def imports(name: str, files: Iterable[Source]) -> dict[str, set[str]]:
    """The files that each file of a crate imports."""
    code = {module_of(source.path.removeprefix(f"{name}/src/")): source for source in files}
    hubs = {module[:-1] for module in code if module}
    paths: dict[Module, set[Module]] = {at: set() for at in code}
    # What a module with others beneath it re-exports, by name.
    exported: dict[Module, Module] = {}
    for at, source in code.items():
        for path, is_use in mentions(source.text):
            target = absolute(at, path, code)
            if target is not None:
                paths[at].add(target)
                if is_use and len(target) > len(at) + 1 and target[: len(at)] == at:
                    exported[(*at, target[-1])] = target
    graph: dict[str, set[str]] = {source.path: set() for source in code.values()}
    for at, mentioned in paths.items():
        for module in (exported.get(module, module) for module in mentioned):
            while module not in code and module:
                module = module[:-1]
            declares = at in hubs and module[: len(at)] == at
            if module in code and module != at and not declares:
                graph[code[at].path].add(code[module].path)
    return graph


def module_of(path: str) -> Module:
    """The module of a file: `import/gml.rs` is `import::gml`."""
    path = path.removesuffix(".rs").removesuffix("/mod")
    return () if path in ("lib", "main", "mod") else tuple(path.split("/"))


def absolute(at: Module, path: str, known: Iterable[Module]) -> Module | None:
    """A mentioned path from the root of the crate; None if it leads out of the crate."""
    first, *rest = path.split("::")
    if first == "crate":
        at = ()
    elif first == "super" and at:
        at = at[:-1]
    elif (*at, first) in known:
        at = (*at, first)
    elif first != "self":
        return None
    while rest and rest[0] == "super":
        at, rest = at[:-1], rest[1:]
    return (*at, *rest)


def mentions(code: str) -> Iterator[tuple[str, bool]]:
    """The paths that code outside tests mentions, each with whether `use` names it."""
    code = without_tests(NOISE.sub(" ", code)).replace("r#", "")
    for tree in USE.findall(code):
        for leaf in leaves(tree):
            # `use PATH::*` mentions PATH without naming it.
            yield leaf.removesuffix("::*").removesuffix("::self"), not leaf.endswith("*")
    yield from ((re.sub(r"\s", "", path), False) for path in PATH.findall(USE.sub("", code)))


def leaves(tree: str) -> list[str]:
    """The paths of a `use`: of `a::{b, c::{d as e}}`, `a::b` and `a::c::d`."""

    def spread(part: re.Match[str]) -> str:
        return ",".join(part[1] + leaf for leaf in part[2].split(",") if leaf)

    tree, found = re.sub(r"\s+as\s+\w+|\s+", "", tree), 1
    while found:
        tree, found = BRACES.subn(spread, tree)
    return [leaf.removeprefix("::") for leaf in tree.split(",")]


def without_tests(code: str) -> str:
    """Code without the items that an attribute compiles for tests only."""
    while found := TEST.search(code):
        end = len(code) if found[1] else end_of_item(code, found.end())
        code = code[: found.start()] + code[end:]
    return code


def end_of_item(code: str, begin: int) -> int:
    """The end of an item, field or statement after its attribute."""
    depth = 0
    for sign in SIGN.finditer(code, begin):
        depth += (sign[0] in "([{") - (sign[0] in ")]}")
        if depth < 0:
            return sign.start()
        if depth == 0 and sign[0] in "};,":
            return sign.end()
    return len(code)
