"""Drawing synthetic origins exactly, at a cost of the workers and not of the domain.

The Dirichlet-multinomial law is that of an urn: a draw is a real worker with weight 1 each, an earlier synthetic worker
with weight 1 each, or a cell of the prior with its virtual count [BM73]. So one uniform integer per synthetic worker
picks a real one, an earlier one, or a virtual cell, and only in the last case is an origin looked up. Domain shrinking
(algorithm 2) is drawn lazily: how many cells stay is a binomial, which ones is decided when one of them is drawn.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel
from understudy.errors import RefusalError
from understudy.mechanisms.origin_domain import OriginDomain, below, class_of, draw_member
from understudy.mechanisms.origin_draws import KEEP_ALL, Destinations, OriginDraws
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Ledger
from understudy.privacy.secret import Secret
from understudy.sources.flows import Histograms

Integers = npt.NDArray[np.int64]


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
def _find(values: Any, begin: int, end: int, wanted: int) -> int:
    """First position in [begin, end) whose value is above ``wanted`` in ascending ``values``."""
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] > wanted:
            end = middle
        else:
            begin = middle + 1
    return begin


@kernel
def _has(values: Any, begin: int, end: int, wanted: int) -> int:
    """Position of ``wanted`` in ascending ``values[begin:end]``, or -1."""
    place = _find(values, begin, end, wanted) - 1
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
    drawn: Any, begin: int, end: int, units: Any, counts: Any, kinds: Any, alphas: Any, classes: Any, gamma: float
) -> bool:
    """Whether an output is gamma-Good (lemma 5.2): representative of the histogram, or of one with one worker moved."""
    order = np.argsort(drawn)
    broken, where, size = 0, -1, 0
    fits = np.zeros(end - begin, dtype=np.bool_)
    """Whether a cell of the histogram would still be within its limit with one worker less."""
    for place in range(begin, end):
        fits[place - begin] = True
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
            where, size = place, times
            if broken > 1 or place < 0 or times > gamma * (alpha + real):
                return False  # a worker more raises the limit only where there is one already
        if place >= 0 and times > gamma * (alpha + max(real - 2, 0)):
            fits[place - begin] = False
    if broken == 0:
        return True
    for place in range(begin, end):
        if place != where and fits[place - begin]:
            return size > 0
    return False


@kernel
def _draw_all(  # noqa: PLR0912, PLR0915 - one urn: a kernel cannot share its many arrays cheaply
    starts: Any,
    units: Any,
    cumulative: Any,
    counts: Any,
    workers: Any,
    draws: Any,
    output: Any,
    numerators: Any,
    denominators: Any,
    cells: Any,
    weights: Any,
    keeps: Any,
    merged: Any,
    gamma: float,
    size: int,
    destinations: Any,
    places: Any,
    vectors: Any,
    edges: Any,
    cosines: Any,
    order: Any,
    offsets: Any,
    shape: Any,
    box: Any,
    words: Any,
    out: Any,
    begin_at: int,
) -> tuple[int, int]:
    """Algorithms 1 and 2 for the destinations from ``begin_at`` on; see :meth:`Stream.run` for what is returned."""
    classes = cells.shape[1]
    position = 0
    kinds = np.zeros(0, dtype=np.int64)
    for place in range(begin_at, len(draws)):
        before = position
        begin, end = starts[place], starts[place + 1]
        wanted, real, den = draws[place], workers[place], denominators[place]
        while True:  # again and again only under accept/reject
            seen = np.zeros(classes, dtype=np.int64)
            kinds = np.zeros(end - begin, dtype=np.int64)
            shrunk = False
            for kind in range(classes):
                shrunk = shrunk or (keeps[place, kind] < KEEP_ALL and cells[place, kind] > 0)
            if shrunk or gamma > 0.0:
                for item in range(begin, end):
                    unit = units[item]
                    kind = unit - size if unit >= size else class_of(destinations[place], vectors[unit], cosines)
                    kinds[item - begin] = kind
                    seen[kind] += 1
            there = np.zeros(classes, dtype=np.int64)
            virtual = np.int64(0)
            for kind in range(classes):
                there[kind] = cells[place, kind]
                if keeps[place, kind] < KEEP_ALL and cells[place, kind] > 0:
                    kept, position = exact_binomial_bits(
                        cells[place, kind] - seen[kind], keeps[place, kind], words, position
                    )
                    if position < 0:
                        return place, before
                    there[kind] = seen[kind] + kept
                virtual += there[kind] * weights[place, kind] * numerators[place]
            drawn = np.zeros(wanted, dtype=np.int64)
            drawn_kinds = np.zeros(wanted, dtype=np.int64)
            room = np.int64(16)
            while shrunk and room < 4 * wanted:
                room *= 2
            slots = np.full(room, -1, dtype=np.int64)  # kept cells that have shown themselves, and which units they are
            slot_units = np.zeros(room, dtype=np.int64)
            shown = np.full(room, -1, dtype=np.int64)
            for draw in range(wanted):
                pick, position = below(words, position, den * (real + draw) + virtual)
                if position < 0:
                    return place, before
                if pick < den * real:  # a real worker
                    item = _find(cumulative, begin, end, pick // den)
                    drawn[draw] = units[item]
                    drawn_kinds[draw] = kinds[item - begin]
                    continue
                if pick < den * (real + draw):  # an earlier synthetic worker
                    earlier = (pick - den * real) // den
                    drawn[draw], drawn_kinds[draw] = drawn[earlier], drawn_kinds[earlier]
                    continue
                rest = pick - den * (real + draw)
                kind = 0
                while rest >= there[kind] * weights[place, kind] * numerators[place]:
                    rest -= there[kind] * weights[place, kind] * numerators[place]
                    kind += 1
                slot = rest // (weights[place, kind] * numerators[place])
                drawn_kinds[draw] = kind
                if merged[kind]:
                    drawn[draw] = size + kind
                    continue
                if keeps[place, kind] >= KEEP_ALL:
                    if classes == 1:
                        drawn[draw] = slot
                        continue
                    unit, position = draw_member(
                        kind,
                        destinations[place],
                        places[place],
                        vectors,
                        edges,
                        cosines,
                        order,
                        offsets,
                        shape,
                        box,
                        words,
                        position,
                    )
                    if position < 0:
                        return place, before
                    drawn[draw] = unit
                    continue
                if slot < seen[kind]:  # an observed origin's own virtual count
                    for item in range(begin, end):
                        if kinds[item - begin] == kind:
                            if slot == 0:
                                drawn[draw] = units[item]
                                break
                            slot -= 1
                    continue
                key = (slot - seen[kind]) * classes + kind
                found = _spot(slots, key)
                if slots[found] < 0:  # a kept cell shows itself: uniform among those not observed and not shown
                    while True:
                        unit, position = draw_member(
                            kind,
                            destinations[place],
                            places[place],
                            vectors,
                            edges,
                            cosines,
                            order,
                            offsets,
                            shape,
                            box,
                            words,
                            position,
                        )
                        if position < 0:
                            return place, before
                        taken = _spot(shown, unit)
                        if shown[taken] < 0 and _has(units, begin, end, unit) < 0:
                            break
                    slots[found], slot_units[found], shown[taken] = key, unit, unit
                drawn[draw] = slot_units[found]
            if gamma <= 0.0:
                break
            alphas = np.zeros(classes)
            for kind in range(classes):
                alphas[kind] = weights[place, kind] * numerators[place] / den
            if _is_good(drawn, begin, end, units, counts, kinds, alphas, drawn_kinds, gamma):
                break
        for draw in range(wanted):
            out[output[place] + draw] = drawn[draw]
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
    if not any(event.covers(public, alphas, rejects=gamma is not None) for event in events):
        raise RefusalError("the ledger does not pay for these draws; quote and reserve them before drawing.")
    found = histograms.open()
    numerators = np.array([alpha.numerator for alpha in alphas], dtype=np.int64)
    denominators = np.array([alpha.denominator for alpha in alphas], dtype=np.int64)
    check_weights(public, alphas)
    output = np.concatenate([[0], np.cumsum(public.draws)]).astype(np.int64)
    out = np.zeros(int(output[-1]), dtype=np.int64)
    cumulative = _cumulative(found)
    start = 0
    kept = np.empty(0, dtype=np.uint64)
    while start < len(public):
        need = int(output[-1] - output[start])
        # the words of an unfinished destination are offered again with as many behind them, so that any finishes
        fresh = stream.words(max(1024, min(4 * need + 64, 1 << 18), len(kept)))
        pool = np.concatenate([kept, fresh])
        start, used = _draw_all(
            found.starts,
            found.units,
            cumulative,
            found.counts,
            public.workers,
            public.draws,
            output,
            numerators,
            denominators,
            public.cells,
            public.weights,
            public.keeps,
            domain.merged,
            -1.0 if gamma is None else gamma,
            domain.units,
            domain.destinations,
            domain.places,
            domain.vectors,
            domain.edges,
            domain.cosines,
            *domain.index.arrays(),
            pool,
            out,
            start,
        )
        kept = pool[used:].copy()
        if report:
            report("drawing", start, len(public))
    return out


def _cumulative(found: Histograms) -> Integers:
    """Workers of a destination up to and with each of its origins."""
    total = np.concatenate([[0], np.cumsum(found.counts)])
    return np.asarray(total[1:] - np.repeat(total[found.starts[:-1]], np.diff(found.starts)), dtype=np.int64)


@kernel
def _place_all(
    kinds: Any,
    rows: Any,
    destinations: Any,
    places: Any,
    vectors: Any,
    edges: Any,
    cosines: Any,
    order: Any,
    offsets: Any,
    shape: Any,
    box: Any,
    words: Any,
    out: Any,
    start: int,
) -> tuple[int, int]:
    position = 0
    for item in range(start, len(kinds)):
        before = position
        unit, position = draw_member(
            kinds[item],
            destinations[rows[item]],
            places[rows[item]],
            vectors,
            edges,
            cosines,
            order,
            offsets,
            shape,
            box,
            words,
            position,
        )
        if position < 0:
            return item, before
        out[item] = unit
    return len(kinds), position


def place_members(kinds: Integers, rows: Integers, domain: OriginDomain, stream: Stream) -> Integers:
    """A uniform unit of class ``kinds[i]`` around destination ``rows[i]``: post-processing of merged cells."""
    out = np.zeros(len(kinds), dtype=np.int64)
    arrays = (
        domain.destinations,
        domain.places,
        domain.vectors,
        domain.edges,
        domain.cosines,
        *domain.index.arrays(),
    )
    stream.run(lambda words, start: _place_all(kinds, rows, *arrays, words, out, start), len(out), words_each=8)
    return out
