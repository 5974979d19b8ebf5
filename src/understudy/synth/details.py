"""Detailed codes: after a row is drawn, its detail is drawn given the coarse level, from a table of its own.

Two released tables per detail column are paid for: how many records each coarse level has (noise on every count), and
how many each occupied pair of coarse level and code has (noise and a stability threshold). Codes below the threshold
are not shown; what their level has left over goes to the declared ``other``. Rows drawn from these tables are
post-processing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Detail
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

__all__ = ["DetailTable", "count_details", "detail_entries", "draw_details"]

Codes = npt.NDArray[np.unsignedinteger]
_TOTAL_SHARE = 0.1
"""Share of the price for the counts of the coarse levels, which only say how much is left for ``other``."""
_WHY = "details are drawn from their exact counts, which nobody paid for"


@dataclass(frozen=True, kw_only=True, eq=False)
class DetailTable:
    """What is known about one detail column."""

    totals: CountTable
    """Records of each coarse level."""
    pairs: CountTable
    """Records of each coarse level and code, as far as they are shown."""


@dataclass(frozen=True, kw_only=True)
class _Price:
    epsilon: float
    delta: float
    neighbours: Neighbours


def _price(recipe: "Recipe", book: Codebook) -> _Price:
    """The share of each detail column."""
    epsilon, delta = recipe.detail_epsilon, recipe.detail_delta
    names = ", ".join(detail.name for detail in book.details)
    if epsilon is None or delta is None:
        raise ParameterError(
            f"the codebook has detail columns ({names}), whose tables are paid for beside the model; give "
            "`detail_epsilon` and `detail_delta` (for example 0.5 and 1e-7). There is no default for privacy."
        )
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < float("inf"):
        raise ParameterError(f"`detail_epsilon` is {epsilon!r}; it must be a finite number above 0. Try 0.5.")
    if isinstance(delta, bool) or not isinstance(delta, float) or not 0 < delta < 1:
        raise ParameterError(f"`detail_delta` is {delta!r}; it must lie strictly between 0 and 1. Try 1e-7.")
    number = len(book.details)
    relation = getattr(recipe, "neighbours", Neighbours.ADD_REMOVE)
    return _Price(epsilon=share_of(float(epsilon), number), delta=share_of(delta, number), neighbours=relation)


def detail_entries(recipe: "Recipe", book: Codebook) -> list[Entry]:
    """What the details cost; reads nothing but the codebook."""
    if not book.details:
        if recipe.detail_epsilon is not None or recipe.detail_delta is not None:
            raise ParameterError(
                "`detail_epsilon` and `detail_delta` pay for detail columns, and the codebook has none; leave them out."
            )
        return []
    if recipe.route == "none":
        names = ", ".join(detail.name for detail in book.details)
        return [Entry.unpriced(stage="details", reads=f"exact counts of {names}", why=_WHY)]
    price = _price(recipe, book)
    return [entry for detail in book.details for entry in _entries(detail, book, price)]


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


def count_details(recipe: "Recipe", source: Source, stream: Stream) -> tuple[DetailTable, ...]:
    """Count and perturb the tables of all detail columns."""
    book = source.codebook
    if not book.details:
        return ()
    cliques = [clique for d in book.details for clique in ((d.detail_of,), (d.detail_of, d.name))]
    counts = source.count(cliques)
    if recipe.route == "none":
        exact, _ = exposed(counts, stage="details", reads="exact counts of details", why=_WHY)
        return tuple(DetailTable(totals=exact[i], pairs=exact[i + 1]) for i in range(0, len(exact), 2))
    price = _price(recipe, book)
    found = []
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
        found.append(DetailTable(totals=totals, pairs=pairs))
    return tuple(found)


def draw_details(
    book: Codebook, tables: Sequence[DetailTable], codes: Sequence[Codes], stream: Stream
) -> dict[str, Codes]:
    """Codes of every detail column for rows whose modelled columns hold ``codes``."""
    return {
        detail.name: _draw(book, detail, table, codes[book.position(detail.detail_of)], stream)
        for detail, table in zip(book.details, tables, strict=True)
    }


def _draw(book: Codebook, detail: Detail, table: DetailTable, coarse: Codes, stream: Stream) -> Codes:
    """Exact draws in proportion to the shown counts, what is left of the level's own count going to ``other``."""
    levels = book.column(detail.detail_of).size
    level, code, count = _shown(book, detail, table.pairs)
    left = np.maximum(table.totals.to_grid() - np.bincount(level, count, levels).astype(np.int64), 0)
    shown = np.bincount(level, minlength=levels) > 0
    left[~shown & (left == 0)] = 1  # nothing is known about the level: it is all other
    other = detail.code_of[str(detail.other)]
    level = np.concatenate([level, np.arange(levels)])
    code = np.concatenate([code, np.full(levels, other)])
    count = np.concatenate([count, left])
    order = np.argsort(level, kind="stable")
    reach = np.cumsum(count[order], dtype=np.uint64)
    ends = reach[np.searchsorted(level[order], np.arange(levels), side="right") - 1]
    starts = np.concatenate([np.zeros(1, dtype=np.uint64), ends[:-1]])
    picks = starts[coarse] + stream.below_each((ends - starts)[coarse])
    return code[order][np.searchsorted(reach, picks, side="right")].astype(code_type(detail.size))


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
