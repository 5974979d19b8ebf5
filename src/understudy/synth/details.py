"""Columns that are drawn after the model: detailed codes given their coarse level, and numbers inside their bins.

Two released tables per detail column are paid for: how many records each coarse level has (noise on every count), and
how many each occupied pair of coarse level and code has (noise and a stability threshold). Codes below the threshold
are not shown; what their level has left over goes to the declared ``other``. A measured number is a detail of its bin
whose codes, the pieces of all bins, are few and public: one released table, with noise on every count, says how often
each piece occurs. Rows drawn from these tables are post-processing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.blocks.densities import inside_bins
from understudy.codebook import Codebook, Detail, Number
from understudy.codebook.decode import Shapes, decode_table
from understudy.errors import ParameterError
from understudy.mechanisms.histogram import noisy_histogram, noisy_histogram_entry
from understudy.mechanisms.laplace_tables import share_of
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.stability import stable_histogram, stable_histogram_entry
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.sources.base import Source
from understudy.sources.tables import CountTable, code_type

if TYPE_CHECKING:
    from understudy.synth.recipe import Recipe

Codes = npt.NDArray[np.unsignedinteger]
_TOTAL_SHARE = 0.1
"""Share of the price for the counts of the coarse levels, which only say how much is left for ``other``."""
_WHY = "details are drawn from their exact counts, which nobody paid for"


@dataclass(frozen=True, kw_only=True, eq=False)
class DetailTable:
    """The released counts of one detail column."""

    totals: CountTable
    """Records of each coarse level."""
    pairs: CountTable
    """Records of each coarse level and code, as far as they are shown."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Details:
    """Released tables of all that is drawn after the model."""

    codes: tuple[DetailTable, ...] = ()
    """One of each detail column, in codebook order."""
    pieces: tuple[CountTable, ...] = ()
    """One of each measured number, and of smooth ones that the method measured: records of each piece of its bins."""

    def __bool__(self) -> bool:
        return bool(self.codes or self.pieces)

    def tables(self) -> list[CountTable]:
        """All of them: two for each detail column, then one for each measured number."""
        return [*(table for pair in self.codes for table in (pair.totals, pair.pairs)), *self.pieces]

    @classmethod
    def of(cls, tables: Sequence[CountTable], *, codes: int) -> "Details":
        """From such a list."""
        pairs = zip(tables[: 2 * codes : 2], tables[1 : 2 * codes : 2], strict=True)
        return cls(codes=tuple(DetailTable(totals=a, pairs=b) for a, b in pairs), pieces=tuple(tables[2 * codes :]))

    def shapes(self, book: Codebook) -> Shapes:
        """Weights of the pieces of the numbers that were measured."""
        tables = {table.columns: table.to_grid() for table in self.pieces}
        return {
            number.name: np.maximum(tables[number.fine.name,][: number.fine.proper_levels], 0)
            for number in (*book.measured, *book.smooth)
            if (number.fine.name,) in tables
        }


@dataclass(frozen=True, kw_only=True)
class _Price:
    epsilon: float
    """Of each column."""
    delta: float
    """Of each detail column."""
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
    if epsilon is None or (book.details and delta is None):
        what = "`detail_epsilon` and `detail_delta` (for example 0.5 and 1e-7)"
        raise ParameterError(
            f"the codebook has {_named(book)}, whose tables are paid for beside the model; give "
            f"{what if book.details else '`detail_epsilon` (for example 0.5)'}. There is no default for privacy."
        )
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < float("inf"):
        raise ParameterError(f"`detail_epsilon` is {epsilon!r}; it must be a finite number above 0. Try 0.5.")
    if delta is not None and (isinstance(delta, bool) or not isinstance(delta, float) or not 0 < delta < 1):
        raise ParameterError(f"`detail_delta` is {delta!r}; it must lie strictly between 0 and 1. Try 1e-7.")
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
    codes = [entry for detail in book.details for entry in _entries(detail, book, price)]
    return [*codes, *(_piece_entry(number, price) for number in book.measured)]


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


def detail_cliques(book: Codebook) -> list[tuple[str, ...]]:
    """The columns of each table: two tables for each detail column, then one for each measured number."""
    codes = [clique for d in book.details for clique in ((d.detail_of,), (d.detail_of, d.name))]
    return [*codes, *((number.fine.name,) for number in book.measured)]


def count_details(recipe: "Recipe", source: Source, stream: Stream) -> Details:
    """Count and perturb the tables of all detail columns and measured numbers."""
    book = source.codebook
    cliques = detail_cliques(book)
    if not cliques:
        return Details()
    counts = source.count(cliques)
    if recipe.route == "none":
        exact, _ = exposed(counts, stage="details", reads="exact counts of details", why=_WHY)
        return Details.of(exact, codes=len(book.details))
    price = _price(recipe, book)
    perturbed: list[CountTable] = []
    for number in range(len(book.details)):
        totals, _ = noisy_histogram(
            counts[2 * number], epsilon=_TOTAL_SHARE * price.epsilon, neighbours=price.neighbours, stream=stream
        )
        pairs, _ = stable_histogram(
            counts[2 * number + 1],
            epsilon=(1 - _TOTAL_SHARE) * price.epsilon,
            delta=price.delta,
            neighbours=price.neighbours,
            stream=stream,
        )
        perturbed += [totals, pairs]
    for table in counts[2 * len(book.details) :]:
        pieces, _ = noisy_histogram(table, epsilon=price.epsilon, neighbours=price.neighbours, stream=stream)
        perturbed.append(pieces)
    return Details.of(perturbed, codes=len(book.details))


def decode_drawn(
    book: Codebook,
    details: Details,
    codes: Sequence[Codes],
    stream: Stream,
    *,
    packed: bool = False,
    people: Sequence[int] = (),
    only: Mapping[str, Sequence[int]] | None = None,
) -> pa.Table:
    """Rows as they are released: details drawn (of some ``only`` these codes), numbers inside their bins, ids by
    the weights of ``people``.
    """
    drawn = draw_details(book, details.codes, codes, stream, only)
    shapes = smooth_shapes(book, codes, known=details.shapes(book))
    return decode_table(book, codes, stream.below_each, drawn, shapes=shapes, packed=packed, people=people)


def smooth_shapes(book: Codebook, codes: Sequence[Codes], *, known: Shapes) -> Shapes:
    """What is known, and for every other smooth number what the bins of the rows say: they are shown anyway."""
    shapes = dict(known)
    for number in book.smooth:
        if number.name not in shapes:
            rows = np.bincount(codes[book.position(number.name)], minlength=number.size)
            shapes[number.name] = inside_bins(number, rows[: number.proper_levels].astype(np.float64))
    return shapes


def draw_details(
    book: Codebook,
    tables: Sequence[DetailTable],
    codes: Sequence[Codes],
    stream: Stream,
    only: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, Codes]:
    """Codes of every detail column for rows whose modelled columns hold ``codes``; of some columns ``only`` these."""
    return {
        detail.name: _draw(
            detail_weights(book, detail, table, None if only is None else only.get(detail.name)),
            codes[book.position(detail.detail_of)],
            book.column(detail.detail_of).size,
            code_type(detail.size),
            stream,
        )
        for detail, table in zip(book.details, tables, strict=True)
    }


Weights = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Coarse level, code, and weight of every pair that may be drawn, in the order of the levels."""


def detail_weights(book: Codebook, detail: Detail, table: DetailTable, only: Sequence[int] | None = None) -> Weights:
    """Shown counts, what is left of a level's own count going to ``other``; of the pairs of other codes none."""
    levels = book.column(detail.detail_of).size
    level, code, count = _shown(book, detail, table.pairs)
    left = np.maximum(table.totals.to_grid() - np.bincount(level, count, levels).astype(np.int64), 0)
    shown = np.bincount(level, minlength=levels) > 0
    left[~shown & (left == 0)] = 1  # nothing is known about the level: it is all other
    level = np.concatenate([level, np.arange(levels)])
    code = np.concatenate([code, np.full(levels, detail.code_of[str(detail.other)])])
    count = np.concatenate([count, left])
    if only is not None:
        kept = np.isin(code, list(only))
        level, code, count = level[kept], code[kept], count[kept]
    order = np.argsort(level, kind="stable")
    return level[order], code[order], count[order]


def _draw(weights: Weights, coarse: Codes, levels: int, kind: type, stream: Stream) -> Codes:
    """Exact draws in proportion to the weights of each row's level."""
    level, code, count = weights
    reach = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(count, dtype=np.uint64)])
    starts = reach[np.searchsorted(level, np.arange(levels), side="left")]
    ends = reach[np.searchsorted(level, np.arange(levels), side="right")]
    picks = starts[coarse] + stream.below_each((ends - starts)[coarse])
    return code[np.searchsorted(reach[1:], picks, side="right")].astype(kind)


def _shown(
    book: Codebook, detail: Detail, pairs: CountTable
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The shown pairs whose code belongs to their level; a missing detail belongs to every level."""
    codes, counts = pairs.occupied()
    level, code = codes[:, 0].astype(np.int64), codes[:, 1].astype(np.int64)
    place = {label: number for number, label in enumerate(book.column(detail.detail_of).labels)}
    parent = np.array([place[group] for group, members in detail.groups for _ in members], dtype=np.int64)
    inside = np.zeros(len(code), dtype=bool)
    proper = code < len(parent)
    inside[proper] = parent[code[proper]] == level[proper]
    if detail.missing_code is not None:
        inside |= code == detail.missing_code
    kept = inside & (counts > 0)
    return level[kept], code[kept], counts[kept].astype(np.int64)
