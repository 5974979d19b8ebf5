"""Several reconstructions instead of one, so that what is computed from them carries how little is known.

1. Averages are drawn again around the fit: s* = A(fit) + N(0, sigma^2 K + V), V the declared noise (parametric
bootstrap); the method is fitted to s* with its rank or penalty as chosen before.
2. Every individual gets scatter N(0, sigma^2) about the new form.
3. Exact averages are met again (correction equation, or raking through a link).

sigma^2 is what the averages leave unexplained, scaled to one person: group effects are counted as individual scatter,
since averages of one partition cannot tell the two apart. Where the scatter is known, say so.
"""

import copy
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import ParameterError
from understudy.parameters import Number, Whole
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.links import rake, spread_offsets
from understudy.reconstruct.problem import Stack
from understudy.reconstruct.result import Reconstruction

if TYPE_CHECKING:
    from understudy.reconstruct.estimators import LinearReconstructor, Reconstructor


def reconstructions(
    model: "Reconstructor", count: int, *, seed: int | None, spread: float | None
) -> list[Reconstruction]:
    """``count`` plausible answers."""
    Whole().check("count", count)
    if spread is not None:
        Number(least=0).check("spread", spread)
    if spread is None and not model.uses_columns:
        raise ParameterError(
            f"{model.name} gives everybody the average of the group, so nothing shows how people scatter about it; say "
            "how much: `spread`, a standard deviation."
        )
    rng = np.random.default_rng(seed)
    draws = []
    for number in range(1, count + 1):
        linear = model._drawn(rng, spread)
        settled = {stack.target: meet(model, stack, linear[stack.target]) for stack in model.problem_.stacks}
        draws.append(model._result(settled, number))
    return draws


def drawn(model: "LinearReconstructor", rng: np.random.Generator, spread: float | None) -> dict[str, Floats]:
    """Slopes by the bootstrap, scatter about them."""
    fixed = copy.copy(model)
    fixed.notes_ = []
    for name in ("rank", "penalty"):  # as chosen in the fit
        if hasattr(model, f"{name}_"):
            setattr(fixed, name, getattr(model, f"{name}_"))
    lines: dict[str, Floats] = {}
    for stacks in model.problem_.together():
        averages = []
        for stack in stacks:
            effects = model.effects_[stack.target]
            sigma = effects.spread if spread is None else spread
            matrix = model.problem_.matrix @ effects.beta
            noisy = model._variance(stack)
            scattered = rng.standard_normal(len(stack.means))
            if stack.is_partition:
                scattered *= np.sqrt(stack.groups.diagonal)
            else:
                roots = np.sqrt(stack.groups.values)[:, None] * stack.groups.turn(np.eye(stack.groups.size))
                scattered = roots.T @ scattered
            drift = sigma * scattered + np.sqrt(noisy) * rng.standard_normal(len(stack.means))
            averages.append(stack.average(matrix) + drift)
        effects_of = fixed._effects_for(stacks, np.stack(averages, axis=1))
        for target, effects in effects_of.items():
            sigma = model.effects_[target].spread if spread is None else spread
            line = effects.linear(model.problem_.matrix, [level.members for level in effects.stack.levels], new=False)
            lines[target] = line + sigma * rng.standard_normal(len(line))
    return lines


def meet(model: "Reconstructor", stack: Stack, linear: Floats) -> Floats:
    """Make exact averages exact again."""
    exact = stack.exact
    if not model.correct or not exact.any():
        return linear
    if model._averages_are_curved:
        return linear + spread_offsets(stack, rake(stack, model._link, linear))
    gap = np.zeros(len(stack.means))
    groups = stack.groups if exact.all() else stack.groups.part(exact)
    gap[exact] = groups.pinv((stack.means - stack.average(linear))[exact])
    return linear + stack.spread(gap)
