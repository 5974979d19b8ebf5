"""Simulated people with histories: what their histories are made of is known, and the tables follow it."""

import datetime as dt

import numpy as np
import pyarrow.compute as pc
import pytest

from understudy import datasets
from understudy.datasets.histories import CARRIES_ON, DIES, GAPS, MOST_DIAGNOSES, MOST_STAYS, SEVERITIES
from understudy.errors import ParameterError

Z = 6.5  # standard errors: one of the comparisons below fails once in a billion runs


@pytest.fixture(scope="module")
def tables():
    return datasets.histories(8_000, seed=7)


@pytest.fixture(scope="module")
def pairs(tables):
    """Severity, and what came next: next severity, days between, how it ended; by person and date."""
    stays = tables.stays.sort_by([("patient_id", "ascending"), ("admitted", "ascending")])
    severity = pc.index_in(stays["severity"], value_set=_levels()).to_numpy()
    person = stays["patient_id"].to_numpy(zero_copy_only=False)
    day = stays["admitted"].to_numpy().astype("datetime64[D]").astype(int)
    follows = person[1:] == person[:-1]
    return severity[:-1][follows], severity[1:][follows], (day[1:] - day[:-1])[follows], severity, stays["outcome"]


def _levels():
    import pyarrow as pa

    return pa.array(SEVERITIES)


def close(seen: float, known: float, rows: int) -> bool:
    return abs(seen - known) <= Z * np.sqrt(known * (1 - known) / rows) + 1 / rows


def test_severity_carries_on_and_gaps_depend_on_it(pairs):
    now, then, gap, _, _ = pairs
    for level in range(4):
        some = now == level
        rows = int(some.sum())
        for after in range(4):
            assert close(float((then[some] == after).mean()), CARRIES_ON[level, after], rows)
        for place, (low, high) in enumerate(((1, 30), (31, 90), (91, 365))):
            inside = (gap[some] >= low) & (gap[some] <= high)
            assert close(float(inside.mean()), GAPS[level, place], rows)


def test_death_ends_a_history_and_depends_on_severity(tables, pairs):
    _, _, _, severity, outcome = pairs
    died = pc.equal(outcome, "died").to_numpy(zero_copy_only=False)
    for level in range(4):
        some = severity == level
        assert close(float(died[some].mean()), DIES[level], int(some.sum()))
    stays = tables.stays
    dead = stays.filter(pc.equal(stays["outcome"], "died"))
    last = stays.group_by("patient_id").aggregate([("admitted", "max")])
    there = last.take(pc.index_in(dead["patient_id"], last["patient_id"]))
    assert there["admitted_max"].to_pylist() == dead["admitted"].to_pylist()


def test_keys_caps_and_rules(tables):
    people, stays, diagnoses = tables
    assert people.num_rows == 8_000 == pc.count_distinct(stays["patient_id"]).as_py()  # everybody has a first stay
    assert pc.all(pc.is_in(stays["patient_id"], people["patient_id"].combine_chunks())).as_py()
    assert pc.all(pc.is_in(diagnoses["stay_id"], stays["stay_id"].combine_chunks())).as_py()
    assert pc.max(stays.group_by("patient_id").aggregate([([], "count_all")])["count_all"]).as_py() <= MOST_STAYS
    assert pc.max(diagnoses["position"]).as_py() <= MOST_DIAGNOSES
    mothers = stays.filter(pc.equal(stays["ward"], "obstetrics"))["patient_id"]
    assert set(people.take(pc.index_in(mothers, people["patient_id"]))["sex"].to_pylist()) == {"F"}
    codes = diagnoses.group_by(["stay_id", "code"]).aggregate([([], "count_all")])
    assert codes.num_rows == diagnoses.num_rows  # no code comes twice in a stay
    assert dt.date(2014, 1, 1) <= pc.min(stays["admitted"]).as_py()
    assert pc.max(stays["admitted"]).as_py() <= dt.date(2019, 12, 31)


def test_one_table_repeats_the_same_people(tables):
    one = datasets.encounters(8_000, seed=7)
    assert one["stay_id"].to_pylist() == tables.stays["stay_id"].to_pylist()
    pairs = one.group_by(["patient_id", "sex", "birth_year", "region", "chronic"]).aggregate([])
    assert pairs.num_rows == 8_000
    assert one["diagnosis"].null_count == 0


def test_the_same_seed_gives_the_same_tables():
    assert datasets.histories(300, seed=3) == datasets.histories(300, seed=3) != datasets.histories(300, seed=4)
    with pytest.raises(ParameterError, match="patients"):
        datasets.histories(0, seed=1)


def test_codebooks_describe_every_column():
    linked, one = datasets.histories_codebook(), datasets.encounters_codebook()
    tables = datasets.histories(50, seed=1)._asdict()
    for table in linked.tables:
        keys = {table.key, table.parent_key} - {None}
        assert {*table.book.names, *keys} == set(tables[table.name].column_names)
    assert [column.name for column in one.columns] == datasets.encounters(50, seed=1).column_names
    assert linked.is_public and one.is_public
