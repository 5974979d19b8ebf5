"""``unknown = "clamp"``: numbers and dates beyond their declared bounds become the bound, and nothing else changes."""

import datetime as dt
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Continuous, Dates, Grain, Integer
from understudy.errors import DataError
from understudy.sources.rows import read_rows

BOOK = Codebook(
    columns=(
        Integer(name="age", edges=tuple(map(Fraction, (0, 18, 65, 100))), missing="NA"),
        Continuous(name="pay", edges=(Fraction(-10), Fraction(0), Fraction(5, 2)), precision=1, closed="right"),
        Dates(name="day", grain=Grain.MONTH, start=dt.date(2020, 1, 15), end=dt.date(2020, 6, 10)),
        Categorical(name="sex", levels=("F", "M")),
    )
)


def table(age=(-3, 17, 130), pay=(-1e6, 1.0, 9.9), day=("2019-12-31", "2020-03-05", "2031-01-01"), sex="FMF"):
    return pa.table({"age": list(age), "pay": list(pay), "day": list(day), "sex": list(sex)})


def counts(source) -> list[list[int]]:
    return [found.open().to_grid().tolist() for found in source.count([[name] for name in BOOK.names])]


def test_values_beyond_the_bounds_are_counted_at_the_bounds() -> None:
    clamped = us.open(table(), BOOK, unknown="clamp")
    assert counts(clamped) == [[2, 0, 1, 0], [1, 2], [1, 0, 1, 0, 0, 1], [2, 1]]
    with pytest.raises(DataError, match="'clamp'"):
        us.open(table(), BOOK).count([["age"]])


def test_text_in_parquet_is_clamped_as_every_engine_clamps(tmp_path) -> None:
    as_text = pa.table(
        {
            name: [str(value) for value in column.to_pylist()]
            for name, column in zip(BOOK.names, table().columns, strict=True)
        }
    )
    path = tmp_path / "text.parquet"
    pq.write_table(as_text, path)
    source = us.open(path, BOOK, unknown="clamp")
    assert counts(source) == counts(us.open(table(), BOOK, unknown="clamp"))
    with pytest.raises(DataError, match="'clamp'"):
        us.open(path, BOOK).count([["age"]])


@pytest.mark.parametrize(
    "other",
    [{"sex": "FXF"}, {"age": ("old", "1", "2")}, {"age": (1.5, 2, 300)}, {"day": ("soon", "2020-03-05", "2020-03-06")}],
)
def test_what_has_no_bound_is_still_an_error(other) -> None:
    with pytest.raises(DataError, match="does not know"):
        us.open(table(**other), BOOK, unknown="clamp").count([["age"]])


def test_missing_stays_missing_and_pieces_agree_with_bins() -> None:
    source = us.open(table(age=(None, -1, 500)), BOOK, unknown="clamp")
    age = BOOK.column("age")
    bins, pieces = (found.open().to_grid() for found in source.count([["age"], [age.fine.name]]))
    assert bins.tolist() == [1, 0, 1, 1]
    assert pieces[0] == 1 and pieces[age.fine.proper_levels - 1] == 1 and pieces[-1] == 1 and pieces.sum() == 3


def test_rows_hold_the_bound_itself() -> None:
    rows = read_rows(table(), BOOK, unknown="clamp").open()
    assert [values.to_pylist() for values in rows.values[:3]] == [
        [0, 17, 100],
        [-10.0, 1.0, 2.5],
        [dt.date(2020, 1, 15), dt.date(2020, 3, 5), dt.date(2020, 6, 10)],
    ]


def test_a_release_says_so(tmp_path) -> None:
    drawn = np.random.default_rng(1)
    many = table(
        age=drawn.integers(-50, 200, 300),
        pay=drawn.normal(0, 20, 300).round(1),
        day=["2020-02-02"] * 300,
        sex="FM" * 150,
    )
    release = us.synthesize(many, BOOK, 50, epsilon=1.0, delta=1e-6, unknown="clamp")
    assert any("were counted as the bound" in warning for warning in release.manifest.warnings)
    assert min(filter(None, release.table["age"].to_pylist()), default=0) >= 0
    plain = us.synthesize(table(age=(1, 2, 3), pay=(0, 0, 0), day=["2020-02-02"] * 3), BOOK, 5, epsilon=1.0, delta=1e-6)
    assert not any("bound" in warning for warning in plain.manifest.warnings)
