"""What a notebook or a prompt shows of a quote, a release and an account: little, escaped, nothing confidential."""

from dataclasses import replace
from html.parser import HTMLParser

import pyarrow as pa
import pytest
from account_events import new_account, pure

import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.privacy import Ledger
from understudy.privacy.provenance import Made
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Payment
from understudy.release import Release, describe

BOOK = Codebook(columns=(Categorical(name="a", levels=("x", "<i>y</i>")), Categorical(name="b", levels=("0", "1"))))
TABLE = pa.table({"a": ["x", "<i>y</i>"] * 600, "b": ["0", "0", "1", "1"] * 300})


class Parts(HTMLParser):
    """Every tag and attribute of a card."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words = set(), set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data):
        self.words += data + " "


def shown(value):
    """The words of its card, which loads nothing and runs nothing."""
    parts = Parts(value._repr_html_())
    assert parts.tags <= {"div", "strong", "table", "tr", "th", "td", "p"} and parts.attributes <= {"style"}
    assert "url(" not in value._repr_html_()
    return parts.words


def released(**facts):
    quote = Quote(method="test", route="none", own=facts.pop("own", pure(0.5)), rows=1200, own_delta=None)
    manifest = describe(quote, Payment.free(), parameters={}, codebook=BOOK, secure=True, **facts)
    return Release(table=TABLE, manifest=manifest)


def test_a_quote_shows_its_price_and_its_statement():
    quote = us.LaplaceHistogram(epsilon=1.0).quote(BOOK, rows=1000)
    assert repr(quote) == "<Quote of laplace, 1,000 rows: epsilon 1>"
    assert quote.statement in shown(quote) and "laplace, 1,000 rows" in shown(quote)


def test_a_quote_shows_every_price_of_a_few_and_how_many_more_there_are():
    """Two lines of one stage are two lines, and a long ledger does not fill the screen."""
    for lines, tail in ((2, ""), (20, "12 more")):
        quote = Quote(method="test", route="S", own=Ledger(pure(0.25).entries * lines), rows=1, own_delta=None)
        assert shown(quote).count("counts: epsilon 0.25") == min(lines, 8) and tail in shown(quote)


def test_a_quote_without_a_promise_shows_no_number_of_rows():
    """It may be the number of real records."""
    quote = us.Contingency().quote(BOOK, rows=1234)
    assert "no formal promise" in repr(quote) and "no formal promise" in shown(quote)
    assert "1,234" not in repr(quote) + shown(quote)


def test_a_release_with_a_promise_shows_its_first_rows_escaped():
    release = released()
    assert "1,200 rows" in repr(release) and "epsilon 0.5" in shown(release)
    assert "<i>y</i>" in shown(release) and "<i>" not in release._repr_html_()
    assert release._repr_html_().count("<tr>") == 3 + 6  # facts, then a header and five rows


@pytest.mark.parametrize("made", [Made.COMPLETED, Made.ANONYMIZED])
def test_real_records_are_withheld(made):
    release = released(made=made, real_records=True)
    assert "withheld" in shown(release) and "<i>y</i>" not in shown(release)
    if made is Made.COMPLETED:
        assert "1,200" not in repr(release) + shown(release) and "withheld" in repr(release)


def test_rows_that_nobody_promised_anything_about_are_withheld():
    source = us.open(TABLE, BOOK)
    release = us.Contingency().fit(source).sample(20)
    assert "withheld" in shown(release) and "<i>y</i>" not in shown(release)


def test_an_account_shows_what_is_spent_and_left(tmp_path):
    account = new_account(tmp_path)
    account.reserve(pure(0.25), label="first", delta=None).commit("r1")
    account.reserve(pure(0.5), label="<script>", delta=None)
    account.look("an evaluation")
    words = shown(account)
    assert "epsilon 0.75" in words and "epsilon 0.25, delta 0" in words
    assert "1, and 1 held" in words and "Confidential looks 1" in words
    assert repr(account) == "<Account of 'hospital': cap epsilon 1, delta 0 (add-remove, basic composition)>"
    assert "<b>" not in replace(account, dataset="<b>bold</b>")._repr_html_()


def test_a_card_is_shown_also_where_the_account_is_gone(tmp_path):
    account = new_account(tmp_path)
    account.path.unlink()
    assert "does not exist" in shown(account)


def test_findings_say_what_was_measured_and_no_figure():
    findings = us.evaluate(TABLE, TABLE, BOOK)
    words = shown(findings)
    assert "Findings" in words and "withheld" in words and "Measured" in words
    assert not any(figure in words for figure in ("1,200", "1200", "0.", "1.0"))
    assert findings.to_dict()["utility"]
