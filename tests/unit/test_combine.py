"""The combining rules, against the vector of PRIVACY section 9."""

import math

import pytest

import understudy as us
from understudy.errors import ParameterError
from understudy.evaluate.combine import KINDS

Q, V = (10, 11, 9, 10.5, 9.5), (1,) * 5


def test_the_vector_of_the_contract():
    full, partial = us.combine(Q, V, kind="full"), us.combine(Q, V, kind="partial")
    assert full.between == 0.625
    assert (1 + 1 / 5) * full.between - full.within == -0.25  # T_s, which is no variance
    assert full.variance == 1 and full.adjusted
    assert partial.variance == 1.125 and not partial.adjusted
    assert partial.degrees_of_freedom == pytest.approx(324)
    assert full.estimate == partial.estimate == 10


def test_the_other_rules():
    assert us.combine(Q, V, kind="complete").variance == pytest.approx(1 + 2 / 5)
    assert us.combine(Q, V, kind="complete", rows_ratio=0.5).variance == pytest.approx(0.5 + 1.5 / 5)
    assert us.combine(Q, V, kind="plug-in", rows_ratio=2).variance == pytest.approx(2 + 1 / 5)
    missing = us.combine(Q, V, kind="missing")
    assert missing.variance == pytest.approx(1.75)
    assert missing.degrees_of_freedom == pytest.approx(4 * (1 + 1 / 0.75) ** 2)
    assert us.combine((0, 9, 1), (1, 1, 1), kind="full").variance == pytest.approx(4 / 3 * 73 / 3 - 1)


def test_intervals_use_the_law_of_their_rule():
    low, high = us.combine(Q, V, kind="complete").interval()
    assert (high - low) / 2 == pytest.approx(1.959964 * math.sqrt(1.4), rel=1e-6)
    low, high = us.combine(Q, V, kind="missing").interval(0.9)
    assert (high - low) / 2 > 1.644854 * math.sqrt(1.75)  # Student's law is wider
    same = us.combine((1, 1), (4, 4), kind="partial")
    assert same.degrees_of_freedom == math.inf and same.error == 2
    assert "differential privacy" in same.note


@pytest.mark.parametrize(
    ("estimates", "variances", "options", "said"),
    [
        ((1, 2), (1, 1), {"kind": "average"}, "average"),
        ((1, 2), (1,), {"kind": "full"}, "2 estimates and 1 variances"),
        ((1,), (1,), {"kind": "full"}, "two files"),
        ((1, math.nan), (1, 1), {"kind": "full"}, "finite"),
        ((1, 2), (1, -1), {"kind": "full"}, "negative"),
        ((1, 2), (1, 1), {"kind": "full", "rows_ratio": 0}, "rows_ratio"),
    ],
)
def test_bad_numbers_are_refused(estimates, variances, options, said):
    with pytest.raises(ParameterError, match=said):
        us.combine(estimates, variances, **options)
    assert set(KINDS) == {"full", "partial", "complete", "plug-in", "missing"}
