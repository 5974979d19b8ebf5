"""A column with one level is public and carries nothing, and goes wherever other columns go."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from tests.registry_examples import EXAMPLES
from understudy.codebook import Categorical, Codebook, Integer, Ordinal, Role
from understudy.mechanisms.stream import Stream
from understudy.synth.registry import make_recipe

ROWS = 2000
BOOK = Codebook(
    columns=(
        Categorical(name="state", levels=("CA",), role=Role.QUASI_IDENTIFIER),
        Categorical(name="sex", levels=("F", "M"), role=Role.QUASI_IDENTIFIER),
        Ordinal(name="severity", levels=("0", "1", "2"), role=Role.SENSITIVE),
        Integer(name="year", edges=(Fraction(2019), Fraction(4039, 2))),
        Integer(name="age", edges=(Fraction(0), Fraction(100))),
    )
)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    drawn = np.random.default_rng(5)
    return pa.table(
        {
            "state": ["CA"] * ROWS,
            "sex": np.array(["F", "M"])[drawn.integers(0, 2, ROWS)],
            "severity": np.array(["0", "1", "2"])[drawn.integers(0, 3, ROWS)],
            "year": [2019] * ROWS,
            "age": drawn.integers(0, 101, ROWS),
        }
    )


@pytest.mark.parametrize("method", EXAMPLES)
def test_every_method_draws_it(method: str, table: pa.Table) -> None:
    recipe = make_recipe(method, **EXAMPLES[method])
    drawn = recipe.fit(us.open(table, BOOK), stream=Stream.seeded(2)).sample(40).table
    assert set(drawn["state"].to_pylist()) == {"CA"} and set(drawn["year"].to_pylist()) == {2019}
    assert min(drawn["age"].to_pylist()) >= 0 and max(drawn["age"].to_pylist()) <= 100


def test_a_table_of_nothing_else() -> None:
    book = Codebook(columns=BOOK.columns[:1])
    release = us.synthesize(pa.table({"state": ["CA"] * 50}), book, 7, epsilon=1.0, delta=1e-6)
    assert release.table["state"].to_pylist() == ["CA"] * 7


def test_it_is_counted_evaluated_and_anonymised(table: pa.Table, tmp_path) -> None:
    assert us.count(table, BOOK, by=["state", "sex"], epsilon=1.0).table.num_rows == 2
    release = us.synthesize(table, BOOK, ROWS, epsilon=1.0, delta=1e-6)
    us.evaluate(table, release.table, BOOK, out=tmp_path / "page.html")
    assert "state" in (tmp_path / "page.html").read_text()
    us.anonymize(table, BOOK, 3, suppression=0.1, out=tmp_path / "anonymous")
    kept = Codebook.load(tmp_path / "anonymous" / "codebook.toml")
    assert kept.column("state").labels == ("CA",)


def test_an_l_of_its_own_is_not_asked_for_where_nothing_is_secret(table: pa.Table) -> None:
    """``l`` bounds what a column tells; a column of one level tells nothing that is not in the codebook."""
    fitted = make_recipe("lugs", l=1.5).fit(us.open(table.select(["state", "sex"]), _of("state", "sex")))
    assert fitted.quote(10).total.l == 1.5


def _of(*names: str) -> Codebook:
    return Codebook(columns=tuple(BOOK.column(name) for name in names))
