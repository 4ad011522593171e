"""A bar over the work that is done, on a terminal and in notebooks."""

from __future__ import annotations

import sys

from tqdm.auto import tqdm


class Bar:
    """A bar; `shown` is whether there is one, decided by where the output goes if it is not given."""

    def __init__(self, shown: bool | None) -> None:
        self._bar = tqdm(
            total=100.0,
            disable=not (_seen() if shown is None else shown),
            bar_format="{percentage:3.0f} % |{bar}| {elapsed} passed, {remaining} to go {postfix}",
        )

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def show(self, part: float, ended: int, runs: int, what: str = "") -> None:
        """Shows the part of the work that is done (0 to 1), the runs that ended, and the one started last."""
        self._bar.set_postfix_str(f"{ended} of {runs} runs {what}".rstrip(), refresh=False)
        self._bar.update(100.0 * part - self._bar.n)


def _seen() -> bool:
    """Whether somebody sees a bar: tqdm itself asks for a terminal, which a notebook is not."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return sys.stderr.isatty() or "IPKernelApp" in getattr(shell, "config", ())
