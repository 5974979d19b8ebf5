"""Levels that are numbers are these numbers, where they are different ones."""

import numpy as np

from understudy.codebook import Ordinal
from understudy.evaluate.values import numbers_of


def test_levels_that_are_one_number_stand_at_their_rank():
    assert numbers_of(Ordinal(name="g", levels=("1", "01", "001"))).tolist() == [0, 1, 2]
    assert numbers_of(Ordinal(name="g", levels=("4", "01", "2"))).tolist() == [4, 1, 2]
    assert numbers_of(Ordinal(name="g", levels=("1", "inf"))).tolist() == [0, 1]
    with_missing = numbers_of(Ordinal(name="g", levels=("3", "1"), missing="NA"))
    assert with_missing[:2].tolist() == [3, 1] and np.isnan(with_missing[2:]).all()
