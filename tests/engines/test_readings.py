"""Reading rules mean the same in every engine: texts as people write them, and columns of other types beside them."""

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from tests.engines.places import ENGINES, EVERY
from understudy.codebook import Categorical, Codebook, Continuous, Dates, Grain, Integer, Ordinal
from understudy.codebook.encode import encode_value
from understudy.codebook.readings import Reading


def edges(*numbers: int) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, numbers))


ORDERS = ("MM/DD/YYYY", "DD.MM.YYYY", "DDMONYYYY", "YYYYMMDD", "DD-MON-YY", "MON DD, YYYY", "excel")
BOOK = Codebook(
    columns=(
        Categorical(
            name="place",
            levels=("Zürich", "Αθήνα", "Москва", "x"),
            missing="NA",
            reading=Reading(strip=True, fold=True, missing=("n/a", "Unbekannt")),
        ),
        Ordinal(name="grade", levels=("1", "2", "3"), missing="x", reading=Reading(missing=("9",))),
        Continuous(
            name="money",
            edges=edges(-1000, 0, 100, 5_000_000),
            precision=2,
            missing="NA",
            reading=Reading(thousands=",", taken_off=("$", "USD"), parentheses=True),
        ),
        Continuous(
            name="euro",
            edges=edges(-5, 0, 100, 5_000_000),
            precision=2,
            missing="NA",
            reading=Reading(decimal=",", thousands=".", taken_off=("€", "%"), missing=("-8", "k.A.")),
        ),
        Integer(
            name="stay",
            edges=edges(0, 1, 30, 120),
            missing="NA",
            special=("N", "Not born"),
            reading=Reading(means=(("120 +", "120"),), missing=("-8", "999"), fold=True),
        ),
        Integer(name="weight", edges=edges(0, 500, 9000), special=("n.d.",), missing="?"),
        Dates(
            name="day",
            grain=Grain.MONTH,
            start=dt.date(1920, 1, 1),
            end=dt.date(2030, 1, 1),
            missing="NA",
            reading=Reading(dates=ORDERS, missing=("9999-12-31",)),
        ),
    )
)
TEXTS: dict[str, list[str | None]] = {
    "place": [
        "zürich",
        " ZÜRICH ",
        "Αθήνα\u00a0",
        "ΑΘΉΝΑ",
        "МОСКВА",
        "N/A",
        "unbekannt",
        "na",
        None,
        "X",
        "",
        "İ",
        "y",
    ],
    "grade": ["1", "2", "9", "3", "x", "1.0", " 1", None, "09"],
    "money": [
        "$1,234.50",
        "($7)",
        "-$5",
        "12,34",
        "1,234,567 USD",
        "1,23,456.5",
        "$ 5",
        "5$",
        "nan",
        "NA",
        " NA ",
        "1e3",
        "$",
        "()",
        "1234.5",
        "0x10",
        "1_0",
        "inf",
        "",
        None,
        "(1,000)",
        "\u00a0$5",
        "1e400",
    ],
    "euro": [
        "1.234,50 €",
        "1,5",
        "1.5",
        "-8",
        "-8,0",
        "k.A.",
        " k.A. ",
        "45 %",
        "45%",
        "1.234",
        "12.34",
        "1e2",
        ",5",
        "€-3",
        "€",
        None,
        "1.234.567,8",
    ],
    "stay": [
        "120 +",
        "120",
        "n",
        "N",
        " not born ",
        "-8",
        "-8.0",
        "999",
        "1e0",
        "5.5",
        "7",
        "121",
        "120+",
        "NA",
        None,
        "30",
    ],
    "weight": ["n.d.", "500", " n.d. ", "N.D.", "?", "8999", "x", None],
    "day": [
        "05/31/2020",
        "31.05.2020",
        "31MAY2020",
        "20200531",
        "31-Sep-99",
        "30-SEPT-29",
        "30-sep-30",
        "43982",
        "43982.75",
        "5/6/2020 12:00:00 AM",
        "02/30/2020",
        "60",
        "61",
        "9999-12-31",
        "2020-05-31",
        "99999999",
        "31 may 2020",
        "13/13/2020",
        "29FEB2019",
        "29FEB2020:01:02:03",
        "May 31, 2020",
        "",
        None,
        "2958466",
        "soon",
    ],
}
ROWS = 300
TYPED = pa.table(
    {
        "place": pa.array([["Zürich", "x", None][k % 3] for k in range(ROWS)]),
        "grade": pa.array([[1, 2, 9, 4, None][k % 5] for k in range(ROWS)], pa.int64()),
        "money": pa.array([[1.5, -7.0, float("nan"), None, 1e9][k % 5] for k in range(ROWS)], pa.float64()),
        "euro": pa.array([[1.5, -8.0, None, 99.5][k % 4] for k in range(ROWS)], pa.float64()),
        "stay": pa.array([[7, -8, 999, None, 120, 121][k % 6] for k in range(ROWS)], pa.int64()),
        "weight": pa.array([[700, None, 9001][k % 3] for k in range(ROWS)], pa.int64()),
        "day": pa.array([[20200531, 43982, 7, None][k % 4] for k in range(ROWS)], pa.int64()),
    }
)
SPELLED = pa.table({name: [texts[k % len(texts)] for k in range(ROWS)] for name, texts in TEXTS.items()})


@pytest.mark.parametrize("table", [SPELLED, TYPED], ids=["spelled", "typed"])
@pytest.mark.parametrize("engine", ["memory", "DuckDB from memory", *EVERY])
def test_reading_rules_mean_the_same_in_every_engine(engine: str, table: pa.Table, place: Any, put_with: Any) -> None:
    what, name, options = table, None, {} if engine == "memory" else {"local_bytes": 0}
    if engine in ENGINES:
        (what, name), options = put_with(engine, table), dict(place(engine).options)
    source = us.open(what, BOOK, table=name, unknown="missing", **options)
    grids = [secret.open().to_grid() for secret in source.count([[name] for name in BOOK.names])]
    for column, grid in zip(BOOK.modelled, grids, strict=True):
        codes = [encode_value(column, value) for value in table.column(column.name).to_pylist()]
        filled = [column.missing_code if code is None else code for code in codes]
        assert grid.tolist() == np.bincount(filled, minlength=column.size).tolist(), column.name
