"""Entropy l-diversity of sampling distributions (lugs.txt Definition 1, pegs.txt section 3.3B): not DP.

Every block Pr(x_i | key) is mixed with the uniform distribution, with the smallest weight that lifts its entropy to
log l. The promise is proved in proofs/l_diversity.md. Every statement says what it does not cover.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel
from understudy.errors import ParameterError
from understudy.mechanisms.diverse_weights import UNIFORM, block_weights
from understudy.mechanisms.smoothing import KeyOf, Weights, counts_by_key
from understudy.mechanisms.stream import Stream
from understudy.parameters import Number
from understudy.privacy.events import Event
from understudy.privacy.guarantees import Guarantee, LDiverse
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

Codes = npt.NDArray[np.unsignedinteger]
_L = Number(least=1, tried=2)  # 1 asks nothing
KeysOf = Callable[[Codes], npt.NDArray[np.int32]]
"""Codes of records to one key per column and record."""


@dataclass(frozen=True, kw_only=True)
class LDiverseDraws(Event):
    """Every value drawn from a distribution of entropy at least log l, column by column."""

    kind: ClassVar[str] = "l-diverse-draws"
    proof: ClassVar[str | None] = "l_diversity.md"
    ls: tuple[float, ...]
    """The l of each column."""
    levels: tuple[int, ...]
    """The level count of each column."""
    floor: float
    """Smallest mixing weight of any block."""

    def __post_init__(self) -> None:
        if len(self.ls) != len(self.levels) or not self.ls:
            raise ParameterError(
                f"`ls` has {len(self.ls)} entries and `levels` {len(self.levels)}; give one per column."
            )
        for l, levels in zip(self.ls, self.levels, strict=True):  # noqa: E741 - the field's own name for it
            if not 1 <= l <= levels:
                raise ParameterError(f"`ls` holds {l!r} for a column of {levels} levels; l lies between 1 and that.")

    def guarantee(self) -> Guarantee:
        """The smallest l of the columns that can vary at all."""
        varying = [wanted for wanted, levels in zip(self.ls, self.levels, strict=True) if levels > 1]
        return LDiverse(l=float(min(varying, default=1.0)))


def check_l(
    l: float | Mapping[str, float],  # noqa: E741 - the field's own name for it
    *,
    names: Sequence[str],
    levels: Sequence[int],
    cap: bool,
) -> tuple[float, ...]:
    """The l of every column, or a refusal that names the column and its level count."""
    if isinstance(l, Mapping):
        if strange := [name for name in l if name not in names]:
            raise ParameterError(f"`l` names {', '.join(map(repr, strange))}; columns are {', '.join(names)}.")
        if lacking := [name for name in names if name not in l]:
            raise ParameterError(
                f"`l` has no value for {', '.join(lacking)}; give one for every column (1 asks nothing)."
            )
    chosen = []
    for name, size in zip(names, levels, strict=True):
        value = float(_L.check("l", l[name] if isinstance(l, Mapping) else l))
        if value > size > 1 and not cap:  # a column of one level is public: it asks nothing
            raise ParameterError(
                f"`l` is {value:g} and column {name!r} has {size} levels: no distribution over "
                f"them has entropy above log {size}. Give this column an l of at most {size} of its own, or cap "
                "(`cap=True`: every column gets the smaller of l and its level count)."
            )
        chosen.append(min(value, float(size)))
    return tuple(chosen)


def largest_probability(*, l: float, levels: int) -> float:  # noqa: E741
    """How likely one level may still be: the rest shares evenly, which is best for the entropy.

    >>> round(largest_probability(l=2, levels=100), 4)
    0.9133
    """
    if levels == 1 or l <= 1:
        return 1.0
    low, high = 1 / levels, 1.0
    for _ in range(80):
        p = (low + high) / 2
        rest = 1 - p
        entropy = -p * math.log(p) - (rest * math.log(rest / (levels - 1)) if rest > 0 else 0.0)
        low, high = (p, high) if entropy >= math.log(l) else (low, p)
    return high


@dataclass(frozen=True, kw_only=True, eq=False)
class DiverseTables:
    """The perturbed blocks of all columns, flat. Block b of column i gives level j the weight u + 2^shift n_j.

    The last block of each column is its own distribution, also perturbed, for states that no block is near to.
    """

    sizes: tuple[int, ...]
    slots: npt.NDArray[np.int32]
    """Block of (column, key), or -1 for a key that no record has."""
    first: npt.NDArray[np.int64]
    """First block of each column, and the number of blocks."""
    blocks: npt.NDArray[np.uint64]
    """Per block: u, total weight, first cell, shift and number of cells (shift + 256 cells)."""
    levels: Codes
    """Level of each cell."""
    cumulative: npt.NDArray[np.int64]
    """Records of a block up to and with each cell."""
    modes: Codes
    """The commonest record of each block: what "near" is measured to."""
    weights: npt.NDArray[np.float64]
    """Mixing weight of each block."""

    def block_range(self, column: int) -> tuple[int, int]:
        """Blocks of one column, without the last one."""
        return int(self.first[column]), int(self.first[column + 1]) - 1

    def zero_blocks(self) -> list[int]:
        """How many blocks of each column give some level no chance at all (only possible without a floor)."""
        numbers = []
        for column, size in enumerate(self.sizes):
            begin, end = self.block_range(column)
            cells = (self.blocks[begin:end, 3] >> np.uint64(8)).astype(np.int64)
            numbers.append(int(((self.blocks[begin:end, 0] == 0) & (cells < size)).sum()))
        return numbers


def split_counts(counts: Secret[CountTable], parts: int, stream: Stream) -> list[Secret[CountTable]]:
    """Every record goes to one of ``parts`` tables, each equally likely, whatever its values; one part is the table."""
    if parts == 1:
        return [counts]
    table = counts.open()
    codes, tally = table.occupied()
    owner = np.repeat(np.arange(len(tally), dtype=np.int64), tally)
    part = stream.below_each(np.full(len(owner), parts, dtype=np.uint64)).astype(np.int64)
    split = np.bincount(owner * parts + part, minlength=len(tally) * parts).reshape(len(tally), parts)
    out = []
    for number in range(parts):
        part_counts = split[:, number]
        occupied = part_counts > 0
        share = CountTable(
            columns=table.columns, sizes=table.sizes, codes=codes[occupied], counts=part_counts[occupied]
        )
        out.append(Secret(share))
    return out


def diversify(
    counts: Secret[CountTable],
    *,
    keys_of: KeysOf,
    key_space: int,
    ls: Sequence[float],
    floor: float,
    threads: int | None = None,
) -> Secret[DiverseTables]:
    """Estimate and perturb (steps 1 and 2 of LUGS): one block per column and key, from the counts of whole records."""
    tables = diverse_tables(counts.open(), keys_of=keys_of, key_space=key_space, ls=ls, floor=floor, threads=threads)
    return Secret(tables)


def diverse_tables(
    table: CountTable,
    *,
    keys_of: KeysOf,
    key_space: int,
    ls: Sequence[float],
    floor: float,
    threads: int | None = None,
) -> DiverseTables:
    """The same for counts that are open already, in a process that works on one part."""
    codes, tally = table.occupied()
    keys = keys_of(codes)

    def one(column: int) -> _Column:
        return _column(codes, tally, keys[column], column, table.sizes[column], key_space, ls[column], floor)

    with ThreadPoolExecutor(threads) as pool:
        columns = list(pool.map(one, range(len(table.sizes))))
    return _joined(columns, table.sizes, codes)


def diversified(
    counts: Secret[CountTable],
    *,
    l: float,  # noqa: E741 - the field's own name for it
    floor: float,
    key_of: KeyOf,
    key_space: int,
    dense: bool,
) -> Secret[Weights]:
    """One conditional table of PeGS, every key with the virtual records that l needs (pegs.txt section 3.3B).

    The last column of the table is the target, the others are what the key reads. A key that no record has is uniform.
    """
    grid, distinct = counts_by_key(counts.open(), key_of=key_of, key_space=key_space, dense=dense)
    rows, size = grid.shape
    occupied = grid > 0
    starts = np.concatenate([[0], np.cumsum(occupied.sum(axis=1))]).astype(np.int64)
    virtual, shifts = np.zeros(rows, dtype=np.uint64), np.zeros(rows, dtype=np.uint8)
    block_weights(grid[occupied].astype(np.int64), starts, size, l, floor, virtual, shifts, np.zeros(rows))
    grid[shifts == UNIFORM] = 0
    grid <<= (shifts.astype(np.uint64) & np.uint64(63))[:, None]
    grid += virtual[:, None]
    return Secret(Weights(cumulative=np.cumsum(grid, axis=1, dtype=np.uint64), keys=distinct))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Column:
    slots: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    levels: Codes
    counts: npt.NDArray[np.int64]
    commonest: npt.NDArray[np.int64]
    virtual: npt.NDArray[np.uint64]
    shifts: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.float64]


def _column(
    codes: Codes,
    tally: npt.NDArray[np.int64],
    keys: npt.NDArray[np.int32],
    column: int,
    size: int,
    key_space: int,
    l: float,  # noqa: E741
    floor: float,
) -> _Column:
    """The blocks of one column; the last one holds the whole column."""
    rows = len(tally)
    order, bounds = np.empty(rows, dtype=np.int64), np.zeros(key_space + 1, dtype=np.int64)
    _sort_by_key(keys, order, bounds)
    slots = np.full(key_space, -1, dtype=np.int32)
    most = min(key_space, rows)
    levels, counts = np.empty(rows + size, dtype=codes.dtype), np.empty(rows + size, dtype=np.int64)
    starts, commonest = np.empty(most + 2, dtype=np.int64), np.empty(most + 1, dtype=np.int64)
    number, cells = _tally_blocks(
        codes[:, column], tally, order, bounds, slots, np.zeros(size, np.int64), levels, counts, starts, commonest
    )
    starts = starts[: number + 1]
    virtual, shifts = np.zeros(number, dtype=np.uint64), np.zeros(number, dtype=np.uint8)
    weights = np.zeros(number)
    block_weights(counts, starts, size, l, floor, virtual, shifts, weights)
    return _Column(
        slots=slots,
        starts=starts,
        levels=levels[:cells].copy(),
        counts=counts[:cells].copy(),
        commonest=commonest[:number],
        virtual=virtual,
        shifts=shifts,
        weights=weights,
    )


def _joined(columns: Sequence[_Column], sizes: tuple[int, ...], codes: Codes) -> DiverseTables:
    first = np.cumsum([0, *(len(part.virtual) for part in columns)], dtype=np.int64)
    slots = np.stack([part.slots for part in columns])
    blocks = np.empty((int(first[-1]), 4), dtype=np.uint64)
    cells = 0
    cumulative = []
    for number, part in enumerate(columns):
        begin, end = first[number], first[number + 1]
        slots[number][slots[number] >= 0] += np.int32(begin)
        running = np.cumsum(part.counts)
        before = np.concatenate([[0], running])[part.starts]
        lengths = np.diff(part.starts)
        cumulative.append(running - np.repeat(before[:-1], lengths))
        records = np.diff(before).astype(np.uint64)
        drawn = np.where(
            part.shifts == UNIFORM, np.uint64(0), records << (part.shifts.astype(np.uint64) & np.uint64(63))
        )
        blocks[begin:end, 0] = part.virtual
        blocks[begin:end, 1] = part.virtual * np.uint64(sizes[number]) + drawn
        blocks[begin:end, 2] = (part.starts[:-1] + cells).astype(np.uint64)
        blocks[begin:end, 3] = part.shifts.astype(np.uint64) + (lengths.astype(np.uint64) << np.uint64(8))
        cells += len(part.counts)
    commonest = np.concatenate([part.commonest for part in columns])
    modes = codes[np.maximum(commonest, 0)] if len(codes) else np.zeros((len(commonest), len(sizes)), dtype=codes.dtype)
    return DiverseTables(
        sizes=tuple(sizes),
        slots=slots,
        first=first,
        blocks=blocks,
        levels=np.concatenate([part.levels for part in columns]),
        cumulative=np.concatenate(cumulative),
        modes=modes,
        weights=np.concatenate([part.weights for part in columns]),
    )


@kernel
def _sort_by_key(keys: Any, order: Any, bounds: Any) -> None:
    """Counting sort: ``order[bounds[k]:bounds[k + 1]]`` are the records of key k, in their order."""
    for row in range(len(keys)):
        bounds[keys[row] + 1] += 1
    for key in range(1, len(bounds)):
        bounds[key] += bounds[key - 1]
    for row in range(len(keys)):
        place = bounds[keys[row]]
        order[place] = row
        bounds[keys[row]] = place + 1
    for key in range(len(bounds) - 1, 0, -1):
        bounds[key] = bounds[key - 1]
    bounds[0] = 0


@kernel
def _tally_blocks(
    target: Any,
    tally: Any,
    order: Any,
    bounds: Any,
    slots: Any,
    scratch: Any,
    levels: Any,
    counts: Any,
    starts: Any,
    commonest: Any,
) -> tuple[int, int]:
    """Occupied levels and their counts, block after block, and at last for the column as a whole."""
    block, cell = 0, 0
    whole = np.zeros(len(scratch), dtype=np.int64)
    for key in range(len(slots)):
        if bounds[key] == bounds[key + 1]:
            continue
        slots[key] = block
        starts[block] = cell
        best = -1
        heaviest = 0
        for place in range(bounds[key], bounds[key + 1]):
            row = order[place]
            level = target[row]
            if scratch[level] == 0:
                levels[cell] = level
                cell += 1
            scratch[level] += tally[row]
            if tally[row] > heaviest:
                best, heaviest = row, tally[row]
        for place in range(starts[block], cell):
            counts[place] = scratch[levels[place]]
            whole[levels[place]] += counts[place]
            scratch[levels[place]] = 0
        commonest[block] = best
        block += 1
    starts[block] = cell
    for level in range(len(whole)):
        if whole[level] > 0:
            levels[cell] = level
            counts[cell] = whole[level]
            cell += 1
    commonest[block] = -1
    starts[block + 1] = cell
    return block + 1, cell
