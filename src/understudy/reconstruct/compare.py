"""Other methods on the same averages: each is fitted without some groups and asked for the averages of those."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.errors import UnderstudyError
from understudy.reconstruct.aggregates import Aggregate
from understudy.reconstruct.estimators import LinearReconstructor, Reconstructor
from understudy.reconstruct.heldout import HeldOut, folds_of
from understudy.reconstruct.methods import EcologicalRegression, PrincipalRegression, ShrunkenRegression
from understudy.reconstruct.problem import Stack

_TRIED = (EcologicalRegression, PrincipalRegression, ShrunkenRegression)
"""Those that a fold fits in no time; averages of the group alone stand beside each of them."""
_SHARED = ("columns", "link", "aggregates_of", "standardise", "intercept", "unmatched")


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A method and how it predicts averages that it did not see, by target; or why it could not be tried."""

    method: str
    held_out: tuple[HeldOut, ...] = ()
    why_not: str = ""


def tried_methods(model: Reconstructor, individuals: Any, aggregates: Sequence[Aggregate]) -> list[Tried]:
    """The method of a fit first, then the others, all by the same groups held out."""
    from sklearn.base import clone

    own = [clone(model)] if isinstance(model, LinearReconstructor) and model.uses_columns else []
    shared = {name: getattr(model, name) for name in _SHARED if model.uses_columns}
    others = [method(**shared) for method in _TRIED if method.name != model.name]
    tried = [_tried(one, individuals, aggregates) for one in (*own, *others)]
    return tried if own or not model.held_out_ else [Tried(method=model.name, held_out=tuple(model.held_out_)), *tried]


def _tried(model: LinearReconstructor, individuals: Any, aggregates: Sequence[Aggregate]) -> Tried:
    try:
        model.fit(individuals, aggregates)
        judged = [held for stacks in model.problem_.together() for held in _judged(model, stacks)]
    except UnderstudyError as reason:
        return Tried(method=model.name, why_not=str(reason).partition(";")[0].rstrip("."))
    return Tried(method=model.name, held_out=tuple(judged))


def _judged(model: LinearReconstructor, stacks: Sequence[Stack]) -> list[HeldOut]:
    """Slopes from the other groups, and what they say of the groups left out."""
    sketch, centre, size = model.sketched(stacks)
    folds = folds_of(sketch.means, sketch.targets)
    guesses = np.empty_like(sketch.targets)
    for fold in np.unique(folds):
        out = folds == fold
        guesses[out] = sketch.means[out] @ model.slopes_of(sketch.part(~out))
    sizes = 1.0 / sketch.groups.diagonal
    return [
        HeldOut.of(
            guesses[:, place] * size[place] + centre[place],
            folds,
            sketch.targets[:, place] * size[place] + centre[place],
            sizes,
            fall_back=False,
            method=model.name,
            target=stack.target,
            settings={},
        )
        for place, stack in enumerate(stacks)
    ]
