"""The simulated discharge table: its levels are Table 2's, its rows follow its stated network."""

import math
import tomllib
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from understudy.datasets import discharges, discharges_codebook_text
from understudy.datasets.discharges import _CHUNK, _draw, _network
from understudy.errors import ParameterError

TABLE_2 = {  # levels, the missing one included
    "typ": 6,
    "age.yrs": 18,
    "sex": 3,
    "ethncty": 4,
    "race": 7,
    "patzip": 16,
    "los": 16,
    "disp": 13,
    "pay": 9,
    "charge": 25,
    "MDC": 25,
    "sev": 3,
    "cat": 2,
}
CAN_BE_MISSING = {"age.yrs", "sex", "los"}
RELATED = [
    ("age.yrs", "MDC"),
    ("los", "charge"),
    ("charge", "MDC"),
    ("age.yrs", "pay"),
    ("MDC", "sev"),
    ("los", "sev"),
    ("age.yrs", "sev"),
    ("age.yrs", "disp"),
    ("ethncty", "race"),
    ("typ", "MDC"),
    ("charge", "cat"),
    ("MDC", "cat"),
    ("sex", "MDC"),
    ("patzip", "pay"),
    ("race", "patzip"),
]
ROWS = 100_000
COLUMNS = {column["name"]: column for column in tomllib.loads(discharges_codebook_text())["columns"]}

seeds = pytest.mark.parametrize("seed", [0, 1, 2])


@cache
def sample(seed: int) -> pa.Table:
    return discharges(ROWS, seed=seed)


def levels(name: str) -> list[str | None]:
    return [*COLUMNS[name]["levels"], *([None] if "missing" in COLUMNS[name] else [])]


def codes(table: pa.Table, name: str) -> np.ndarray:
    positions = pc.index_in(table[name], pa.array(levels(name), pa.string()))
    assert positions.null_count == 0, f"{name} holds a value that its codebook does not"
    return positions.to_numpy()


def distance_from_independence(table: pa.Table, first: str, second: str) -> float:
    shape = len(levels(first)), len(levels(second))
    flat = np.ravel_multi_index((codes(table, first), codes(table, second)), shape)
    joint = np.bincount(flat, minlength=math.prod(shape)).reshape(shape) / table.num_rows
    return 0.5 * float(np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum())


def where(table: pa.Table, column: str, value: str) -> pa.Table:
    return table.filter(pc.equal(table[column], value))


def test_the_codebook_has_the_columns_and_level_counts_of_table_2():
    assert {name: len(levels(name)) for name in COLUMNS} == TABLE_2
    assert list(COLUMNS) == list(TABLE_2)
    assert math.prod(TABLE_2.values()) == 1_018_967_040_000
    assert {name for name, column in COLUMNS.items() if "missing" in column} == CAN_BE_MISSING
    assert all(len(set(levels(name))) == TABLE_2[name] for name in COLUMNS)


def test_the_codebook_keeps_to_its_format():
    text = discharges_codebook_text()
    book = tomllib.loads(text)
    assert list(book) == ["format", "title", "description", "columns"]
    assert book["format"] == 1
    assert "no real patient" in book["description"]
    assert not [line for line in text.splitlines() if line.startswith("#")]
    order = ["name", "kind", "role", "description", "levels", "missing", "parents"]
    for column in book["columns"]:
        assert list(column) == [key for key in order if key in column]
        assert column["kind"] in {"categorical", "ordinal"}
        assert column.get("role", "unsaid") in {"unsaid", "identifier", "quasi-identifier", "sensitive"}
        assert column.get("missing") not in column["levels"]


@pytest.mark.parametrize("name", TABLE_2)
def test_parents_are_other_columns_and_leave_about_30_records_per_key(name):
    parents = COLUMNS[name]["parents"]
    assert 2 <= len(parents) == len(set(parents)) <= 3
    assert set(parents) <= set(TABLE_2) - {name}
    assert math.prod(TABLE_2[parent] for parent in parents) <= 50_000 / 30


@seeds
def test_every_value_is_in_the_codebook_and_every_level_appears(seed):
    table = sample(seed)
    assert table.column_names == list(TABLE_2)
    assert all(column.type == pa.string() for column in table.columns)
    for name, count in TABLE_2.items():
        # The rarest level has probability above 0.001: 100,000 rows lack it with probability below exp(-100).
        assert len(np.unique(codes(table, name))) == count


def test_same_seed_same_table_and_another_seed_another():
    assert discharges(2_000, seed=5).equals(discharges(2_000, seed=5))
    assert not discharges(2_000, seed=5).equals(discharges(2_000, seed=6))


def test_chunks_join_into_the_rows_asked_for_and_do_not_repeat():
    table = discharges(2 * _CHUNK + 3, seed=1)
    assert table.num_rows == 2 * _CHUNK + 3
    assert not table.slice(0, _CHUNK).equals(table.slice(_CHUNK, _CHUNK))


@seeds
def test_impossible_patients_do_not_occur(seed):
    table = sample(seed)
    assert set(where(table, "MDC", "Pregnancy")["sex"].to_pylist()) == {"Female"}
    childbearing = {str(age) for age in range(10, 55, 5)}
    assert set(where(table, "MDC", "Pregnancy")["age.yrs"].to_pylist()) <= childbearing
    assert set(where(table, "MDC", "Newborn")["age.yrs"].to_pylist()) == {"0"}
    assert "Female" not in where(table, "MDC", "Male Reproductive")["sex"].to_pylist()
    assert "Male" not in where(table, "MDC", "Female Reproductive")["sex"].to_pylist()


@seeds
def test_draws_follow_the_stated_network(seed):
    drawn = _draw(np.random.default_rng(seed), ROWS)
    for conditional in _network():
        table = conditional.table
        assert np.allclose(table.sum(axis=-1), 1.0)
        where_each = tuple(drawn[name] for name in (*conditional.given, conditional.target))
        flat = np.ravel_multi_index(where_each, table.shape)
        observed = np.bincount(flat, minlength=table.size).reshape(table.shape)
        assert not observed[table == 0.0].any()
        trials = observed.sum(axis=-1, keepdims=True)
        # Bernstein's inequality at 1e-12 per cell; there are fewer than a million cells in all.
        room = math.log(2 / 1e-12)
        allowed = room / 3 + np.sqrt(room**2 / 9 + 2 * room * trials * table * (1 - table))
        assert (np.abs(observed - trials * table) <= allowed).all(), conditional.target


@seeds
def test_independent_columns_would_be_noticed(seed):
    # One record moves the joint by 1/n and the product of marginals by 2/n at most, so by McDiarmid's
    # inequality the distance strays this far from its mean with probability below 1e-9 on each side. For
    # independent columns the mean is at most half the root of cells per record: a cell's difference has
    # variance below p_i p_j / n; then Jensen and Cauchy-Schwarz.
    stray = math.sqrt(9 * math.log(1e9) / (2 * ROWS))
    distances = [distance_from_independence(sample(seed), *pair) for pair in RELATED]
    for (first, second), distance in zip(RELATED, distances, strict=True):
        by_chance = 0.5 * math.sqrt(TABLE_2[first] * TABLE_2[second] / ROWS)
        assert distance > by_chance + stray, (first, second)
    assert np.mean(distances) > 0.1 + stray


@seeds
def test_longer_stays_cost_more(seed):
    table = sample(seed)
    means = [
        codes(where(table, "los", stay), "charge").mean()
        for stay in ("1", "3", "5", "7", "10-29")  # each holds thousands of rows; the steps are whole bands
    ]
    assert means == sorted(means)


@pytest.mark.parametrize("rows", [0, -1, True, 10.0, "10", None])
def test_bad_rows_are_refused(rows):
    with pytest.raises(ParameterError, match=r"`rows` is .*; it must be a whole number of 1 or more\. Try"):
        discharges(rows, seed=1)


@pytest.mark.parametrize("seed", [-1, True, 1.0, "1", None])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(ParameterError, match=r"`seed` is .*; it must be a whole number of 0 or more\. Try"):
        discharges(10, seed=seed)


def test_numpy_integers_are_integers():
    assert discharges(np.int64(10), seed=np.uint32(4)).equals(discharges(10, seed=4))


def test_it_says_that_it_is_a_simulation():
    assert "no real patient" in discharges.__doc__
    assert "made up" in discharges.__doc__
