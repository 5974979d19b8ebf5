"""What a review says about columns reads well for one row and for many, and a sentence about a rule is true."""

import pytest

import understudy as us
from understudy.codebook.rules import Impossible
from understudy.evaluate.dependencies import Proposal
from understudy.studio.frame import spell_time
from understudy.synth.forecast import Span, _points


@pytest.fixture(scope="module")
def sees(tmp_path_factory):
    """What is seen in every column of a small table with one odd row."""
    place = tmp_path_factory.mktemp("words")
    rows = [f"{900_000_000 + 7 * number},{'No' if number else 'Yes'},A,{'a?'[number % 2]}" for number in range(400)]
    (place / "rows.csv").write_text("\n".join(["person_nr,drug,always,lab", *rows, *rows, ""]))
    book = place / "book.toml"
    us.draft(place / "rows.csv", book)
    return {name: said for one in us.review(book, place / "rows.csv").questions for name, said in one.sees.items()}


def test_one_row_and_one_level_are_not_told_as_several(sees):
    assert "'No' in all but 2 of the rows" in sees["drug"][1]
    assert sees["always"][0] == "1 level: 'A'"
    told = [sentence for said in sees.values() for sentence in said]
    assert not [sentence for sentence in told if "1 rows" in sentence or "1 levels" in sentence]


def test_a_word_for_missing_is_not_counted_as_a_level_and_not_listed(sees):
    assert sees["lab"][0] == "1 level: 'a'"


def test_large_bounds_have_no_exponent(sees):
    assert "e+" not in sees["person_nr"][0] and "900,000,000" in sees["person_nr"][0]


@pytest.mark.parametrize(
    ("exceptions", "begins"), [(0, "if such rows can exist"), (1, "1 such row is there"), (4, "4 such")]
)
def test_a_rule_that_some_rows_break_is_not_said_to_be_broken_by_none(exceptions, begins):
    rule = Impossible(cells=(("a", ("x",)), ("b", ("y",))))
    proposal = Proposal(id="r", form="never together", rule=rule, support=90, exceptions=exceptions, expected=40.0)
    assert proposal.if_wrong.startswith(begins) and "none of these 90 rows" in proposal.if_wrong


def test_no_share_is_further_off_than_all_of_it():
    assert _points(Span(low=0.035, high=1.85)) == "3.5 to 100 points"


def test_one_second_is_one_second():
    assert (spell_time(0.7), spell_time(2.0)) == ("1 second", "2 seconds")
