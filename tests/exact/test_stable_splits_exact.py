"""The stable choice of a question, driven with every noise value: the law of what it returns, against its event."""

import itertools
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from test_tree_splits_exact import ask, cells_of, everybody

from understudy.mechanisms import discrete_laplace
from understudy.mechanisms.split_choice import StableSplits, choose_stable_splits
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret

AR = Neighbours.ADD_REMOVE
RECORDS = list(itertools.product(range(2), repeat=3))
"""X1, X2 and the label; the questions are X1 and X2."""
SMALL = [table for size in range(3) for table in itertools.combinations_with_replacement(RECORDS, size)]
PAIRS = {0.5: range(104, 107), 1.0: range(2, 13), 2.0: range(2, 13)}
"""How many pairs (0, 0, 0), (0, 1, 1) give X2 a lead of a few steps, for each alpha."""
REACH = 7
"""Noise beyond it is one outcome on each side: no threshold and no distance here is as large."""
FAR = 1 << 30


class Drive:
    """Calls the choice with noise of our own, and remembers the scale that it asked for."""

    def __init__(self, monkeypatch):
        self.noise, self.scale = [], None
        monkeypatch.setattr(discrete_laplace, "exact_noise", self._draw)

    def _draw(self, size, *, scale, stream):
        assert size == len(self.noise)
        self.scale = scale
        return np.array(self.noise, dtype=np.int64)

    def choice(self, cells, event, alpha, *, noise, leaf_of=everybody):
        self.noise = list(noise)
        return choose_stable_splits(
            Secret(cells),
            ask,
            leaf_of,
            len(self.noise),
            alpha=alpha,
            scale=event.scale,
            threshold=event.threshold,
            public_rows=300,
            stream=Stream.seeded(1),
        )

    def law(self, cells, event, alpha, *, leaf=0, leaves=1, leaf_of=everybody):
        """Exact chance of every answer for one leaf, the noise of the others at 0."""

        def answer(value):
            noise = [value if place == leaf else 0 for place in range(leaves)]
            return self.choice(cells, event, alpha, noise=noise, leaf_of=leaf_of)[leaf]

        assert answer(-REACH) == answer(-FAR) and answer(REACH) == answer(FAR)
        found = {}
        for value in range(-REACH, REACH + 1):
            q = (-Decimal(self.scale.denominator) / Decimal(self.scale.numerator)).exp()
            tail = abs(value) == REACH  # P(X >= n) = q^n / (1 + q)
            chance = q**REACH / (1 + q) if tail else (1 - q) / (1 + q) * q ** abs(value)
            out = answer(value)
            found[out] = found.get(out, Decimal(0)) + chance
        assert abs(sum(found.values()) - 1) < Decimal("1e-45")
        return found


@pytest.fixture
def drive(monkeypatch):
    return Drive(monkeypatch)


def hockey_stick(left, right, epsilon):
    return sum(max(Decimal(0), chance - epsilon.exp() * right.get(out, Decimal(0))) for out, chance in left.items())


@pytest.mark.parametrize(
    ("scale", "threshold", "alpha"),
    [
        pytest.param(scale, threshold, alpha, marks=() if row == column else pytest.mark.long)
        for row, (scale, threshold) in enumerate([(Fraction(1), 3), (Fraction(3, 2), 2), (Fraction(1, 2), 4)])
        for column, alpha in enumerate([0.5, 1.0, 2.0])
    ],
)
def test_the_choice_itself_costs_its_event_and_no_less(drive, alpha, scale, threshold):
    """Every record more, both ways: within (epsilon, delta), and delta attained.

    So a threshold lower by 1 breaks the promise, and one higher by 1 pays for what it does not use. All tables of up to
    two records, where the lead is small, and some in which X2 leads more and more.
    """
    event = StableSplits(scale=scale, threshold=threshold, levels=1, neighbours=AR)
    claim = event.guarantee()
    with localcontext(Context(prec=60)):
        epsilon, delta = Decimal(claim.epsilon), Decimal(claim.delta)
        laws = {}

        def law_of(table):
            key = tuple(sorted(table))
            if key not in laws:
                laws[key] = drive.law(cells_of(key), event, alpha)
            return laws[key]

        worst = Decimal(0)
        for table in [*SMALL, *(((0, 0, 0), (0, 1, 1)) * pairs for pairs in PAIRS[alpha])]:
            for record in RECORDS:
                before, after = law_of(table), law_of((*table, record))
                worst = max(worst, hockey_stick(before, after, epsilon), hockey_stick(after, before, epsilon))
        assert drive.scale == scale
        assert delta * (1 - Decimal("1e-9")) <= worst <= delta
        assert {out for law in laws.values() for out in law} == {None, 0, 1}
        assert len({law[None] for law in laws.values()}) >= 2  # more than one distance is met


def test_a_record_changes_the_law_of_its_own_leaf_only(drive):
    """Two leaves, told apart by X1: nodes of one level compose in parallel."""
    event = StableSplits(scale=Fraction(1), threshold=3, levels=1, neighbours=AR)

    def side(codes):
        return codes[:, 0].astype(np.intp)

    def laws_of(table):
        return [drive.law(cells_of(table), event, 2.0, leaf=leaf, leaves=2, leaf_of=side) for leaf in range(2)]

    changed = 0
    with localcontext(Context(prec=60)):
        for table in itertools.combinations_with_replacement(RECORDS[::2] + RECORDS[1:2], 2):
            for record in RECORDS:
                laws = laws_of(table), laws_of((*table, record))
                assert laws[0][1 - record[0]] == laws[1][1 - record[0]]
                changed += laws[0][record[0]] != laws[1][record[0]]
    assert changed > 0
