"""Simulation of congestion control in networks whose switches have shallow buffers.

``run`` runs a scenario, ``sweep`` runs it at every combination of some keys' values, and ``reproduce`` runs
experiments of papers and judges their claims. The results are `Results`: a summary, tables that polars, pandas and
pyarrow read, and figures. ``quic`` moves files between real hosts.
"""

from . import quic
from ._errors import ScenarioError, ShallopError
from ._results import Comparison, Results, Summary, compare
from ._run import Experiment, experiments, reproduce, run, sweep
from ._scenario import Scenario
from ._table import Table
from ._tune import Tuned, tune
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
    "Tuned",
    "__version__",
    "compare",
    "experiments",
    "quic",
    "reproduce",
    "run",
    "sweep",
    "tune",
]
