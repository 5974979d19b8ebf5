"""AIM (McKenna, Mullins, Sheldon and Miklau 2022), written from its paper for domains that can be listed.

Algorithms 2 to 4 with all triples as the workload. The distribution is kept cell by cell over the whole domain, so that
nothing is lost to a junction tree or a limit of its size; the privacy is zero-concentrated, as in the paper.
"""

import itertools
import math

import numba
import numpy as np
from common import run

MOST_CELLS = 1 << 20
STEPS = 60
"""Of mirror descent after every round."""


def rho_of(epsilon, delta):
    """The largest rho whose zero-concentrated promise gives (epsilon, delta) (Canonne, Kamath and Steinke, 2020)."""
    orders = 1 + np.geomspace(1e-3, 1e4, 4000)

    def delta_of(rho):
        exponent = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders)
        return math.exp(min(float((exponent - np.log(orders - 1)).min()), 0.0))

    low, high = 0.0, epsilon + 10.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) <= delta else (low, middle)
    return low


@numba.njit(cache=True)
def marginals(shares, cell_of, starts, total):
    """All marginals side by side."""
    out = np.zeros(total)
    for number in range(len(cell_of)):
        for cell in range(len(shares)):
            out[starts[number] + cell_of[number, cell]] += shares[cell]
    return out


@numba.njit(cache=True)
def spread(slopes, cell_of, starts):
    """The slope of every cell of the domain: the sum over the marginals that hold it."""
    out = np.zeros(cell_of.shape[1])
    for number in range(len(cell_of)):
        for cell in range(len(out)):
            out[cell] += slopes[starts[number] + cell_of[number, cell]]
    return out


class Domain:
    """Every cell of the domain, and its cell in every marginal of up to three columns."""

    def __init__(self, sizes):
        self.sizes = sizes
        places = np.unravel_index(np.arange(math.prod(sizes)), sizes)
        self.cliques = [clique for k in (1, 2, 3) for clique in itertools.combinations(range(len(sizes)), k)]
        self.width = np.array([math.prod(sizes[column] for column in clique) for clique in self.cliques])
        self.cell_of = np.stack(
            [
                np.ravel_multi_index([places[c] for c in clique], [sizes[c] for c in clique]).astype(np.int32)
                for clique in self.cliques
            ]
        )

    def tables(self, shares, numbers):
        """Marginals of these cliques, each as an array."""
        widths = self.width[numbers]
        starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        flat = marginals(shares, self.cell_of[numbers], starts[:-1], int(starts[-1]))
        return np.split(flat, starts[1:-1])


def estimated(domain, shares, measured, total):
    """Mirror descent on the squared misfit of everything measured, each by its precision."""
    numbers = sorted(measured)
    starts = np.concatenate([[0], np.cumsum(domain.width[numbers])])[:-1].astype(np.int64)
    cells = domain.cell_of[numbers]
    precision = np.concatenate([np.full(domain.width[n], measured[n][1]) for n in numbers])
    noisy = np.concatenate([measured[n][0] for n in numbers]) / total

    def misfit(candidate):
        missed = marginals(candidate, cells, starts, len(noisy)) - noisy
        return float((precision * missed**2).sum()), precision * missed

    length = 1.0 / precision.max()
    value, slopes = misfit(shares)
    for _ in range(STEPS):
        slope = 2 * spread(slopes, cells, starts)
        for _ in range(30):
            odds = np.log(np.maximum(shares, 1e-300)) - length * slope
            tried = np.exp(odds - odds.max())
            tried /= tried.sum()
            tried_value, tried_slopes = misfit(tried)
            if value - tried_value >= 0.5 * float(slope @ (shares - tried)):
                break
            length /= 2
        shares, value, slopes, length = tried, tried_value, tried_slopes, 2 * length
    return shares


def make(codes, sizes, epsilon, delta):
    sizes = list(sizes.values())
    if math.prod(sizes) > MOST_CELLS:
        raise SystemExit(f"the domain has {math.prod(sizes):.1e} cells; it can be listed up to {MOST_CELLS:,}")
    rng = np.random.default_rng()
    domain = Domain(sizes)
    columns, total = len(sizes), len(codes)
    cell = np.ravel_multi_index([codes[name].to_numpy() for name in codes], sizes)
    truth = domain.tables(np.bincount(cell, minlength=math.prod(sizes)).astype(float), range(len(domain.cliques)))
    triples = [set(clique) for clique in domain.cliques if len(clique) == 3]
    weight = np.array([sum(len(triple & set(clique)) for triple in triples) for clique in domain.cliques], dtype=float)
    rho, used = rho_of(epsilon, delta), 0.0
    rounds = 16 * columns
    deviation, selecting = math.sqrt(rounds / (2 * 0.9 * rho)), math.sqrt(8 * 0.1 * rho / rounds)
    measured = {}

    def measure(number):
        noisy = truth[number] + rng.normal(0, deviation, len(truth[number]))
        if number in measured:
            old, precision = measured[number]
            both = precision + deviation**-2
            measured[number] = ((old * precision + noisy * deviation**-2) / both, both)
        else:
            measured[number] = (noisy, deviation**-2)

    for number in range(columns):
        measure(number)
        used += 1 / (2 * deviation**2)
    shares = estimated(domain, np.full(math.prod(sizes), 1 / math.prod(sizes)), measured, total)
    while used < rho * (1 - 1e-9):
        left = rho - used
        if left < 2 * (1 / (2 * deviation**2) + selecting**2 / 8):
            deviation, selecting = math.sqrt(1 / (2 * 0.9 * left)), math.sqrt(8 * 0.1 * left)
        believed = domain.tables(shares * total, range(len(domain.cliques)))
        missed = np.array([np.abs(a - b).sum() for a, b in zip(truth, believed, strict=True)])
        worth = weight * (missed - math.sqrt(2 / math.pi) * deviation * domain.width)
        chosen = int(np.argmax(selecting * worth / (2 * weight.max()) + rng.gumbel(size=len(worth))))
        measure(chosen)
        used += 1 / (2 * deviation**2) + selecting**2 / 8
        shares = estimated(domain, shares, measured, total)
        moved = np.abs(domain.tables(shares * total, [chosen])[0] - believed[chosen]).sum()
        if moved <= math.sqrt(2 / math.pi) * deviation * domain.width[chosen]:
            deviation, selecting = deviation / 2, 2 * selecting

    def draw(rows):
        places = rng.permutation((np.arange(rows) + rng.random()) / rows)
        drawn = np.unravel_index(np.searchsorted(np.cumsum(shares), places).clip(0, len(shares) - 1), sizes)
        return dict(zip(codes.columns, drawn, strict=True))

    return draw


run(make)
