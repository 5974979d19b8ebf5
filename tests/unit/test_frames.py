"""Data frames say more than their values: levels, order, labels, missing codes; and what R does to missing integers."""

import datetime as dt
import json
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Ordinal
from understudy.codebook.labels import ColumnLabels
from understudy.errors import DataError
from understudy.facade.r_frames import end_with_r, for_r, from_r
from understudy.privacy.provenance import MARK
from understudy.sources.frames import LABELS, labels_of_frame, packed, to_arrow, unpacked
from understudy.sources.inputs import RECONSTRUCTED, find_provenance


def drafted(table) -> Codebook:
    return us.draft(table).codebook


@pytest.mark.parametrize("ordered", [True, False])
def test_a_categorical_is_drafted_with_all_levels_in_their_order(ordered):
    values = pd.Categorical(["mid", "low", None] * 30, categories=["low", "mid", "high"], ordered=ordered)
    column = drafted(pd.DataFrame({"pain": values})).column("pain")
    assert column.levels == ("low", "mid", "high") and column.missing == "NA"
    assert isinstance(column, Ordinal if ordered else Categorical)


def test_a_category_that_means_missing_is_not_a_level_too():
    values = pd.Categorical(["a", "NA", None] * 30, categories=["b", "a", "NA"])
    column = drafted(pd.DataFrame({"x": values})).column("x")
    assert column.missing == "NA" and column.levels == ("b", "a")


def test_spellings_that_are_read_as_one_stay_one():
    values = pd.Categorical(["Yes"] * 60 + ["yes "] + ["No"] * 60, categories=["yes ", "Yes", "No", "Maybe"])
    column = drafted(pd.DataFrame({"x": values})).column("x")
    assert column.levels == ("Yes", "No", "Maybe")
    assert us.check(pd.DataFrame({"x": values}), Codebook(columns=(column,))).fits


def test_what_is_left_of_a_larger_table_is_not_taken_over():
    """Categories of people who are no longer in the table would fill the codebook, and tell who they were."""
    values = pd.Categorical(["a", "b"] * 30, categories=["a", "b", *(f"name {n}" for n in range(300))])
    assert drafted(pd.DataFrame({"x": values})).column("x").levels == ("a", "b")


def test_numbers_as_categories():
    values = pd.Categorical([1, 2] * 30, categories=[1, 2, 3])
    assert drafted(pd.DataFrame({"x": values})).column("x").levels == ("1", "2", "3")


def test_labels_in_the_metadata_of_a_field():
    labels = ColumnLabels(
        label="Sex", value_labels=(("1", "male"), ("2", "female"), ("-9", "refused")), missing=("-9",)
    )
    field = pa.field("sex", pa.int64(), metadata={LABELS: packed(labels)})
    table = pa.table([pa.array([1, 2, -9] * 30)], schema=pa.schema([field]))
    column = drafted(table).column("sex")
    assert (column.levels, column.missing, column.description) == (("1", "2"), "-9", "Sex")
    assert unpacked(packed(labels)) == labels


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"value_labels": 3}', b'{"value_labels": ["abc"]}', b"\xff"])
def test_strange_metadata_are_refused(text):
    table = pa.table([pa.array([1])], schema=pa.schema([pa.field("x", pa.int64(), metadata={LABELS: text})]))
    with pytest.raises(DataError, match="not ours"):
        labels_of_frame(table, ("x",), table)


def test_a_missing_integer_of_r_is_refused_in_an_r_session(monkeypatch):
    frame = pd.DataFrame({"age": np.array([41, -(2**31)], dtype=np.int32)})
    assert to_arrow(frame)[1].column("age").to_pylist() == [41, -(2**31)], "elsewhere it is a number"
    monkeypatch.setitem(sys.modules, "rpytools", sys)
    with pytest.raises(DataError, match=r"column 'age' .* as_understudy\(\)"):
        us.draft(frame)
    assert to_arrow(frame.iloc[:1])[1].num_rows == 1 and to_arrow(frame.iloc[:0])[1].num_rows == 0


R_COLUMNS = [
    {"name": "whole", "kind": "whole", "values": [1, 0, 3], "missing": 1},
    {"name": "number", "kind": "number", "values": [1.5, 0.0, 2.0], "missing": [1]},
    {"name": "day", "kind": "day", "values": [0, 0, -1], "missing": [1]},
    {"name": "moment", "kind": "moment", "values": [1000.0, 0.0, -1000.0], "missing": [1]},
    {"name": "flag", "kind": "flag", "values": [True, False, False], "missing": [2]},
    {"name": "level", "kind": "text", "values": ["b", "a", ""], "missing": 2, "levels": ["b", "a"], "ordered": True},
    {
        "name": "coded",
        "kind": "number",
        "values": [1.0, 2.0, 0.0],
        "missing": [2],
        "tagged": 2,
        "tags": "r",
        "codes": [1.0, 2.0, ".r"],
        "meanings": ["yes", "no", "refused"],
        "label": "Smokes",
    },
]


def test_columns_of_r_become_a_table_and_come_back():
    table = from_r(R_COLUMNS)
    assert table.to_pydict() == {
        "whole": [1, None, 3],
        "number": [1.5, None, 2.0],
        "day": [dt.date(1970, 1, 1), None, dt.date(1969, 12, 31)],
        "moment": [dt.datetime(1970, 1, 1, 0, 0, 1), None, dt.datetime(1969, 12, 31, 23, 59, 59)],
        "flag": [True, False, None],
        "level": ["b", "a", None],
        "coded": ["1", "2", ".r"],
    }
    back = {column["name"]: column for column in for_r(table)["columns"]}
    assert back["whole"]["values"] == [1, 0, 3] and back["whole"]["missing"] == [1]
    assert back["day"]["values"] == [0, 0, -1] and back["moment"]["values"] == [1000.0, 0.0, -1000.0]
    assert all(isinstance(value, float) for value in back["moment"]["values"]), "reticulate cuts off long integers"
    big = for_r(pa.table({"x": [2**40, None]}))["columns"][0]
    assert big == {"name": "x", "kind": "number", "values": [float(2**40), 0.0], "missing": [1]}


def test_a_range_of_missing_codes():
    column = {"name": "x", "kind": "number", "values": [1.0, 98.0], "missing": [], "missing_range": [97.0, 99.0]}
    labels = labels_of_frame(table := from_r([column]), ("x",), table)["x"]
    assert labels.missing == ("97", "98", "99")


def test_what_does_not_fit_is_refused():
    with pytest.raises(DataError, match="two columns called"):
        from_r([{"name": name, "kind": "whole", "values": 1} for name in ("a", "A")])
    with pytest.raises(DataError, match="different lengths"):
        from_r([{"name": name, "kind": "whole", "values": [1] * length} for name, length in (("a", 1), ("b", 2))])
    with pytest.raises(us.errors.ParameterError, match="given a dict"):
        for_r({})


def test_a_release_comes_to_r_with_labels_and_its_mark():
    labels = ColumnLabels(
        label="Sex", value_labels=(("1", "male"), ("2", "female"), ("-9", "refused")), missing=("-9",)
    )
    field = pa.field("sex", pa.int64(), metadata={LABELS: packed(labels)})
    table = pa.table([pa.array([1, 2, -9] * 100)], schema=pa.schema([field]))
    release = us.synthesize(table, drafted(table), rows=40, epsilon=1, delta=1e-6)
    handed = for_r(release)
    (column,) = handed["columns"]
    assert (column["kind"], column["codes"], column["meanings"]) == ("number", [1.0, 2.0], ["male", "female"])
    assert column["label"] == "Sex" and set(column["values"]) <= {0.0, 1.0, 2.0}
    assert find_provenance(from_r(handed["columns"], handed["mark"])).is_release


def test_r_ends_tidily(monkeypatch):
    import atexit

    called = []
    monkeypatch.setattr(atexit, "_run_exitfuncs", lambda: called.append("exit"))
    monkeypatch.setitem(sys.modules, "duckdb", type("duckdb", (), {"close": staticmethod(lambda: called.append("d"))}))
    end_with_r()
    assert called == ["d", "exit"]


_OLD = {b"understudy.anonymized": b'{"release": "x"}'}
_BY_PANDAS = {b"PANDAS_ATTRS": json.dumps({MARK.decode(): RECONSTRUCTED.mark()[MARK].decode()}).encode()}


@pytest.mark.parametrize("metadata", [{b"understudy.kind": b"reconstructed"}, _OLD, _BY_PANDAS, RECONSTRUCTED.mark()])
def test_whatever_says_that_a_table_is_ours_reaches_r(metadata):
    """Reconstructed tables and releases of 0.1, a file that pandas wrote, and a mark of today."""
    table = pa.table({"a": ["1", "2"]}).replace_schema_metadata(metadata)
    handed = for_r(table)
    known = find_provenance(from_r(handed["columns"], handed["mark"]))
    assert known == find_provenance(table) and known.is_release
