"""What the combining rules really cover: the share of repetitions whose nominal 95% interval holds the truth.

Three worlds: proper synthesis of a mean (PRIVACY section 9), a histogram with Laplace noise (route N), and smoothed
shares as PeGS draws them. The rules know nothing of noise or smoothing; the last two say what that costs.
"""

import math

import numpy as np

import understudy as us
from understudy.evaluate.combine import noise_variance
from understudy.mechanisms.discrete_laplace import discrete_laplace
from understudy.mechanisms.histogram import noisy_histogram_event
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours

SHARES = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
RULES = ("full", "partial", "complete", "plug-in")


def proper(*, repeats: int, files: int, seed: int, records: int = 100, normal: bool = True) -> dict[str, float]:
    """Mean of a normal sample; parameters drawn from their posterior, then as many synthetic rows as records."""
    rng = Stream.seeded(seed).generator()
    hits = dict.fromkeys(RULES, 0)
    negative = 0
    for _ in range(repeats):
        data = rng.normal(size=records)
        spread = np.sqrt((records - 1) * data.var(ddof=1) / rng.chisquare(records - 1, size=files))
        centre = rng.normal(data.mean(), spread / math.sqrt(records))
        made = rng.normal(centre, spread, size=(records, files))
        q, v = made.mean(axis=0), made.var(axis=0, ddof=1) / records
        for rule in RULES:
            got = us.combine(q, v, kind=rule)
            low, high = got.interval(normal=normal)
            hits[rule] += low <= 0 <= high
            negative += got.adjusted
    return {**{rule: hit / repeats for rule, hit in hits.items()}, "negative": negative / repeats}


def noised(*, repeats: int, epsilon: float, seed: int, records: int = 1_000, files: int = 5) -> dict[str, float]:
    """Share of the first of five levels; one noisy histogram, then ``files`` files of its rows."""
    stream = Stream.seeded(seed)
    rng = stream.generator()
    event = noisy_histogram_event(SHARES.shape, epsilon=epsilon, neighbours=Neighbours.ADD_REMOVE)
    counts = rng.multinomial(records, SHARES, size=repeats)
    noisy = np.maximum(discrete_laplace(counts.ravel(), scale=event.scale, stream=stream).reshape(counts.shape), 0)
    hits = {"without": 0, "with noise variance": 0}
    for row in noisy:
        shares = row / row.sum()
        q = rng.multinomial(records, shares, size=files)[:, 0] / records
        v = q * (1 - q) / records
        # the share is a ratio of noisy counts: a unit of noise moves it by (1 - p)/n in its own cell, by -p/n elsewhere
        weights = (np.arange(len(row)) == 0) / row.sum() - q.mean() / row.sum()
        for name, noise in (("without", 0.0), ("with noise variance", noise_variance(event, weights=weights))):
            low, high = us.combine(q, v, kind="plug-in", noise=noise).interval()
            hits[name] += low <= SHARES[0] <= high
    return {name: hit / repeats for name, hit in hits.items()}


def smoothed(*, repeats: int, alpha: float, seed: int, records: int = 100, files: int = 5) -> float:
    """Share of a level that nine in ten have, drawn with ``alpha`` virtual records per level (PeGS, one column)."""
    rng = Stream.seeded(seed).generator()
    hits = 0
    for _ in range(repeats):
        count = rng.binomial(records, 0.9)
        q = rng.binomial(records, (count + alpha) / (records + 2 * alpha), size=files) / records
        low, high = us.combine(q, q * (1 - q) / records, kind="plug-in").interval()
        hits += low <= 0.9 <= high
    return hits / repeats


def main() -> None:
    print("proper synthesis of a mean, 100 records, nominal 95%, normal reference (t in brackets)")
    print(f"{'files':>6} {'T_s < 0':>8} " + " ".join(f"{rule:>22}" for rule in RULES))
    for files in (5, 10, 20):
        normal = proper(repeats=4_000, files=files, seed=files)
        student = proper(repeats=4_000, files=files, seed=files, normal=False)
        cells = [f"{normal[rule]:.3f} ({student[rule]:.3f})" for rule in RULES]
        print(f"{files:>6} {normal['negative']:>8.3f} " + " ".join(f"{cell:>22}" for cell in cells))
    print("\nLaplace histogram of 1,000 records, five files, share of one level of five")
    print(f"{'epsilon':>8} {'plug-in rule':>13} {'+ noise variance':>17}")
    for epsilon in (0.05, 0.1, 0.5, 1.0):
        found = noised(repeats=2_000, epsilon=epsilon, seed=7)
        print(f"{epsilon:>8g} {found['without']:>13.3f} {found['with noise variance']:>17.3f}")
    print("\nsmoothed shares (PeGS), 100 records, five files, a level of share 0.9")
    print(f"{'alpha':>8} {'plug-in rule':>13}")
    for alpha in (0.1, 1.0, 12.5, 50.0):
        print(f"{alpha:>8g} {smoothed(repeats=2_000, alpha=alpha, seed=8):>13.3f}")
    print("\nNo rule covers smoothing bias, or noise that it was not told; each extra file of route S costs in full.")


if __name__ == "__main__":
    main()
