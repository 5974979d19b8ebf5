"""Codes back to values. A bin becomes a number again only here.

Inside a bin the value is drawn from the declared grid, by the declared shape: no private data is read, nothing is paid.
Where the shape is measured or smooth, the weights of the pieces of every bin are handed in, paid for by whoever counted
them or made of what is released anyway.
Numbers that the rules of the codebook put in order are drawn one after the other, each within what its bin and those
before it leave, so that the order holds for values that share a bin too.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from understudy.codebook.book import Codebook
from understudy.codebook.columns import Column, Dates, Levelled
from understudy.codebook.numbers import Continuous, Integer, Number
from understudy.codebook.pseudonyms import pseudonyms

BelowEach = Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.uint64]]
"""Draws one uniform integer below each bound; supplied by ``mechanisms.stream``."""
Codes = npt.NDArray[np.unsignedinteger]
Steps = npt.NDArray[np.int64]
Shapes = Mapping[str, Steps]
"""For measured and smooth numbers the weight of each piece of their bins, none below 0."""
Known = Mapping[str, tuple[Steps, Steps, npt.NDArray[np.bool_]]]
"""Numbers that stand already: floor and ceiling in steps, and in which rows they stand."""
_FAR = 1 << 60


def decode_table(
    book: Codebook,
    codes: Sequence[Codes],
    below_each: BelowEach,
    details: Mapping[str, Codes] | None = None,
    *,
    shapes: Shapes | None = None,
    packed: bool = False,
    people: Sequence[int] = (),
) -> pa.Table:
    """One Arrow column per column of a release; missing values become nulls. ``details`` holds the detail codes.

    ``people`` says how common each number of records per synthetic person is, where ids are made.

    ``packed`` leaves levels as dictionaries, for a writer that would only make dictionaries of them again.
    """
    shapes = shapes or {}
    ordered = order_steps(book, codes, below_each, shapes) if book.constraints else {}
    arrays = {}
    for column, values in zip(book.modelled, codes, strict=True):
        if column.name in ordered:
            assert isinstance(column, Number)
            arrays[column.name] = values_of_steps(column, ordered[column.name], values)
        else:
            weights = shapes.get(column.name)
            arrays[column.name] = decode_column(column, values, below_each, packed=packed, weights=weights)
    for detail in book.details:
        if details is not None:
            arrays[detail.name] = decode_column(detail, details[detail.name], below_each, packed=packed)
    for level in book.code_levels:
        if details is not None:
            told = level.of_code[details[level.coded.name]].astype(np.uint32)
            arrays[level.name] = decode_column(level, told, below_each, packed=packed)
    if book.unit is not None and book.unit.pseudonyms:
        arrays[book.unit.id] = pseudonyms(len(codes[0]), below_each, people)
    return pa.table({column.name: arrays[column.name] for column in book.columns if column.name in arrays})


def order_steps(
    book: Codebook,
    codes: Sequence[Codes],
    below_each: BelowEach,
    shapes: Shapes,
    known: Known | None = None,
) -> dict[str, Steps]:
    """Values, in steps, of the number columns that order rules compare.

    The codes satisfy the rules, so some values do (difference constraints: every chain fits between the ends of any two
    bins), and drawing lower columns first, each below what the higher ones can still reach, finds some. What is drawn
    keeps its order with the values that are ``known``.
    """
    from understudy.codebook.clauses import value_range
    from understudy.codebook.constraints import Orders

    orders = Orders(book.modelled, book.constraints)
    names = [name for name in orders.order if isinstance(book.column(name), Number)]
    low: dict[str, Steps] = {}
    high: dict[str, Steps] = {}
    for name in names:
        smallest, largest = value_range(book.column(name))
        own = codes[book.position(name)]
        absent = own >= len(smallest)
        inside = np.where(absent, 0, own)
        low[name] = np.where(absent, -_FAR, smallest[inside])
        high[name] = np.where(absent, _FAR, largest[inside])
    drawn: dict[str, Steps] = {}
    for name in names:
        start, end = low[name], high[name]
        for other in names:
            if (other, name) in orders.gaps:
                start = np.maximum(start, _after(other, drawn[other], orders.gaps[other, name], known))
            if (name, other) in orders.gaps:
                end = np.minimum(end, _before(other, high[other], orders.gaps[name, other], known))
        present = low[name] > -_FAR
        free = present if known is None or name not in known else present & ~known[name][2]
        column = book.column(name)
        assert isinstance(column, Number)
        if name in shapes:
            bounds = np.where(free, start, 0), np.where(free, end, 0)
            steps = _measured_between(column, shapes[name], *bounds, below_each)
        else:
            width = np.where(free, end - start + 1, 1)
            steps = start + below_each(width.astype(np.uint64)).astype(np.int64)
        drawn[name] = np.where(present, steps, -_FAR)
        if known is not None and name in known:
            drawn[name] = np.where(known[name][2], known[name][0], drawn[name])
    return drawn


def _after(name: str, drawn: Steps, gap: int, known: Known | None) -> Steps:
    """The least that may follow the lower column ``name``; an observed value may lie between two steps."""
    if known is None or name not in known:
        return drawn + gap
    floor, ceiling, observed = known[name]
    return np.where(observed, floor if gap == 1 else ceiling, drawn) + gap


def _before(name: str, high: Steps, gap: int, known: Known | None) -> Steps:
    """The most that may come before the higher column ``name``."""
    if known is None or name not in known:
        return high - gap
    floor, ceiling, observed = known[name]
    return np.where(observed, ceiling if gap == 1 else floor, high) - gap


def decode_column(
    column: Column, codes: Codes, below_each: BelowEach, *, packed: bool = False, weights: Steps | None = None
) -> pa.Array:
    """Values of one column; ``weights`` of the pieces of its bins, where it is a number that has them."""
    absent = codes >= column.proper_levels
    proper = np.where(absent, 0, codes)
    if isinstance(column, Levelled):
        index = pa.array(proper.astype(np.int32), mask=absent)
        values = pa.DictionaryArray.from_arrays(index, pa.array(column.levels, type=pa.string()))
        return values if packed else values.cast(pa.string())
    if isinstance(column, Dates):
        days = np.array(column.firsts, dtype="datetime64[D]")
        return pa.array(days[proper], mask=absent, type=pa.date32())
    assert isinstance(column, Number)
    first = np.array([start for start, _ in column.grids], dtype=np.int64)
    width = np.array([count for _, count in column.grids], dtype=np.uint64)
    if weights is not None:
        return values_of_steps(column, _measured_steps(column, proper, weights, below_each), codes)
    if column.shape == "log":
        return values_of_steps(column, first[proper] + _log_steps(first[proper], width[proper], below_each), codes)
    return values_of_steps(column, first[proper] + below_each(width[proper]).astype(np.int64), codes)


def _log_steps(
    first: npt.NDArray[np.int64], width: npt.NDArray[np.uint64], below_each: BelowEach
) -> npt.NDArray[np.int64]:
    """Steps above the first value, evenly in the logarithm: floor of a (b / a)^u, a value as likely as its log gap.

    Public shape and fresh randomness only, so a float is good enough. Zero counts as a half. Values below 0 are drawn
    by their size, and a bin with both signs has each as often as it is long in the logarithm.
    """
    evenly = below_each(np.full(len(first), 1 << 53, dtype=np.uint64)).astype(np.float64) / 2.0**53
    start, end = first.astype(np.float64), first.astype(np.float64) + width.astype(np.float64)
    below, low = np.maximum(1 - end, 1.0), np.maximum(start, 0.5)
    negative = np.log(np.maximum(1 - start, below) / below)
    place = evenly * (negative + np.log(np.maximum(end, low) / low))
    size = np.where(place < negative, below * np.exp(place), low * np.exp(place - negative))
    drawn = np.where(place < negative, -np.floor(size), np.floor(size)).astype(np.int64) - first
    steps: npt.NDArray[np.int64] = np.clip(drawn, 0, width.astype(np.int64) - 1)
    return steps


class _Pieces:
    """All pieces of a column in a row, with the weights that values are drawn by."""

    def __init__(self, column: Number, weights: Steps) -> None:
        counts = np.array([len(cuts) for cuts in column.cuts])
        self.first = np.array([low for cuts in column.cuts for low, _ in cuts], dtype=np.int64)
        self.width = np.array([width for cuts in column.cuts for _, width in cuts], dtype=np.int64)
        self.ends = np.cumsum(counts)
        """Of each bin, the place after its last piece."""
        bare = np.add.reduceat(weights, self.ends - counts) <= 0  # nothing is known about the bin: it is drawn evenly
        self.weights = np.where(np.repeat(bare, counts), self.width, weights)
        self.reach = np.cumsum(self.weights)


def _measured_steps(column: Number, codes: Codes, weights: Steps, below_each: BelowEach) -> Steps:
    """A piece in proportion to its weight, exactly, then a value of it, all equally likely.

    The m rows of a bin are spread over it: in random order, row i picks one of the weights in the i-th of m equal
    parts. By itself every row has the law of the weights; together they show it with hardly any error of sampling,
    which for a few rows in a wide bin would be larger than everything else.
    """
    pieces = _Pieces(column, weights)
    last = pieces.reach[pieces.ends - 1]
    before = np.concatenate([[0], last[:-1]])
    # by bin, and in random order within it: a bin has few of 2^40 places, so that ties are too rare to matter
    places = below_each(np.full(len(codes), 1 << 40, dtype=np.uint64))
    order = np.argsort(codes.astype(np.uint64) << np.uint64(40) | places)
    rows = np.bincount(codes, minlength=len(last))
    many, total = np.repeat(rows, rows), np.repeat(last - before, rows)
    turn = np.arange(len(codes)) - np.repeat(np.cumsum(rows) - rows, rows)
    within = below_each(total.astype(np.uint64)).astype(np.int64)
    # (turn total + within) // m is uniform below the total, since turn total + within is uniform below m total
    parts, rest = (np.repeat(part, rows) for part in np.divmod(last - before, np.maximum(rows, 1)))
    picks = np.repeat(before, rows) + turn * parts + (turn * rest + within) // many
    piece = np.searchsorted(pieces.reach, picks, side="right")
    steps = np.empty(len(codes), dtype=np.int64)
    steps[order] = pieces.first[piece] + below_each(pieces.width[piece].astype(np.uint64)).astype(np.int64)
    return steps


def _measured_between(column: Number, weights: Steps, start: Steps, end: Steps, below_each: BelowEach) -> Steps:
    """The same law within bounds that lie in one bin: a place between two heights of its distribution function.

    Weights that were paid for and fresh randomness only, so a float is good enough. Where the pieces within the bounds
    have no weight, every value is equally likely.
    """
    pieces = _Pieces(column, weights)
    density = pieces.weights / pieces.width
    before = pieces.reach - pieces.weights

    def height(step: Steps) -> npt.NDArray[np.float64]:
        piece = np.clip(np.searchsorted(pieces.first, step, side="right") - 1, 0, None)
        inside = np.minimum(step - pieces.first[piece], pieces.width[piece])
        return np.asarray(before[piece] + density[piece] * inside, dtype=np.float64)

    low, high = height(start), height(end + 1)
    evenly = below_each(np.full(len(start), 1 << 53, dtype=np.uint64)).astype(np.float64) / 2.0**53
    place = low + evenly * (high - low)
    piece = np.minimum(np.searchsorted(pieces.reach, place, side="right"), len(pieces.first) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.floor((place - before[piece]) / density[piece])
    weighted = pieces.first[piece] + np.where(np.isfinite(inside), inside, 0).astype(np.int64)
    even = start + np.floor(evenly * (end - start + 1)).astype(np.int64)
    return np.clip(np.where(high > low, weighted, even), start, end)


def values_of_steps(column: Number, steps: npt.NDArray[np.int64], codes: Codes) -> pa.Array:
    """Numbers of a column from steps, null where they are missing; with special codes, all of them as text."""
    absent = codes >= column.proper_levels
    steps = np.where(absent, 0, steps)
    if isinstance(column, Integer):
        numbers = pa.array(steps, mask=absent, type=pa.int64())
    else:
        assert isinstance(column, Continuous)
        numbers = pa.array(steps / 10**column.precision, mask=absent, type=pa.float64())
    if not column.special:
        return numbers
    places = np.where(codes == column.missing_code, len(column.special), codes.astype(np.int64) - column.proper_levels)
    words = pa.array([*column.special, None], type=pa.string()).take(pa.array(np.maximum(places, 0)))
    return pc.if_else(pa.array(absent), words, numbers.cast(pa.string()))
