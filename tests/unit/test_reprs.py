"""What a codebook, a source and a secret show of themselves: short, escaped, and nothing confidential."""

import datetime as dt
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from understudy.codebook import Attestation, Categorical, Codebook, Ordinal, Origin, PaidDraft, Role, Text
from understudy.errors import ParameterError
from understudy.privacy.secret import Secret
from understudy.sources import open_source

WORD = Attestation(by="A. Meyer", source="form 7", on=dt.date(2024, 5, 1))
BOOK = Codebook(
    title='Visits <b>"2024"</b>',
    columns=(
        Categorical(name="sex", levels=("F", "M")),
        Ordinal(name="<script>alert(1)</script>", levels=("rare disease", "y", "z"), origin=Origin.DRAFTED),
        Categorical(name="town", levels=("a", "b"), missing="NA", origin=Origin.DRAFTED, attestation=WORD),
        Categorical(name="ward", levels=("a", "b"), origin=Origin.PAID),
        Text(name="id", role=Role.IDENTIFIER),
    ),
    paid=PaidDraft(draft="d", entries='[{"a": 1}]'),
)


class Cells(HTMLParser):
    """The rows of the table, and every tag and attribute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def test_a_codebook_is_shown_in_one_line_without_its_levels() -> None:
    assert repr(BOOK) == """<Codebook 'Visits <b>"2024"</b>' of 5 columns, 1 not attested>"""
    assert repr(BOOK.columns[1]) == "<Ordinal column '<script>alert(1)</script>'>"
    assert "rare disease" not in f"{BOOK!r}{BOOK.columns}"
    assert repr(Codebook(columns=BOOK.columns[:1])) == "<Codebook of 1 columns>"


def test_the_card_of_a_codebook_is_a_small_escaped_table() -> None:
    card = BOOK._repr_html_()
    seen = Cells(card)
    assert seen.rows[0] == ["column", "kind", "levels", "public"]
    assert seen.rows[1:5] == [
        ["sex", "categorical", "2", "declared"],
        ["<script>alert(1)</script>", "ordinal", "3", "not attested"],
        ["town", "categorical", "3", "attested"],
        ["ward", "categorical", "2", "paid for"],
    ]
    assert seen.rows[5][:2] == ["id", "text"]
    assert seen.tags == {"div", "b", "table", "tr", "th", "td"}
    assert seen.attributes == {"style"}  # no link, no picture, no script
    assert "Visits &lt;b&gt;" in card
    assert "url(" not in card
    assert "rare disease" not in card


def test_the_card_of_a_wide_codebook_stays_small() -> None:
    wide = Codebook(columns=tuple(Categorical(name=f"c{n}", levels=("a", "b")) for n in range(500)))
    assert wide._repr_html_().count("<tr>") == 61
    assert "and 440 more columns" in wide._repr_html_()


def test_secrets_and_sources_show_no_figure() -> None:
    data = pa.table({"sex": ["F"] * 77})
    book = Codebook(columns=BOOK.columns[:1], title="Visits")
    source = open_source(data, book)
    assert repr(source) == "<EngineSource of 1 columns, rows withheld>"
    assert repr(source.count([["sex"]])) == "[<withheld>]"
    assert "77" not in f"{source!r}{source.opened!r}{Secret(77)!r}"
    assert len(repr(source.opened)) < 200


@pytest.mark.parametrize("how", ["arrow", "pandas", "polars"])
def test_a_table_without_a_codebook_is_refused_with_the_remedy(how: str) -> None:
    table = pa.table({"sex": ["F", "M"]})
    given = {
        "arrow": lambda: table,
        "pandas": table.to_pandas,
        "polars": lambda: pytest.importorskip("polars").from_arrow(table),
    }
    with pytest.raises(ParameterError, match=r"`codebook` is missing") as caught:
        open_source(given[how]())
    assert "understudy codebook draft" in str(caught.value)
    assert "us.draft" in str(caught.value)


def test_a_table_in_the_place_of_the_codebook_is_not_shown() -> None:
    table = pa.table({"sex": ["only one such value"]})
    for given in (table, table.to_pandas()):
        with pytest.raises(ParameterError, match="`codebook` is of type") as caught:
            open_source(BOOK, given)
        assert "only one such value" not in str(caught.value)
