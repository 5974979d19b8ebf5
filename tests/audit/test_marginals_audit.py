"""Try to refute the price of `marginals` as a whole: measurements, choice of pairs, classes and rows together.

A true promise is refuted with probability below 1e-6 per audit (Clopper-Pearson, see `evaluate/audit.py`). That the
audit can find a lie at all is shown in `test_audit_command.py`, and here by a recipe that states
a twenty-thousandth of its price.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from understudy.codebook import Categorical, Codebook
from understudy.evaluate.audit import audit
from understudy.privacy import Neighbours
from understudy.sources import EncodedSource
from understudy.synth import Marginals

BOOK = Codebook(columns=tuple(Categorical(name=name, levels=("x", "y")) for name in "ab"))
RECORDS = [(0, 0)] * 9 + [(0, 1)] * 4


def source():
    codes = np.array(RECORDS, dtype=np.uint8)
    return EncodedSource(codebook=BOOK, columns=[codes[:, i].copy() for i in range(2)])


@dataclass(frozen=True, kw_only=True)
class Quiet(Marginals):
    """States a twenty-thousandth of the epsilon that it spends."""

    name: ClassVar[str] = "quiet"

    def fit(self, source, *, stream=None, report=None):
        loud = Marginals(epsilon=20_000 * self.epsilon, delta=self.delta, neighbours=self.neighbours)
        return loud.fit(source, stream=stream, report=report)


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
@pytest.mark.parametrize("canary", ["rare", pytest.param("common", marks=pytest.mark.long)])
def test_the_promise_is_not_refuted(relation, canary):
    recipe = Marginals(epsilon=1.0, delta=1e-3, neighbours=relation)
    found = audit(recipe, source(), rows=2, runs=40, canary=canary)
    assert not found.refuted, found.sentence
    assert 0 <= found.bound <= found.epsilon


@pytest.mark.long
def test_a_louder_one_is_refuted():
    """Pays 2,000, states 0.1: counts are all but exact. 40 test runs of 40 against none prove ln(.70 / .30) = .83."""
    found = audit(Quiet(epsilon=0.1, delta=1e-3), source(), rows=2, runs=80)
    assert found.refuted, found.sentence
