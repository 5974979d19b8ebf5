"""Views of linked tables are joined, capped and counted where the tables lie: every engine gives the same counts."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from coded_examples import coded_book, coded_data

from tests.engines.places import cases
from understudy import datasets
from understudy.codebook import LinkedCodebook
from understudy.codebook.joined import joined_book
from understudy.codebook.views import views_of
from understudy.histories.counting import view_source
from understudy.sources.joined_source import open_joined
from understudy.sources.linked import open_linked

BOOK = datasets.histories_codebook()
KEY = "a key for this test"


@pytest.fixture(scope="module")
def tables() -> Mapping[str, pa.Table]:
    return datasets.histories(120, seed=4)._asdict()


def counted(what: Any, steps: int = 2, book: LinkedCodebook = BOOK) -> dict[str, list[np.ndarray]]:
    """One-way tables of every view and of its detailed codes, and two-way tables of its first columns, after the
    caps."""
    source = open_linked(what, book).capped(KEY)
    views = views_of(book)
    grids = {}
    for view in views:
        names = view.book.names
        codes = [view.spelled(one.detail.name) for one in view.codes]
        cliques = [(name,) for name in (*names, *codes)] + list(itertools.combinations(names[:5], 2))
        rows = view_source(source, views, view, steps=steps, key=KEY)
        grids[view.table.name] = [secret.open().to_grid() for secret in rows.count(cliques)]
    return grids


def crossed(what: Any) -> np.ndarray:
    """A table of counts across three tables, joined where they lie and capped."""
    by = ["patients.sex", "stays.ward", "diagnoses.position"]
    source = open_joined(what, BOOK, joined_book(BOOK, by), by)
    choice: Any = SimpleNamespace(cap=20, key=lambda: KEY)
    [secret] = source.capped(choice).count([tuple(by)])
    return secret.open().to_grid()


@pytest.fixture(scope="module")
def in_memory(tables: Mapping[str, pa.Table]) -> dict[str, list[np.ndarray]]:
    return counted(tables)


def assert_same(first: Mapping[str, list[np.ndarray]], second: Mapping[str, list[np.ndarray]]) -> None:
    assert list(first) == list(second)
    assert len(first) == 3
    for name, grids in first.items():
        assert len(grids) == len(second[name])
        for grid, other in zip(grids, second[name], strict=True):
            np.testing.assert_array_equal(grid, other)


def test_views_hold_what_the_caps_leave(in_memory: Mapping[str, list[np.ndarray]]) -> None:
    assert in_memory["patients"][0].sum() == 120
    for name, grids in in_memory.items():
        assert all(grid.sum() == grids[0].sum() for grid in grids)
        assert grids[0].sum() <= (120 if name == "patients" else 240)  # two steps of each person


def test_files_give_the_counts_of_tables_in_memory(
    tables: Mapping[str, pa.Table], in_memory: Mapping[str, list[np.ndarray]], tmp_path: Path
) -> None:
    for name, table in tables.items():
        order = np.random.default_rng(1).permutation(table.num_rows)  # the order of a file means nothing
        pq.write_table(table.take(pa.array(order)), tmp_path / f"{name}.parquet")
    assert_same(counted(tmp_path), in_memory)


@pytest.mark.parametrize("engine", cases(readers=False))
def test_engines_give_the_same_counts(
    engine: str, place: Any, tables: Mapping[str, pa.Table], in_memory: Mapping[str, list[np.ndarray]]
) -> None:
    there = place(engine).put(tables)
    assert_same(counted(there), in_memory)
    np.testing.assert_array_equal(crossed(there), crossed(tables))


CODED = coded_book()


@pytest.fixture(scope="module")
def codes() -> Mapping[str, pa.Table]:
    """Three diagnoses of a stay, and the reason for a drug, share one list; a plan of insurance has its own."""
    return coded_data(60, seed=2)


def test_codes_are_counted_with_the_rows_of_their_view(codes: Mapping[str, pa.Table]) -> None:
    stays = counted(codes, book=CODED)["stays"]
    views = {view.table.name: view for view in views_of(CODED)}
    first = len(views["stays"].book.names)
    of_codes = stays[first : first + 3]
    assert [len(grid) for grid in of_codes] == [one.size for one in views["stays"].codes]
    assert [grid.sum() for grid in of_codes] == [stays[0].sum()] * 3


@pytest.mark.parametrize("engine", cases(readers=False))
def test_engines_count_the_same_codes(engine: str, place: Any, codes: Mapping[str, pa.Table]) -> None:
    assert_same(counted(place(engine).put(codes), book=CODED), counted(codes, book=CODED))
