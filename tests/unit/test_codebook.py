"""Codebooks say what is wrong with them, all at once, and mean the same after a trip through a file."""

import datetime as dt
from fractions import Fraction
from pathlib import Path

import pytest

from understudy.codebook import (
    Attestation,
    Categorical,
    Codebook,
    Continuous,
    Dates,
    Generalisation,
    Grain,
    Integer,
    Ordinal,
    Origin,
    Role,
    Text,
)
from understudy.codebook.encode import encode_value
from understudy.datasets.discharges import discharges_codebook_text
from understudy.errors import CodebookError

AWKWARD = ("a,b", 'say "hi"', "two\nlines", "😀", "=1+1", "\x7f", "\\", "#", "O'Neil")


def whole(*numbers: int) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, numbers))


def test_discharges_text_is_canonical() -> None:
    text = discharges_codebook_text()
    assert Codebook.from_toml(text).to_toml() == text


def test_awkward_levels_survive_a_file(tmp_path: Path) -> None:
    book = Codebook(columns=(Categorical(name="a\nb", levels=AWKWARD, missing="", description='"""'),), title="😀")
    book.save(tmp_path / "book.toml")
    assert Codebook.load(tmp_path / "book.toml") == book
    assert (tmp_path / "book.toml").read_bytes() == book.to_toml().encode()


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    book = Codebook(columns=(Categorical(name="x", levels=("a", "b")),))
    (tmp_path / "book.toml").write_bytes(b"\xef\xbb\xbf" + book.to_toml().replace("\n", "\r\n").encode())
    assert Codebook.load(tmp_path / "book.toml") == book


def test_all_faults_are_listed_at_once() -> None:
    text = """
format = 2
colour = "red"

[[columns]]
name = "a"
kind = "sort of"

[[columns]]
kind = "categorical"

[[columns]]
name = "b"
kind = "categorical"

[[columns]]
name = "c"
kind = "integer"
edges = [1, "x"]

[[columns]]
name = "d"
kind = "ordinal"
levels = ["a", "a"]

[[columns]]
name = "e"
kind = "categorical"
levels = ["a", "b"]
colour = 1

[[columns]]
name = "f"
kind = "categorical"
levels = ["a", "b"]
attestation = { by = "me" }

[[columns]]
name = "g"
kind = "categorical"
levels = ["a", "b"]
attestation = { by = " ", source = "x", on = 2020-01-01 }
"""
    with pytest.raises(CodebookError) as caught:
        Codebook.from_toml(text)
    listed = "\n".join(caught.value.faults)
    for words in (
        "format is 2", "unknown keys colour at the top", "'a' is of kind 'sort of'", "column 2 lacks name, levels",
        "'b' lacks levels", "list of finite numbers", "lists 'a' twice", "'e' has unknown keys colour",
        "'f' has attestation = {'by': 'me'}; it lacks source, on", "by and source must not be empty",
    ):  # fmt: skip
        assert words in listed
    assert len(caught.value.faults) == 10


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (Categorical(name="", levels=("a", "b")), "empty name"),
        (Categorical(name="x", levels=("a", "")), "empty level"),
        (Categorical(name="x", levels=("a", "\x00")), "NUL"),
        (Categorical(name="x", levels=("a", "b"), missing="a"), "missing token 'a' among its levels"),
        (Categorical(name="x", levels=("a", "b"), other="c"), "not one of its levels"),
        (Categorical(name="x", levels=("a", "b"), parents=("x",)), "its own parent"),
        (Categorical(name="x", levels=("a", "b"), parents=("y", "y")), "names a parent twice"),
        (Categorical(name="x", levels=("a", "b"), role=Role.IDENTIFIER), 'kind = "text"'),
        (Text(name="x"), "free text cannot be synthesized"),
        (Integer(name="x", edges=whole(1)), "at least two"),
        (Integer(name="x", edges=whole(1, 3, 2)), "do not rise"),
        (Integer(name="x", edges=(Fraction(1, 4), Fraction(1, 2), Fraction(3))), "without any value"),
        (Integer(name="x", edges=whole(0, 10**17)), "too many digits"),
        (Integer(name="x", edges=whole(0, 50, 120), missing="99"), "also one of its values"),
        (Continuous(name="x", edges=(Fraction(0), Fraction(1, 3)), precision=1), "too many digits"),
        (Continuous(name="x", edges=whole(0, 1), precision=13), "0 to 12 digits"),
        (Continuous(name="x", edges=whole(0, 10**6), precision=12), "too many digits"),
        (Dates(name="x", grain=Grain.DAY, start=dt.date(2020, 1, 2), end=dt.date(2020, 1, 1)), "swap them"),
        (
            Dates(name="x", grain=Grain.YEAR, start=dt.date(1900, 5, 5), end=dt.date(2020, 1, 1), missing="1900-01-01"),
            "also one of its dates",
        ),
        (
            Ordinal(
                name="x",
                levels=("a", "b"),
                hierarchy=(Generalisation(name="h", groups=(("g", ("a",)), ("g", ("a", "c")))),),
            ),
            "two groups of one name",
        ),
    ],
)  # fmt: skip
def test_column_faults(column: Categorical, words: str) -> None:
    with pytest.raises(CodebookError, match=words):
        Codebook(columns=(column, Categorical(name="other", levels=("a", "b"))))


def test_book_faults() -> None:
    twice = Categorical(name="x", levels=("a", "b"))
    with pytest.raises(CodebookError, match="described twice"):
        Codebook(columns=(twice, twice))
    with pytest.raises(CodebookError, match="no column is left"):
        Codebook(columns=(Text(name="id", role=Role.IDENTIFIER),))
    with pytest.raises(CodebookError, match="no level; list at least one"):
        Codebook(columns=(Categorical(name="x", levels=()), twice.__class__(name="y", levels=("a", "b"))))
    with pytest.raises(CodebookError, match="parent 'z'"):
        Codebook(columns=(Categorical(name="x", levels=("a", "b"), parents=("z",)),))
    assert Codebook(columns=(Categorical(name="x", levels=("a",), missing="NA"),)).sizes == (2,)


@pytest.mark.parametrize("edges", ["[0, 1e999999999]", "[0, 1e-999999999]", "[0, inf]", "[0, nan]", "[true, 2]", "7"])
def test_outlandish_numbers_are_refused_at_once(edges: str) -> None:
    with pytest.raises(CodebookError, match="column 'x' has edges"):
        Codebook.from_toml(f'format = 1\n[[columns]]\nname = "x"\nkind = "integer"\nedges = {edges}\n')


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (None, "no codebook at"),
        (b"\xff\xfe", "not UTF-8"),
        ("format = 1".encode("utf-16"), "not UTF-8 text; save it as UTF-8"),
        (b"title = 'M\xfcller'", "not UTF-8 text; save it as UTF-8"),
        (b"PAR1\x15\x04\x15\0\xb8\xff", "is no text, but data of another kind; give the TOML file"),
        (b"= 1", "not valid TOML"),
        (b"", "no [[columns]]"),
    ],
)
def test_files_that_are_no_codebook(tmp_path: Path, made: bytes | None, words: str) -> None:
    path = tmp_path / "book.toml"
    if made is not None:
        path.write_bytes(made)
    with pytest.raises(CodebookError) as caught:
        Codebook.load(path)
    assert words in str(caught.value)


def test_a_folder_is_no_codebook(tmp_path: Path) -> None:
    with pytest.raises(CodebookError, match="cannot be read"):
        Codebook.load(tmp_path)


def test_only_declared_or_attested_columns_are_public() -> None:
    word = Attestation(by="A. Meyer", source="form 7", on=dt.date(2024, 5, 1))
    columns = [
        Categorical(name="a", levels=("x", "y")),
        Categorical(name="b", levels=("x", "y"), origin=Origin.DRAFTED),
        Categorical(name="c", levels=("x", "y"), origin=Origin.DRAFTED, attestation=word),
        Text(name="id", role=Role.IDENTIFIER, origin=Origin.DRAFTED),
    ]
    book = Codebook(columns=tuple(columns))
    assert book.unattested == ("b",)
    assert not book.is_public
    assert len(book.assumptions) == 2  # what nobody vouches for is no assumption but a gap
    assert "declared" in book.assumptions[0]
    assert "A. Meyer on 2024-05-01, from form 7" in book.assumptions[1]


def test_labels_and_codes() -> None:
    left = Integer(name="x", edges=whole(0, 5, 10), missing="NA")
    right = Integer(name="x", edges=whole(0, 5, 10), closed="right", clip=True)
    assert left.labels == ("[0, 5)", "[5, 10]", "NA")
    assert right.labels == ("[0, 5]", "(5, 10]")
    assert [encode_value(left, v) for v in (0, 5, 10, -1, 11, 2.5, None)] == [0, 1, 1, None, None, None, 2]
    assert [encode_value(right, v) for v in (0, 5, 6, -1, 11, None)] == [0, 0, 1, 0, 1, None]
    assert left.grids == ((0, 5), (5, 6))
    assert right.grids == ((0, 6), (6, 5))


@pytest.mark.parametrize(
    ("grain", "size", "codes"),
    [
        (Grain.DAY, 60, {"2020-01-15": 0, "2020-01-14": None, "2020-03-14": 59, "2020-03-15": None}),
        (Grain.WEEK, 9, {"2020-01-13": 0, "2020-01-12": None, "2020-03-15": 8, "2020-03-16": None}),
        (Grain.MONTH, 3, {"2020-01-01": 0, "2019-12-31": None, "2020-03-31": 2, "2020-04-01": None}),
        (Grain.YEAR, 1, {"2020-01-01": 0, "2019-12-31": None, "2020-12-31": 0, "2021-01-01": None}),
    ],
)
def test_dates_by_grain(grain: Grain, size: int, codes: dict[str, int | None]) -> None:
    """A grain that the range touches is kept whole; weeks start on Monday."""
    column = Dates(name="d", grain=grain, start=dt.date(2020, 1, 15), end=dt.date(2020, 3, 14))
    assert column.size == size
    assert {day: encode_value(column, day) for day in codes} == codes
