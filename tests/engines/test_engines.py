"""One suite for every engine: its counts are those of our own memory, to the last record.

The expected counts come from the reference encoding, value by value.
"""

import datetime as dt
import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.engines.places import ENGINES as PLACES
from tests.engines.places import EVERY, cases
from understudy.codebook import Categorical, Codebook, Coded, Continuous, Dates, Grain, Integer, Ordinal
from understudy.codebook.encode import encode_value
from understudy.codebook.rules import Implies, Order
from understudy.errors import DataError
from understudy.evaluate.large import compare_large, uniqueness_by_counting
from understudy.evaluate.risk.copies import uniqueness
from understudy.privacy.secret import Secret
from understudy.sources import CountTable, EncodedSource
from understudy.sources.check import check_table
from understudy.sources.covering import covers
from understudy.sources.engines import engines
from understudy.sources.tables import code_type

ENGINES = ["memory", *EVERY]

BOOK = Codebook(
    columns=(
        Categorical(name="place", levels=("a,b", 'say "hi"', "two\nlines", "😀", "=1+1", "O'Neil", " "), missing="NA"),
        Ordinal(name="grade", levels=("1", "2", "3", "2.5"), missing="?"),
        Integer(name="age", edges=tuple(map(Fraction, (0, 18, 65, 120))), missing="NA"),
        Integer(name="Visits", edges=tuple(map(Fraction, (0, 1, 10))), missing="", clip=True),
        Continuous(name="bmi", edges=tuple(map(Fraction, ("10", "25", "30.5", "60"))), precision=1, closed="right",
                   missing="."),
        Dates(name="seen", grain=Grain.MONTH, start=dt.date(2020, 1, 1), end=dt.date(2020, 12, 31), missing=""),
        Dates(name="born", grain=Grain.WEEK, start=dt.date(1999, 12, 27), end=dt.date(2000, 3, 5), missing="-"),
    )
)  # fmt: skip
ODD_NUMBERS = [
    "5", " 5 ", "17", "18", "65", "120", "121", "-1", "1e1", "1E+1", "1_0", "0x10", "inf", "nan", "NaN", "1d", "1f",
    "",    "5.0", "5.5", ".5", "5.", "+7", "٣", "1e400", "1e-400", "25", "25.0", "30.5", "30.50000001", "60",
    "10", "9.99", "NA", "1e", "--1",
]  # fmt: skip
ODD_DAYS = [
    "2020-01-01", "2020-1-1", " 2020-02-29 ", "2019-02-29", "2020-02-30", "2020-13-01", "2020/02/01",
    "2020-12-31T23:59:59",
    "2020-06-01 00:00", "2020-06-01 x", "", "20200601", "2020-00-10", "1999-12-27", "2000-01-02", "2000-01-03",
    "2000-03-05",    "2000-03-06", "0000-01-01", "2020-06-01T10:00:00+02:00", "-",
]  # fmt: skip


def typed_table() -> pa.Table:
    """Columns of the types that databases have."""
    rows = 400
    grades: list[float | None] = [1.0, 2.0, 2.5, 3.0, float("nan"), None]
    return pa.table(
        {
            "place": pa.array([[*BOOK.column("place").labels[:7], "NA", None][k % 9] for k in range(rows)]),
            "grade": pa.array([grades[k % 6] for k in range(rows)], pa.float64()),
            "age": pa.array([None if k % 11 == 0 else k % 121 for k in range(rows)], pa.int64()),
            "Visits": pa.array([None if k % 13 == 0 else k % 30 for k in range(rows)], pa.int64()),
            "bmi": pa.array([[10.0, 25.0, 25.1, 30.5, 60.0, 10.1, None][k % 7] for k in range(rows)], pa.float64()),
            "seen": pa.array([None if k % 17 == 0 else dt.date(2020, k % 12 + 1, k % 28 + 1) for k in range(rows)]),
            "born": pa.array([None if k % 19 == 0 else dt.date(2000, 1, k % 31 + 1) for k in range(rows)]),
        }
    )


def text_table() -> pa.Table:
    """Everything as text, spelled as people and programs spell it."""
    rows = len(ODD_NUMBERS) * 6
    places = [*BOOK.column("place").labels, "elsewhere", "", None, "a", "NA "]
    grades = ["1", "2", "3", "2.5", "1.0", " 2", "?", None]
    return pa.table(
        {
            "place": [places[k % len(places)] for k in range(rows)],
            "grade": [grades[k % len(grades)] for k in range(rows)],
            "age": [[*ODD_NUMBERS, None][k % (len(ODD_NUMBERS) + 1)] for k in range(rows)],
            "Visits": [[*reversed(ODD_NUMBERS), None][(k * 5) % (len(ODD_NUMBERS) + 1)] for k in range(rows)],
            "bmi": [ODD_NUMBERS[(k * 7) % len(ODD_NUMBERS)] for k in range(rows)],
            "seen": [[*ODD_DAYS, None][k % (len(ODD_DAYS) + 1)] for k in range(rows)],
            "born": [[*ODD_DAYS, None][(k * 5) % (len(ODD_DAYS) + 1)] for k in range(rows)],
        }
    )


def test_every_engine_runs_these_cases():
    assert {name.split()[0] for name in PLACES} == set(engines())


TABLES = {"typed": typed_table(), "text": text_table()}
CLIQUES = [
    ("place",),
    ("Visits", "age"),
    ("seen", "bmi", "grade"),
    *itertools.combinations(BOOK.names, 2),
    BOOK.names,
]


def reference_codes(table: pa.Table) -> list[np.ndarray]:
    """As `encode_value` says, what it does not know being missing."""
    codes = []
    for column in BOOK.modelled:
        values = [encode_value(column, value) for value in table.column(column.name).to_pylist()]
        filled = [column.missing_code if code is None else code for code in values]
        codes.append(np.array(filled, dtype=code_type(column.size)))
    return codes


def opened(tables: list[Secret[CountTable]]) -> list[Counter[tuple[int, ...]]]:
    found = []
    for secret in tables:
        codes, counts = secret.open().occupied()
        found.append(Counter(dict(zip(map(tuple, codes.tolist()), counts.tolist(), strict=True))))
    return found


ODD_CODES = [
    "250.83", "25083", "250", "38", "8", "8.45", "V57", "v5789", "E909", "E9090", " 428 ", "390-459", "393-398",
    "other", "zzz", "", ".", "-", "0", "407", "123456789", "?", None, "NY", "New York", "36", "9", "09", "new york ",
    "1001",
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("pack", ["icd9", "us_states", "us_counties"])
def test_codes_of_packs_are_read_alike(engine, pack, open_with):
    book = Codebook(columns=(Coded(name="d", pack=pack, missing="?"),))
    source = open_with(engine, pa.table({"d": ODD_CODES * 3}), book)
    names = ("d", book.names[0])
    for name, found in zip(names, opened(source.count([[name] for name in names])), strict=True):
        expected = Counter((encode_value(book.column(name), value),) for value in ODD_CODES * 3)
        assert found == expected, name


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", TABLES)
def test_every_engine_gives_the_counts_of_the_reference(engine: str, kind: str, open_with: Any) -> None:
    table = TABLES[kind]
    codes = reference_codes(table)
    source = open_with(engine, table) if engine == "memory" else open_with(engine, table, unknown="missing")
    for clique, found in zip(CLIQUES, opened(source.count(CLIQUES)), strict=True):
        columns = [codes[BOOK.position(name)].tolist() for name in clique]
        assert found == Counter(zip(*columns, strict=True)), clique


@pytest.mark.parametrize("engine", EVERY)
def test_a_table_without_rows_has_counts_of_zero(engine: str, open_with: Any) -> None:
    """Of one column too: its sum over no rows came from PostgreSQL as an empty line, which was taken for no answer."""
    empty = TABLES["typed"].slice(0, 0)
    for names in (("age",), BOOK.names):
        book = Codebook(columns=tuple(BOOK.column(name) for name in names))
        assert opened(open_with(engine, empty, book).count([names])) == [Counter()]


@pytest.mark.parametrize("engine", EVERY)
def test_every_engine_refuses_unknown_values_by_name(engine: str, open_with: Any) -> None:
    source = open_with(engine, TABLES["text"])
    with pytest.raises(DataError, match=r"'place' \([0-9]+ rows\).*codebook check") as caught:
        source.count([("age",)])
    assert "elsewhere" not in str(caught.value)
    with pytest.raises(DataError, match="codebook check"):  # and again, however often it is asked
        source.count([("age",)])


@pytest.mark.parametrize("engine", cases(readers=False))
def test_a_method_runs_on_every_engine(engine: str, open_with: Any) -> None:
    fitted = us.PeGS(alpha=1.0).fit(open_with(engine, TABLES["typed"]))
    assert fitted.sample(rows=50).table.num_rows == 50


@pytest.mark.parametrize("engine", ENGINES)
def test_large_tables_are_compared_on_every_engine(engine: str, open_with: Any) -> None:
    """The same scores as in memory, however many slices the lone records are looked at in."""
    memory = open_with("memory", TABLES["typed"])
    shuffled = EncodedSource(codebook=BOOK, columns=[np.roll(c, 3 * k) for k, c in enumerate(memory._columns)])
    columns = ("place", "age", "grade", "bmi", "seen")
    source = open_with(engine, TABLES["typed"])
    expected = uniqueness(memory, shuffled, columns=columns)
    assert 0 < expected.breakdown["unique in both"] < expected.value < 1
    for most in (10**9, 150) if engine != "spark" else (150,):
        found = uniqueness_by_counting(source, shuffled, columns=columns, slice_cells=most)
        assert found.value == expected.value
        for name in ("original", "unique in both"):
            assert found.breakdown[name] == pytest.approx(expected.breakdown[name], rel=1e-12)
        # a bootstrap of 400: its share of lone records has a standard error below 1/sqrt(400); z = 8
        assert abs(found.breakdown["bootstrap"] - expected.breakdown["bootstrap"]) < 8 / 20
    large, small = compare_large(source, shuffled, columns=columns), compare_large(memory, shuffled, columns=columns)
    assert large.to_dict() == small.to_dict()
    assert large.scores[0].value == 0  # rolled columns have the same shares


def test_the_expected_bootstrap_is_the_binomial_one() -> None:
    """Two cells of 1 and 3 records, m = 2: cell one is alone with chance 2 (1/4)(3/4), so is the other."""
    book = Codebook(columns=(Categorical(name="a", levels=("x", "y")),))
    real = EncodedSource(codebook=book, columns=[np.array([0, 1, 1, 1], dtype=np.uint8)])
    copy = EncodedSource(codebook=book, columns=[np.array([0, 1], dtype=np.uint8)])
    found = uniqueness_by_counting(real, copy, columns=("a",))
    assert found.breakdown["bootstrap"] == pytest.approx((2 * 0.25 * 0.75 * 2) / 2)
    assert found.breakdown["unique in both"] == 0.5


@given(
    pairs=st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4, unique=True), min_size=1, max_size=12),
    sizes=st.lists(st.integers(1, 40), min_size=8, max_size=8),
    limit=st.sampled_from([1, 64, 1 << 14]),
)
def test_covers_hold_every_clique_and_stay_small(pairs: list[list[str]], sizes: list[int], limit: int) -> None:
    size = dict(zip("abcdefgh", sizes, strict=True))
    found = covers(pairs, size, most_cells=limit)
    assert sorted(place for places in found.values() for place in places) == list(range(len(pairs)))
    for columns, places in found.items():
        assert all(set(pairs[place]) <= set(columns) for place in places)
        largest = max(math.prod(size[name] for name in pairs[place]) for place in places)
        assert math.prod(size[name] for name in columns) <= max(limit, largest)


class TestAddresses:
    """A password is refused where it could be seen, and never repeated."""

    @pytest.mark.parametrize(
        "address",
        [
            "postgresql://ann:hunter2@host/db?table=t",
            "postgresql://ann@host/db?table=t&password=hunter2",
            "postgresql://ann@host/db?table=t&sslpassword=hunter2",
            "spark://ann:hunter2@host:7077?table=t",
            "spark://host:7077?path=s3a://key:hunter2@bucket/t",
        ],
    )
    def test_a_password_is_refused_and_not_repeated(self, address: str) -> None:
        with pytest.raises(DataError, match="holds a password or key") as caught:
            us.open(address, BOOK)
        assert "hunter2" not in str(caught.value)

    @pytest.mark.parametrize(
        ("address", "said"),
        [
            ("postgresql://ann@host/db", r"names no table; add \?table="),
            ("postgresql://ann@host/db?table=a.b.c", "is not a name"),
            ("postgresql://ann@host:x/db?table=t", "port"),
            ("postgresql://ann@host/db?table=t&option=1", "'option'"),
            (
                "postgresql://ann@127.0.0.1:1/db?table=t",
                r"cannot be read.*Is the server running, and may it be reached",
            ),
            ("spark://host:7077", r"\?table=DB.TABLE or \?path="),
            ("mssql://host/db?table=t", "addresses of kind 'mssql'.*mariadb://.*sqlite:///"),
        ],
    )
    def test_bad_addresses_get_a_sentence(self, address: str, said: str) -> None:
        with pytest.raises(DataError, match=said):
            us.open(address, BOOK)


RULES = Codebook(
    columns=tuple(column for column in BOOK.columns if column.name in ("grade", "age", "Visits", "place")),
    constraints=(
        Order(low="Visits", relation="<=", high="age"),
        Implies(when=(("grade", ("1",)),), then=(("place", ("a,b", "O'Neil")),)),
    ),
)


@pytest.mark.parametrize("engine", EVERY)
def test_a_check_tells_the_same_faults_wherever_the_rows_lie(engine, put_with):
    """Values outside the codebook, and rows that break its rules: how many, and which values."""
    what, name = put_with(engine, TABLES["text"])
    found, expected = (
        {(fault.kind, fault.column or "", fault.count, *sorted(fault.values)) for fault in each}
        for each in (check_table(what, RULES, table=name, most=1000), check_table(TABLES["text"], RULES, most=1000))
    )
    assert found == expected
    assert {kind for kind, *_ in found} >= {"outside levels", "not a number", "broken rule"}


QUESTIONS = (
    "mean of age by grade",
    "share of Visits=[0, 1) where age=[18, 65)",
    "median of bmi",
    "linear bmi ~ age + grade",
)


@pytest.mark.parametrize("engine", EVERY)
def test_an_answer_is_the_same_wherever_the_rows_lie(engine, put_with, place):
    """The grid of every question is counted in the engine: the same noise gives the same figures."""
    from understudy.answers import parse_question, plan_answer
    from understudy.mechanisms.stream import Stream

    table = typed_table()
    what, name = put_with(engine, table)
    for words in QUESTIONS:
        plan = plan_answer(parse_question(words, BOOK), BOOK, epsilon=1.0)
        memory = plan.draw(plan.open(table), Stream.seeded(4))
        there = plan.open(what, table=name, **place(engine).options)
        assert plan.draw(there, Stream.seeded(4)) == memory


SURVEY = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M"), missing="NA"),
        Continuous(name="w", edges=tuple(map(Fraction, ("1", "2", "2.5", "4"))), precision=1),
    ),
    weight="w",
)


@pytest.mark.parametrize("engine", EVERY)
def test_survey_weights_are_added_up_alike(engine, put_with, place):
    """Counts that each record enters with its weight: the same noise on the same sums, wherever the rows lie."""
    from understudy.mechanisms.stream import Stream
    from understudy.synth.counts import Counts

    weights = [1.0, 1.4, 1.9, 2.0, 2.4, 2.5, 3.9, 4.0]
    rows = pa.table({"sex": ["F", "M", None] * 40, "w": [weights[k % 8] for k in range(120)]})
    assert opened(us.open(rows, SURVEY).count([("w",)]))[0] == Counter({(0,): 45, (1,): 30, (2,): 45})
    plan = Counts(book=SURVEY, by=("sex",), epsilon=1.0, weighted=True)
    what, name = put_with(engine, rows)
    stay = place(engine).options
    found, memory = (
        plan.fit(source, stream=Stream.seeded(5)).sample().table.to_pydict()
        for source in (plan.open(what, table=name, **stay), plan.open(rows))
    )
    assert found == memory and len(set(found["count"])) > 1
    there, here = us.open(what, SURVEY, table=name, **stay), us.open(rows, SURVEY)
    assert opened(there.count([("sex", "w")])) == opened(here.count([("sex", "w")]))


def test_numbers_of_types_that_ibis_does_not_know_are_read_off_their_texts(tmp_path):
    """They were taken for values outside the codebook. Of PostgreSQL see its domains; MariaDB has no such numbers."""
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT a::UHUGEINT AS age, a::BIGNUM AS big FROM range(10, 30) r(a)")
    book = Codebook(columns=tuple(replace(BOOK.column("age"), name=name) for name in ("age", "big")))
    source = us.open(str(tmp_path / "t.duckdb"), book, local_bytes=0)
    assert opened(source.count([("age",), ("big",)])) == [Counter({(0,): 8, (1,): 12})] * 2


@pytest.mark.parametrize("engine", cases(structs=True))
@pytest.mark.parametrize("kind", ["struct", "list", "binary"])
def test_a_type_that_nobody_knows_is_a_sentence(engine, kind, put_with, place):
    """Of MariaDB and PostgreSQL see test_database_faults; bytes in a column of SQLite are values outside a codebook."""
    held = {"struct": [{"a": 1}], "list": [["QZX"]], "binary": [b"\xffQZX"]}[kind]
    book = Codebook(columns=(Categorical(name="p", levels=("a", "b"), missing="NA"),))
    what, name = put_with(engine, pa.table({"p": pa.array(held)}))
    with pytest.raises(DataError, match=r"'p'|`p`|column p") as caught:
        us.open(what, book, table=name, **place(engine).options).count([("p",)])
    assert "QZX" not in str(caught.value)
