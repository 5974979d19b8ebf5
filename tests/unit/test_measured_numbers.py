"""Numbers inside their bins from a priced count: declared, priced, drawn, kept in model files, and compared."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from registry_examples import examples_with

import understudy as us
from understudy.codebook import Categorical, Codebook, Continuous, Detail, Integer, Order, PersonUnit, Role, Text
from understudy.codebook.decode import decode_column, decode_table
from understudy.codebook.encode import encode_value
from understudy.errors import CodebookError, DataError, ParameterError
from understudy.evaluate.utility.columns import order_distance
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, NoFormal
from understudy.sources import open_source
from understudy.sources.check import check_table
from understudy.synth import METHODS, make_recipe
from understudy.synth.model_file import load_model

F = Fraction
AGE = Integer(name="age", edges=(F(0), F(18), F(65), F(100)), shape="measured", pieces=100, missing="NA")
SEX = Categorical(name="sex", levels=("F", "M"))
BOOK = Codebook(columns=(SEX, AGE))
RECIPE = us.LaplaceHistogram(epsilon=1.0, detail_epsilon=0.5)
OPTIONS = examples_with(
    {
        **{key: {"epsilon_per_record": None, "alpha": 5.0} for key in ("pegs", "pegs-rs", "marginal-bootstrap")},
        "pmi": {"epsilon_per_record": None, "alpha": 5.0, "engines": "blocks"},
        **{key: {"epsilon": 5.0} for key in ("marginals", "laplace", "sba", "privbayes")},
        **{key: {"epsilon": 5.0, "parents": "declared"} for key in ("sbhg", "sbhg-gauss")},
        "plugs": {"processes": 1, "partitions": 2},
        "imputation": {"engines": "blocks"},
        "gibbs": {"parents": "declared"},
    }
)
"""Clear enough for 4,000 people."""


def people(rows=4000):
    """Every age of a band is 0, 40 or 90: nothing that a uniform shape would ever say."""
    drawn = np.random.default_rng(7)
    return pa.table({"sex": drawn.choice(["F", "M"], rows), "age": drawn.choice([3, 40, 90], rows)})


def test_pieces_are_equal_and_never_finer_than_the_values():
    column = replace(AGE, edges=(F(0), F(3), F(65), F(100)), pieces=4)
    assert [len(cuts) for cuts in column.cuts] == [3, 4, 4]
    assert column.cuts[0] == ((0, 1), (1, 1), (2, 1)) and sum(width for _, width in column.cuts[1]) == 62
    fine = column.fine
    assert fine.reads == "age" and fine.name == "age within its bins" and fine.grids[:3] == column.cuts[0]
    book = replace(BOOK, columns=(SEX, column))
    assert book.described == book.modelled and book.counted[-1] is column.fine
    text = book.to_toml()
    assert 'shape = "measured"\npieces = 4\n' in text and Codebook.from_toml(text) == book


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("edges = [0, 10]\nshape = 'measured'", "say into how many"),
        ("edges = [0, 10]\nshape = 'measured'\npieces = 1", "pieces = 1"),
        ("edges = [0, 10]\nshape = 'measured'\npieces = 2.5", "whole number"),
        ("edges = [0, 10]\npieces = 4", "pieces are counted, at a price"),
        ("edges = [0, 1000000]\nshape = 'measured'\npieces = 3000", "3,000 pieces in all, more than 2,000"),
        ("edges = [0, 1, 2, 2.5]\nshape = 'measured'\npieces = 4", "more than one value"),
    ],
)
def test_bad_pieces_are_refused(lines, said):
    with pytest.raises(CodebookError, match=said):
        Codebook.from_toml(f'format = 1\n[[columns]]\nname = "x"\nkind = "integer"\n{lines}\n')
    with pytest.raises(CodebookError, match="call it something else"):
        Codebook(columns=(AGE, Categorical(name="age within its bins", levels=("a", "b"))))


def test_the_quote_prices_the_pieces_without_reading_data():
    quote = RECIPE.quote(BOOK, rows=100)
    stages = [entry.stage for entry in quote.ledger]
    assert stages == ["tables", "details"] and quote.total.epsilon == pytest.approx(1.5)
    last = list(quote.ledger)[-1]
    assert last.event.proof == "geometric_histogram.md" and last.guarantee.epsilon <= 0.5
    assert "101 pieces of age" in last.reads
    shared = us.LaplaceHistogram(epsilon=1.0).quote(BOOK, rows=100)
    assert [entry.stage for entry in shared.ledger] == stages and 0.999 < shared.total.epsilon <= 1.0
    with pytest.raises(ParameterError, match=r"measured numbers \(age\).*`detail_epsilon`"):
        make_recipe("pegs", alpha=1.0).quote(BOOK, rows=100)
    with pytest.raises(ParameterError, match="measured numbers cost no delta"):
        replace(RECIPE, detail_delta=1e-6).quote(BOOK, rows=100)
    plain = replace(BOOK, columns=(SEX, replace(AGE, shape="uniform", pieces=None)))
    with pytest.raises(ParameterError, match="has none; leave them out"):
        RECIPE.quote(plain, rows=100)


def test_details_and_pieces_share_one_price():
    code = Detail(name="code", detail_of="sex", other="other", groups=(("F", ("f1", "f2")), ("M", ("m1",))))
    book = replace(BOOK, columns=(SEX, AGE, code))
    recipe = us.LaplaceHistogram(epsilon=1.0, detail_epsilon=1.0, detail_delta=1e-6)
    entries = [entry for entry in recipe.quote(book, rows=10).ledger if entry.stage == "details"]
    assert [round(entry.guarantee.epsilon, 6) for entry in entries] == [0.05, 0.45, 0.5]
    assert sum(entry.guarantee.epsilon for entry in entries) <= 1.0
    data = people(500).append_column("code", pa.array(["f1"] * 500))
    table = recipe.fit(open_source(data, book)).sample(50).table
    assert table.column_names == ["sex", "age", "code"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_draws_values_as_they_were_measured(method):
    """Ages are 3, 40 or 90. With epsilon 20 the noise on a piece is 0 but for e^-20 a piece; more than 9 in ten drawn
    ages of a band are its own."""
    recipe = make_recipe(method, detail_epsilon=20.0, **OPTIONS[method])
    fitted = recipe.fit(open_source(people(), BOOK))
    release = fitted.sample(4000 if method == "imputation" else 500)
    ages = np.array([age for age in release.table["age"].to_pylist() if age is not None])
    # without missing ages in the data only noise draws that level
    inside = np.isin(ages, [3, 40, 90])
    assert inside.mean() > 0.9
    if METHODS[method].route == "none":
        assert isinstance(release.manifest.total, NoFormal)
    assert check_table(release.table, BOOK) == []


def test_a_model_file_keeps_the_pieces(tmp_path):
    fitted = us.LaplaceHistogram(epsilon=5.0, detail_epsilon=20.0).fit(open_source(people(), BOOK))
    fitted.save_model(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    drawn = loaded.sample(300, where={"age": "[18, 65)"}).table["age"].to_pylist()
    assert np.mean(np.array(drawn) == 40) > 0.9
    assert loaded.model.ledger.total().epsilon == pytest.approx(25.0, rel=1e-4)


def test_people_pay_for_their_pieces():
    book = replace(BOOK, columns=(Text(name="id", role=Role.IDENTIFIER), SEX, AGE), unit=PersonUnit(id="id", cap=2))
    total = RECIPE.quote(book, rows=10).total
    assert total.neighbours is Neighbours.ADD_REMOVE_PERSON and total.epsilon == pytest.approx(1.5)


def test_orders_hold_between_measured_numbers_and_the_shape_is_kept():
    """Stays of 2 of 10 days that begin on day 5: the end is drawn from its own pieces, above the beginning."""
    days = tuple(map(F, (0, 10, 20)))
    book = Codebook(
        columns=(
            Integer(name="in", edges=days, shape="measured", pieces=20),
            Integer(name="out", edges=days, shape="measured", pieces=20),
        ),
        constraints=(Order(low="in", relation="<", high="out"),),
    )
    table = pa.table({"in": [5, 5, 2, 12] * 500, "out": [7, 7, 12, 19] * 500})
    recipe = us.LaplaceHistogram(epsilon=20.0, detail_epsilon=40.0)
    made = recipe.fit(open_source(table, book)).sample(2000).table
    start, end = made["in"].to_numpy(), made["out"].to_numpy()
    assert (start < end).all()
    assert np.isin(start, [2, 5, 12]).mean() > 0.99 and np.isin(end, [7, 12, 19]).mean() > 0.95
    weights = {"in": np.zeros(21, np.int64), "out": np.zeros(21, np.int64)}
    weights["in"][9] = 1  # below 10 nothing but 9 was seen, and 9 leaves no end in the same bin
    codes = [np.zeros(50, np.uint8), np.zeros(50, np.uint8)]
    made = decode_table(book, codes, Stream.seeded(1).below_each, shapes=weights)
    assert (made["in"].to_numpy() < made["out"].to_numpy()).all()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 80), min_size=2, max_size=5, unique=True),
    st.integers(0, 2),
    st.integers(2, 9),
    st.sampled_from(["left", "right"]),
    st.data(),
)
def test_every_value_lies_in_a_piece_of_its_bin_and_is_drawn_from_one(edges, precision, pieces, closed, data):
    edges = tuple(Fraction(edge) for edge in sorted(edges))
    step = Fraction(1, 10**precision)
    most = int((edges[-1] - edges[0]) / step)
    spikes = data.draw(st.lists(st.integers(0, most), max_size=2).map(lambda k: tuple(edges[0] + s * step for s in k)))
    column = Continuous(
        name="x", edges=edges, precision=precision, spikes=spikes, shape="measured", pieces=pieces, closed=closed
    )
    if column.faults():
        return  # a bin between two spikes may hold nothing, or all of them one value
    bin_of = np.repeat(np.arange(column.size), [len(cuts) for cuts in column.cuts])
    value = float(edges[0]) + data.draw(st.floats(0, 1)) * float(edges[-1] - edges[0])
    assert bin_of[encode_value(column.fine, value)] == encode_value(column, value)
    assert tuple(grid for cuts in column.cuts for grid in cuts) == column.fine.grids
    weights = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(bin_of), max_size=len(bin_of))), np.int64)
    codes = np.repeat(np.arange(column.size), 8).astype(np.uint8)
    drawn = decode_column(column, codes, Stream.seeded(1).below_each, weights=weights).to_pylist()
    assert [encode_value(column, value) for value in drawn] == codes.tolist()
    found = np.array([encode_value(column.fine, value) for value in drawn])
    known = np.bincount(bin_of, weights)[codes] > 0
    assert (weights[found[known]] > 0).all()


def test_the_distance_of_ordered_columns_looks_inside_bins():
    real, near, far = (open_source(pa.table({"sex": ["F"] * 9, "age": [age] * 9}), BOOK) for age in (20, 21, 60))
    assert order_distance(real, near).value < 0.02 < order_distance(real, far).value


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_the_engine_finds_pieces_by_arithmetic(closed, kind):
    """On the grid and between its values, beyond the edges and where nothing is known: as the reference says."""
    column = Continuous(
        name="x", edges=(F(0), F(1), F(101, 2), F(100)), precision=1, shape="measured", pieces=150, closed=closed,
        clip=True, spikes=(F(7),), missing="NA",
    )  # fmt: skip
    book = Codebook(columns=(column, SEX))
    values = [*(round(k / 7, 3) for k in range(-20, 720)), *(k / 10 for k in range(0, 1001)), None]
    typed = pa.array(values) if kind == "numbers" else pa.array([None if v is None else str(v) for v in values])
    data = pa.table({"x": typed, "sex": ["F"] * len(values)})
    counts = open_source(data, book).count([("x within its bins",)])[0].open().to_grid()
    expected = np.bincount([encode_value(column.fine, value) for value in values], minlength=column.fine.size)
    assert counts.tolist() == expected.tolist()


@pytest.mark.parametrize("value", [1e300, -1e300, float("inf"), float("nan"), 100.5])
def test_values_that_no_piece_can_hold_are_unknown(value):
    column = Continuous(name="x", edges=(F(0), F(1), F(100)), precision=1, shape="measured", pieces=20)
    source = open_source(pa.table({"x": [0.5, 99.0, value], "sex": ["F"] * 3}), Codebook(columns=(column, SEX)))
    with pytest.raises(DataError, match=r"does not know in 'x' \(1 rows\)"):
        source.count([("x within its bins",)])
