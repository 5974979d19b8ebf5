"""Level and scale of a score, from noisy class counts of nine bands of it; post-processing."""

import math

import numpy as np

from understudy.trees.scorers import Values, sigmoid

CUTS = np.array([-2.0, -1.2, -0.6, -0.2, 0.2, 0.6, 1.2, 2.0])
"""Ends of the bands, in deviations of the score."""
MIDDLES = np.array([-2.6, -1.6, -0.9, -0.4, 0.0, 0.4, 0.9, 1.6, 2.6])


def fit_scale(bands: Values, noise: float, middles: Values, start: float) -> tuple[float, float]:
    """Intercept and a positive slope of the log-odds over the bands, by Newton's method on a convex-enough loss.

    A Gaussian prior of some ten noise scales' weight keeps both at their start where the counts are mostly noise.
    """
    counts = np.maximum(bands, 0.0)
    trials = counts.sum(axis=1)
    weight = 2.0 + 4.0 * noise
    at = np.array([start, 0.0])

    def loss(point: Values) -> float:
        eta = point[0] + math.exp(point[1]) * middles
        fit = counts[:, 0] @ np.logaddexp(0, eta) + counts[:, 1] @ np.logaddexp(0, -eta)
        return float(fit + weight / 2 * ((point[0] - start) ** 2 + point[1] ** 2))

    current = loss(at)
    for _ in range(60):
        slope = math.exp(at[1])
        chance = sigmoid(at[0] + slope * middles)
        rest, spread = counts[:, 1] - trials * chance, trials * chance * (1 - chance)
        inner = slope * middles
        gradient = np.array([-rest.sum(), -(rest @ inner)]) + weight * (at - [start, 0.0])
        bend = np.array([[spread.sum(), spread @ inner], [spread @ inner, spread @ inner**2]]) + weight * np.eye(2)
        move = np.linalg.solve(bend, gradient)
        size = 1.0
        while size > 1e-6 and loss(np.clip(at - size * move, -8, 8)) > current:
            size /= 2
        at = np.clip(at - size * move, -8, 8)
        current = loss(at)
        if float(np.abs(size * move).max()) < 1e-9:
            break
    return float(at[0]), math.exp(float(at[1]))
