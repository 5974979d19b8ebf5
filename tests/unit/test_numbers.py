"""Spikes, shapes and units of numbers, and the distance that knows their order."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.codebook import Codebook, Continuous, Integer, Ordinal
from understudy.codebook.decode import decode_column
from understudy.codebook.encode import encode_value
from understudy.errors import CodebookError
from understudy.evaluate.utility.columns import earth_movers, order_distance
from understudy.mechanisms.stream import Stream
from understudy.sources import open_source
from understudy.synth import Marginals


def test_a_spike_has_a_bin_of_its_own():
    column = Continuous(
        name="x",
        edges=(Fraction(0), Fraction(50), Fraction(100)),
        precision=1,
        spikes=(Fraction(0), Fraction(40), Fraction(100)),
    )
    assert column.labels == ("0", "[0.05, 40)", "40", "[40.05, 50)", "[50, 100)", "100")
    assert [encode_value(column, value) for value in (0, 0.1, 39.9, 40, 40.1, 99.9, 100)] == [0, 1, 1, 2, 3, 4, 5]
    right = Integer(
        name="x", edges=(Fraction(0), Fraction(50), Fraction(100)), closed="right", spikes=(Fraction(0), Fraction(50))
    )
    assert right.labels == ("0", "(0, 49.5]", "50", "(50, 100]") and right.faults() == []
    assert [encode_value(right, value) for value in (0, 1, 49, 50, 51)] == [0, 1, 1, 2, 3]


def test_numbers_are_written_as_they_were_read():
    column = Continuous(
        name="x",
        edges=(Fraction(0), Fraction(100)),
        precision=2,
        spikes=(Fraction(0),),
        shape="log",
        units="kg",
        missing="NA",
    )
    book = Codebook(columns=(column,))
    text = book.to_toml()
    assert 'units = "kg"' in text and 'shape = "log"' in text and "spikes = [0]" in text
    assert Codebook.from_toml(text) == book and Codebook.from_toml(text).to_toml() == text


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("edges = [0, 10]\nspikes = [999]", "spike 999, outside its edges"),
        ("edges = [0, 10]\nspikes = [0.5]", "spike 0.5"),
        ("edges = [0, 10]\nspikes = 0", "list of finite numbers"),
        ("edges = [0, 10]\nshape = 'round'", "one of smooth, uniform, log"),
        ("edges = [0, 10]\nunits = 7", "text in quotes"),
    ],
)
def test_bad_numbers_are_refused(lines, said):
    with pytest.raises(CodebookError, match=said):
        Codebook.from_toml(f'format = 1\n[[columns]]\nname = "x"\nkind = "integer"\n{lines}\n')


def test_spikes_come_back_as_themselves():
    drawn = np.random.default_rng(1)
    values = np.where(drawn.random(5000) < 0.4, 0.0, np.round(drawn.uniform(1, 90, 5000), 1))
    book = Codebook(
        columns=(
            Continuous(
                name="x",
                edges=(Fraction(0), Fraction(30), Fraction(60), Fraction(90)),
                precision=1,
                spikes=(Fraction(0),),
            ),
            Ordinal(name="o", levels=("a", "b")),
        )
    )
    data = pa.table({"x": values, "o": drawn.choice(["a", "b"], 5000)})
    release = Marginals(epsilon=10.0, delta=1e-6).fit(open_source(data, book)).sample(3000)
    zeros = float((release.table["x"].to_numpy() == 0).mean())
    assert abs(zeros - 0.4) < 0.08  # z = 7 of 3,000 draws is .063, and the noise is below .01


def test_a_log_shape_draws_every_value_as_its_logarithm_says():
    """Values 1 to 7 of one bin: value v with probability log((v + 1) / v) / log 8; z = 7."""
    column = Integer(name="x", edges=(Fraction(1), Fraction(8), Fraction(9)), shape="log")
    found = decode_column(column, np.zeros(20_000, np.uint8), Stream.seeded(3).below_each).to_numpy()
    for value in range(1, 8):
        p = np.log((value + 1) / value) / np.log(8)
        assert abs((found == value).mean() - p) < 7 * np.sqrt(p * (1 - p) / 20_000)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=2, max_size=5, unique=True),
    st.integers(0, 2),
    st.sampled_from(["uniform", "log"]),
    st.sampled_from(["left", "right"]),
    st.data(),
)
def test_drawn_values_stay_in_their_bins(edges, precision, shape, closed, data):
    edges = tuple(Fraction(edge) for edge in sorted(edges))
    step = Fraction(1, 10**precision)
    most = int((edges[-1] - edges[0]) / step)
    spikes = data.draw(st.lists(st.integers(0, most), max_size=3).map(lambda k: tuple(edges[0] + s * step for s in k)))
    column = Continuous(name="x", edges=edges, precision=precision, spikes=spikes, shape=shape, closed=closed)
    if column.faults():
        return  # a bin between two spikes may hold nothing
    codes = np.repeat(np.arange(column.size), 6).astype(np.uint8)
    values = decode_column(column, codes, Stream.seeded(1).below_each).to_pylist()
    assert [encode_value(column, value) for value in values] == codes.tolist()


def test_the_order_counts():
    """One step of four ranks is a quarter; end to end is one; the same table is none."""
    book = Codebook(columns=(Ordinal(name="o", levels=("a", "b", "c", "d", "e"), missing="NA"),))
    near, far, base = (open_source(pa.table({"o": [level, level, None]}), book) for level in ("b", "e", "a"))
    assert order_distance(base, near).value == pytest.approx(0.25)
    assert order_distance(base, far).value == 1.0
    assert order_distance(base, base).value == 0.0
    assert earth_movers(np.array([0.0, 10.0]), [1, 1], [1, 3]) == pytest.approx(0.25)
