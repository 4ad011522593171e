"""Prints requirements of pyproject.toml, one a line: those of the package, and of the extras that are named."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib


def main() -> None:
    """Prints them."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = [project["optional-dependencies"][extra] for extra in sys.argv[1:]]
    print(*project["dependencies"], *sum(extras, []), sep="\n")


if __name__ == "__main__":
    main()
