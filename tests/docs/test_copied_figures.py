"""A figure that a page copies from benchmarks/RESULTS.md is the one that stands there now."""

import pytest
from copied_figures import COPIES
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
