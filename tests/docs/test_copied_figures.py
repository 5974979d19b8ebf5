"""A figure that a page copies from benchmarks/RESULTS.md is the one that stands there now."""

import pytest
from copied_figures import COPIES, PERCENT
from copies import ROOT, agree, numbers, section


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: f"{copy.page}: {copy.says[-1]}")
def test_a_copied_figure_is_the_recorded_one(copy):
    shown = numbers((ROOT / copy.page).read_text(encoding="utf-8"), copy.says, copy.page)
    recorded = numbers(section(copy.section), copy.record, f"the record of {copy.section}")
    assert shown and len(shown) == len(recorded)
    wrong = [
        (mine, theirs) for mine, theirs in zip(shown, recorded, strict=True) if not agree(mine, theirs, copy.times)
    ]
    assert not wrong, f"{copy.page} has {wrong}, the second of each pair is in benchmarks/RESULTS.md"


def test_a_rounded_figure_agrees_and_another_one_does_not():
    assert agree(".105", "0.10466") and not agree(".101", "0.10466")
    assert agree("1,640", "1640.2") and not agree("1,641", "1640.2")
    assert agree("5.8", "0.0579", PERCENT) and not agree("0.06", "0.0579", PERCENT)


def test_numbers_are_read_where_the_pattern_has_them():
    text = "| a | 1 of 2 | .5 |\n| b | 3 of 4 | 1,000.5 |\n"
    assert numbers(text, ["| b | ~ | # |"], "text") == ["1,000.5"]
    assert numbers(text, ["| a", "| # of # |"], "text") == ["1", "2"]
    with pytest.raises(AssertionError, match="does not say"):
        numbers(text, ["| c | # |"], "text")
