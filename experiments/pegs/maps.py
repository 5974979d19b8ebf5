"""Every method at every epsilon per record: what figures 6 to 12 show."""

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.pegs.settings import Setting
from understudy.evaluate.remembered import Remembered
from understudy.evaluate.risk.cells import open_cells
from understudy.evaluate.risk.copies import uniqueness
from understudy.evaluate.risk.guesses import mean_error
from understudy.evaluate.rumap.measure import Questions, Subject
from understudy.mechanisms.stream import Stream
from understudy.sources import open_source
from understudy.sources.base import Source
from understudy.synth import METHODS, BayesianBootstrap, PeGS, PeGSReset, make_recipe
from understudy.synth.methods.pmi import FittedPMI

EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0)
ROWS = 1000
BLOCK = 10
AMOUNT = "amount error"
UNIQUE = "unique rows"


def repeats_of(*, quick: bool) -> int:
    """How often each cell is run."""
    return 2 if quick else 10


def maps(setting: Setting, *, quick: bool) -> dict[str, Any]:
    """Means and standard deviations over the repeats of every measure."""
    real = Remembered(setting.source)
    name, known = setting.category
    subject = Subject(real, Questions(given=setting.given, formulas=setting.formulas, quasi=known, sensitive=(name,)))
    found: dict[str, Any] = {}
    for method, releases in _methods(real, setting.keys, quick=quick):
        began = time.perf_counter()
        for epsilon, release in releases:
            table = Remembered(open_source(release.table, real.codebook))
            values = {**subject.measure(table), AMOUNT: _amount(setting, real, table), **_unique(real, table, known)}
            found.setdefault(method, {}).setdefault(str(epsilon), []).append(values)
        print(f"{setting.title}, {method}: {time.perf_counter() - began:.0f} s", flush=True)
    return {
        "series": {method: {e: _summary(runs) for e, runs in by.items()} for method, by in found.items()},
        "references": subject.references(ROWS),
        "coefficients": subject.coefficients(),
        "repeats": repeats_of(quick=quick),
        "formulas": list(setting.formulas),
        "given": list(setting.given),
        "category": setting.category[0],
        "amount": setting.amount[0],
        "known": list(known),
    }


def _methods(real: Source, keys: Mapping[str, Any], *, quick: bool) -> list[tuple[str, Any]]:
    repeats, epsilons = repeats_of(quick=quick), EPSILONS[:: 2 if quick else 1]
    blocks = {"block_size": BLOCK, **keys}
    made = [
        ("pegs", _drawn(real, lambda e: PeGS(epsilon_per_record=e, **keys), repeats, epsilons)),
        ("pegs-rs", _drawn(real, lambda e: PeGSReset(epsilon_per_record=e, **blocks), repeats, epsilons)),
    ]
    if "pmi" in METHODS:
        made.append(("pmi", _refitted(real, repeats, epsilons)))
    bootstrap = ((None, BayesianBootstrap().fit(real, stream=Stream.seeded(k)).sample(ROWS)) for k in range(repeats))
    return [*made, ("bayesian-bootstrap", bootstrap)]


def _drawn(real: Source, recipe: Any, repeats: int, epsilons: Sequence[float]) -> Any:
    for epsilon in epsilons:
        for k in range(repeats):
            yield epsilon, recipe(epsilon).fit(real, stream=Stream.seeded(k)).sample(ROWS)


def _refitted(real: Source, repeats: int, epsilons: Sequence[float]) -> Any:
    """PMI's regressions do not depend on epsilon, so they are fitted once; only the perturbation differs."""
    recipe = make_recipe("pmi", epsilon_per_record=EPSILONS[0])
    models = recipe.fit(real, stream=Stream.seeded(1)).models
    for epsilon in epsilons:
        priced = replace(recipe, epsilon_per_record=epsilon)
        fitted = FittedPMI(recipe=priced, source=real, models=models, stream=Stream.seeded(1), report=None)
        for _ in range(repeats):
            yield epsilon, fitted.sample(ROWS)


def _amount(setting: Setting, real: Source, table: Source) -> float:
    """E|inferred - correct| of the amount (figure 12 right)."""
    name, known = setting.amount
    people, copy = (open_cells(source, (*known, name)) for source in (real, table))
    errors, weights = mean_error(people, copy, setting.values)
    return float((errors * weights).sum() / weights.sum())


def _unique(real: Source, table: Source, known: Sequence[str]) -> dict[str, float]:
    """Share of rows that are alone with what the intruder knows (dissertation figure 3.12c)."""
    score = uniqueness(real, table, columns=known, stream=Stream.seeded(11))
    return {UNIQUE: score.value, f"{UNIQUE} (bootstrap)": score.breakdown["bootstrap"]}


def _summary(runs: list[dict[str, float | None]]) -> dict[str, tuple[float, float]]:
    names = dict.fromkeys(name for run in runs for name in run)
    out = {}
    for name in names:
        values = [run[name] for run in runs if run.get(name) is not None]
        if values:
            out[name] = (statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)
    return out
