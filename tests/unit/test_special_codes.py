"""Special codes among numbers are levels after the bins, and no number to anything that computes with numbers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.anonymize.hierarchy import build
from understudy.anonymize.mondrian import _range_label
from understudy.blocks.engines import EngineChoice
from understudy.codebook import Categorical, Codebook, Continuous, Integer, Order
from understudy.codebook.decode import decode_table
from understudy.codebook.encode import encode_value
from understudy.errors import CodebookError
from understudy.evaluate.risk.neighbours import nearest, scale_of
from understudy.evaluate.values import values_of
from understudy.mechanisms.stream import Stream
from understudy.sources.reading_guesses import GuessedReading, with_codes
from understudy.trees.features import Feature
from understudy.trees.questions import questions_of

WEIGHT = Integer(
    name="weight",
    edges=tuple(map(Fraction, (0, 1500, 2500, 6000))),
    special=("N", "n.d."),
    missing="NA",
    shape="uniform",
)
DOSE = Continuous(name="dose", edges=tuple(map(Fraction, (0, 2, 9))), precision=1, special=("N",))
BOOK = Codebook(columns=(WEIGHT, DOSE, Categorical(name="sex", levels=("F", "M"))))


def test_codes_labels_and_sizes() -> None:
    assert (WEIGHT.proper_levels, WEIGHT.size, WEIGHT.missing_code) == (3, 6, 5)
    assert WEIGHT.labels == ("[0, 1500)", "[1500, 2500)", "[2500, 6000]", "N", "n.d.", "NA")
    assert [encode_value(WEIGHT, value) for value in ("N", " N ", "n.d.", 7, "2500", "NA", None, "n")] == [
        3, 3, 4, 0, 2, 5, 5, None,
    ]  # fmt: skip
    assert np.isnan(values_of(WEIGHT)).tolist() == [False] * 3 + [True] * 3


def test_every_drawn_value_is_read_back_as_its_code() -> None:
    stream = Stream.seeded(4)
    codes = [stream.below_each(np.full(500, size, dtype=np.uint64)).astype(np.uint8) for size in BOOK.sizes]
    table = decode_table(BOOK, codes, stream.below_each)
    assert table.schema.field("weight").type == pa.string()
    for column, own in zip(BOOK.modelled, codes, strict=True):
        assert [encode_value(column, value) for value in table.column(column.name).to_pylist()] == own.tolist()
    assert set(BOOK.sizes) == {6, 3, 2}
    source = us.open(table, BOOK)
    for column, own in zip(BOOK.modelled, codes, strict=True):
        grid = source.count([[column.name]])[0].open().to_grid()
        assert grid.tolist() == np.bincount(own, minlength=column.size).tolist()


@pytest.mark.parametrize("special", [("",), ("7",), ("NA",), ("N", "N "), ("1e3",)])
def test_what_cannot_be_a_special_code(special: tuple[str, ...]) -> None:
    with pytest.raises(CodebookError, match="special code"):
        Codebook(columns=(Integer(name="a", edges=WEIGHT.edges, special=special, missing="NA"),))


def test_a_doubt_about_a_code_is_told_once() -> None:
    """A draft guesses from some values and again from all of them, with the doubts that it had."""
    once = with_codes(GuessedReading(), ["N"])
    assert len(once.doubts) == 1 and with_codes(replace(once, special=()), ["N"]) == once


def test_a_special_code_is_in_no_order() -> None:
    high = Integer(name="high", edges=WEIGHT.edges, special=("N",))
    book = Codebook(columns=(WEIGHT, high), constraints=(Order(low="weight", relation="<", high="high"),))
    allowed = book.allowed.fits([np.array([2, 3, 5, 2, 2]), np.array([0, 0, 0, 3, 2])])
    assert np.asarray(allowed).tolist() == [False, True, True, True, True]


def test_distances_questions_and_groups() -> None:
    points, rows = np.array([[3], [3]]), np.array([[4], [2]])
    assert nearest(points, rows, scale_of(BOOK, ["weight"]))[1].tolist() == [1.0, 1.0]
    words = [question.words for question in questions_of([Feature(column=WEIGHT)])]
    assert words == ["weight >= 1500", "weight >= 2500", "weight = N", "weight = n.d.", "weight is missing"]
    tree = build(WEIGHT, [("halves", ("low", "low", "high"))])
    assert tree.labels == (
        ("[0, 1500)", "[1500, 2500)", "[2500, 6000]", "N", "n.d."),
        ("low", "high", "N", "n.d."),
        ("*",),
    )
    assert tree.maps[1].tolist() == [0, 0, 1, 2, 3, 4]
    assert (_range_label(WEIGHT, 1, 3), _range_label(WEIGHT, 3, 5)) == ("1500-6000 or N", "N or n.d. or NA")
    assert [EngineChoice().engine_of(column) for column in BOOK.modelled] == ["logistic"] * 3
