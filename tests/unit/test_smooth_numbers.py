"""Values inside their bins: where they may lie for any seed, what they follow, and what measuring them costs."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from understudy.blocks.densities import Inside, inside_bins
from understudy.codebook import Categorical, Codebook, Continuous, Integer, Number
from understudy.codebook.decode import decode_column
from understudy.codebook.encode import encode_value
from understudy.mechanisms.gaussian_measurements import Meter, gaussian_measurements_event
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

INCOME = (0, 1000, 5000, 10_000, 20_000, 40_000, 60_000, 100_000, 300_000, 2_000_000)


def whole(*edges: float) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, edges))


@st.composite
def numbers(draw: st.DrawFn, shape: str) -> Number:
    """Any whole or decimal number, with bins of one value, of many, on both sides of 0 and across it."""
    edges = draw(st.lists(st.integers(-3000, 3000) | st.integers(-(10**7), 10**7), min_size=2, max_size=9, unique=True))
    given = {"name": "x", "closed": draw(st.sampled_from(["left", "right"])), "shape": shape}
    if draw(st.booleans()):
        return Integer(edges=whole(*sorted(edges)), **given)
    return Continuous(edges=tuple(Fraction(edge, 100) for edge in sorted(edges)), precision=2, **given)


@settings(max_examples=150, deadline=None)
@given(numbers("smooth"))
def test_pieces_tile_their_bins(column: Number) -> None:
    if column.faults():
        return
    for (first, width), cuts in zip(column.grids, column.cuts, strict=True):
        assert cuts[0][0] == first and sum(piece for _, piece in cuts) == width
        assert all(low + piece == following for (low, piece), (following, _) in pairwise(cuts))
        assert all(piece > 0 for _, piece in cuts)
        assert not first <= 0 < first + width or (0, 1) in cuts or len(cuts) == 1  # 0 may hold many records
    assert sum(map(len, column.cuts)) <= max(128, column.proper_levels)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["smooth", "log", "uniform"]).flatmap(numbers), st.data())
def test_values_never_leave_their_bins(column: Number, data: st.DataObject) -> None:
    """For any counts, weights and seed: a drawn value is read back as its own bin, within the declared bounds."""
    if column.faults():
        return
    codes = np.array(data.draw(st.lists(st.integers(0, column.proper_levels - 1), min_size=1, max_size=40)))
    stream = Stream.seeded(data.draw(st.integers(0, 2**32)))
    weights = None
    if column.shape == "smooth":
        counts = data.draw(
            st.lists(st.integers(0, 10**6), min_size=column.proper_levels, max_size=column.proper_levels)
        )
        weights = inside_bins(column, np.array(counts, dtype=np.float64))
        assert len(weights) == column.fine.proper_levels and (weights >= 0).all()
    values = decode_column(column, codes.astype(np.uint16), stream.below_each, weights=weights).to_pylist()
    assert [encode_value(column, value) for value in values] == codes.tolist()
    assert all(column.edges[0] <= Fraction(str(value)) <= column.edges[-1] for value in values)
    assert isinstance(column, Continuous) or all(isinstance(value, int) for value in values)


def test_rows_of_a_bin_are_spread_over_it() -> None:
    """Each row follows the weights; all together differ from them by less than one row per piece."""
    column = Integer(name="x", edges=whole(0, 64, 1000))
    weights = np.zeros(column.fine.proper_levels, dtype=np.int64)
    own = len(column.cuts[0])
    weights[:own] = np.arange(1, own + 1)
    drawn = decode_column(column, np.zeros(5000, dtype=np.uint8), Stream.seeded(3).below_each, weights=weights)
    starts = np.array([first for first, _ in column.cuts[0]])
    found = np.bincount(np.searchsorted(starts, drawn.to_numpy(), side="right") - 1, minlength=own)
    assert np.abs(found - 5000 * weights[:own] / weights[:own].sum()).max() <= 2


@pytest.mark.parametrize("seed", range(5))
def test_the_bins_around_it_say_how_a_wide_bin_is_filled(seed: int) -> None:
    """A log-normal income in declared bins, nothing measured: the top bin is neither filled evenly nor left empty."""
    column = Integer(name="x", edges=whole(*INCOME))
    values = np.exp(np.random.default_rng(seed).normal(10.3, 1.0, 200_000)).clip(0, 2_000_000)
    bins = np.histogram(values, [float(edge) for edge in column.edges])[0]
    codes = np.repeat(np.arange(len(bins)), bins)
    weights = inside_bins(column, bins.astype(np.float64))
    drawn = decode_column(column, codes, Stream.seeded(seed).below_each, weights=weights).to_numpy()
    assert drawn.mean() == pytest.approx(values.mean(), rel=0.03) and drawn.std() == pytest.approx(
        values.std(), rel=0.15
    )
    even = decode_column(column, codes, Stream.seeded(seed).below_each).to_numpy()
    assert even.mean() > 1.2 * values.mean()


def test_negative_logarithms_lean_to_zero() -> None:
    column = Integer(name="x", edges=whole(-1_000_000, 1_000_000), shape="log")
    drawn = decode_column(column, np.zeros(20_000, dtype=np.uint8), Stream.seeded(1).below_each).to_numpy()
    assert abs((drawn < 0).mean() - 0.5) < 0.05 and np.median(np.abs(drawn)) < 10_000
    below = Integer(name="x", edges=whole(-1_000_000, -10, 0), shape="log")
    drawn = decode_column(below, np.zeros(20_000, dtype=np.uint8), Stream.seeded(1).below_each).to_numpy()
    assert math.log(-float(np.median(drawn))) == pytest.approx(math.log(10 * 1_000_000) / 2, abs=0.2)


@pytest.mark.parametrize("neighbours", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_pieces_cost_what_one_table_costs(neighbours: Neighbours) -> None:
    """A record lies in one piece (a replaced one in two), whatever their number."""
    column = Integer(name="x", edges=whole(*INCOME))
    event = gaussian_measurements_event(epsilon=1.0, delta=1e-6, units=1000, neighbours=neighbours)
    meter = Meter(event, Stream.seeded(1))
    counts = CountTable.dense((column.fine.name,), np.zeros(column.fine.size, dtype=np.int64))
    inside = Inside.measured(column, Secret(counts), meter, copies=30)
    assert meter.left == 1000 - 30 * (1 if neighbours is Neighbours.ADD_REMOVE else 2)
    assert inside.noise == float(event.variance) / 30


def _book(shape: str) -> Codebook:
    income = Integer(name="income", edges=whole(*INCOME), shape=shape, missing="NA")
    return Codebook(columns=(income, Categorical(name="sex", levels=("F", "M"))))


def test_a_method_that_measures_pieces_costs_the_same_and_keeps_them_in_its_model(tmp_path) -> None:
    drawn = np.random.default_rng(1)
    values = np.where(drawn.random(20_000) < 0.5, 0, np.exp(drawn.normal(9.5, 1.2, 20_000)).clip(0, 2_000_000) // 1)
    table = pa.table({"income": values.astype(np.int64), "sex": np.array(["F", "M"])[drawn.integers(0, 2, 20_000)]})
    recipe = us.Marginals(epsilon=10.0, delta=1e-6)
    totals = [recipe.quote(_book(shape), rows=10).total for shape in ("smooth", "uniform")]
    assert totals[0] == totals[1]
    fitted = recipe.fit(us.open(table, _book("smooth")))
    income = fitted.sample(20_000).table["income"].drop_null().to_numpy()
    assert income.mean() == pytest.approx(values.mean(), rel=0.05)
    # half of the records are 0, which no bin tells; at epsilon 10 their number is known to a few records
    assert (income == 0).mean() == pytest.approx(0.5, abs=0.02)
    loaded = us.load_model(fitted.save_model(tmp_path / "model.zip"))
    again = loaded.sample(20_000).table["income"].drop_null().to_numpy()
    assert (again == 0).mean() == pytest.approx(0.5, abs=0.02) and again.max() <= 2_000_000
