"""What the released tables of details cost, and their counting: the price of each, and the noise that it pays for.

Two released tables per detail column are paid for: how many records each coarse level has (noise on every count), and
how many each occupied pair of coarse level and code has (noise and a stability threshold). A measured number is a
detail of its bin whose codes, the pieces of all bins, are few and public: one released table, with noise on every
count, says how often each piece occurs.

Where the codes come from a pack the whole list is public, so that no threshold hides who is alone with a code: the
count of every code of every such column gets noise, and which codes to show is decided afterwards
(:mod:`understudy.blocks.code_estimates`). Rows are drawn from the tables in :mod:`understudy.synth.details`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from understudy.blocks.code_estimates import NoisyCounts, estimated, with_fallback
from understudy.codebook import Codebook, Coded, CodeLevel, Detail, Number
from understudy.errors import ParameterError
from understudy.mechanisms.discrete_laplace import count_sensitivity, scale_for
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, Meter, gaussian_measurements_event
from understudy.mechanisms.histogram import GeometricHistogram, noisy_histogram, noisy_histogram_entry
from understudy.mechanisms.laplace_tables import share_of
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.stability import stable_histogram, stable_histogram_entry
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.base import Source
from understudy.sources.tables import CountTable, code_type
from understudy.synth.details import Details, DetailTable

if TYPE_CHECKING:
    from understudy.synth.recipe import Recipe

_TOTAL_SHARE = 0.1
"""Share of the price for the counts of the coarse levels, which only say how much is left for ``other``."""
PARTS = 1 << 10
"""Weights of codes are kept as whole numbers: so many parts of a record."""
_WHY = "details are drawn from their exact counts, which nobody paid for"


@dataclass(frozen=True, kw_only=True)
class _Price:
    epsilon: float
    """Of each column."""
    delta: float
    """Of each detail column; 0 where codes of packs are counted without one."""
    neighbours: Neighbours


def _named(book: Codebook) -> str:
    groups = []
    if book.details:
        groups.append(f"detail columns ({', '.join(detail.name for detail in book.details)})")
    if book.measured:
        groups.append(f"measured numbers ({', '.join(number.name for number in book.measured)})")
    return " and ".join(groups)


def _price(recipe: "Recipe", book: Codebook) -> _Price:
    """The share of each detail column and measured number."""
    epsilon, delta = recipe.detail_epsilon, recipe.detail_delta
    listed = [detail for detail in book.details if not isinstance(detail, Coded)]
    if epsilon is None or (listed and delta is None):
        what = "`detail_epsilon` and `detail_delta` (for example 0.5 and 1e-7)"
        raise ParameterError(
            f"the codebook has {_named(book)}, whose tables are paid for beside the model; give "
            f"{what if listed else '`detail_epsilon` (for example 0.5)'}. There is no default for privacy."
        )
    if delta is not None and not book.details:
        raise ParameterError(
            "`detail_delta` pays for detail columns, and the codebook has none; measured numbers cost no delta. Leave "
            "it out."
        )
    relation = getattr(recipe, "neighbours", Neighbours.ADD_REMOVE)
    return _Price(
        epsilon=share_of(float(epsilon), len(book.details) + len(book.measured)),
        delta=0.0 if delta is None else share_of(delta, len(book.details)),
        neighbours=relation,
    )


def detail_entries(recipe: "Recipe", book: Codebook) -> list[Entry]:
    """What the details and the measured numbers cost; reads nothing but the codebook."""
    if not book.details and not book.measured:
        if recipe.detail_epsilon is not None or recipe.detail_delta is not None:
            raise ParameterError(
                "`detail_epsilon` and `detail_delta` pay for detail columns and measured numbers, and the codebook has "
                "none; leave them out."
            )
        return []
    if recipe.route == "none":
        return [Entry.unpriced(stage="details", reads=f"exact counts of {_named(book)}", why=_WHY)]
    price = _price(recipe, book)
    codes = [entry for detail in _listed(book) for entry in _entries(detail, book, price)]
    return [*codes, *_coded_entries(book, price), *(_piece_entry(number, price) for number in book.measured)]


def _listed(book: Codebook) -> list[Detail]:
    """Details whose codes the codebook lists itself."""
    return [detail for detail in book.details if not isinstance(detail, Coded)]


def _coded_event(book: Codebook, price: _Price) -> GaussianMeasurements:
    """One measurement of every code in every column of codes."""
    tables = len(book.coded)
    return gaussian_measurements_event(
        epsilon=price.epsilon * tables,
        delta=price.delta * tables,
        units=tables * count_sensitivity(price.neighbours),
        neighbours=price.neighbours,
    )


def code_noise(recipe: "Recipe", book: Codebook) -> float | None:
    """Deviation of the noise on the count of a code, in records; None without columns of codes, or without a price."""
    if not book.coded or recipe.route == "none":
        return None
    price = _price(recipe, book)
    if price.delta:
        return math.sqrt(_coded_event(book, price).variance)
    return math.sqrt(2) * float(scale_for(price.epsilon, count_sensitivity(price.neighbours)))


def _coded_entries(book: Codebook, price: _Price) -> list[Entry]:
    """The tables of all columns of codes: one line under Gaussian noise, or one for each without a delta."""
    if not book.coded:
        return []
    packs = {detail.codes.name: detail.codes for detail in book.coded}
    assumptions = tuple(
        f"the codes of the pack {pack.name} ({pack.title}), and which belongs to which, are public"
        for pack in packs.values()
    )
    if price.neighbours is Neighbours.REPLACE:
        assumptions = (*assumptions, "the number of records is public")
    if not price.delta:
        entries = [
            noisy_histogram_entry((d.name,), (d.size,), epsilon=price.epsilon, neighbours=price.neighbours)
            for d in book.coded
        ]
        return [replace(entry, stage="details", assumptions=assumptions) for entry in entries]
    names = ", ".join(f"{detail.name} ({len(detail.codes.codes):,})" for detail in book.coded)
    event = _coded_event(book, price)
    return [Entry(stage="details", reads=f"counts of all codes of {names}", event=event, assumptions=assumptions)]


def _piece_entry(number: Number, price: _Price) -> Entry:
    fine = number.fine
    entry = noisy_histogram_entry((fine.name,), (fine.size,), epsilon=price.epsilon, neighbours=price.neighbours)
    assumptions: tuple[str, ...] = (f"the bins of {number.name} and the pieces they are cut into are public",)
    if price.neighbours is Neighbours.REPLACE:
        assumptions = (*assumptions, "the number of records is public")
    reads = f"counts of {fine.proper_levels:,} pieces of {number.name} within its bins"
    return replace(entry, stage="details", reads=reads, assumptions=assumptions)


def _entries(detail: Detail, book: Codebook, price: _Price) -> list[Entry]:
    coarse = book.column(detail.detail_of)
    assumptions: tuple[str, ...] = (
        f"the levels of {coarse.name} and {detail.name}, and which code belongs to which, are public",
    )
    if price.neighbours is Neighbours.REPLACE:
        assumptions = (*assumptions, "the number of records is public")
    totals = noisy_histogram_entry(
        (coarse.name,), (coarse.size,), epsilon=_TOTAL_SHARE * price.epsilon, neighbours=price.neighbours
    )
    pairs = stable_histogram_entry(
        (coarse.name, detail.name),
        epsilon=(1 - _TOTAL_SHARE) * price.epsilon,
        delta=price.delta,
        neighbours=price.neighbours,
    )
    return [replace(entry, stage="details", assumptions=assumptions) for entry in (totals, pairs)]


def count_details(recipe: "Recipe", source: Source, stream: Stream) -> Details:
    """Count and perturb the tables of all detail columns and measured numbers."""
    book = source.codebook
    if not book.details and not book.measured:
        return Details()
    listed = _listed(book)
    cliques = [clique for d in listed for clique in ((d.detail_of,), (d.detail_of, d.name))]
    cliques += [(detail.name,) for detail in book.coded]
    counts = source.count([*cliques, *((number.fine.name,) for number in book.measured)])
    two, coded, pieces = counts[: 2 * len(listed)], counts[2 * len(listed) : len(cliques)], counts[len(cliques) :]
    if recipe.route == "none":
        exact, _ = exposed(counts, stage="details", reads="exact counts of details", why=_WHY)
        weights = [
            _written(book, d, table.to_grid() * PARTS) for d, table in zip(book.coded, exact[len(two) :], strict=False)
        ]
        return _gathered(book, exact[: len(two)], weights, exact[len(cliques) :])
    price = _price(recipe, book)
    relation: dict[str, Any] = {"neighbours": price.neighbours, "stream": stream}
    perturbed: list[CountTable] = []
    for totals, pairs in zip(two[::2], two[1::2], strict=True):
        perturbed.append(noisy_histogram(totals, epsilon=_TOTAL_SHARE * price.epsilon, **relation)[0])
        epsilon = (1 - _TOTAL_SHARE) * price.epsilon
        perturbed.append(stable_histogram(pairs, epsilon=epsilon, delta=price.delta, **relation)[0])
    noisy = _noisy_codes(book, coded, price, stream)
    noisy_pieces = [noisy_histogram(table, epsilon=price.epsilon, **relation)[0] for table in pieces]
    coded_tables = code_tables([(book, detail) for detail in book.coded], noisy)
    return _gathered(book, perturbed, coded_tables, noisy_pieces)


def _gathered(
    book: Codebook, listed: Sequence[CountTable], coded: Sequence[DetailTable], pieces: Sequence[CountTable]
) -> Details:
    """The tables in the order of the codebook."""
    pairs, own = iter(zip(listed[::2], listed[1::2], strict=True)), iter(coded)
    codes = []
    for detail in book.details:
        if isinstance(detail, Coded):
            codes.append(next(own))
        else:
            totals, counted = next(pairs)
            codes.append(DetailTable(totals=totals, pairs=counted))
    return Details(codes=tuple(codes), pieces=tuple(pieces))


def _noisy_codes(
    book: Codebook, counts: Sequence[Secret[CountTable]], price: _Price, stream: Stream
) -> list[NoisyCounts]:
    """The count of every code of every column of codes, with noise on each."""
    if not counts:
        return []
    if price.delta:
        meter = Meter(_coded_event(book, price), stream)
        return [NoisyCounts(values=meter.table(table, copies=1), variance=meter.variance(1)) for table in counts]
    noisy = []
    for table in counts:
        counted, entry = noisy_histogram(table, epsilon=price.epsilon, neighbours=price.neighbours, stream=stream)
        assert isinstance(entry.event, GeometricHistogram)
        variance = 2 * float(entry.event.scale) ** 2
        noisy.append(NoisyCounts(values=counted.to_grid().astype(np.float64), variance=variance, is_laplace=True))
    return noisy


def code_tables(columns: Sequence[tuple[Codebook, Coded]], noisy: Sequence[NoisyCounts]) -> list[DetailTable]:
    """Weights of codes and of the parents that they fall back to; post-processing.

    Columns of one list help each other, whichever codebooks they stand in.
    """
    tables = []
    for place, (book, detail) in enumerate(columns):
        shared = [
            replace(counts, values=counts.values[other.is_code])
            for number, ((_, other), counts) in enumerate(zip(columns, noisy, strict=True))
            if number != place and other.codes == detail.codes
        ]
        proper = np.flatnonzero(detail.is_code)
        own = replace(noisy[place], values=noisy[place].values[proper])
        nodes = {name: detail.place_of[name] for name in detail.codes.nodes}
        chains = [
            list(dict.fromkeys([int(code), *(nodes[parent] for parent in reversed(detail.chains[code]))]))
            for code in proper
        ]
        weights = with_fallback(estimated(own, shared), chains, size=detail.size)
        tables.append(_written(book, detail, np.rint(weights * PARTS).astype(np.int64)))
    return tables


def _written(book: Codebook, detail: Coded, weights: npt.NDArray[np.int64]) -> DetailTable:
    """Weights of codes and parents as the tables that rows are drawn from; a level without any is all its parent."""
    coarse = book.column(detail.detail_of)
    level = coarse.of_code if isinstance(coarse, CodeLevel) else np.zeros(detail.size, dtype=np.int64)
    weights = weights.copy()
    weights[detail.code_of[str(detail.other)]] = 0  # the level of codes that the pack lacks has no other code
    if detail.missing_code is not None:
        weights[detail.missing_code] = 1
    for name, chain in detail.codes.nodes.items():
        node = detail.place_of[name]
        if len(chain) == 1 and not weights[level == level[node]].any():
            weights[node] = 1
    codes = np.flatnonzero(weights)
    cells = np.stack([level[codes], codes], axis=1)
    totals = np.bincount(level[codes], weights[codes], coarse.size).astype(np.int64)
    sizes = (coarse.size, detail.size)
    return DetailTable(
        totals=CountTable.dense((coarse.name,), totals),
        pairs=CountTable.sparse((coarse.name, detail.name), sizes, cells.astype(code_type(max(sizes))), weights[codes]),
    )
