"""From places, rings and regions to the classes of origins around each destination. Public facts only."""

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from understudy.commute.places import Places
from understudy.commute.regions import Regions
from understudy.errors import DataError, ParameterError
from understudy.mechanisms.origin_domain import EARTH_MILES, Index, OriginDomain, count_classes, everywhere
from understudy.mechanisms.origin_draws import KEEP_ALL, Destinations
from understudy.sources.flows import Flows

if TYPE_CHECKING:
    from understudy.commute.recipe import CommuteRecipe

Integers = npt.NDArray[np.int64]


def class_edges(recipe: "CommuteRecipe") -> tuple[list[float], list[bool]]:
    """Outer edges of the distance classes in miles, and which of them are one merged cell.

    >>> from understudy.commute import CommuteRecipe, ctpp_minnesota
    >>> class_edges(CommuteRecipe(epsilon=4.6, delta=1e-5, certificate="exact", rings=ctpp_minnesota(), cutoff=15.0))
    ([6.23, 13.1, 15.0, inf], [False, False, False, True])
    """
    edges = {math.inf}
    if recipe.rings is not None:
        edges |= set(recipe.rings.miles)
    for edge in (recipe.split, recipe.cutoff):
        if edge is not None:
            edges.add(edge)
    if recipe.cutoff is not None:
        edges = {edge for edge in edges if edge <= recipe.cutoff} | {math.inf}
    ascending = sorted(edges)
    starts = [0.0, *ascending[:-1]]
    merged = [
        (recipe.split is not None and start >= recipe.split) or (recipe.cutoff is not None and start >= recipe.cutoff)
        for start in starts
    ]
    return ascending, merged


def hidden_class(recipe: "CommuteRecipe") -> int | None:
    """The class beyond the cut-off, whose workers are left out of the file."""
    return None if recipe.cutoff is None else len(class_edges(recipe)[0]) - 1


def build_domain(recipe: "CommuteRecipe", flows: Flows, places: Places | None, regions: Regions | None) -> OriginDomain:
    """The origins of a table in distance classes around every destination."""
    units = len(flows.origins) if regions is None else len(regions.names)
    if units < 2:
        raise DataError(
            f"the domain has {units} origin; with fewer than two there is nothing to protect or to synthesize."
        )
    if not recipe.uses_distance:
        return everywhere(units, len(flows.destinations))
    if places is None or not places.has_coordinates:
        raise ParameterError(
            "rings, cut-off and split need coordinates; give --places with the columns place, latitude and longitude."
        )
    edges, merged = class_edges(recipe)
    vectors = places.vectors[places.positions(tuple(flows.origins.to_pylist()), "origin")]
    if regions is not None:
        vectors = _centres(vectors, regions)
    where = places.positions(flows.destinations, "destination")
    assert places.latitudes is not None and places.longitudes is not None
    spots = np.column_stack([places.latitudes[where], places.longitudes[where]])
    latitudes = np.degrees(np.arcsin(np.clip(vectors[:, 2], -1, 1)))
    longitudes = np.degrees(np.arctan2(vectors[:, 1], vectors[:, 0]))
    index = Index.build(latitudes, longitudes)
    domain = OriginDomain(
        units=units,
        vectors=np.ascontiguousarray(vectors),
        destinations=np.ascontiguousarray(places.vectors[where]),
        places=spots,
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
        starts = [0.0, *class_edges(recipe)[0][:-1]]
        for kind, start in enumerate(starts):
            ring = next(place for place, edge in enumerate(recipe.rings.miles) if start < edge)
            if not domain.merged[kind]:
                keeps[:, kind] = round(recipe.rings.keeps[ring] * KEEP_ALL)
    return Destinations(
        workers=flows.totals,
        draws=_sizes(recipe, flows),
        cells=cells,
        weights=_weights(recipe, domain),
        keeps=keeps,
    )


def _sizes(recipe: "CommuteRecipe", flows: Flows) -> Integers:
    if recipe.sizes is None:
        return np.asarray(np.maximum(1, np.ceil(flows.totals * recipe.size)), dtype=np.int64)
    strange = [name for name in recipe.sizes if name not in set(flows.destinations)]
    if strange:
        raise DataError(
            f"the output sizes name the destination {strange[0]!r}, which has no workers in the table; there is "
            "nothing to "
            "draw from. Leave it out."
        )
    missing = [name for name in flows.destinations if name not in recipe.sizes]
    if missing:
        raise DataError(f"the output sizes miss the destination {missing[0]!r}; give one for each.")
    found = np.array([recipe.sizes[name] for name in flows.destinations], dtype=np.int64)
    if np.any(found < 1):
        raise DataError("an output size is below 1; every destination gets at least one synthetic worker.")
    return found


def _weights(recipe: "CommuteRecipe", domain: OriginDomain) -> Integers:
    """Whole multiples of the smallest virtual count: 1, or by the share of commutes per possible origin."""
    cells = domain.cells
    if recipe.prior != "distance":
        return np.ones(cells.shape, dtype=np.int64)
    assert recipe.rings is not None
    edges = class_edges(recipe)[0]
    shares = _shares(recipe, edges)
    with np.errstate(divide="ignore", invalid="ignore"):
        dense = np.where(cells > 0, shares[None, :] / cells, np.nan)
    least = np.nanmin(np.where(dense > 0, dense, np.nan), axis=1, keepdims=True)
    ratio = np.where(np.isfinite(dense), np.rint(dense / least), 1.0)
    return np.clip(ratio, 1, recipe.prior_cap).astype(np.int64)


def _shares(recipe: "CommuteRecipe", edges: list[float]) -> npt.NDArray[np.float64]:
    """Share of commutes in each class; a ring that a split or cut-off divides is divided by width."""
    assert recipe.rings is not None
    out = np.zeros(len(edges))
    starts = [0.0, *edges[:-1]]
    for ring, (low, high) in enumerate(zip((0.0, *recipe.rings.miles), recipe.rings.miles, strict=False)):
        inside = [kind for kind, start in enumerate(starts) if low <= start < high]
        tops = [min(edges[kind], 2 * starts[kind] + 1.0) if math.isinf(edges[kind]) else edges[kind] for kind in inside]
        widths = np.array([top - starts[kind] for kind, top in zip(inside, tops, strict=True)])
        out[inside] = recipe.rings.shares[ring] * widths / widths.sum()
    return out
