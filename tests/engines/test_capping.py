"""Records per person are capped where they lie: the same choice on every engine, by a key and not by their order."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from capping_by_hand import kept_records_of

import understudy as us
from tests.engines.conftest import Postgres
from tests.engines.places import EVERY
from tests.engines.statement_logs import heard, ours_in, sends_rows
from tests.engines.test_engines import ENGINES, opened
from understudy.codebook import Categorical, Codebook, PersonUnit, Role, Text
from understudy.errors import DataError
from understudy.mechanisms.stream import Stream
from understudy.sources.check import check_table
from understudy.synth.paid_draft import PaidPlan, paid_draft
from understudy.synth.people import capped_source

PEOPLE = ["ann", "b,1", "😀 zoë", "3", "O'Neil", "1:x"]
LEVELS = ("r", "s", "t")
BOOK = Codebook(
    columns=(
        Text(name="patient", role=Role.IDENTIFIER),
        Categorical(name="who", levels=tuple(PEOPLE)),
        Categorical(name="ward", levels=LEVELS),
        Categorical(name="day", levels=("0", "1", "2", "3")),
    ),
    unit=PersonUnit(id="patient", cap=2),
)


def visits() -> pa.Table:
    """One to six records each, among them equal ones; the person stands in a column too, so that counts name them."""
    rows = [
        (person, ward, day)
        for place, person in enumerate(PEOPLE)
        for ward, day in [("r", "0"), ("s", "0"), ("r", "0"), ("t", "3"), ("t", "2"), ("s", "1")][: place + 1]
    ]
    who, ward, day = zip(*rows, strict=True)
    return pa.table({"patient": list(who), "who": list(who), "ward": list(ward), "day": list(day)})


def records(table: pa.Table) -> list[tuple[str, tuple[int, ...]]]:
    """(person, codes) of every row."""
    return [
        (row["patient"], (PEOPLE.index(row["who"]), LEVELS.index(row["ward"]), int(row["day"])))
        for row in table.to_pylist()
    ]


def kept(source: Any, stream: Stream) -> Counter[tuple[int, ...]]:
    return opened(capped_source(source, stream).count([("who", "ward", "day")]))[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_person_keeps_some_of_their_own_records_and_no_more_than_the_cap(engine: str, open_with: Any) -> None:
    table, source = visits(), open_with(engine, visits(), BOOK)
    before = Counter(codes for _, codes in records(table))
    chosen = [kept(source, Stream.seeded(seed)) for seed in range(3)]
    for found in chosen:
        assert all(found[codes] <= before[codes] for codes in found)
        per_person = Counter[int]()
        for codes, count in found.items():
            per_person[codes[0]] += count
        assert per_person == {place: min(2, place + 1) for place in range(len(PEOPLE))}
    assert len({frozenset(found.items()) for found in chosen}) > 1  # another fit, another choice


@pytest.mark.parametrize("engine", EVERY)
def test_engines_choose_as_the_key_says_whatever_the_order_of_the_rows(engine: str, open_with: Any) -> None:
    """The same key, the rows shuffled: the choice of the reference, to the last record."""
    table = visits()
    shuffled = table.take(pa.array(np.random.default_rng(3).permutation(table.num_rows)))
    for rows, seed in ((table, 7), (shuffled, 7), (shuffled, 8)):
        key = Stream.seeded(seed).spawn().fresh_key().bits.hex()
        expected: Counter[tuple[int, ...]] = Counter()
        for (_, codes), count in kept_records_of(records(rows), cap=2, key=key).items():
            expected[codes] += count
        assert kept(open_with(engine, rows, BOOK), Stream.seeded(seed)) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_every_record_has_the_same_chance(engine: str, open_with: Any) -> None:
    """2,000 people with one record in r and three equal ones in s, cap 1: r stays for a quarter; z = 7."""
    book = Codebook(
        columns=(Text(name="patient", role=Role.IDENTIFIER), Categorical(name="ward", levels=LEVELS)),
        unit=PersonUnit(id="patient", cap=1),
    )
    rows = pa.table({"patient": [f"p{k // 4}" for k in range(8000)], "ward": ["r", "s", "s", "s"] * 2000})
    found = opened(capped_source(open_with(engine, rows, book), Stream.seeded(5)).count([("ward",)]))[0]
    assert found[(0,)] + found[(1,)] == 2000
    assert abs(found[(0,)] - 500) < 7 * np.sqrt(2000 * 3 / 16)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_nobody_are_refused_with_their_number(engine: str, open_with: Any) -> None:
    table = visits().set_column(0, "patient", pa.array([None, " ", "", *visits()["patient"].to_pylist()[3:]]))
    with pytest.raises(DataError, match="'patient' is missing in 3 rows"):
        capped_source(open_with(engine, table, BOOK), Stream.seeded(1))
    with pytest.raises(DataError, match="no column 'patient'"):
        capped_source(open_with(engine, table.drop_columns(["patient"]), BOOK), Stream.seeded(1))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_how_many_records_people_have(engine: str, open_with: Any) -> None:
    unit = PersonUnit(id="patient", cap=4, pseudonyms=True, records_per_person="counted")
    source = capped_source(open_with(engine, visits(), replace(BOOK, unit=unit)), Stream.seeded(1))
    assert source.people is not None and source.people.open().to_grid().tolist() == [1, 1, 1, 3]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_for_people_from_every_engine(engine: str, open_with: Any) -> None:
    release = us.LaplaceHistogram(epsilon=1.0).fit(open_with(engine, visits(), BOOK)).sample(20)
    assert release.manifest.total.epsilon <= 1.0
    assert release.manifest.total.neighbours.value == "add-remove-person"


@pytest.mark.parametrize("engine", EVERY)
def test_a_codebook_is_drafted_for_people_where_the_records_lie(engine: str, put_with: Any) -> None:
    """The word that one person has 400 times is not shown: two of their records take part."""
    rows = pa.table({"patient": [*(f"p{k}" for k in range(600)), *["one"] * 400], "ward": ["r"] * 600 + ["mine"] * 400})
    plan = PaidPlan(epsilon=8.0, delta=1e-4, unit=PersonUnit(id="patient", cap=2))
    what, name = put_with(engine, rows)
    book = paid_draft(what, plan, table=name)
    assert book.column("ward").labels == ("r", "other", "NA") and book.unit == plan.unit


def test_the_log_shows_neither_records_nor_the_key(postgres: Postgres) -> None:
    address = postgres.load("visits", visits())
    before = postgres.log.stat().st_size
    with heard(postgres) as sent:
        us.Marginals(epsilon=1.0, delta=1e-6).fit(us.open(address, BOOK), stream=Stream.seeded(11))
    key = Stream.seeded(11).spawn().fresh_key().bits.hex()
    codes = ours_in(sent)
    assert len(codes) == 3  # all codes, those that take part, the key
    private = {"visits", *codes}
    about = [text for text in sent if any(name in text for name in private) and "pg_catalog" not in text]
    assert any("SHA256" in text.upper() for text in about)
    copied = [text for text in about if text.endswith("FROM STDIN")]
    assert len(copied) == 1 and "understudy_key" in copied[0]
    assert [text for text in about if text not in copied and sends_rows(text, private, "postgres")] == []
    assert key.encode() not in postgres.log.read_bytes()[before:]


def test_a_database_is_checked_for_rows_of_nobody(postgres: Postgres) -> None:
    table = visits().set_column(0, "patient", pa.array([None, *visits()["patient"].to_pylist()[1:]]))
    [fault] = check_table(postgres.load("visits", table), BOOK)
    assert fault.kind == "missing id" and fault.count == 1


@pytest.mark.java
def test_the_key_stands_in_no_plan_of_spark(spark: Any, open_with: Any) -> None:
    source = capped_source(open_with("spark", visits(), BOOK), Stream.seeded(2))
    key = Stream.seeded(2).spawn().fresh_key().bits.hex()
    plan = source.bench.frame._jdf.queryExecution().toString()  # type: ignore[attr-defined]
    assert "sha2" in plan.lower() and key not in plan
