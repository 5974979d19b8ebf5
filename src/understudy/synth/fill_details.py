"""Gaps of detailed codes: a coarse level follows from its detail, and a detail is drawn given its coarse level."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Detail
from understudy.mechanisms.stream import Stream

Codes = npt.NDArray[np.unsignedinteger]
Bools = npt.NDArray[np.bool_]


def _parents(book: Codebook, detail: Detail) -> npt.NDArray[np.int64]:
    """The coarse code of every detail code; -1 for those that belong to every level."""
    place = {label: number for number, label in enumerate(book.column(detail.detail_of).labels)}
    parents = np.full(detail.size, -1, dtype=np.int64)
    for group, members in detail.groups:
        for code in members:
            parents[detail.code_of[code]] = place[group]
    return parents


def deduced(book: Codebook, codes: Sequence[Codes], details: Sequence[Codes]) -> list[Codes]:
    """The codes of the model, with a missing coarse level taken from its detail where that belongs to one level."""
    completed = [np.array(column) for column in codes]
    for detail, own in zip(book.details, details, strict=True):
        coarse = book.column(detail.detail_of)
        column = completed[book.position(coarse.name)]
        parent = _parents(book, detail)[own]
        deducible = (column == coarse.missing_code) & (parent >= 0) if coarse.missing_code is not None else parent < -1
        column[deducible] = parent[deducible]
    return completed


def misplaced(book: Codebook, codes: Sequence[Codes], details: Sequence[Codes]) -> Bools:
    """Rows with a detail under a level that it does not belong to."""
    bad = np.zeros(len(codes[0]), dtype=bool)
    for detail, own in zip(book.details, details, strict=True):
        parent, column = _parents(book, detail)[own], codes[book.position(detail.detail_of)]
        known = column != -1 if (gap := book.column(detail.detail_of).missing_code) is None else column != gap
        bad |= known & (parent >= 0) & (parent != column)
    return bad


def fill_detail(
    book: Codebook,
    detail: Detail,
    coarse: Codes,
    own: Codes,
    skipped: Bools,
    generator: np.random.Generator,
    stream: Stream,
) -> Codes:
    """The detail column with its gaps filled from rows of the same coarse level, resampled so that files differ as
    little data makes them; a level without any code gets ``other``. Rows to be ``skipped`` keep their gaps.
    """
    out = np.array(own)
    gaps = (own == detail.missing_code) & ~skipped
    parent = _parents(book, detail)[own]
    donors = (own != detail.missing_code) & ((parent < 0) | (parent == coarse))
    absent = book.column(detail.detail_of).missing_code
    for level in np.unique(coarse[gaps]):
        if level == absent:
            continue  # nobody knows whose detail it would be
        rows = np.flatnonzero(gaps & (coarse == level))
        pool = own[donors & (coarse == level)]
        if not len(pool):
            out[rows] = detail.code_of[str(detail.other)]
            continue
        pool = generator.choice(pool, size=len(pool))  # the approximate Bayesian bootstrap [RS86]
        out[rows] = pool[stream.below_each(np.full(len(rows), len(pool), dtype=np.uint64)).astype(np.int64)]
    return out
