"""Records of which a score is learnt: two numbers, two groups, and an illness whose log-odds are known."""

from fractions import Fraction

import numpy as np

from understudy.codebook import Categorical, Codebook, Continuous
from understudy.mechanisms.labelled import pooled
from understudy.privacy import Secret
from understudy.trees.features import features_of

EDGES = tuple(Fraction(k, 8) for k in range(33))
BOOK = Codebook(
    columns=(
        Continuous(name="dose", edges=EDGES, precision=3, missing="NA"),
        Continuous(name="noise", edges=EDGES, precision=3),
        Categorical(name="ward", levels=("north", "south", "west")),
        Categorical(name="sex", levels=("F", "M")),
        Categorical(name="ill", levels=("no", "yes")),
    )
)
FEATURES = features_of(BOOK, "ill")


def records(size, seed=0):
    """Illness rises with the square of the dose, which is skewed, and with one ward; a missing dose is worst."""
    rng = np.random.default_rng(seed)
    dose = np.minimum((rng.exponential(4.0, size)).astype(int), 31)
    missing = rng.random(size) < 0.05
    ward = rng.integers(0, 3, size)
    codes = np.stack([np.where(missing, 32, dose), rng.integers(0, 32, size), ward, rng.integers(0, 2, size)], axis=1)
    return codes.astype(np.uint8), (rng.random(size) < 1 / (1 + np.exp(-true_odds(codes)))).astype(np.intp)


def true_odds(codes):
    dose = np.where(codes[:, 0] == 32, 3.0, (codes[:, 0] / 6.0) ** 2)
    return dose - 2.0 + 1.5 * (codes[:, 2] == 2)


def held(codes, label):
    return Secret(pooled(codes, np.eye(2, dtype=np.int64)[label]))
