"""Drawing synthetic origins exactly, at a cost of the workers and not of the domain.

The Dirichlet-multinomial law is that of an urn: a draw is a real worker with weight 1 each, an earlier synthetic worker
with weight 1 each, or a cell of the prior with its virtual count [BM73]. So one uniform integer per synthetic worker
picks a real one, an earlier one, or a virtual cell, and only in the last case is an origin looked up. Domain shrinking
(algorithm 2) is drawn lazily: how many cells stay is a binomial, which ones is decided when one of them is drawn.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel
from understudy.errors import RefusalError
from understudy.mechanisms.origin_domain import OriginDomain, class_of, draw_member
from understudy.mechanisms.origin_draws import KEEP_ALL, Destinations, OriginDraws
from understudy.mechanisms.stream import Stream, below, first_above
from understudy.privacy.ledger import Ledger
from understudy.privacy.secret import Secret
from understudy.sources.flows import Histograms

Integers = npt.NDArray[np.int64]

assert KEEP_ALL == 1 << 32  # keep probabilities are compared with 32 random bits


@kernel
def _ones(word: Any) -> Any:
    """Number of set bits."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def exact_binomial_bits(trials: Any, keep: int, words: Any, position: int) -> tuple[Any, int]:
    """Successes of ``trials`` with probability keep / 2^32, exactly, and the next word; -1 where the words ran out.

    All trials compare their uniform number with the probability bit by bit: those whose bit differs are decided, the
    others (half of them) go on. How many bits are 1 is a count of random bits.
    """
    if keep >= 1 << 32:
        return trials, position
    wins, open_ = np.int64(0), trials
    for bit in range(31, -1, -1):
        if open_ == 0:
            break
        ones = np.int64(0)
        left = open_
        while left > 0:
            if position >= len(words):
                return np.int64(0), -1
            word = words[position]
            position += 1
            if left < 64:
                word &= (np.uint64(1) << np.uint64(left)) - np.uint64(1)
            ones += _ones(word)
            left -= 64
        if (keep >> bit) & 1:
            wins += open_ - ones
            open_ = ones
        else:
            open_ -= ones
    return wins, position


@kernel
def _has(values: Any, begin: int, end: int, wanted: int) -> int:
    """Position of ``wanted`` in ascending ``values[begin:end]``, or -1."""
    place = first_above(values, begin, end, wanted) - 1
    return place if place >= begin and values[place] == wanted else -1


@kernel
def _spot(table: Any, key: int) -> Any:
    """Where ``key`` is in an open-addressing table of a power of two, or where it would go (-1 is free)."""
    mask = len(table) - 1
    place = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) & mask
    while table[place] != -1 and table[place] != key:
        place = (place + 1) & mask
    return place


@kernel
def _is_good(
    drawn: Any, begin: int, end: int, units: Any, counts: Any, alphas: Any, classes: Any, gamma: float
) -> bool:
    """Whether an output is gamma-Good (lemma 5.2): representative of the histogram, or of one with one worker moved."""
    order = np.argsort(drawn)
    broken, where = 0, -1
    fits = np.ones(end - begin, dtype=np.bool_)  # whether a cell would be within its limit with one worker less
    position = 0
    while position < len(drawn):
        unit = drawn[order[position]]
        kind = classes[order[position]]
        times = 0
        while position < len(drawn) and drawn[order[position]] == unit:
            times += 1
            position += 1
        place = _has(units, begin, end, unit)
        real = counts[place] if place >= 0 else 0
        alpha = alphas[kind]
        if times > gamma * (alpha + max(real - 1, 0)):
            broken += 1
            where = place
            if broken > 1 or place < 0 or times > gamma * (alpha + real):
                return False  # a worker more raises the limit only where there is one already
        if place >= 0 and times > gamma * (alpha + max(real - 2, 0)):
            fits[place - begin] = False
    if broken == 0:
        return True
    has_room = False  # somewhere else one worker may go
    for place in range(begin, end):
        has_room |= place != where and fits[place - begin]
    return has_room


@kernel
def _seen_classes(place: int, histogram: Any, size: int, geometry: Any, kinds: Any, seen: Any) -> None:
    """The class of every origin of a destination, and how many origins each class has."""
    starts, units = histogram[0], histogram[1]
    destinations, vectors, cosines = geometry[0], geometry[2], geometry[4]
    for item in range(starts[place], starts[place + 1]):
        unit = units[item]
        kind = unit - size if unit >= size else class_of(destinations[place], vectors[unit], cosines)
        kinds[item - starts[place]] = kind
        seen[kind] += 1


@kernel
def _kept_cells(place: int, public: Any, seen: Any, there: Any, words: Any, position: int) -> int:
    """How many cells of each class stay after shrinking (algorithm 2), and the next word; -1 where they ran out."""
    cells, keeps = public[2], public[4]
    for kind in range(len(there)):
        there[kind] = cells[place, kind]
        if keeps[place, kind] < KEEP_ALL and cells[place, kind] > 0:
            kept, position = exact_binomial_bits(cells[place, kind] - seen[kind], keeps[place, kind], words, position)
            if position < 0:
                return -1
            there[kind] = seen[kind] + kept
    return position


@kernel
def _kept_unit(
    place: int, kind: int, key: int, shown: Any, histogram: Any, geometry: Any, words: Any, position: int
) -> tuple[Any, int]:
    """The unit of a kept cell, found when it is first drawn: uniform among those not observed and not shown."""
    slots, slot_units, taken_units = shown
    spot = _spot(slots, key)
    if slots[spot] < 0:
        starts, units = histogram[0], histogram[1]
        while True:
            unit, position = draw_member(kind, place, geometry, words, position)
            if position < 0:
                return np.int64(0), -1
            taken = _spot(taken_units, unit)
            if taken_units[taken] < 0 and _has(units, starts[place], starts[place + 1], unit) < 0:
                break
        slots[spot], slot_units[spot], taken_units[taken] = key, unit, unit
    return slot_units[spot], position


@kernel
def _virtual_unit(
    place: int,
    kind: int,
    slot: int,
    seen: Any,
    kinds: Any,
    shown: Any,
    is_merged: bool,
    is_kept: bool,
    size: int,
    histogram: Any,
    geometry: Any,
    words: Any,
    position: int,
) -> tuple[Any, int]:
    """The unit behind the slot-th virtual cell of a class, and the next word; -1 where the words ran out."""
    if is_merged:
        return np.int64(size + kind), position
    if is_kept:
        return (np.int64(slot), position) if len(seen) == 1 else draw_member(kind, place, geometry, words, position)
    starts, units = histogram[0], histogram[1]
    if slot < seen[kind]:  # an observed origin's own virtual count
        for item in range(starts[place], starts[place + 1]):
            if kinds[item - starts[place]] == kind:
                if slot == 0:
                    return units[item], position
                slot -= 1
    key = (slot - seen[kind]) * len(seen) + kind
    return _kept_unit(place, kind, key, shown, histogram, geometry, words, position)


@kernel
def _draw_place(
    place: int,
    histogram: Any,
    public: Any,
    numerator: int,
    denominator: int,
    merged: Any,
    size: int,
    is_shrunk: bool,
    seen: Any,
    kinds: Any,
    geometry: Any,
    words: Any,
    position: int,
    drawn: Any,
    drawn_kinds: Any,
) -> int:
    """The urn of one destination, into ``drawn``; returns the next word, or -1 where the words ran out."""
    starts, units, cumulative = histogram[0], histogram[1], histogram[2]
    workers, weights, keeps = public[0], public[3], public[4]
    begin, end, real = starts[place], starts[place + 1], workers[place]
    there = np.zeros(len(seen), dtype=np.int64)
    position = _kept_cells(place, public, seen, there, words, position)
    if position < 0:
        return -1
    virtual = np.int64(0)
    for kind in range(len(there)):
        virtual += there[kind] * weights[place, kind] * numerator
    room = np.int64(16)
    while is_shrunk and room < 4 * len(drawn):
        room *= 2
    shown = (  # kept cells that have shown themselves, which units they are, and these units
        np.full(room, -1, dtype=np.int64),
        np.zeros(room, dtype=np.int64),
        np.full(room, -1, dtype=np.int64),
    )
    for draw in range(len(drawn)):
        pick_word, position = below(np.uint64(denominator * (real + draw) + virtual), words, position)
        if position < 0:
            return -1
        pick = np.int64(pick_word)
        if pick < denominator * real:  # a real worker
            item = first_above(cumulative, begin, end, pick // denominator)
            drawn[draw], drawn_kinds[draw] = units[item], kinds[item - begin]
            continue
        if pick < denominator * (real + draw):  # an earlier synthetic worker
            earlier = (pick - denominator * real) // denominator
            drawn[draw], drawn_kinds[draw] = drawn[earlier], drawn_kinds[earlier]
            continue
        rest = pick - denominator * (real + draw)
        kind = 0
        while rest >= there[kind] * weights[place, kind] * numerator:
            rest -= there[kind] * weights[place, kind] * numerator
            kind += 1
        slot = rest // (weights[place, kind] * numerator)
        is_kept = keeps[place, kind] >= KEEP_ALL
        unit, position = _virtual_unit(
            place, kind, slot, seen, kinds, shown, merged[kind], is_kept, size, histogram, geometry, words, position
        )
        if position < 0:
            return -1
        drawn[draw], drawn_kinds[draw] = unit, kind
    return position


@kernel
def _draw_all(
    histogram: Any,
    public: Any,
    output: Any,
    numerators: Any,
    denominators: Any,
    merged: Any,
    gamma: float,
    size: int,
    geometry: Any,
    words: Any,
    out: Any,
    begin_at: int,
) -> tuple[int, int]:
    """Algorithms 1 and 2 for the destinations from ``begin_at`` on; see :meth:`Stream.run` for what is returned."""
    starts, units, _, counts = histogram
    _, draws, cells, weights, keeps = public
    position = 0
    for place in range(begin_at, len(draws)):
        before = position
        begin, end = starts[place], starts[place + 1]
        is_shrunk = bool(np.any((keeps[place] < KEEP_ALL) & (cells[place] > 0)))
        seen, kinds = np.zeros(cells.shape[1], dtype=np.int64), np.zeros(end - begin, dtype=np.int64)
        if is_shrunk or gamma > 0.0:
            _seen_classes(place, histogram, size, geometry, kinds, seen)
        numerator, denominator = numerators[place], denominators[place]
        drawn, drawn_kinds = np.zeros(draws[place], dtype=np.int64), np.zeros(draws[place], dtype=np.int64)
        while True:  # again and again only under accept/reject
            position = _draw_place(
                place,
                histogram,
                public,
                numerator,
                denominator,
                merged,
                size,
                is_shrunk,
                seen,
                kinds,
                geometry,
                words,
                position,
                drawn,
                drawn_kinds,
            )
            if position < 0:
                return place, before
            alphas = weights[place] * numerator / denominator
            if gamma <= 0.0 or _is_good(drawn, begin, end, units, counts, alphas, drawn_kinds, gamma):
                break
        out[output[place] : output[place + 1]] = drawn
    return len(draws), position


def check_weights(public: Destinations, alphas: list[Fraction]) -> None:
    """Refuse weights that are too long to be exact, from public facts alone: before anything is paid."""
    mass = [
        alpha.denominator * int(public.workers[row] + public.draws[row])
        + alpha.numerator * int(np.sum(public.cells[row] * public.weights[row]))
        for row, alpha in enumerate(alphas)
    ]
    if max(mass, default=0) >= 1 << 62:
        raise RefusalError(
            f"the integer weights of a destination would need {max(mass).bit_length()} bits; at most 62 are exact. "
            "Use a larger epsilon or a smaller domain."
        )


def draw_origins(
    histograms: Secret[Histograms],
    domain: OriginDomain,
    public: Destinations,
    alphas: list[Fraction],
    *,
    gamma: float | None,
    ledger: Ledger,
    stream: Stream,
    report: Any = None,
) -> Integers:
    """Units (merged classes as ``units + class``) of all synthetic workers, destination by destination.

    Only against a ledger that pays for these draws; ``gamma`` draws again what is not gamma-Good.
    """
    events = [entry.event for entry in ledger.entries if isinstance(entry.event, OriginDraws)]
    if not any(
        event.covers(public, alphas, rejects=gamma is not None)
        and (gamma is None or math.isclose(gamma, math.expm1(event.epsilon), rel_tol=1e-12))
        for event in events
    ):
        raise RefusalError("the ledger does not pay for these draws; quote and reserve them before drawing.")
    counted = histograms.open()
    histogram = (counted.starts, counted.units, _cumulative(counted), counted.counts)
    numerators = np.array([alpha.numerator for alpha in alphas], dtype=np.int64)
    denominators = np.array([alpha.denominator for alpha in alphas], dtype=np.int64)
    check_weights(public, alphas)
    output = np.concatenate([[0], np.cumsum(public.draws)]).astype(np.int64)
    out = np.zeros(int(output[-1]), dtype=np.int64)
    facts = (public.workers, public.draws, public.cells, public.weights, public.keeps)
    geometry = domain.geometry()
    limit = -1.0 if gamma is None else gamma
    start = 0
    kept = np.empty(0, dtype=np.uint64)
    while start < len(public):
        need = int(output[-1] - output[start])
        # the words of an unfinished destination are offered again with as many behind them, so that any finishes
        fresh = stream.words(max(1024, min(4 * need + 64, 1 << 18), len(kept)))
        pool = np.concatenate([kept, fresh])
        start, used = _draw_all(
            histogram,
            facts,
            output,
            numerators,
            denominators,
            domain.merged,
            limit,
            domain.units,
            geometry,
            pool,
            out,
            start,
        )
        kept = pool[used:].copy()
        if report:
            report("drawing", start, len(public))
    return out


def _cumulative(counted: Histograms) -> Integers:
    """Workers of a destination up to and with each of its origins."""
    total = np.concatenate([[0], np.cumsum(counted.counts)])
    return np.asarray(total[1:] - np.repeat(total[counted.starts[:-1]], np.diff(counted.starts)), dtype=np.int64)


@kernel
def _place_all(kinds: Any, rows: Any, geometry: Any, words: Any, out: Any, start: int) -> tuple[int, int]:
    position = 0
    for item in range(start, len(kinds)):
        before = position
        unit, position = draw_member(kinds[item], rows[item], geometry, words, position)
        if position < 0:
            return item, before
        out[item] = unit
    return len(kinds), position


def place_members(kinds: Integers, rows: Integers, domain: OriginDomain, stream: Stream) -> Integers:
    """A uniform unit of class ``kinds[i]`` around destination ``rows[i]``: post-processing of merged cells."""
    out = np.zeros(len(kinds), dtype=np.int64)
    geometry = domain.geometry()
    stream.run(lambda words, start: _place_all(kinds, rows, geometry, words, out, start), len(out), words_each=8)
    return out
