"""Edges of the room of synthesis: odd sizes and prices, resumed runs that lost a file, files edited by hand."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from tests.unit.test_details_everywhere import BOOK as DETAILED
from tests.unit.test_details_everywhere import PRICE, PowerCut, visits
from understudy.codebook import Categorical, Codebook
from understudy.errors import ParameterError, RefusalError, ReleaseError
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.release.workshop import PARTS
from understudy.sources import open_source
from understudy.synth import make_recipe
from understudy.synth.certificate import with_intervals
from understudy.synth.counts import Counts
from understudy.synth.forecast import forecast
from understudy.synth.model_file import load_model
from understudy.synth.ranged import synthesize_parts
from understudy.synth.ways import wanted

BOOK = Codebook(
    columns=(Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("p", "q", "r"))), title="two"
)
TABLE = pa.table({"a": ["x", "y", "y"] * 100, "b": ["p", "q", "r"] * 100})
LAPLACE = make_recipe("laplace", epsilon=1.0)


def account_in(tmp_path):
    return Account.create(tmp_path / "a", dataset="d", epsilon=99.0, delta=0.1, neighbours=Neighbours.ADD_REMOVE)


def test_one_epsilon_for_rows_and_details_is_drawn_in_parts_at_its_price(tmp_path):
    """The rows were drawn at what was asked for all parts together, which no entry pays: refused after the charge."""
    recipe = make_recipe("pegs", epsilon=40.0, delta=1e-6, rows=40)
    account = account_in(tmp_path)
    release = synthesize_parts(visits(), DETAILED, recipe, rows=40, part_rows=15, out=tmp_path / "r", account=account)
    assert release.manifest.total.epsilon <= 40
    assert us.verify(tmp_path / "r").problems == ()


@pytest.mark.parametrize(("method", "lost"), [("laplace", "model.zip"), ("pegs", "details.npz")])
def test_noisy_tables_that_parts_were_drawn_from_are_not_made_again(method, lost, tmp_path):
    """Rows of two perturbations are worth two prices, and there is one charge."""
    options = {"laplace": {"epsilon": 5.0}, "pegs": {"alpha": 5.0, "delta": 1e-6}}[method]
    work = {"rows": 300, "part_rows": 100, "out": tmp_path / "r", "account": account_in(tmp_path)}
    recipe = make_recipe(method, **options, **PRICE)
    with pytest.raises(ReleaseError, match="power cut"):
        synthesize_parts(visits(), DETAILED, recipe, workers=PowerCut(), **work)
    held = tmp_path / "r.unfinished" / lost
    content = held.read_bytes()
    held.unlink()
    with pytest.raises(ReleaseError, match=rf"{lost}.*would have to be paid for again"):
        synthesize_parts(visits(), DETAILED, recipe, **work)
    held.write_bytes(content)
    synthesize_parts(visits(), DETAILED, recipe, **work)
    assert len(list((tmp_path / "r" / PARTS).iterdir())) == 3


def test_too_many_combinations_are_refused_before_anything_is_paid(tmp_path):
    """The number of combinations ran over, and the refusal came after the charge."""
    wide = Codebook(columns=tuple(Categorical(name=f"c{n}", levels=tuple("abcdefgh")) for n in range(24)))
    for width in (9, 24):
        with pytest.raises(ParameterError, match=r"combinations; at most 16,777,216 can be counted"):
            Counts(book=wide, by=wide.names[:width], epsilon=1.0).quote()


def test_a_large_sub_population_is_found_however_many_rows_are_wanted(monkeypatch):
    """Twice the rows were looked through, and then the half of everybody was called too rare."""
    monkeypatch.setattr(wanted, "_MOST_DRAWN", 1000)
    fitted = make_recipe("privbayes", epsilon=50.0, public_rows=300).fit(open_source(TABLE, BOOK))
    assert set(fitted.sample(3000, where={"a": "x"}).table["a"].to_pylist()) == {"x"}


def test_a_forecast_wants_rows_in_the_public_table_and_passes_over_prices_that_leave_none():
    with pytest.raises(ParameterError, match="`public` has no rows"):
        forecast(LAPLACE, BOOK, 300, public=TABLE.slice(0, 0))
    stable = make_recipe("sba", epsilon=1.0, delta=1e-6)
    with pytest.raises(RefusalError, match=r"leaves nothing to draw 3 rows from.*Nothing was paid"):
        forecast(stable, BOOK, 3, public=TABLE)
    assert forecast(stable, BOOK, 300, public=TABLE, error=0.5).epsilon < 1


def test_a_block_may_be_larger_than_the_file(tmp_path):
    """A block of a million million rows was drawn whole, for three of its rows."""
    recipe = make_recipe("pegs-rs", alpha=1.0, block_size=10**12)
    assert recipe.fit(open_source(TABLE, BOOK)).sample(3).table.num_rows == 3
    synthesize_parts(TABLE, BOOK, recipe, rows=3, part_rows=2, out=tmp_path / "r")
    assert us.verify(tmp_path / "r").problems == ()


def test_huge_options_are_refused_or_priced():
    assert make_recipe("marginals", epsilon=1e300, delta=1e-6).quote(BOOK, 3).total.epsilon < 1e300
    with pytest.raises(ParameterError, match="`alpha` is 1e\\+308; it must be a number above 0 and at most 1e\\+09"):
        make_recipe("pegs", alpha=1e308)


@pytest.mark.parametrize("scale", ["1e999999999", "-1E+999999999"])
def test_the_scale_of_a_certificate_that_would_fill_the_memory_is_refused(scale):
    item = {"words": "a within 0.1", "tolerance": 0.1, "scale": scale, "moved": 3}
    with pytest.raises(ValueError, match="beyond all floats"):
        with_intervals(item, 300, 1)


def test_a_model_of_an_unknown_method_says_so(tmp_path):
    LAPLACE.fit(open_source(TABLE, BOOK)).save_model(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as old, zipfile.ZipFile(tmp_path / "n", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "model.json":
                content = json.dumps({**json.loads(content), "method": "theirs"}).encode()
            new.writestr(name, content)
    with pytest.raises(ReleaseError, match="made by the method 'theirs', which is unknown here; install the package"):
        load_model(tmp_path / "n")


@pytest.mark.parametrize("method", us.synth.METHODS)
def test_every_fit_asks_for_its_price_before_it_reads(method, monkeypatch):
    """What has no price is refused before a count: here a certificate of a column that is not there."""
    recipe = make_recipe(method, **us.synth.METHODS[method].example)
    source = open_source(TABLE, BOOK)
    monkeypatch.setattr(type(source), "count", lambda *_: pytest.fail("counted"))
    with pytest.raises(ParameterError):
        replace(recipe, certify=("z within 0.1",), certify_epsilon=1.0).fit(source)


def test_a_threshold_that_hides_all_asks_for_a_multiple_of_what_was_asked():
    """Where a person is the unit a recipe works with the share of one record, which is no epsilon to start from."""
    unit = (
        'format = 1\n\n[unit]\nid = "who"\ncap = 5\n\n[[columns]]\nname = "who"\nkind = "text"\nrole = "identifier"\n'
    )
    people = Codebook.from_toml(unit + "".join(BOOK.to_toml().partition("[[columns]]")[1:]))
    recipe = make_recipe("sbhg", epsilon=0.5, delta=1e-6, public_rows=100, parent_count=1)
    warnings = recipe.quote(people, 100).warnings
    assert any("times as large" in warning for warning in warnings), warnings
    assert np.all(["near" not in warning for warning in warnings])
