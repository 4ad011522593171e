"""Checks of the tree: python3 checks/tree VERB, with the standard library of Python 3.11 or later."""

import sys

if sys.version_info < (3, 11):
    sys.exit("checks/tree: Python 3.11 or later is needed.")

import bans
import circles
import figures
import files
import layers
import tidy

# The checks, with their rules.
CHECKS = {
    "layers": (layers.check, "crates depend on each other by the written rule alone"),
    "circles": (circles.check, "few files import each other, and no crate holds more than 16 % of the lines"),
    "picture": (layers.check_picture, "the picture of the crates agrees with the written rule"),
    "bans": (bans.check, "crates that must be pure forbid to lift the bans of clippy.toml"),
    "files": (files.check, "git holds no binary and no file above 300 KB without a reason"),
    "figures": (figures.check, "numbers on pages agree with the records (make write-docs writes them)"),
    "tidy": (tidy.check, "files are short, clean and free of loose ends"),
}
USAGE = """\
python3 checks/tree VERB, where VERB is all, one of the checks, or

write-figures    write the figures of recorded runs to the pages of docs: part of make write-docs
figures-of PAGE  print an entry for each paragraph whose numbers come from nowhere

The checks:
"""


def main(words: list[str]) -> int:
    """Runs a verb. Returns the exit code: 0 without findings, 1 with findings, 2 for an unknown verb."""
    match words:
        case ["write-figures"]:
            figures.write_all()
            return 0
        case ["figures-of", page]:
            print(figures.entries(page), end="")
            return 0
        case [verb] if verb == "all" or verb in CHECKS:
            chosen = CHECKS if verb == "all" else {verb: CHECKS[verb]}
        case _:
            known = "".join(f"{name:<17}{rule}\n" for name, (_, rule) in CHECKS.items())
            print(USAGE + known, end="", file=sys.stderr)
            return 2
    code = 0
    for name, (check, rule) in chosen.items():
        try:
            findings = list(check())
        except (OSError, ValueError) as why:
            findings = [f"{name}: {why}"]
        verdict = "FAILED" if findings else "ok"
        print(*findings, f"{name}: {verdict}, {rule}", sep="\n", flush=True)
        code |= bool(findings)
    return code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ValueError as why:
        sys.exit(str(why))
