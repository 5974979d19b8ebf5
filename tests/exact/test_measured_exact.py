"""The priced count of numbers inside their bins, enumerated: one record moves one piece by one, at the stated price."""

import itertools
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Integer
from understudy.mechanisms import histogram
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours
from understudy.sources import open_source
from understudy.synth.detail_tables import count_details

F = Fraction
BOOK = Codebook(
    columns=(
        Categorical(name="g", levels=("a", "b")),
        Integer(name="x", edges=(F(0), F(2), F(6)), shape="measured", pieces=2, missing="NA"),
    )
)
VALUES = (0, 1, 2, 3, 4, 5, 6, None)
PIECE = {0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 3, None: 4}
"""By hand: [0, 2) is 0 and 1; [2, 6] is five values, of which the first piece takes the first two."""


def counts(values, monkeypatch, recipe):
    """The table before the noise."""
    with monkeypatch.context() as patch:
        patch.setattr(histogram, "discrete_laplace", lambda exact, *, scale, stream: exact.copy())
        data = pa.table({"g": ["a"] * len(values), "x": pa.array(list(values), pa.int64())})
        found = count_details(recipe, open_source(data, BOOK), Stream.seeded(1))
    return found.pieces[0].to_grid().tolist()


def test_one_record_is_one_count_of_one_piece(monkeypatch):
    recipe = us.LaplaceHistogram(epsilon=1.0, detail_epsilon=1.0)
    base = counts((0, 3, 3), monkeypatch, recipe)
    assert base == [1, 0, 2, 0, 0]
    for value in VALUES:
        more = counts((0, 3, 3, value), monkeypatch, recipe)
        assert [b - a for a, b in zip(base, more, strict=True)] == [int(k == PIECE[value]) for k in range(5)]


def law(count, q, top=12):
    """Exact law of max(0, count + noise), the upper tail as one atom: beyond all counts its ratios are constant."""
    zero = q**count / (1 + q)
    inside = [(1 - q) / (1 + q) * q ** abs(value - count) for value in range(1, top)]
    return [zero, *inside, q ** (top - count) / (1 + q)]


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_the_released_pieces_keep_the_stated_epsilon_exactly(relation):
    """All tables of up to two records and all their neighbours: the worst ratio of all outputs is e^epsilon."""
    recipe = us.LaplaceHistogram(epsilon=1.0, detail_epsilon=0.7, neighbours=relation)
    (entry,) = [entry for entry in recipe.quote(BOOK, rows=1).ledger if entry.stage == "details"]
    scale, epsilon = entry.event.scale, entry.guarantee.epsilon
    assert epsilon <= 0.7
    with localcontext(Context(prec=60)):
        q = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
        worst = Decimal(0)
        for records in itertools.product(range(5), repeat=2):
            base = [records.count(k) for k in range(5)]
            for new in range(5):
                after = list(base)
                after[new] += 1
                if relation is Neighbours.REPLACE:
                    after[records[0]] -= 1
                ratio = Decimal(1)
                for a, b in zip(base, after, strict=True):
                    ratio *= max(max(x / y, y / x) for x, y in zip(law(a, q), law(b, q), strict=True))
                worst = max(worst, ratio)
        bound = Decimal(epsilon).exp()
        assert bound * (1 - Decimal("1e-12")) <= worst <= bound * (1 + Decimal("1e-40"))
