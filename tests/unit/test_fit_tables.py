"""`fit` takes a table with its codebook as well as a source, and says what is missing."""

import numpy as np
import pytest

import understudy as us
from understudy.errors import ParameterError
from understudy.mechanisms.stream import Stream

RECIPE = us.Marginals(epsilon=1.0, delta=1e-6)


@pytest.fixture(scope="module")
def table():
    return us.datasets.discharges(rows=300, seed=1)


def test_a_frame_with_its_codebook_is_as_good_as_a_source(table):
    book = us.datasets.discharges_codebook()
    fits = [
        RECIPE.fit(table.to_pandas(), book, stream=Stream.seeded(1)),
        RECIPE.fit(us.open(table, book), stream=Stream.seeded(1)),
    ]
    first, second = (fit.sample(20).table for fit in fits)
    assert first.equals(second)


def test_without_a_codebook_the_error_says_how_to_get_one(table):
    with pytest.raises(ParameterError, match="codebook draft"):
        RECIPE.fit(table.to_pandas())


def test_a_source_has_its_codebook_already(table):
    book = us.datasets.discharges_codebook()
    with pytest.raises(ParameterError, match="leave `book` out"):
        RECIPE.fit(us.open(table, book), book)


def test_an_error_never_quotes_a_table(table):
    frame = table.to_pandas()
    with pytest.raises(ParameterError) as told:
        us.Marginals(epsilon=frame, delta=1e-6)
    assert str(told.value) == "`epsilon` is a value of type DataFrame; it must be a finite number above 0. Try 1.0."
    with pytest.raises(ParameterError, match="a value of type list"):
        us.Marginals(epsilon=[frame], delta=1e-6)
    with pytest.raises(ParameterError, match="a value of type ndarray"):
        us.Marginals(epsilon=np.arange(3.0), delta=1e-6)
