"""Congestion control for networks whose switches have very little buffer.

``run`` makes the runs of a scenario, ``sweep`` those of every combination of some keys' values, ``reproduce``
those of a paper's experiment with its claims judged. Each gives a `Results`: a summary, tables of flows and of
series that polars, pandas and pyarrow read, and figures. ``quic`` moves files between real hosts.
"""

from . import quic
from ._errors import ScenarioError, ShallopError
from ._results import Comparison, Results, Summary, compare
from ._run import Experiment, experiments, reproduce, run, sweep
from ._scenario import Scenario
from ._table import Table
from ._version import __version__

__all__ = [
    "Comparison",
    "Experiment",
    "Results",
    "Scenario",
    "ScenarioError",
    "ShallopError",
    "Summary",
    "Table",
    "__version__",
    "compare",
    "experiments",
    "quic",
    "reproduce",
    "run",
    "sweep",
]
