"""Attempts to make linked tables state too much: a price swapped after the fit, guesses that nobody attested."""

from dataclasses import replace

import pyarrow as pa
import pytest

from understudy.codebook import Categorical, Codebook, LinkedCodebook, LinkedTable
from understudy.codebook.columns import Origin
from understudy.codebook.file_reading import FileReading
from understudy.codebook.linked import Constant
from understudy.errors import DataError, RefusalError
from understudy.histories.recipe import Histories
from understudy.privacy.guarantees import NoFormal
from understudy.sources.linked import open_linked
from understudy.sources.linked_check import check_linked
from understudy.synth.linked_counts import linked_counts

SEX = Categorical(name="sex", levels=("F", "M"))
WARD = Categorical(name="ward", levels=("A", "B"))
PEOPLE = LinkedTable(name="people", key="id", book=Codebook(columns=(SEX,)))
STAYS = LinkedTable(name="stays", parent="people", parent_key="id", cap=2, book=Codebook(columns=(WARD,)))
VISITS = LinkedTable(name="visits", parent="people", parent_key="id", cap=2, book=Codebook(columns=(WARD,)))
BOOK = LinkedCodebook(tables=(PEOPLE, STAYS))


def tables(**more):
    people = pa.table({"id": ["1", "2", "3"], "sex": ["F", "M", "F"]})
    return {"people": people, "stays": pa.table({"id": ["1", "1", "3"], "ward": ["A", "B", "B"]}), **more}


def price_of(book, by):
    return linked_counts(book, {"by": by, "epsilon": 1.0}).quote().total


@pytest.mark.parametrize("name", ["recipe", "codebook"])
def test_a_fit_keeps_what_it_was_fitted_with(name):
    fitted = Histories(epsilon=5.0, delta=1e-6).fit(open_linked(tables(), BOOK))
    with pytest.raises(RefusalError, match="does not change"):
        setattr(fitted, name, {"recipe": Histories(epsilon=0.1, delta=1e-6), "codebook": BOOK}[name])


def test_counts_rest_on_how_the_files_are_read():
    guessed = replace(STAYS, book=replace(STAYS.book, file=FileReading(origin=Origin.DRAFTED)))
    assert not isinstance(price_of(BOOK, "people.sex,stays.ward"), NoFormal)
    assert isinstance(price_of(replace(BOOK, tables=(PEOPLE, guessed)), "people.sex,stays.ward"), NoFormal)


def test_counts_rest_on_the_table_that_a_constant_is_read_from():
    constant = replace(PEOPLE, constants=(Constant(column="sex", child="visits"),))
    book = LinkedCodebook(tables=(constant, STAYS, replace(VISITS, origin=Origin.DRAFTED)))
    assert isinstance(price_of(book, "people.sex,stays.ward"), NoFormal)
    declared = LinkedCodebook(tables=(constant, STAYS, VISITS))
    assert not isinstance(price_of(declared, "people.sex,stays.ward"), NoFormal)


def test_rows_without_a_parent_are_refused_below_a_table_that_is_made():
    made = replace(PEOPLE, made_of="stays", constants=(Constant(column="sex", child="stays"),))
    book = LinkedCodebook(tables=(made, STAYS, VISITS))
    stays = pa.table({"id": ["1", "2"], "ward": ["A", "B"], "sex": ["F", "M"]})
    data = {"stays": stays, "visits": pa.table({"id": ["1", "9"], "ward": ["A", "A"]})}
    assert [fault.table for fault in check_linked(data, book)] == ["visits"]
    with pytest.raises(DataError):
        open_linked(data, book).prepare()
