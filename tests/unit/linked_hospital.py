"""A small hospital in three linked tables, for tests: its codebook as text, and tables that keep it."""

import pyarrow as pa

from understudy.codebook import LinkedCodebook

TEXT = """format = 1
title = "Hospital"

[tables.patients]
key = "patient_id"

[tables.patients.constants.sex]
child = "stays"

[[tables.patients.columns]]
name = "sex"
kind = "categorical"
levels = ["F", "M"]
missing = "?"

[[tables.patients.columns]]
name = "died"
kind = "date"
grain = "month"
start = 2010-01-01
end = 2012-01-01
missing = ""

[tables.stays]
key = "stay_id"
parent = "patients"
parent_key = "patient_id"
cap = 2
order = "admitted"

[[tables.stays.columns]]
name = "ward"
kind = "categorical"
levels = ["A", "B", "maternity"]

[[tables.stays.columns]]
name = "admitted"
kind = "date"
grain = "month"
start = 2010-01-01
end = 2012-01-01

[tables.diagnoses]
parent = "stays"
parent_key = "stay_id"
cap = 3

[[tables.diagnoses.columns]]
name = "code"
kind = "categorical"
levels = ["x", "y"]

[[rules]]
kind = "impossible"

[rules.cells]
"patients.sex" = ["M"]
"stays.ward" = ["maternity"]

[[rules]]
kind = "nothing-after"
end = "patients.died"
dates = ["stays.admitted"]

[[rules]]
kind = "last"

[rules.cells]
"stays.ward" = ["B"]
"""


def book(*changes: tuple[str, str]) -> LinkedCodebook:
    """The codebook, with some of its text changed."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return LinkedCodebook.from_toml(text)


def tables() -> dict[str, pa.Table]:
    """Four patients with none to three stays."""
    return {
        "patients": pa.table(
            {"patient_id": ["a", "b", "c", "d"], "died": [None, "2011-06-01", None, None]}
        ),
        "stays": pa.table(
            {
                "stay_id": [9, 10, 11, 12, 13, 14],
                "patient_id": ["a", "a", "a", "b", "c", "c"],
                "sex": ["F", "F", "?", "M", "F", "F"],
                "ward": ["A", "maternity", "B", "A", "A", "A"],
                "admitted": ["2010-03-01", "2010-01-01", "2011-12-31", "2011-06-30", "2010-05-01", "2010-05-02"],
            }
        ),
        "diagnoses": pa.table({"stay_id": [9, 9, 10, 12, 14], "code": ["x", "y", "x", "y", "y"]}),
    }  # fmt: skip


def changed(name: str, column: str, row: int, value: object) -> dict[str, pa.Table]:
    """The tables with one value changed."""
    made = tables()
    values = made[name].column(column).to_pylist()
    values[row] = value
    place = made[name].column_names.index(column)
    made[name] = made[name].set_column(place, column, pa.array(values))
    return made
