#!/usr/bin/env python3
"""Fetches the charting scripts from the npm registry, as they are, and packs them for reports.

Written beside this file: NAME.min.js.gz, SHA256SUMS (of the scripts unpacked; a test of the crate compares), and
NOTICES.txt, the licences of everything that is built into the scripts. Needs npm. Run it to move to other versions:
change PINNED, run it, look at the pages, run `make check-full`.
"""

import gzip
import hashlib
import json
import pathlib
import subprocess
import tempfile

# The newest of each on 22 November 2026. vega-lite 6.5 asks for vega ^6.4.0; vega-embed takes any.
PINNED = {"vega": "6.4.0", "vega-lite": "6.5.0", "vega-embed": "7.3.0"}
# Used by programs around the libraries, not built into the scripts.
NOT_BUILT_IN = {"yargs", "yargs-parser", "cliui", "commander", "escalade", "get-caller-file", "y18n", "wrap-ansi",
                "string-width", "strip-ansi", "ansi-regex", "ansi-styles", "emoji-regex", "get-east-asian-width",
                "iconv-lite", "safer-buffer", "rw", "@types/estree", "@types/geojson", "vega-typings"}
HERE = pathlib.Path(__file__).parent


def install(folder: pathlib.Path) -> pathlib.Path:
    """Installs the pinned packages there, with what they build on."""
    (folder / "package.json").write_text('{"private": true}')
    packages = [f"{name}@{version}" for name, version in PINNED.items()]
    subprocess.run(["npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", *packages],
                   cwd=folder, check=True)
    return folder / "node_modules"


def notices(modules: pathlib.Path) -> str:
    """The licences, each text once, with the packages it is of."""
    texts: dict[str, list[str]] = {}
    for manifest in sorted([*modules.glob("*/package.json"), *modules.glob("@*/*/package.json")]):
        about = json.loads(manifest.read_text())
        if about["name"] in NOT_BUILT_IN:
            continue
        files = sorted(path for path in manifest.parent.iterdir() if path.name.lower().startswith("licen"))
        text = files[0].read_text().strip() if files else f"Licence: {about['license']}"
        lines = "\n".join(line.rstrip() for line in text.replace("\t", "    ").splitlines())
        texts.setdefault(lines, []).append(f"{about['name']} {about['version']}")
    parts = [f"{', '.join(names)}\n\n{text}" for text, names in texts.items()]
    return ("\n\n" + "-" * 80 + "\n\n").join(parts) + "\n"


def main() -> None:
    sums = []
    with tempfile.TemporaryDirectory() as folder:
        modules = install(pathlib.Path(folder))
        for name, version in PINNED.items():
            found = json.loads((modules / name / "package.json").read_text())["version"]
            if found != version:
                raise SystemExit(f"{name}: {found} was installed, {version} is pinned")
            script = (modules / name / "build" / f"{name}.min.js").read_bytes()
            (HERE / f"{name}.min.js.gz").write_bytes(gzip.compress(script, 9, mtime=0))
            sums.append(f"{hashlib.sha256(script).hexdigest()}  {name}.min.js  {version}\n")
        (HERE / "NOTICES.txt").write_text(notices(modules))
    (HERE / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    main()
