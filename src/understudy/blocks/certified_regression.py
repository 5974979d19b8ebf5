"""A regression that is fitted to released rows, and what one confidential record would add to its next step.

Columns enter as codes: a level that at least one row in twenty has gets an indicator (the commonest level is the
reference, rarer ones are counted with it), a column with an order its distance from the mean of the rows in their
standard deviations, cut at 3. An outcome is a level (logistic) or a number (linear, standardised too). All of it is
computed from released rows.

At the released coefficients b, with residuals r and the information J of the released rows, the coefficients that the
confidential records would give differ from b by J^-1 (mean of x r - ridge b), up to terms of second order: one step of
Newton's method. Every record adds J^-1 x r to n times that, which depends on its cell alone and is put on a grid.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.blocks.elastic import has_score, level_scores
from understudy.codebook import Column

Floats = npt.NDArray[np.float64]
_RARE, _REACH, _ITERATIONS, _MOST = 0.05, 3.0, 50, 15.0
"""Share below which a level joins the reference, since one record there would weigh too much; where a standardised
number is cut; Newton's steps at most; and the largest coefficient, which perfect separation would pass."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedRegression:
    """Coefficients of the released rows, and the steps of every cell."""

    names: tuple[str, ...]
    """Of the coefficients, the constant left out."""
    coefficients: Floats
    steps: npt.NDArray[np.int64]
    """For every cell and coefficient what a record there adds, in whole steps; at most ``most`` in a cell."""
    unit: float
    """Coefficient per step."""
    rounding: Floats
    """How far the steps of a cell may lie from what it adds, by coefficient."""
    offset: Floats
    """What the weak ridge takes off."""


def released_regression(
    predictors: Sequence[Column], outcome: Column, level: str | None, rows: npt.NDArray[np.int64], *, most: int
) -> ReleasedRegression:
    """Fit the regression to ``rows``, the released rows by cell: predictors first, the outcome last."""
    names, blocks = ["constant"], [np.ones((*rows.shape, 1))]
    for axis, column in enumerate(predictors):
        margin = rows.sum(axis=tuple(other for other in range(rows.ndim) if other != axis)).astype(np.float64)
        terms, table = _terms(column, margin)
        names += terms
        shape = [1] * rows.ndim + [table.shape[1]]
        shape[axis] = rows.shape[axis]
        blocks.append(np.broadcast_to(table.reshape(shape), (*rows.shape, table.shape[1])))
    design = np.concatenate(blocks, axis=-1).reshape(rows.size, -1)
    target, counts = _target(outcome, level, rows.sum(axis=tuple(range(rows.ndim - 1))).astype(np.float64))
    answers = np.broadcast_to(target, rows.shape).ravel()
    weights = (rows * counts).ravel().astype(np.float64)
    known = np.broadcast_to(counts, rows.shape).ravel()
    # of all rows: sums over records are divided by all of them too, and those without an outcome add nothing to either
    total = max(float(rows.sum()), 1.0)
    ridge = np.full(design.shape[1], 1.0 / total)
    coefficients = np.zeros(design.shape[1])
    is_chance = level is not None
    seen = weights > 0
    for _ in range(_ITERATIONS):
        gradient, information = _score(design[seen], answers[seen], weights[seen] / total, coefficients, is_chance)
        information = information + np.diag(ridge)
        step = np.linalg.solve(information, gradient - ridge * coefficients)
        coefficients = np.clip(coefficients + step, -_MOST, _MOST)
        if np.abs(step).max() < 1e-10:
            break
    _, information = _score(design[seen], answers[seen], weights[seen] / total, coefficients, is_chance)
    inverse = np.linalg.inv(information + np.diag(ridge))
    residual = (answers - _mean(design @ coefficients, is_chance)) * known
    added = (design * residual[:, None]) @ inverse
    unit = float(np.abs(added).sum(axis=1).max()) / (most - design.shape[1])
    unit = unit if unit > 0 and math.isfinite(unit) else 1.0
    steps = np.rint(added / unit)
    return ReleasedRegression(
        names=tuple(names[1:]),
        coefficients=coefficients[1:],
        steps=steps.astype(np.int64)[:, 1:].reshape(*rows.shape, -1),
        unit=unit,
        rounding=np.abs(steps * unit - added).max(axis=0)[1:],
        offset=(inverse @ (ridge * coefficients))[1:],
    )


def _mean(linear: Floats, is_chance: bool) -> Floats:
    return 1 / (1 + np.exp(-np.clip(linear, -60, 60))) if is_chance else linear


def _score(
    design: Floats, answers: Floats, weights: Floats, coefficients: Floats, is_chance: bool
) -> tuple[Floats, Floats]:
    mean = _mean(design @ coefficients, is_chance)
    spread = mean * (1 - mean) if is_chance else np.ones_like(mean)
    return design.T @ (weights * (answers - mean)), design.T @ (design * (weights * spread)[:, None])


def _terms(column: Column, margin: Floats) -> tuple[list[str], Floats]:
    """Names of the coefficients of a predictor, and for every code its numbers."""
    shares = margin / max(margin.sum(), 1.0)
    terms, tables = [], []
    if has_score(column):
        terms.append(column.name)
        tables.append(_standardised(column, margin))
        kept = [code for code in range(column.proper_levels, column.size) if shares[code] >= _RARE]
    else:
        reference = int(np.argmax(margin))
        kept = [code for code in range(column.size) if code != reference and shares[code] >= _RARE]
    for code in kept:
        terms.append(f"{column.name}={column.labels[code]}")
        tables.append((np.arange(column.size) == code).astype(np.float64))
    return terms, np.stack(tables, axis=1) if tables else np.zeros((column.size, 0))


def _standardised(column: Column, margin: Floats) -> Floats:
    """Public scores of the levels in deviations from their mean among the rows; a missing value stands at the mean."""
    scores, weights = level_scores(column), np.where(np.arange(column.size) < column.proper_levels, margin, 0.0)
    total = max(float(weights.sum()), 1.0)
    mean = float(weights @ scores) / total
    deviation = math.sqrt(float(weights @ (scores - mean) ** 2) / total) or 1.0
    values = np.clip((scores - mean) / deviation, -_REACH, _REACH)
    values[column.proper_levels :] = 0.0
    return values


def _target(column: Column, level: str | None, margin: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """For every code of the outcome its number, and whether it counts: a missing one does not."""
    known = np.arange(column.size) < column.proper_levels
    if level is None:
        return _standardised(column, margin), known
    return (np.arange(column.size) == column.labels.index(level)).astype(np.float64), known
