"""Entropy l-diversity by numbers: the vectors of PRIVACY section 4, and what the promise is not."""

import math

import numpy as np
import pytest
from diverse_reference import weight_used

from understudy.errors import ParameterError
from understudy.mechanisms.diverse_weights import entropy
from understudy.mechanisms.l_diversity import (
    LDiverseDraws,
    check_l,
    largest_probability,
)
from understudy.privacy.events import event_from_dict
from understudy.privacy.guarantees import LDiverse


@pytest.mark.parametrize(
    ("counts", "ell", "weight", "alpha"),
    [
        ((10, 0), 1.5, 0.280553014, 1.949782399),
        ((10, 0, 0), 2, 0.340638293, 1.722060841),
        ((7, 2, 1), 2.5, 0.211576535, 0.894513099),
        ((5, 5, 0), 2, 0.0, 0.0),
        ((5, 5, 0), 3, 1.0, math.inf),
        ((0, 0, 0), 1.5, 1.0, math.inf),
        ((3,), 1, 0.0, 0.0),
    ],
)
def test_vectors(counts, ell, weight, alpha):
    used, _, _ = weight_used(counts, l=ell)
    assert used == pytest.approx(weight, abs=1e-9)
    virtual = math.inf if used >= 1 else used * sum(counts) / (len(counts) * (1 - used))  # w = C alpha / (N + C alpha)
    assert virtual == pytest.approx(alpha, rel=2e-9, abs=1e-12)


def test_more_than_the_levels_is_infeasible():
    with pytest.raises(ParameterError, match="2 levels"):
        check_l(3, names=("sex",), levels=(2,), cap=False)


def test_it_is_not_differential_privacy():
    """(5, 5, 0) with l = 2 gives the third level no chance; one more record there does."""
    before, after = weight_used((5, 5, 0), l=2), weight_used((5, 5, 1), l=2)
    assert before[0] == after[0] == 0.0
    assert before[1] == 0  # no virtual record: an impossible value becomes possible, the ratio is infinite


def test_it_is_weak_against_a_good_guess():
    assert largest_probability(l=2, levels=100) == pytest.approx(0.9133, abs=5e-5)
    assert largest_probability(l=2, levels=2) == pytest.approx(0.5, abs=1e-6)
    assert largest_probability(l=1, levels=7) == 1.0
    p = largest_probability(l=3, levels=10)
    law = np.array([p, *[(1 - p) / 9] * 9])
    assert -(law * np.log(law)).sum() == pytest.approx(math.log(3), abs=1e-9)


def test_entropy_counts_the_empty_levels():
    counts = np.array([7, 2, 1], dtype=np.int64)
    for w in (0.0, 0.25, 1.0):
        law = (1 - w) * np.array([0.7, 0.2, 0.1, 0, 0]) + w / 5
        law = law[law > 0]
        assert entropy(counts, 0, 3, 10.0, 5, w) == pytest.approx(-(law * np.log(law)).sum(), abs=1e-14)


def test_a_column_may_have_its_own_l():
    names, levels = ("sex", "drg"), (2, 400)
    assert check_l(1.5, names=names, levels=levels, cap=False) == (1.5, 1.5)
    assert check_l({"drg": 30, "sex": 1.2}, names=names, levels=levels, cap=False) == (1.2, 30.0)
    assert check_l(30, names=names, levels=levels, cap=True) == (2.0, 30.0)
    event = LDiverseDraws(ls=(1.2, 30.0), levels=levels, floor=0.0)
    assert event.guarantee() == LDiverse(l=1.2)
    assert event_from_dict(event.to_dict()) == event
    assert LDiverseDraws(ls=(1.0, 3.0), levels=(1, 4), floor=0.0).guarantee() == LDiverse(l=3.0)


@pytest.mark.parametrize(
    ("ell", "words"),
    [
        (0.99, ("0.99", "at least 1")),
        (0, ("at least 1",)),
        (-3.0, ("-3", "at least 1")),
        (math.inf, ("inf",)),
        (math.nan, ("nan",)),
        (True, ("True",)),
        ("2", ("'2'",)),
        (2.5, ("'sex'", "2 levels", "cap")),
        ({"sex": 1.5}, ("no value for drg",)),
        ({"sex": 1.5, "drg": 2, "payer": 2}, ("'payer'", "sex, drg")),
        ({"sex": 1.5, "drg": 401}, ("'drg'", "400 levels")),
        ({"sex": 0.5, "drg": 4}, ("0.5",)),
    ],
)
def test_bad_l_is_refused_by_name(ell, words):
    with pytest.raises(ParameterError) as refusal:
        check_l(ell, names=("sex", "drg"), levels=(2, 400), cap=False)
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


@pytest.mark.parametrize("cap", [False, True])
def test_a_single_level_asks_nothing(cap):
    """Everybody has it, and the codebook says so."""
    assert check_l(1.5, names=("state",), levels=(1,), cap=cap) == (1.0,)
