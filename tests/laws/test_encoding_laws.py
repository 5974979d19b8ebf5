"""Encoding means one thing, wherever it runs, and every text form of a codebook is the same codebook."""

import datetime as dt
from functools import cache
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from codebooks import codebooks, columns, text_values, typed_values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from understudy.codebook import Codebook, Column, Continuous, Number
from understudy.codebook.declare import declare_text
from understudy.codebook.decode import decode_column, decode_table
from understudy.codebook.encode import encode_value
from understudy.mechanisms.stream import Stream
from understudy.sources import open_source
from understudy.sources.check import check_table
from understudy.sources.expressions import code_expression

FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MORE = settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def engine() -> Any:
    return ibis.duckdb.connect()


def engine_codes(column: Column, values: pa.Array) -> list[int | None]:
    engine().con.register("values_now", pa.table({"v": values}))
    table = engine().table("values_now")
    found = table.select(code=code_expression(column, table.v)).to_pyarrow()
    return list(found.column("code").to_pylist())


@MORE
@given(codebooks())
def test_toml_round_trip_keeps_every_byte_and_every_field(book: Codebook) -> None:
    text = book.to_toml()
    again = Codebook.from_toml(text)
    assert again == book
    assert again.to_toml() == text
    assert again.digest == book.digest


@FEW
@given(codebooks(), st.data())
def test_an_attestation_changes_nothing_else(book: Codebook, data: st.DataObject) -> None:
    chosen = data.draw(st.none() | st.lists(st.sampled_from(book.names), min_size=1, unique=True))
    said = Codebook.from_toml(
        declare_text(book.to_toml(), columns=chosen, by="A. Meyer", source="form 7", on=dt.date(2024, 5, 1))
    )
    if chosen is None:
        assert said.is_public
    for before, after in zip(book.columns, said.columns, strict=True):
        touched = before.name in (book.unattested if chosen is None else chosen)
        assert (after.attestation is not None and after.attestation.by == "A. Meyer") or not touched
        assert after.labels == before.labels if before.is_modelled else after == before
        assert touched or after == before


@FEW
@given(st.data())
def test_engine_agrees_with_the_reference_on_texts(data: st.DataObject) -> None:
    column = data.draw(columns("v", plain=True))
    values = data.draw(st.lists(text_values(column), min_size=1, max_size=60))
    expected = [encode_value(column, value) for value in values]
    assert engine_codes(column, pa.array(values, pa.string())) == expected


@FEW
@given(st.data())
def test_engine_agrees_with_the_reference_on_typed_values(data: st.DataObject) -> None:
    column = data.draw(columns("v", plain=True))
    values = data.draw(typed_values(column))
    array = pa.array(values, from_pandas=False)
    expected = [encode_value(column, value) for value in values]
    assert engine_codes(column, array) == expected


@FEW
@given(codebooks(plain=True), st.integers(1, 200), st.integers(0, 2**32))
def test_decoded_codes_encode_to_themselves(book: Codebook, rows: int, seed: int) -> None:
    stream = Stream.seeded(seed)
    codes = [stream.below_each(np.full(rows, size, dtype=np.uint64)).astype(np.uint32) for size in book.sizes]
    table = decode_table(book, codes, stream.below_each)
    assert check_table(table, book) == []
    source = open_source(table, book)
    for secret, name, expected in zip(source.count([[n] for n in book.names]), book.names, codes, strict=True):
        size = book.column(name).size
        assert np.array_equal(secret.open().to_grid(), np.bincount(expected, minlength=size)), name
    for column, expected in zip(book.modelled, codes, strict=True):
        values = table.column(column.name).to_pylist()
        assert [encode_value(column, value) for value in values] == expected.tolist()


@FEW
@given(st.data())
def test_every_grid_value_lies_in_its_bin(data: st.DataObject) -> None:
    column = data.draw(columns("v", plain=True).filter(lambda column: isinstance(column, Number)))
    assert isinstance(column, Number)
    for code in range(column.proper_levels):
        for end in (lambda bound: bound * 0, lambda bound: bound - 1):  # first and last value of the bin
            value = decode_column(column, np.array([code], dtype=np.uint8), end).to_pylist()[0]
            assert encode_value(column, value) == code
            if isinstance(column, Continuous):  # as a CSV file would spell it
                assert encode_value(column, f"{value:.{column.precision}f}") == code
