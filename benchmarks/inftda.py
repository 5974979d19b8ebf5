"""A top-down release of flows after the idea of InfTDA, written from its published description as a yardstick.

From the root down, every pair of units that still has workers is split into the pairs of its parts; each part is
measured with Gaussian noise, the budget being shared equally by all levels, and then moved by one common amount, and
cut at 0, so that the parts are whole and add up: of all such flows these are nearest in the largest distance. Pairs
without workers are not split further.
"""

import math

import numpy as np


def shared_out(noisy: np.ndarray, total: int, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers from 0 on with this sum, nearest to whole noisy ones in the largest distance."""
    if total == 0:
        return np.zeros(len(noisy), dtype=np.int64)
    low, high = int(noisy.min()) - total - 1, int(noisy.max())  # what is taken off
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if np.maximum(noisy - middle, 0).sum() > total else (low, middle)
    values = np.maximum(noisy - high, 0)
    over = np.flatnonzero(noisy - high >= 0)
    missing = total - int(values.sum())
    values[rng.permutation(over)[:missing]] += 1
    return values


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest shift, in deviations, that Gaussian noise hides within (epsilon, delta)."""

    def cost(mu: float) -> float:
        near, far = (epsilon / mu - mu / 2) / math.sqrt(2), (epsilon / mu + mu / 2) / math.sqrt(2)
        return (math.erfc(near) - math.exp(epsilon) * math.erfc(far)) / 2

    low, high = 1e-3, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= delta else (low, middle)
    return low


def top_down(tree, cells, *, epsilon: float, delta: float, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs and flows of every level of a hierarchy (keys home * width + work, pieces); the relation is ours."""
    rng = np.random.default_rng(seed)
    steps = len(tree.names)
    deviation = math.sqrt(2 * steps) / gaussian_mu(epsilon, delta)
    parents, flows = np.array([0]), np.array([int(cells.counts.sum())])
    width_above, levels = 1, []
    for step in range(steps):
        width = tree.work.sizes[step]
        truth_keys = tree.homes.of[step][cells.units] * width + tree.work.of[step][cells.rows]
        keys, where = np.unique(truth_keys, return_inverse=True)
        counts = np.bincount(where, weights=cells.counts).astype(np.int64)
        homes, work = _children(tree.homes.parent[step]), _children(tree.work.parent[step])
        found_keys, found_flows = [], []
        for parent, flow in zip(parents, flows, strict=True):
            over, across = homes[parent // width_above], work[parent % width_above]
            pairs = (over[:, None] * width + across).reshape(-1)
            at = np.minimum(np.searchsorted(keys, pairs), len(keys) - 1)
            exact = np.where(keys[at] == pairs, counts[at], 0)
            noisy = exact + np.rint(deviation * rng.standard_normal(len(pairs), dtype=np.float32)).astype(np.int64)
            values = shared_out(noisy, int(flow), rng)
            kept = values > 0
            found_keys.append(pairs[kept])
            found_flows.append(values[kept])
        parents, flows = np.concatenate(found_keys), np.concatenate(found_flows)
        width_above = width
        levels.append((parents, flows))
    return levels


def _children(parent: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(parent, kind="stable")
    return np.split(order, np.cumsum(np.bincount(parent))[:-1])
