"""The plan of a commuting release: domain, virtual counts and price, from public facts alone.

A plan reads destination totals, places, rings and regions; it never looks at an origin. So a quote costs nothing, and
what a release will pay is known before the first draw.
"""

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Categorical, Codebook
from understudy.commute.domain import build_domain, destination_facts
from understudy.commute.inputs import CommuteInput
from understudy.mechanisms.origin_baselines import baseline_event
from understudy.mechanisms.origin_domain import OriginDomain
from understudy.mechanisms.origin_draws import (
    Certificate,
    Destinations,
    OriginDraws,
    certified_alphas,
    deltas_at,
    exact_alphas,
    pure_alpha,
    theorem_44_alphas,
)
from understudy.privacy.events import Event
from understudy.privacy.ledger import Entry, Ledger, stream_entries
from understudy.privacy.quote import Quote
from understudy.privacy.spelling import at_most
from understudy.release.making import choices_of
from understudy.sources.flows import Flows

if TYPE_CHECKING:
    from understudy.commute.recipe import CommuteRecipe

THEOREM = "theorem-4.4"

_DRAFTED = (
    "the list of possible origins was read from the data, so an origin that is missing, or there, gives somebody away; "
    "give a public list of places or origins"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """A recipe laid out for one table: public facts and a price, no origin read yet."""

    recipe: "CommuteRecipe"
    given: CommuteInput
    domain: OriginDomain
    public: Destinations
    alphas: list[Fraction]
    """Smallest virtual count of each destination, exactly as drawn with; empty for baselines."""
    event: Event
    """What prices the draws."""
    quote: Quote

    @cached_property
    def book(self) -> Codebook:
        """The public description of the synthetic table."""
        return commute_codebook(self.given.flows, names=self.given.names)

    @property
    def rows(self) -> int:
        """Synthetic workers that will be drawn."""
        return self.quote.rows

    @property
    def choices(self) -> str:
        """The digest of what was chosen, public tables included."""
        chosen = {**self.recipe.parameters(), "tables": _content(self.recipe, self.given)}
        return choices_of(self.quote, chosen, self.book.digest)


def lay_out(recipe: "CommuteRecipe", given: CommuteInput, *, secure: bool) -> Plan:
    """The plan of ``recipe`` for one table."""
    flows = given.flows
    domain = build_domain(recipe, flows, given.places, given.regions)
    public = destination_facts(recipe, flows, domain)
    alphas: list[Fraction] = []
    theorem: dict[str, int] | None = None
    event: Event
    if recipe.method == "dirichlet":
        alphas, theorem = _alphas(recipe, public)
        event = OriginDraws.of(
            public,
            alphas,
            certificate=recipe.proved,
            epsilon=recipe.epsilon,
            delta=recipe.delta,
            rejects=recipe.reject,
        )
    else:
        event = baseline_event(recipe.method, epsilon=recipe.epsilon, delta=recipe.delta, keep=recipe.subsample)
    drafted = Entry.unpriced(stage="origins", reads="which origins exist", why=_DRAFTED)
    priced = Entry(stage="origins", reads=_reads(recipe, public), event=event, assumptions=_assumptions(recipe, given))
    quote = Quote(
        method=f"commute-{recipe.method}",
        route="S" if recipe.method == "dirichlet" else "N",
        own=Ledger.of([*([drafted] if flows.origins_from_data else []), priced, *stream_entries(secure)]),
        rows=int(public.draws.sum()),
        own_delta=recipe.delta,
        paper=_paper(recipe, event, theorem),
        warnings=_warnings(recipe, flows, public, theorem),
    )
    return Plan(
        recipe=recipe,
        given=given,
        domain=domain,
        public=public,
        alphas=alphas,
        event=event,
        quote=quote.with_public({**given.public, **recipe.public}).with_data(flows.provenance),
    )


def _warnings(
    recipe: "CommuteRecipe", flows: Flows, public: Destinations, theorem: dict[str, int] | None
) -> tuple[str, ...]:
    notes = []
    if recipe.delta is not None and recipe.delta >= 1 / flows.workers:
        notes.append(
            f"delta is {recipe.delta:g}, not below 1/{flows.workers:,}: such a promise would allow publishing the "
            f"origins of a few workers. The paper used 1e-5; a delta far below {1 / flows.workers:.1g} is safer."
        )
    if theorem and theorem["exact"]:
        notes.append(
            f"theorem 4.4 certifies no useful virtual count for {theorem['exact']:,} of {len(public):,} destinations "
            "(never for a single worker); there the exact probabilistic certificate was used."
        )
    return tuple(notes)


def _alphas(recipe: "CommuteRecipe", public: Destinations) -> tuple[list[Fraction], dict[str, int] | None]:
    """Virtual counts, checked at the rational numbers that are really used."""
    epsilon, delta = recipe.epsilon, recipe.delta or 0.5  # unused by the certificate pure
    if recipe.certificate != THEOREM:
        values = certified_alphas(public, certificate=recipe.proved, epsilon=epsilon, delta=delta)
        return _checked(recipe, public, values, delta), None
    pure = public.draws / math.expm1(epsilon)
    values = theorem_44_alphas(public, epsilon=epsilon, delta=delta, highest=pure)
    given = np.where((values > 0) & (values <= pure), values, pure)
    found = deltas_at(public, exact_alphas(given), certificate=recipe.proved, epsilon=epsilon, delta=delta)
    useful = (values > 0) & (values <= pure) & (found <= delta)
    if not useful.all():
        rest = public.take(~useful)
        given[~useful] = certified_alphas(rest, certificate=recipe.proved, epsilon=epsilon, delta=delta)
    counted = {"theorem": int(useful.sum()), "exact": int((~useful).sum())}
    return _checked(recipe, public, given, delta), counted


def _checked(
    recipe: "CommuteRecipe", public: Destinations, values: npt.NDArray[np.float64], delta: float
) -> list[Fraction]:
    alphas = exact_alphas(values)
    if recipe.certificate == "pure":
        return alphas
    found = deltas_at(public, alphas, certificate=recipe.proved, epsilon=recipe.epsilon, delta=delta)
    for row in np.flatnonzero(found > delta):  # rounding up crossed a jump: theorem 4.1 always holds
        alphas[row] = exact_alphas(
            np.array([pure_alpha(draws=int(public.draws[row]), epsilon=recipe.epsilon) * (1 + 1e-9)])
        )[0]
    return alphas


def _reads(recipe: "CommuteRecipe", public: Destinations) -> str:
    drawn = int(public.draws.sum())
    if recipe.method != "dirichlet":
        return f"origins of the workers of {len(public):,} destinations, by the baseline {recipe.method}"
    words = [f"origins of the workers of {len(public):,} destinations, {drawn:,} synthetic ones drawn"]
    if recipe.shrink:
        words.append("domain shrunk at random (algorithm 2)")
    if recipe.reject:
        words.append("outputs outside gamma-Good drawn again")
    return "; ".join(words)


def _assumptions(recipe: "CommuteRecipe", given: CommuteInput) -> tuple[str, ...]:
    said = [
        "the number of workers of every destination, and who works there, is public",
        "the number of synthetic workers of every destination is public",
        "the list of possible origins is public",
    ]
    if given.places is not None and recipe.uses_distance:
        said.append("the coordinates of places are public")
    if recipe.rings is not None:
        said.append(f"the distance rings are public ({recipe.rings.source})")
    if given.regions is not None:
        said.append(f"the partition of origins and its density are public ({given.regions.source})")
    return tuple(said)


def _paper(recipe: "CommuteRecipe", event: Event, theorem: dict[str, int] | None) -> dict[str, Any] | None:
    if not isinstance(event, OriginDraws):
        return None
    if recipe.proved is Certificate.EXACT:
        return {"statement": "Computed exactly from the Dirichlet-multinomial law, not by theorem 4.4 of the paper."}
    promise = event.probabilistic()
    if promise is None:
        return None
    chosen = (
        f" Theorem 4.4 of the paper chose the virtual counts of {theorem['theorem']:,} destinations, the exact tails "
        f"those of {theorem['exact']:,}."
        if theorem
        else ""
    )
    return {
        "statement": (
            f"What was proved is (epsilon = {at_most(promise.epsilon)}, delta = {at_most(promise.delta)})-"
            "probabilistic differential privacy, from exact tails; the differential privacy stated here follows "
            "from it." + chosen
        ),
        "probabilistic": promise.to_dict(),
        "epsilon_before_shrinking_and_rejection": recipe.epsilon,
    }


def commute_codebook(flows: Flows, *, names: tuple[str, str]) -> Codebook:
    """The public description of the synthetic table: one row per synthetic worker."""
    origin, destination = names
    levels = tuple(flows.origins.to_pylist())
    # a column of one level cannot be declared, and a table with one destination is still a table
    only = "(none)" if len(flows.destinations) == 1 else None
    return Codebook(
        title="Synthetic commutes",
        description="One row per synthetic worker. Destinations and their totals are public; origins are synthetic.",
        columns=(
            Categorical(name=origin, levels=levels, description="Where the synthetic worker lives."),
            Categorical(
                name=destination, levels=flows.destinations, missing=only, description="Where the worker works; public."
            ),
        ),
    )


def _content(recipe: "CommuteRecipe", given: CommuteInput) -> str:
    """The digest of public tables that the parameters only name: another one is another choice."""
    places, regions = given.places, given.regions
    parts: list[Any] = [sorted((recipe.sizes or {}).items())]
    if places is not None:
        parts += [places.names, *(None if a is None else a.tolist() for a in (places.latitudes, places.longitudes))]
    if regions is not None:
        parts += [regions.names, regions.of.tolist(), regions.density.tolist()]
    return hashlib.sha256(repr(parts).encode()).hexdigest()
