"""The plan of a commuting release: classes of origins, virtual counts and price, from public facts alone.

A plan reads destination totals, places, rings and regions, and no origin. So a quote costs nothing, and the price of
a release is known before the first draw.
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
from understudy.commute.hierarchy import Hierarchy, build_hierarchy
from understudy.commute.places import CommuteInput, Places, Regions
from understudy.errors import DataError, ParameterError
from understudy.mechanisms.flow_measurements import flow_event
from understudy.mechanisms.origin_baselines import baseline_event
from understudy.mechanisms.origin_domain import EARTH_MILES, Index, OriginDomain, count_classes, everywhere
from understudy.mechanisms.origin_draws import (
    KEEP_ALL,
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
from understudy.privacy.provenance import DECLARED, InputRole
from understudy.privacy.quote import Quote
from understudy.privacy.spelling import at_most
from understudy.release.making import choices_of
from understudy.sources.flows import Flows

if TYPE_CHECKING:
    from understudy.commute.recipe import CommuteRecipe

THEOREM = "theorem-4.4"
Integers = npt.NDArray[np.int64]

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
    hierarchy: Hierarchy | None = None
    """What is measured, for the method levels."""

    @property
    def rows(self) -> int:
        """Synthetic workers that will be drawn."""
        return self.quote.rows

    @cached_property
    def book(self) -> Codebook:
        """The public description of the synthetic table: one row per synthetic worker."""
        flows, (origin, destination) = self.given.flows, self.given.names
        levels = tuple(flows.origins.to_pylist())
        work = "Where the worker works; public."
        return Codebook(
            title="Synthetic commutes",
            description="One row per synthetic worker. Destinations and their totals are public; origins are "
            "synthetic.",
            columns=(
                Categorical(name=origin, levels=levels, description="Where the synthetic worker lives."),
                Categorical(name=destination, levels=flows.destinations, description=work),
            ),
        )

    @property
    def choices(self) -> str:
        """The digest of what was chosen; another public table is another choice, also where it is only named."""
        places, regions = self.given.places, self.given.regions
        tables: list[Any] = [sorted((self.recipe.sizes or {}).items())]
        if places is not None:
            tables.append(places.names)
            tables += [None if a is None else a.tolist() for a in (places.latitudes, places.longitudes)]
            tables += [(level.name, level.codes, level.of.tolist()) for level in places.levels if self.hierarchy]
            tables += sorted(self.given.flows.groups.items())
        if regions is not None:
            tables += [regions.names, regions.of.tolist(), regions.density.tolist()]
        digest = hashlib.sha256(repr(tables).encode()).hexdigest()
        return choices_of(self.quote, {**self.recipe.parameters(), "tables": digest}, self.book.digest)


def lay_out(recipe: "CommuteRecipe", given: CommuteInput, *, secure: bool) -> Plan:
    """The plan of ``recipe`` for one table."""
    flows = given.flows
    hierarchy = None
    if recipe.method == "levels":
        if given.regions is not None:
            raise ParameterError("`regions` belongs to the method dirichlet; the method levels takes `levels` instead.")
        hierarchy = build_hierarchy(given)
    elif flows.groups:
        raise ParameterError(
            f"`characteristics` are released by the method levels, not by {recipe.method!r}. Leave them out."
        )
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
    elif hierarchy is not None:
        assert recipe.delta is not None
        event = flow_event(epsilon=recipe.epsilon, delta=recipe.delta)
        hierarchy.units(event)  # refused before anything is paid
    else:
        assert recipe.method is not None
        event = baseline_event(recipe.method, epsilon=recipe.epsilon, delta=recipe.delta, keep=recipe.subsample)
    entries = [_entry(recipe, given, public, event, hierarchy), *stream_entries(secure)]
    if flows.origins_from_data:
        entries.insert(0, Entry.unpriced(stage="origins", reads="which origins exist", why=_DRAFTED))
    quote = Quote(
        method=f"commute-{recipe.method}",
        route="S" if recipe.method == "dirichlet" else "N",
        own=Ledger.of(entries),
        rows=int(public.draws.sum()),
        own_delta=recipe.delta,
        paper=_paper(recipe, event, theorem),
        warnings=_warnings(recipe, flows, public, theorem),
    )
    tables = {
        InputRole.PLACES: given.places,
        InputRole.ORIGINS: given.origins,
        InputRole.REGIONS: given.regions,
        InputRole.RINGS: recipe.rings,
        InputRole.SIZES: recipe.sizes,
    }
    inputs = {role: getattr(table, "provenance", DECLARED) for role, table in tables.items() if table is not None}
    return Plan(
        recipe=recipe,
        given=given,
        domain=domain,
        public=public,
        alphas=alphas,
        event=event,
        quote=quote.with_public(inputs).with_data(flows.provenance),
        hierarchy=hierarchy,
    )


def class_edges(recipe: "CommuteRecipe") -> tuple[list[float], list[bool]]:
    """Outer edges of the distance classes in miles, and which of them are one merged cell.

    >>> from understudy.commute import CommuteRecipe, ctpp_minnesota
    >>> class_edges(CommuteRecipe(epsilon=4.6, delta=1e-5, certificate="exact", rings=ctpp_minnesota(), cutoff=15.0))
    ([6.23, 13.1, 15.0, inf], [False, False, False, True])
    """
    cutoff = math.inf if recipe.cutoff is None else recipe.cutoff
    split = math.inf if recipe.split is None else recipe.split
    rings = () if recipe.rings is None else recipe.rings.miles
    edges = sorted({edge for edge in (*rings, split, cutoff) if edge <= cutoff} | {math.inf})
    return edges, [start >= min(split, cutoff) for start in (0.0, *edges[:-1])]


def build_domain(recipe: "CommuteRecipe", flows: Flows, places: Places | None, regions: Regions | None) -> OriginDomain:
    """The origins of a table in distance classes around every destination."""
    units = len(flows.origins) if regions is None else len(regions.names)
    if units < 2:
        raise DataError(
            f"the domain has {units} origin; with fewer than two there is nothing to protect or to synthesize."
        )
    if not recipe.uses_distance:
        return everywhere(units, len(flows.destinations))
    if places is None or places.latitudes is None or places.longitudes is None:
        raise ParameterError(
            "rings, cut-off and split need coordinates; give `places` with the columns place, latitude and longitude."
        )
    edges, merged = class_edges(recipe)
    vectors = places.vectors[places.positions(tuple(flows.origins.to_pylist()), "origin")]
    if regions is not None:
        vectors = _centres(vectors, regions)
    where = places.positions(flows.destinations, "destination")
    latitudes = np.degrees(np.arcsin(np.clip(vectors[:, 2], -1, 1)))
    longitudes = np.degrees(np.arctan2(vectors[:, 1], vectors[:, 0]))
    index = Index.build(latitudes, longitudes)
    domain = OriginDomain(
        units=units,
        vectors=np.ascontiguousarray(vectors),
        destinations=np.ascontiguousarray(places.vectors[where]),
        places=np.column_stack([places.latitudes[where], places.longitudes[where]]),
        edges=np.array(edges) / EARTH_MILES,
        merged=np.array(merged),
        members=np.zeros((len(where), len(edges)), dtype=np.int64),
        index=index,
    )
    count_classes(
        domain.destinations,
        domain.places,
        domain.vectors,
        domain.edges,
        domain.cosines,
        *index.arrays(),
        domain.members,
        0,
        len(where),
    )
    if recipe.cutoff is not None:
        # the cell beyond the cut-off always exists: whether anybody could live there is not for the data to say
        domain.members[:, -1] = np.maximum(domain.members[:, -1], 1)
    return domain


def _centres(vectors: npt.NDArray[np.float64], regions: Regions) -> npt.NDArray[np.float64]:
    """The middle of each region's origins, back on the sphere."""
    sums = np.stack(
        [np.bincount(regions.of, weights=vectors[:, axis], minlength=len(regions.names)) for axis in range(3)], axis=1
    )
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    if np.any(lengths < 1e-9):
        raise DataError("a region's origins lie on opposite sides of the globe; it has no middle. Split the region.")
    return np.asarray(sums / lengths)


def destination_facts(recipe: "CommuteRecipe", flows: Flows, domain: OriginDomain) -> Destinations:
    """Workers, output sizes and classes of every destination."""
    cells = domain.cells
    if len(lone := np.flatnonzero(cells.sum(axis=1) < 1)):
        raise DataError(
            f"no origin lies within reach of the destination {flows.destinations[lone[0]]!r}; raise the cut-off."
        )
    keeps = np.full(cells.shape, KEEP_ALL, dtype=np.int64)
    if recipe.shrink:
        assert recipe.rings is not None
        for kind, start in enumerate((0.0, *class_edges(recipe)[0][:-1])):
            ring = next(place for place, edge in enumerate(recipe.rings.miles) if start < edge)
            if not domain.merged[kind]:
                keeps[:, kind] = round(recipe.rings.keeps[ring] * KEEP_ALL)
    weights = np.ones(cells.shape, dtype=np.int64) if recipe.prior == "uniform" else _weights(recipe, cells)
    return Destinations(workers=flows.totals, draws=_sizes(recipe, flows), cells=cells, weights=weights, keeps=keeps)


def _sizes(recipe: "CommuteRecipe", flows: Flows) -> Integers:
    if recipe.sizes is None:
        return np.asarray(np.maximum(1, np.ceil(flows.totals * recipe.size)), dtype=np.int64)
    if strange := [name for name in recipe.sizes if name not in set(flows.destinations)]:
        raise DataError(
            f"the output sizes name the destination {strange[0]!r}, which has no workers in the table; there is "
            "nothing to draw from. Leave it out."
        )
    if missing := [name for name in flows.destinations if name not in recipe.sizes]:
        raise DataError(f"the output sizes miss the destination {missing[0]!r}; give one for each.")
    sizes = np.array([recipe.sizes[name] for name in flows.destinations], dtype=np.int64)
    if np.any(sizes < 1):
        raise DataError("an output size is below 1; every destination gets at least one synthetic worker.")
    return sizes


def _weights(recipe: "CommuteRecipe", cells: Integers) -> Integers:
    """Whole multiples of the smallest virtual count, by the share of commutes per possible origin."""
    assert recipe.rings is not None
    edges = class_edges(recipe)[0]
    starts = [0.0, *edges[:-1]]
    shares = np.zeros(len(edges))
    # a ring that a split or cut-off divides is divided by width
    for ring, (low, high) in enumerate(zip((0.0, *recipe.rings.miles), recipe.rings.miles, strict=False)):
        inside = [kind for kind, start in enumerate(starts) if low <= start < high]
        tops = [min(edges[kind], 2 * starts[kind] + 1.0) if math.isinf(edges[kind]) else edges[kind] for kind in inside]
        widths = np.array([top - starts[kind] for kind, top in zip(inside, tops, strict=True)])
        shares[inside] = recipe.rings.shares[ring] * widths / widths.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        dense = np.where(cells > 0, shares[None, :] / cells, np.nan)
    least = np.nanmin(np.where(dense > 0, dense, np.nan), axis=1, keepdims=True)
    ratio = np.where(np.isfinite(dense), np.rint(dense / least), 1.0)
    return np.clip(ratio, 1, recipe.prior_cap).astype(np.int64)


def _alphas(recipe: "CommuteRecipe", public: Destinations) -> tuple[list[Fraction], dict[str, int] | None]:
    """Virtual counts, checked at the rational numbers that are really used; and how many theorem 4.4 chose."""
    epsilon, delta = recipe.epsilon, recipe.delta or 0.5  # unused by the certificate pure
    certificate, theorem = recipe.proved, None
    if recipe.certificate == THEOREM:
        pure = public.draws / math.expm1(epsilon)
        values = theorem_44_alphas(public, epsilon=epsilon, delta=delta, highest=pure)
        chosen = np.where((values > 0) & (values <= pure), values, pure)
        deltas = deltas_at(public, exact_alphas(chosen), certificate=certificate, epsilon=epsilon, delta=delta)
        useful = (values > 0) & (values <= pure) & (deltas <= delta)
        if not useful.all():
            rest = public.take(~useful)
            chosen[~useful] = certified_alphas(rest, certificate=certificate, epsilon=epsilon, delta=delta)
        none = ~((values > 0) & (values <= pure))
        theorem = {"theorem": int(useful.sum()), "exact": int((~useful).sum()), "none": int(none.sum())}
    else:
        chosen = certified_alphas(public, certificate=certificate, epsilon=epsilon, delta=delta)
    alphas = exact_alphas(chosen)
    if certificate is not Certificate.PURE:
        deltas = deltas_at(public, alphas, certificate=certificate, epsilon=epsilon, delta=delta)
        for row in np.flatnonzero(deltas > delta):  # rounding up crossed a jump: theorem 4.1 always holds
            least = pure_alpha(draws=int(public.draws[row]), epsilon=epsilon) * (1 + 1e-9)
            alphas[row] = exact_alphas(np.array([least]))[0]
    return alphas, theorem


def _entry(
    recipe: "CommuteRecipe", given: CommuteInput, public: Destinations, event: Event, hierarchy: Hierarchy | None
) -> Entry:
    """What the draws read, and what must be public for their price to be true."""
    reads = f"origins of the workers of {len(public):,} destinations"
    if recipe.method == "dirichlet":
        reads += f", {int(public.draws.sum()):,} synthetic ones drawn"
        reads += "; domain shrunk at random (algorithm 2)" if recipe.shrink else ""
        reads += "; outputs outside gamma-Good drawn again" if recipe.reject else ""
    elif hierarchy is not None:
        reads += f", counted and measured on the levels {', '.join(hierarchy.names)}"
        reads += f"; characteristics {', '.join(hierarchy.groups)}" if hierarchy.groups else ""
    else:
        reads += f", by the baseline {recipe.method}"
    assumptions = [
        "the number of workers of every destination, and who works there, is public",
        "the number of synthetic workers of every destination is public",
        "the list of possible origins is public",
    ]
    if hierarchy is not None and hierarchy.levels:
        assumptions.append("which unit of each level every place lies in is public")
    if given.places is not None and recipe.uses_distance:
        assumptions.append("the coordinates of places are public")
    if recipe.rings is not None:
        assumptions.append(f"the distance rings are public ({recipe.rings.source})")
    if given.regions is not None:
        assumptions.append(f"the partition of origins and its density are public ({given.regions.source})")
    return Entry(stage="origins", reads=reads, event=event, assumptions=tuple(assumptions))


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
        notes.append(_why_not_the_theorem(recipe, len(public), theorem))
    return tuple(notes)


def _why_not_the_theorem(recipe: "CommuteRecipe", destinations: int, theorem: dict[str, int]) -> str:
    """What kept theorem 4.4 from choosing, cause by cause."""
    causes = []
    if none := theorem["none"]:
        causes.append(
            f"for {none:,} it certifies no virtual count below that of theorem 4.1 (never for a single worker)"
        )
    if failed := theorem["exact"] - theorem["none"]:
        why = (
            "because `shrink` leaves fewer virtual workers than it counts on (theorem 5.2 of the paper is false)"
            if recipe.shrink
            else "because the theorem is false there"
        )
        causes.append(f"for {failed:,} its virtual count fails the exact tails, {why}")
    return (
        f"theorem 4.4 chose the virtual counts of {theorem['theorem']:,} of {destinations:,} destinations only: "
        f"{'; '.join(causes)}. There the exact probabilistic certificate was used."
    )


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
