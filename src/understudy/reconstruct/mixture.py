"""Clusters of individuals: Gaussian in their numbers, categorical in their words, independent given the cluster."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.extras import need
from understudy.reconstruct.grams import Floats

Codes = npt.NDArray[np.int64]
_FLOOR = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
    """Numbers (standardised) and words (codes) of n individuals."""

    numbers: Floats
    words: tuple[Codes, ...]
    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        """n."""
        return len(self.numbers)


@dataclass(frozen=True, kw_only=True, eq=False)
class Clusters:
    """theta: a mean and covariance, and a share of every word, for each cluster."""

    means: Floats
    covariances: Floats
    shares: tuple[Floats, ...]

    @classmethod
    def weighted(cls, people: People, weights: Floats) -> "Clusters":
        """Maximum likelihood for individuals that belong to clusters by ``weights`` (n x k)."""
        mass = np.maximum(weights.sum(axis=0), 1e-9)
        means = (weights.T @ people.numbers) / mass[:, None]
        q = people.numbers.shape[1]
        covariances = np.empty((len(mass), q, q))
        for k in range(len(mass)):
            centred = people.numbers - means[k]
            covariances[k] = (weights[:, k, None] * centred).T @ centred / mass[k] + _FLOOR * np.eye(q)
        shares = []
        for codes, size in zip(people.words, people.sizes, strict=True):
            counts = np.stack([np.bincount(codes, weights[:, k], size) for k in range(len(mass))])
            shares.append((counts + 1e-3) / (counts + 1e-3).sum(axis=1, keepdims=True))
        return cls(means=means, covariances=covariances, shares=tuple(shares))

    def log_density(self, people: People) -> Floats:
        """log p(x_i | k), n x k."""
        q = people.numbers.shape[1]
        density = np.zeros((people.count, len(self.means)))
        for k in range(len(self.means)):
            if q:
                root = np.linalg.cholesky(self.covariances[k])
                scaled = np.linalg.solve(root, (people.numbers - self.means[k]).T)
                density[:, k] = (
                    -0.5 * (scaled**2).sum(axis=0) - np.log(np.diagonal(root)).sum() - 0.5 * q * np.log(2 * np.pi)
                )
            for codes, share in zip(people.words, self.shares, strict=True):
                density[:, k] += np.log(share[k])[codes]
        return density


def starting_clusters(people: People, count: int, rng: np.random.Generator) -> Floats:
    """Hard memberships by k-means++ and Lloyd's steps on numbers and (scaled) word indicators; best of ten starts."""
    blocks = [people.numbers]
    blocks += [np.eye(size)[codes] for codes, size in zip(people.words, people.sizes, strict=True)]
    full = np.concatenate(blocks, axis=1)
    seen = rng.choice(people.count, min(people.count, 20_000), replace=False)
    sample = full[seen]
    best, centres = np.inf, sample[:count]
    for _ in range(10):
        candidates = _plus_plus(sample, count, rng)
        for _ in range(30):
            near = _distances(sample, candidates)
            labels = near.argmin(axis=1)
            candidates = np.stack(
                [sample[labels == k].mean(axis=0) if (labels == k).any() else candidates[k] for k in range(count)]
            )
        inertia = float(_distances(sample, candidates).min(axis=1).sum())
        if inertia < best:
            best, centres = inertia, candidates
    memberships: Floats = np.eye(count)[_distances(full, centres).argmin(axis=1)]
    return memberships


def _plus_plus(sample: Floats, count: int, rng: np.random.Generator) -> Floats:
    centres = [sample[rng.integers(len(sample))]]
    while len(centres) < count:
        near = _distances(sample, np.stack(centres)).min(axis=1)
        total = float(near.sum())
        chance = near / total if total > 0 else np.full(len(sample), 1 / len(sample))
        centres.append(sample[rng.choice(len(sample), p=chance)])
    return np.stack(centres)


def _distances(rows: Floats, centres: Floats) -> Floats:
    squares = (rows**2).sum(axis=1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(axis=1)[None, :]
    return np.asarray(np.maximum(squares, 0.0), dtype=np.float64)


def minka(alpha: Floats, mean_log: Floats, *, steps: int = 20) -> Floats:
    """Newton's steps for the Dirichlet parameter given the mean of log pi [Minka 2000, section 1]."""
    need("scipy", extra="models", what="reconstruction")
    from scipy.special import digamma, polygamma

    alpha = alpha.copy()
    for _ in range(steps):
        gradient = digamma(alpha.sum()) - digamma(alpha) + mean_log
        q = -polygamma(1, alpha)
        z = polygamma(1, alpha.sum())
        b = (gradient / q).sum() / (1 / z + (1 / q).sum())
        step = (gradient - b) / q
        size = 1.0
        while (alpha - size * step <= 1e-3).any() and size > 1e-6:
            size /= 2
        alpha = np.clip(alpha - size * step, 1e-3, 1e4)
    return alpha
