"""InfTDA, a top-down release of flows [Boninsegna, Silvestri 2024, arXiv 2412.09256], written as a yardstick.

Written from the paper's description and checked against what its authors' program does; nothing of that is copied.
From the root down, every pair of units that still has workers is split, in turn by destination and by origin; each
part is measured with Gaussian noise, the budget being shared equally by all steps of the tree, and the parts are then
moved to whole numbers from 0 on that add up to the pair, at the smallest largest distance. Of all such numbers the
paper takes those with few positive ones: small parts go to 0 first. Pairs without workers are not split further.

Under the relation origin-in-destination the first split, of all workers by destination, is public and not measured.
``joint`` splits origin and destination at once, so that fewer steps share the budget: a stronger yardstick that the
paper does not propose. The price is that of Gaussian noise exactly, and not the paper's bound, in its favour too.
"""

import itertools
import math

import numpy as np


def int_opt(noisy: np.ndarray, total: int) -> np.ndarray:
    """Whole numbers from 0 on with this sum, near to the noisy ones in the largest distance, few of them positive."""
    values = np.maximum(noisy, 0)
    reach = max(int((values - noisy).max()), 1)  # what cutting at 0 has moved some part by
    if values.sum() >= total:
        order = np.argsort(values, kind="stable")
        for most in itertools.chain([reach], itertools.repeat(1)):
            if not (excess := int(values.sum()) - total):
                return values
            values[order] -= _in_turn(np.minimum(values[order], most), excess)
    order = np.argsort(-noisy, kind="stable")
    for more in itertools.count():
        if not (missing := total - int(values.sum())):
            return values
        room = np.maximum(noisy[order] + reach + more - values[order], 0)
        values[order] += _in_turn(room, missing)
    raise AssertionError("never reached")


def _in_turn(offered: np.ndarray, wanted: int) -> np.ndarray:
    """What each gives, one after the other, until as much is given as is wanted."""
    return np.clip(wanted - (np.cumsum(offered) - offered), 0, offered)


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


def top_down(
    tree, cells, *, epsilon: float, delta: float, seed: int, joint: bool = False
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs and flows of every level of a hierarchy (keys home * width + work, pieces); the relation is ours."""
    rng = np.random.default_rng(seed)
    number = len(tree.names)
    splits = [(level, level) for level in range(number)]  # steps of origins and of destinations; -1 is the whole
    if not joint:
        splits = [step for level in range(number) for step in ((level - 1, level), (level, level))]
    paid = len(splits) - (not joint)
    deviation = math.sqrt(2 * paid) / gaussian_mu(epsilon, delta)
    parents, flows, levels = np.array([0]), np.array([int(cells.counts.sum())]), []
    before = (-1, -1)
    for home, work in splits:
        width = tree.work.sizes[work]
        origin = tree.homes.of[home] if home >= 0 else np.zeros(len(tree.homes.of[-1]), dtype=np.int64)
        keys, where = np.unique(origin[cells.units] * width + tree.work.of[work][cells.rows], return_inverse=True)
        counts = np.bincount(where, weights=cells.counts).astype(np.int64)
        homes = _children(tree.homes.parent[home]) if home != before[0] else None
        jobs = _children(tree.work.parent[work]) if work != before[1] else None
        width_above = tree.work.sizes[before[1]] if before[1] >= 0 else 1
        found_keys, found_flows = [], []
        for parent, flow in zip(parents.tolist(), flows.tolist(), strict=True):
            unit, place = divmod(parent, width_above)
            over = np.array([unit]) if homes is None else homes[unit]
            across = np.array([place]) if jobs is None else jobs[place]
            pairs = (over[:, None] * width + across).reshape(-1)
            at = np.minimum(np.searchsorted(keys, pairs), len(keys) - 1)
            values = np.where(keys[at] == pairs, counts[at], 0)
            if home >= 0:
                noise = np.rint(deviation * rng.standard_normal(len(pairs), dtype=np.float32)).astype(np.int64)
                values = int_opt(values + noise, flow)
            kept = values > 0
            found_keys.append(pairs[kept])
            found_flows.append(values[kept])
        parents, flows = np.concatenate(found_keys), np.concatenate(found_flows)
        before = (home, work)
        if home == work:
            levels.append((parents, flows))
    return levels


def _children(parent: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(parent, kind="stable")
    return np.split(order, np.cumsum(np.bincount(parent))[:-1])
