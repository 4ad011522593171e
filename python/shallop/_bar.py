"""The progress bar, on a terminal and in notebooks."""

from __future__ import annotations

import sys

from tqdm.auto import tqdm


class Bar:
    """A progress bar. `shown` is whether it is visible; None shows it on a terminal and in a notebook."""

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
        """Shows the part of the work that is done (0 to 1), the runs that ended, and the run started last."""
        self._bar.set_postfix_str(f"{ended} of {runs} runs {what}".rstrip(), refresh=False)
        self._bar.update(100.0 * part - self._bar.n)


def _seen() -> bool:
    """Whether the output is a terminal or a notebook; tqdm knows terminals only."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return sys.stderr.isatty() or "IPKernelApp" in getattr(shell, "config", ())
