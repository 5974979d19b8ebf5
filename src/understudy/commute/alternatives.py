"""What a commuting release could have cost otherwise: other prices and domains, quoted from public facts alone."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from understudy.commute.places import CommuteInput, Rings
from understudy.commute.plan import Plan
from understudy.commute.recipe import CommuteRecipe
from understudy.commute.released import ReleasedCommutes
from understudy.errors import UnderstudyError
from understudy.privacy.guarantees import Guarantee
from understudy.privacy.provenance import InputRole
from understudy.sources.flows import Flows


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """One choice, its price, and how much of it would be invented."""

    label: str
    total: Guarantee | None
    from_prior: float | None
    """Expected share of synthetic workers whose origin comes from the virtual counts, not from the data."""
    why_not: str = ""


def from_prior(plan: Plan) -> float | None:
    """The expected share; None for baselines, which have no virtual counts."""
    if not plan.alphas:
        return None
    virtual = (plan.public.cells * plan.public.weights).sum(axis=1) * [float(alpha) for alpha in plan.alphas]
    drawn = plan.public.draws
    return float((drawn * virtual / (virtual + plan.public.workers)).sum() / max(drawn.sum(), 1))


def recipe_of(manifest: Mapping[str, Any]) -> CommuteRecipe | None:
    """The recipe that a manifest tells; None where public tables that it used are not in it."""
    known = {name: value for name, value in manifest["parameters"].items() if value is not None}
    if known.get("size") == "a public list" or InputRole.REGIONS.name.lower() in manifest.get("inputs", {}):
        return None
    if (rings := known.get("rings")) is not None:
        miles = tuple(math.inf if edge == "inf" else float(edge) for edge in rings["miles"])
        known["rings"] = Rings(
            miles=miles, shares=tuple(rings["shares"]), keeps=tuple(rings["keeps"]), source=rings["source"]
        )
    method = str(manifest["method"]).removeprefix("commute-")
    if method == "levels":  # its price follows from epsilon and delta, whichever levels and groups it measures
        return CommuteRecipe(epsilon=known["epsilon"], delta=known["delta"], method=method)
    return CommuteRecipe(**{"certificate": "pure", **known, "method": method})


def quoted(real: Flows, made: ReleasedCommutes) -> list[Quoted]:
    """The release itself first, then what else there was; nothing where its recipe cannot be told.

    Reads destination totals, which are public here, and no origin.
    """
    recipe = recipe_of(made.manifest)
    if recipe is None:
        return []
    given = CommuteInput(flows=real, places=made.places)
    return [_quoted(label, recipe, changes, given) for label, changes in (("as released", {}), *_variants(recipe))]


def _quoted(label: str, recipe: CommuteRecipe, changes: Mapping[str, Any], given: CommuteInput) -> Quoted:
    try:
        plan = replace(recipe, **changes).plan(given)
    except UnderstudyError as reason:
        return Quoted(label=label, total=None, from_prior=None, why_not=str(reason).partition(";")[0].rstrip("."))
    return Quoted(label=label, total=plan.quote.total, from_prior=from_prior(plan))


def _variants(recipe: CommuteRecipe) -> Iterator[tuple[str, dict[str, Any]]]:
    for factor, words in ((0.5, "half the epsilon"), (2.0, "twice the epsilon")):
        if recipe.epsilon * factor <= 50:
            yield words, {"epsilon": recipe.epsilon * factor}
    if recipe.method != "dirichlet":
        return
    if recipe.certificate != "pure":
        yield "pure promise, no delta", {"certificate": "pure", "delta": None, "reject": False}
    if recipe.certificate not in ("pure", "exact"):
        yield "certificate exact", {"certificate": "exact", "reject": False}
    if recipe.cutoff is not None:
        yield "no cut-off", {"cutoff": None}
    if recipe.rings is not None:
        yield "all origins alike: no rings", {"rings": None, "shrink": False, "prior": "uniform"}
