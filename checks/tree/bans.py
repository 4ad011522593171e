"""The crates of `PURE` in the Makefile use no file, thread, clock, environment, socket or output, so that a run is a
function of its scenario and seed, in a browser as on a server. clippy.toml bans all of that by type, function and
macro, and the roots of these crates forbid to lift a ban. A test has Clippy find a planted breach of each kind.
"""

import re
from collections.abc import Iterator, Mapping

from tree import finding, sources

FORBID = "#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]\n"
# One file lifts one ban: a program adds its controllers to a list in `control` before the first run.
CONTROL = "crates/control/src/"
OF_CONTROL = FORBID.replace(", clippy::disallowed_types", "") + "#![deny(clippy::disallowed_types)]\n"
LIFTED = {CONTROL + "added.rs": 1, CONTROL + "lib.rs": 1}


def check() -> Iterator[str]:
    yield from compare({source.path: source.text for source in sources()})


def compare(files: Mapping[str, str]) -> Iterator[str]:
    for name in re.findall(r"^PURE = (.*)", files["Makefile"], re.MULTILINE)[0].split():
        root, wanted = f"crates/{name}/src/lib.rs", OF_CONTROL if name == "control" else FORBID
        if f"\n{wanted}" not in files.get(root, ""):
            yield finding(root, 0, f"does not forbid to lift the bans of clippy.toml: {wanted.strip()}")
        own = (f"crates/{name}/clippy.toml", f"crates/{name}/.clippy.toml")
        yield from (finding(path, 0, "replaces the bans of the root") for path in own if path in files)
    for path, text in files.items():
        if path.startswith(CONTROL) and text.count("disallowed_types") > LIFTED.get(path, 0):
            yield finding(path, 0, "lifts a ban")
