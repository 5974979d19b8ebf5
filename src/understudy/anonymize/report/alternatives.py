"""What else could have been done to the table: other demands, the other way to form classes, runners-up of the search.

All are measured alike. Detail is what the quasi-identifiers tell about a row, in bits: the mean of -log2 of the share
of rows in its class; detail that is lost is a share of what the confidential table has.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from understudy.anonymize.anonymity import FullDomain, Mondrian
from understudy.anonymize.cells import Cells
from understudy.anonymize.hierarchies import rule_from_dict
from understudy.anonymize.outcome import with_role
from understudy.anonymize.problem import NodeOutcome, check_quasi
from understudy.anonymize.recipe import Recipe, step_from_dict
from understudy.anonymize.risk import Sizes
from understudy.anonymize.state import State, Step
from understudy.codebook import Role
from understudy.confidential import Confidential
from understudy.errors import UnderstudyError
from understudy.mechanisms.stream import Stream

_MANY = 8
"""Times k: the strictest demand that is tried."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Alternative(Confidential):
    """One way to treat the table, and what would come out."""

    label: str
    detail_lost: float | None
    """None where it cannot be done."""
    suppressed: float | None
    """Share of rows that lose all quasi-identifiers, or leave the table."""
    highest: float | None
    """Prosecutor risk of the smallest class."""
    mean: float | None
    why_not: str = ""


def detail_bits(sizes: Sizes) -> float:
    """What the class tells about a row, in bits.

    >>> detail_bits(np.array([2, 2]))
    1.0
    """
    shares = sizes / sizes.sum()
    return float(-(shares * np.log2(shares)).sum())


def of_classes(label: str, sizes: Sizes, before: Sizes, *, suppressed: int) -> Alternative:
    """The figures of a table by the sizes of its classes, beside those of the confidential one."""
    whole, rows = detail_bits(before), int(before.sum())
    kept = detail_bits(sizes) * sizes.sum() / rows  # a row that is gone tells nothing
    return Alternative(
        label=label,
        detail_lost=max(0.0, 1 - kept / whole) if whole > 0 else 0.0,
        suppressed=suppressed / rows,
        highest=1 / int(sizes.min()),
        mean=len(sizes) / int(sizes.sum()),
    )


def weigh(before: Cells, asked: Mapping[str, Recipe], quasi: Sequence[str] | None) -> list[Alternative]:
    """What each recipe of one step would make of the table, by its label; nothing is released."""
    names = check_quasi(before.with_roles(Role.QUASI_IDENTIFIER) if quasi is None else tuple(quasi))
    known, weighed = before.select(names).counts, []
    for label, recipe in asked.items():
        (step,) = recipe.steps
        state = State(cells=with_role(before, names), quasi=names, rules=recipe.hierarchies, stream=Stream.seeded(0))
        weighed.append(_tried(label, step, state, known))
    return weighed


def alternatives(before: Cells, parameters: Mapping[str, Any], quasi: tuple[str, ...]) -> list[Alternative]:
    """What the recipe's anonymity step could have made of the table otherwise; none where it has no such step."""
    try:
        rules = {name: rule_from_dict(name, entry, Path()) for name, entry in parameters["hierarchies"].items()}
        steps = [step_from_dict(entry) for entry in parameters["steps"]]
    except UnderstudyError:  # a file of a hierarchy lies elsewhere
        return []
    place = next((k for k, step in enumerate(steps) if isinstance(step, FullDomain | Mondrian)), None)
    if place is None:
        return []
    state = State(cells=with_role(before, quasi), quasi=quasi, rules=rules, stream=Stream.seeded(0))
    for step in steps[:place]:
        state = step.apply(state)
    known = before.select(quasi).counts
    return [*_others(state, steps[place], known), *_runners(state, steps[place], known)]


def _others(state: State, step: Step, before: Sizes) -> Iterator[Alternative]:
    for label, other in _variants(step):
        yield _tried(label, other, state, before)


def _tried(label: str, step: Step, state: State, before: Sizes) -> Alternative:
    try:
        after = step.apply(state)
    except UnderstudyError as reason:
        words = str(reason).partition(";")[0].rstrip(".")
        return Alternative(label=label, detail_lost=None, suppressed=None, highest=None, mean=None, why_not=words)
    sizes = after.cells.select(after.quasi).counts
    return of_classes(label, sizes, before, suppressed=int(after.facts[-1].get("suppressed", 0)))


def _variants(step: Step) -> Iterator[tuple[str, Step]]:
    assert isinstance(step, FullDomain | Mondrian)
    way = "whole columns" if isinstance(step, FullDomain) else "boxes"
    for k in sorted({max(2, step.k // 2), 2 * step.k, _MANY * step.k} - {step.k}):
        yield f"{way}, k = {k}", replace(step, k=k)
    if isinstance(step, FullDomain):
        if step.suppression > 0:
            yield f"{way}, k = {step.k}, no row suppressed", replace(step, suppression=0.0)
        yield f"boxes (Mondrian), k = {step.k}", Mondrian(k=step.k, criteria=step.criteria)
    else:
        full = FullDomain(k=step.k, criteria=step.criteria, suppression=0.05)
        yield f"whole columns, k = {step.k}, at most 5 % suppressed", full


def _runners(state: State, step: Step, before: Sizes) -> Iterator[Alternative]:
    """The next best nodes that the search itself met."""
    if not isinstance(step, FullDomain):
        return
    problem, optimum = step.searched(state)
    chosen = problem.steps_at(optimum.outcome.node)
    for outcome in optimum.runners:
        steps = problem.steps_at(outcome.node)
        differing = ", ".join(f"{name}: {word}" for name, word in steps.items() if word != chosen[name])
        yield of_classes(f"next best: {differing}", _sizes(outcome), before, suppressed=outcome.suppressed)


def _sizes(outcome: NodeOutcome) -> Sizes:
    """Classes as they would be released: suppressed rows form one of their own unless they are gone."""
    kept = outcome.sizes[~outcome.bad]
    return kept if outcome.deleted or not outcome.suppressed else np.append(kept, outcome.suppressed)
