"""Noise and threshold by number of columns, `sbhg` against `sbhg-gauss`; and why nothing survives at small budgets."""

import itertools
import math
from typing import Any

import understudy as us
from experiments.sbhg.simulate import simulated
from understudy.codebook import Categorical, Codebook
from understudy.mechanisms.gaussian_stability import GaussianStability
from understudy.mechanisms.stability import StabilityHistogram

EPSILON, DELTA = 1.0, 1e-6


def noise(*, quick: bool) -> dict[str, Any]:
    """Standard deviation of the noise on a count, and the count from which a cell shows; parents declared."""
    sizes = (3, 10) if quick else (2, 3, 5, 10, 13, 20, 35)
    return {f"{columns}": _at(columns) for columns in sizes}


def survival(*, quick: bool) -> dict[str, Any]:
    """At the paper's budget: the largest count in any table of R + 1 columns, against the count that is needed."""
    repeats = 2 if quick else 20
    found: dict[str, Any] = {}
    for title, columns, parents in (("dense", 3, 1), ("dense", 3, 2), ("sparse", 10, 1), ("sparse", 10, 3)):
        tables = [simulated(columns, seed) for seed in range(repeats)]
        sets = list(itertools.combinations(tables[0].source.codebook.names, parents + 1))
        largest = max(int(table.counts.project(names).occupied()[1].max()) for table in tables for names in sets)
        needed = {
            f"{cls.name}, {word.value}": _event(cls, tables[0].source.codebook, word, 0.5, 1e-4).threshold
            for word in (us.Neighbours.ADD_REMOVE, us.Neighbours.REPLACE)
            for cls in (us.SBHG, us.SBHGGauss)
        }
        found[f"{title}, R={parents}"] = {"largest": largest} | needed
    return found


def _event(cls: Any, book: Codebook, word: us.Neighbours, epsilon: float, delta: float) -> Any:
    """Of one table, with the whole budget spent on tables: parents declared."""
    recipe = cls(epsilon=epsilon, delta=delta, neighbours=word, parents="declared", parent_count=1)
    return recipe.table_events(book)[0]


def _at(columns: int) -> dict[str, Any]:
    book = Codebook(columns=tuple(Categorical(name=f"x{i}", levels=("0", "1")) for i in range(columns)))
    found = {}
    for word in (us.Neighbours.ADD_REMOVE, us.Neighbours.REPLACE):
        for cls in (us.SBHG, us.SBHGGauss):
            event = _event(cls, book, word, EPSILON, DELTA)
            if isinstance(event, StabilityHistogram):
                q = math.exp(-1 / event.scale)
                deviation = math.sqrt(2 * q) / (1 - q)
            else:
                assert isinstance(event, GaussianStability)
                deviation = math.sqrt(event.variance)
            found[f"{cls.name}, {word.value}"] = {"deviation": deviation, "threshold": event.threshold}
    return found
