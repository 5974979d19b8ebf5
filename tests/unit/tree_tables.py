"""A small codebook, records simulated from it, and how well a score ranks them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from understudy.codebook import Categorical, Codebook, Continuous, Ordinal
from understudy.mechanisms.labelled import pooled
from understudy.privacy import Secret
from understudy.trees.features import features_of


def book():
    edges = tuple(map(Fraction, (0, 10, 20, 30, 40)))
    return Codebook(
        columns=(
            Continuous(name="dose", edges=edges, precision=1, missing="NA"),
            Ordinal(name="stage", levels=("I", "II", "III")),
            Categorical(name="ward", levels=("a", "b", "c")),
            Categorical(name="sex", levels=("F", "M")),
            Categorical(name="ill", levels=("no", "yes")),
        )
    )


FEATURES = features_of(book(), "ill")


def changed(model, *, scorer=None, codebook=None, call="kept", **score):
    """A model that says other things of itself."""
    manifest = model.manifest
    quote = manifest.quote if call == "kept" else replace(manifest.quote, call=call)
    told = replace(manifest, quote=quote, codebook=codebook or manifest.codebook, score={**manifest.score, **score})
    return replace(model, scorer=scorer or model.scorer, manifest=told)


def simulated(rows, seed=3):
    """Codes and labels: risk rises with dose and stage, and is higher in ward c."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, rows) for size in (5, 3, 3, 2)], axis=1).astype(np.uint8)
    dose = np.where(codes[:, 0] == 4, 1.5, codes[:, 0])
    odds = -2.2 + 0.9 * dose + 0.5 * codes[:, 1] + 0.8 * (codes[:, 2] == 2)
    labels = (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(np.intp)
    return codes, labels


def boxed(codes, labels):
    return Secret(pooled(codes, np.eye(2, dtype=np.int64)[labels]))


def auroc(score, labels):
    order = np.argsort(np.argsort(score, kind="stable"), kind="stable")
    positive = labels == 1
    return (order[positive].sum() - positive.sum() * (positive.sum() - 1) / 2) / (positive.sum() * (~positive).sum())
