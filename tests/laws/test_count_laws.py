"""Counts of a clique determine the counts of every part of it, and no path to them changes a number."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.codebook import Categorical, Codebook, Continuous, Integer, Number
from understudy.codebook.decode import decode_table
from understudy.errors import DataError
from understudy.mechanisms.stream import Stream
from understudy.sources import CountTable, EncodedSource, encoded, engine, open_source
from understudy.sources.encoded import count_codes

LAWS = settings(max_examples=25, deadline=None)


def book_of(sizes: list[int]) -> Codebook:
    return Codebook(
        columns=tuple(
            Categorical(name=f"x{p}", levels=tuple(f"v{k}" for k in range(size))) for p, size in enumerate(sizes)
        )
    )


def codes_of(sizes: list[int], rows: int, seed: int) -> list[npt.NDArray[np.uint8]]:
    stream = Stream.seeded(seed)
    return [stream.below_each(np.full(rows, size, dtype=np.uint64)).astype(np.uint8) for size in sizes]


def brute(codes: list[npt.NDArray[np.uint8]], axes: list[int], sizes: list[int]) -> npt.NDArray[np.int64]:
    grid = np.zeros([sizes[a] for a in axes], dtype=np.int64)
    for row in zip(*(codes[a].tolist() for a in axes), strict=True):
        grid[row] += 1
    return grid


tables = st.tuples(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.integers(0, 300), st.integers(0, 10**6))


@LAWS
@given(tables, st.data())
def test_projection_commutes_with_counting(table: tuple[list[int], int, int], data: st.DataObject) -> None:
    sizes, rows, seed = table
    names = [f"x{p}" for p in range(len(sizes))]
    clique = data.draw(st.permutations(names))
    part = data.draw(st.lists(st.sampled_from(clique), min_size=1, unique=True))
    codes = codes_of(sizes, rows, seed)
    source = EncodedSource(codebook=book_of(sizes), columns=codes)
    whole, direct = (secret.open() for secret in source.count([clique, part]))
    axes = [names.index(name) for name in part]
    assert whole.project(part).columns == tuple(part)
    assert np.array_equal(whole.project(part).to_grid(), direct.to_grid())
    assert np.array_equal(direct.to_grid(), brute(codes, axes, sizes))
    assert whole.to_grid().sum() == rows


@LAWS
@given(tables, st.data())
def test_sparse_and_dense_say_the_same(table: tuple[list[int], int, int], data: st.DataObject) -> None:
    sizes, rows, seed = table
    names = [f"x{p}" for p in range(len(sizes))]
    codes = codes_of(sizes, rows, seed)
    dense = count_codes(names, sizes, codes)
    assert dense.grid is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoded, "DENSE_LIMIT", 0)
        sparse = count_codes(names, sizes, codes)
        patch.setattr(encoded, "_KEY_LIMIT", 6)  # forces the renumbering that very wide cliques need
        renumbered = count_codes(names, sizes, codes)
    assert sparse.grid is None
    part = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    for other in (sparse, renumbered):
        assert same(dense, other)
        assert same(dense.project(part), other.project(part))


@settings(max_examples=6, deadline=None)
@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.integers(1, 200), st.integers(0, 10**6))
def test_engine_and_memory_count_alike(sizes: list[int], rows: int, seed: int) -> None:
    book = book_of(sizes)
    stream = Stream.seeded(seed)
    table = decode_table(book, codes_of(sizes, rows, seed), stream.below_each)
    cliques = [list(names) for size in range(1, len(sizes) + 1) for names in permutations(book.names, size)]
    local = [secret.open() for secret in open_source(table, book).count(cliques)]
    remote = [secret.open() for secret in open_source(table, book, local_bytes=0).count(cliques)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "DENSE_LIMIT", 0)
        sparse = [secret.open() for secret in open_source(table, book, local_bytes=0).count(cliques)]
    for one, two, three in zip(local, remote, sparse, strict=True):
        assert one.columns == two.columns == three.columns
        assert three.grid is None
        assert same(one, two)
        assert same(one, three)


@st.composite
def smooth_numbers(draw: st.DrawFn) -> Number:
    """Whole or decimal, closed on either side, clipped or not, with a missing level or without."""
    edges = sorted(draw(st.lists(st.integers(-400, 400), min_size=2, max_size=5, unique=True)))
    given = {
        "name": "x",
        "shape": "smooth",
        "closed": draw(st.sampled_from(["left", "right"])),
        "clip": draw(st.booleans()),
        "missing": draw(st.sampled_from([None, "NA"])),
    }
    if draw(st.booleans()):
        return Integer(edges=tuple(map(Fraction, edges)), **given)
    return Continuous(edges=tuple(Fraction(edge, 10) for edge in edges), precision=draw(st.integers(1, 3)), **given)


def hard_values(column: Number) -> st.SearchStrategy[float]:
    """On the edges of bins and pieces, just beside them, far away, and nothing at all."""
    on = st.sampled_from([*column.float_edges, *column.fine.float_edges])
    beside = st.tuples(on, st.sampled_from([-math.inf, math.inf])).map(lambda pair: math.nextafter(*pair))
    return on | beside | st.floats(-500, 500) | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 1e308, 2.0**53])


def as_decimals(values: list[float | None]) -> pa.Array:
    fit = [None if value is None or not abs(value) < 1e6 else Decimal(f"{value:.3f}") for value in values]
    return pa.array(fit, pa.decimal128(12, 3))


KINDS: dict[str, Callable[[list[float | None]], pa.Array]] = {
    "double": lambda values: pa.array(values, pa.float64(), from_pandas=False),
    "single": lambda values: pa.array(values, pa.float64(), from_pandas=False).cast(pa.float32(), safe=False),
    "whole": lambda values: pa.array([int(v) if v is not None and abs(v) < 1e6 else None for v in values], pa.int32()),
    "decimal": as_decimals,
    "text": lambda values: pa.array([None if value is None else repr(value) for value in values]),
    "odd text": lambda values: pa.array([f" {v}" if i % 3 else "1_000" for i, v in enumerate(values)]),
}


@pytest.mark.long
@LAWS
@given(smooth_numbers(), st.sampled_from(sorted(KINDS)), st.sampled_from(["error", "missing", "clamp"]), st.data())
def test_pieces_found_in_memory_are_those_of_the_engine(
    column: Number, kind: str, unknown: str, data: st.DataObject
) -> None:
    """Numbers that come along and are cut by numpy, or comparisons in the query: the same counts, or the same no."""
    if column.faults():
        return
    values = data.draw(st.lists(st.none() | hard_values(column), min_size=1, max_size=30))
    table = pa.table({"x": KINDS[kind](values), "y": ["a"] * len(values)})
    book = Codebook(columns=(column, Categorical(name="y", levels=("a", "b"))))
    cliques = [(column.fine.name,), ("x",), ("y", column.fine.name)]

    def counted(local_bytes: int) -> list[Any] | str:
        try:
            source = open_source(table, book, unknown=unknown, local_bytes=local_bytes)
            return [secret.open().to_grid().tolist() for secret in source.count(cliques)]
        except DataError as reason:
            return str(reason)

    memory = counted(1 << 28)
    assert memory == counted(0)
    if not isinstance(memory, str):
        pieces, bins, start = memory[0], memory[1], 0
        for code, cuts in enumerate(column.cuts):  # a number lies in a piece of its own bin
            assert sum(pieces[start : start + len(cuts)]) == bins[code]
            start += len(cuts)


def test_very_wide_cliques_are_counted_sparsely() -> None:
    sizes = [50] * 20  # 50^20 cells: far beyond 64 bits
    codes = codes_of(sizes, 400, 1)
    table = count_codes([f"x{p}" for p in range(20)], sizes, codes)
    assert table.cells == 50**20
    found, counts = table.occupied()
    expected, times = np.unique(np.stack(codes, axis=1), axis=0, return_counts=True)
    assert np.array_equal(found, expected)
    assert np.array_equal(counts, times)


def same(one: CountTable, two: CountTable) -> bool:
    (codes, counts), (others, times) = one.occupied(), two.occupied()
    grids = np.array_equal(one.to_grid(), two.to_grid())
    return one.columns == two.columns and grids and np.array_equal(codes, others) and np.array_equal(counts, times)
