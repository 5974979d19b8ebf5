"""Counts of codes of a pack, enumerated: one record moves one count of each column by one, at the stated price."""

import itertools
from decimal import Context, Decimal, localcontext

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Coded, Pack
from understudy.mechanisms.discrete_gaussian import gaussian_delta
from understudy.mechanisms.gaussian_measurements import Meter
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours
from understudy.sources import open_source
from understudy.synth import detail_tables
from understudy.synth.detail_tables import count_details

PACK = Pack(name="tiny", text="code,group\na1,a\na2,a\nb1,b\n")
BOOK = Codebook(
    columns=(
        Categorical(name="g", levels=("x",)),
        Coded(name="one", pack=PACK, missing="NA"),
        Coded(name="two", pack=PACK, missing="NA"),
    )
)
VALUES = ("a1", "a2", "b1", "a", "strange", None)
SIZE = BOOK.column("one").size


def measured(rows, recipe, monkeypatch):
    """The counts that noise is added to, one list for each column."""
    kept = []

    def exact(book, counts, price, stream):
        kept.extend(table.open().to_grid().tolist() for table in counts)
        return noisy(book, counts, price, stream)

    noisy = detail_tables._noisy_codes
    with monkeypatch.context() as patch:
        patch.setattr(detail_tables, "_noisy_codes", exact)
        one, two = ([row[k] for row in rows] for k in (0, 1))
        table = pa.table({"g": ["x"] * len(rows), "one": pa.array(one, pa.string()), "two": pa.array(two, pa.string())})
        count_details(recipe, open_source(table, BOOK), Stream.seeded(1))
    return kept


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_one_record_is_one_count_of_one_code_in_each_column(delta, monkeypatch):
    recipe = us.LaplaceHistogram(epsilon=1.0, detail_epsilon=1.0, detail_delta=delta)
    base = measured([("a1", "b1")], recipe, monkeypatch)
    for row in itertools.product(VALUES, repeat=2):
        more = measured([("a1", "b1"), row], recipe, monkeypatch)
        moved = [np.abs(np.array(b) - np.array(a)) for a, b in zip(base, more, strict=True)]
        assert len(moved) == 2 and all(step.sum() == 1 and step.max() == 1 for step in moved)


def law(count, q, top=12):
    """Exact law of max(0, count + noise), the upper tail as one atom."""
    inside = [(1 - q) / (1 + q) * q ** abs(value - count) for value in range(1, top)]
    return [q**count / (1 + q), *inside, q ** (top - count) / (1 + q)]


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_without_a_delta_the_stated_epsilon_is_kept_exactly(relation):
    """All pairs of codes that a record may bring, on a table of one other record: the worst ratio is e^epsilon."""
    recipe = us.LaplaceHistogram(epsilon=1.0, detail_epsilon=0.8, neighbours=relation)
    entries = [entry for entry in recipe.quote(BOOK, rows=1).ledger if entry.stage == "details"]
    assert len(entries) == 2 and sum(entry.guarantee.epsilon for entry in entries) <= 0.8
    with localcontext(Context(prec=60)):
        worst = Decimal(1)
        for entry in entries:
            scale = entry.event.scale
            q = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
            column = Decimal(0)
            for old, new in itertools.product(range(SIZE), repeat=2):
                base = [int(k == old) for k in range(SIZE)]
                after = [n + int(k == new) for k, n in enumerate(base)]
                if relation is Neighbours.REPLACE:
                    after[old] -= 1
                ratio = Decimal(1)
                for a, b in zip(base, after, strict=True):
                    ratio *= max(max(x / y, y / x) for x, y in zip(law(a, q), law(b, q), strict=True))
                column = max(column, ratio)
            worst *= column
        bound = Decimal(sum(entry.guarantee.epsilon for entry in entries)).exp()
        assert bound * (1 - Decimal("1e-9")) <= worst <= bound * (1 + Decimal("1e-12"))


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_with_a_delta_the_units_are_the_numbers_that_a_record_moves(relation, monkeypatch):
    """One line for both columns; its units are the squared length by which a record moves all counts, and are spent."""
    recipe = us.Marginals(epsilon=1.0, delta=1e-6, detail_epsilon=0.5, detail_delta=1e-7, neighbours=relation)
    (entry,) = [entry for entry in recipe.quote(BOOK, rows=1).ledger if entry.stage == "details"]
    moved = 2 * (1 if relation is Neighbours.ADD_REMOVE else 2)
    assert entry.event.units == moved
    assert gaussian_delta(entry.event.variance, moved, entry.guarantee.epsilon) <= 1e-7 * (1 + 1e-9)
    meters = []
    monkeypatch.setattr(detail_tables, "Meter", lambda event, stream: meters.append(Meter(event, stream)) or meters[-1])
    table = pa.table({"g": ["x"] * 3, "one": ["a1", "a2", "b1"], "two": ["b1", "b1", "a1"]})
    count_details(recipe, open_source(table, BOOK), Stream.seeded(1))
    assert [(meter.event, meter.left) for meter in meters] == [(entry.event, 0)]
