"""The search for good settings, with Optuna."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from ._dask import Recipe
from ._results import Results, ResultsFolder
from ._run import carry_out
from ._scenario import Scenario, Source, Value

if TYPE_CHECKING:
    import optuna
    from distributed import Client

#: The values of a key: a list to choose from, a range of numbers, or one with a unit: ``(2, 100, "pkt")``.
Choice = Union[Sequence[Value], tuple[float, float], tuple[float, float, str]]
_BOUND = re.compile(r"\s*(?P<metric>.*\S)\s*(?P<sign><=|>=)\s*(?P<bound>[-+.\deE]+)\s*")


@dataclass(frozen=True)
class Tuned:
    """The result of `tune`."""

    study: optuna.study.Study
    """Optuna's study, for its own tables and pictures; the user attribute ``scheme`` of a trial is its best scheme."""
    best: dict[str, Any]
    """The values of the keys of the best trial."""
    results: Results
    """The results of the best trial, with the tables of every run."""
    meets_bounds: bool
    """Whether the best trial meets all bounds; otherwise it comes nearest."""


def tune(
    scenario: Source,
    objective: str,
    space: Mapping[str, Choice],
    *,
    maximise: bool = False,
    subject_to: Sequence[str] = (),
    trials: int = 50,
    seeds: int = 3,
    sampler: optuna.samplers.BaseSampler | None = None,
    pruner: optuna.pruners.BasePruner | None = None,
    client: Client | None = None,
    out: str | os.PathLike[str] | None = None,
    quick: bool = False,
    seed: int | None = None,
    jobs: int | None = None,
    allow_programs: bool = False,
    **overrides: Value,
) -> Tuned:
    """Searches the values of some keys with Optuna. Where all values can be listed, `shallop advise` needs fewer runs.

    Parameters
    ----------
    objective
        A number of a run in summary.json, of which least is wanted: ``"fct.small.p99_s"``,
        ``"groups.web.loss_rate"``.
    space
        The choices for each key: a list, as ``{"topology.rate": ["1Gbps", "10Gbps"]}``, or a range with its unit, as
        ``{"switch.default.mark.above": (2, 100, "pkt")}``. A range above zero is searched on a logarithmic scale.
    maximise
        Whether most of the objective is wanted.
    subject_to
        Bounds, such as ``"loss_rate <= 1e-5"``, in the units of summary.json.
    trials
        The number of combinations that are tried.
    seeds
        The seeds of each trial. After each one the pruner may end the trial.
    sampler, pruner
        Those of Optuna; default: TPE with a fixed seed and the bounds as its constraints, and the median pruner.
    client
        A Dask client, whose workers make the runs; then all seeds of a trial run at a time, and nothing is pruned.
    out
        The folder of the results, one folder inside for each trial. Finished runs there are not made again.

    The other parameters are those of `run`.

    Raises
    ------
    ModuleNotFoundError
        If Optuna is not installed: ``pip install 'shallop[tune]'``.
    """
    import optuna

    bounds = [_bound(text) for text in subject_to]
    sign = -1.0 if maximise else 1.0
    folder, source = ResultsFolder(out), Scenario(scenario)
    kept: dict[int, Results] = {}
    has_constraints = hasattr(optuna.trial.Trial, "set_constraint")

    def attempt(trial: optuna.trial.Trial) -> float:
        values = {key: _suggest(trial, key, choice) for key, choice in space.items()}
        trial.set_user_attr("values", values)
        value = math.nan
        for count in range(1, seeds + 1) if client is None else [seeds]:
            recipe = Recipe(
                source,
                quick=quick,
                seed=seed,
                seeds=count,
                overrides=overrides,
                vary={key: [chosen] for key, chosen in values.items()},
                allow_programs=allow_programs,
            )
            at = folder.path / str(trial.number)
            results = carry_out(recipe, at, jobs=jobs, client=client, progress=False)
            missed, value, scheme = min(
                ([bound(runs) for bound in bounds], sign * _mean(runs, objective), scheme)
                for scheme, runs in _by_scheme(results)
            )
            kept[trial.number] = results
            trial.set_user_attr("scheme", scheme)
            trial.set_user_attr("missed", missed)
            trial.report(value, count)
            if count < seeds and trial.should_prune():
                raise optuna.TrialPruned
        if has_constraints:
            for text, by in zip(subject_to, trial.user_attrs["missed"], strict=True):
                trial.set_constraint(text, by)
        return value

    if sampler is None:
        # Before version 5 the sampler asks for the constraints of a trial.
        asks: dict[str, Any] = {"constraints_func": lambda trial: trial.user_attrs["missed"]}
        sampler = optuna.samplers.TPESampler(seed=1, **({} if has_constraints else asks))
    study = optuna.create_study(sampler=sampler, pruner=pruner or optuna.pruners.MedianPruner())
    workers = 1 if client is None else max(1, len(client.scheduler_info()["workers"]))
    study.optimize(attempt, n_trials=trials, n_jobs=workers)
    whole = [one for one in study.trials if one.state == optuna.trial.TrialState.COMPLETE]
    best = min(whole, key=lambda one: (_worst(one.user_attrs["missed"]), one.value, one.number))
    found, values = kept[best.number], best.user_attrs["values"]
    # The files of a temporary folder stay as long as the results.
    found._results_folder = folder
    return Tuned(study, values, found, _worst(best.user_attrs["missed"]) <= 0.0)


def _worst(missed: Sequence[float]) -> float:
    return max([0.0, *missed])


def _suggest(trial: optuna.trial.Trial, key: str, choice: Choice) -> Value:
    """A value of a key: one of a list, or a number of a range, which is whole if its ends are."""
    if not isinstance(choice, tuple):
        values: list[Any] = list(choice)
        chosen: Value = trial.suggest_categorical(key, values)
        return chosen
    low, high, unit = (*choice, "")[:3]
    is_whole = isinstance(low, int) and isinstance(high, int)
    suggest: Callable[..., float] = trial.suggest_int if is_whole else trial.suggest_float
    number = suggest(key, low, high, log=low > 0)
    return f"{number}{unit}" if unit else number


def _by_scheme(results: Results) -> list[tuple[str, list[dict[str, Any]]]]:
    schemes = dict.fromkeys(run["scheme"] for run in results.runs)
    return [(name, [run for run in results.runs if run["scheme"] == name]) for name in schemes]


def _bound(text: str) -> Callable[[list[dict[str, Any]]], float]:
    """By how much runs miss a bound, as a fraction of it; not above zero if they meet it."""
    found = _BOUND.fullmatch(text)
    if found is None:
        raise ValueError(f"subject_to: {text!r} is not like 'loss_rate <= 1e-5'")
    bound, sign = float(found["bound"]), 1.0 if found["sign"] == "<=" else -1.0
    return lambda runs: sign * (_mean(runs, found["metric"]) - bound) / (abs(bound) or 1.0)


def _mean(runs: list[dict[str, Any]], path: str) -> float:
    return sum(_number(run, path) for run in runs) / len(runs)


def _number(run: dict[str, Any], path: str) -> float:
    """The number at a path of a run."""
    at: Any = run
    if path.startswith("groups."):
        rest = path.removeprefix("groups.")
        named = [one for one in run["groups"] if rest.startswith(f"{one['name']}.")]
        if not named:
            raise ValueError(f"{path}: there is no such group")
        at, path = named[0], rest.removeprefix(f"{named[0]['name']}.")
    for step in path.split("."):
        at = at.get(step) if isinstance(at, dict) else None
    if not isinstance(at, (int, float)):
        raise ValueError(f"{path}: a run has no such number")
    return float(at)
