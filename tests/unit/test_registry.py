"""Conformance: what every registered method owes its users, from the quote to the written release."""

import json
import math
from dataclasses import fields, replace

import pytest
from registry_examples import EXAMPLES

from understudy import datasets
from understudy.codebook import Codebook, Origin
from understudy.errors import BudgetError, ParameterError
from understudy.mechanisms.stream import Stream
from understudy.parameters import options_of
from understudy.privacy import ApproxDP, Ledger, Neighbours, NoFormal, PureDP
from understudy.privacy.account import Account
from understudy.privacy.guarantees import LDiverse, guarantee_from_dict
from understudy.privacy.spelling import at_most
from understudy.release.verify import verify_release
from understudy.sources import open_source
from understudy.synth import METHODS, Recipe, make_recipe
from understudy.synth.registry import find_method

DIVERSE = ("lugs", "plugs")
"""They promise l-diversity, which is not differential privacy."""
PROMISING = [name for name, cls in METHODS.items() if cls.route != "none" and name not in DIVERSE]
COLUMNS = ("typ", "sex", "sev", "cat")
ROWS = 60


@pytest.fixture(scope="module")
def book():
    whole = datasets.discharges_codebook()
    return Codebook(columns=tuple(replace(whole.column(name), parents=None) for name in COLUMNS))


@pytest.fixture(scope="module")
def table():
    return datasets.discharges(rows=2000, seed=7).select(list(COLUMNS))


@pytest.fixture(scope="module")
def source(table, book):
    return open_source(table, book)


def recipe_of(method, **more):
    return make_recipe(method, **{**EXAMPLES[method], **more})


def test_every_method_has_an_example():
    assert set(EXAMPLES) == set(METHODS), "a new method must meet the conformance tests: give it an example"


@pytest.mark.parametrize("method", METHODS)
def test_a_method_introduces_itself(method):
    cls = METHODS[method]
    assert cls.name == method
    assert issubclass(cls, Recipe)
    assert cls.route in ("N", "S", "none")
    assert cls.summary and len(cls.summary) <= 100
    assert cls.facts.guarantee
    assert (cls.facts.guarantee == "none") == (cls.route == "none")
    assert cls.__doc__


@pytest.mark.parametrize("method", METHODS)
def test_a_recipe_is_a_frozen_value(method):
    recipe = recipe_of(method)
    assert recipe == recipe_of(method)
    assert hash(recipe) == hash(recipe_of(method))
    with pytest.raises(AttributeError):
        recipe.name = "other"
    with pytest.raises(TypeError):
        METHODS[method](1.0)
    json.dumps(recipe.parameters())
    assert set(recipe.parameters()) == {field.name for field in fields(recipe)} == set(options_of(type(recipe)))


@pytest.mark.parametrize("method", METHODS)
def test_the_price_is_the_same_before_and_after_the_fit(method, source, book):
    recipe = recipe_of(method)
    before = recipe.quote(book, ROWS)
    fitted = recipe.fit(source)
    assert fitted.quote(ROWS) == before
    assert fitted.quote(ROWS).total == before.total
    manifest = fitted.sample(ROWS).manifest
    assert manifest.ledger == before.ledger
    assert manifest.total == before.total
    assert manifest.statement == before.statement
    assert fitted.quote(ROWS) == before  # drawing changes no price
    assert json.loads(json.dumps(before.to_dict()))["rows"] == ROWS


@pytest.mark.parametrize("rows", [1, 59, 1000])
@pytest.mark.parametrize("method", METHODS)
def test_rows_are_in_the_codebook_and_as_many_as_asked(method, rows, source, book):
    made = recipe_of(method).fit(source).sample(rows).table
    assert made.num_rows == rows
    assert made.column_names == list(book.names)
    counts = open_source(made, book).count([book.names])[0].open()  # refuses values outside the codebook
    assert int(counts.to_grid().sum()) == rows


@pytest.mark.parametrize("method", METHODS)
def test_a_release_is_written_verified_and_read_back(method, source, book, tmp_path):
    release = recipe_of(method).fit(source).sample(ROWS)
    folder = release.save(tmp_path / "out")
    verdict = verify_release(folder)
    assert verdict.problems == ()
    assert verdict.total == release.manifest.total
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["method"] == method
    assert Ledger.from_list(manifest["ledger"]) == release.manifest.ledger
    assert guarantee_from_dict(manifest["guarantee"]) == release.manifest.total
    assert manifest["statement"] == release.statement
    assert manifest["randomness"].startswith("secure")
    assert Codebook.load(folder / "codebook.toml") == book


@pytest.mark.parametrize("method", METHODS)
def test_the_statement_says_what_is_promised(method, book):
    quote = recipe_of(method).quote(book, ROWS)
    said, total = quote.statement, quote.total
    assert f"{ROWS} rows" in said
    if METHODS[method].route == "none":
        assert isinstance(total, NoFormal)
        assert "no formal privacy guarantee" in said
        assert total.why in said
        assert "differentially private" not in said
        return
    taken_for_granted = said.partition("It holds given that: ")[2]
    assert "public knowledge (declared in the codebook)" in taken_for_granted
    assert all(name in taken_for_granted for name in book.names)
    if method in DIVERSE:
        assert total == LDiverse(l=1.2)
        assert said.startswith(
            "Synthetic entropy l-diversity of the sampling distributions. This is not differential privacy and gives "
            "no bound on membership inference."
        )
        assert "l = 1.2" in said and "link gain" in said
        assert "differentially private" not in said and "epsilon" not in said
        return
    assert isinstance(total, PureDP | ApproxDP)
    assert f"epsilon = {at_most(total.epsilon)}" in said
    assert ("delta" in said) == (total.delta > 0)
    assert "adding or removing one record" in said
    assert ("cost nothing more" in said) == (quote.route == "N")
    assert ("pays again" in said) == (quote.route == "S")


@pytest.mark.parametrize("method", PROMISING)
def test_the_relation_is_said_and_priced(method, book):
    quote = recipe_of(method, neighbours=Neighbours.REPLACE).quote(book, ROWS)
    assert quote.total.neighbours is Neighbours.REPLACE
    assert "changing one record to any other (the number of records is public)" in quote.statement
    added = recipe_of(method).quote(book, ROWS)
    if "epsilon" in EXAMPLES[method]:  # the noise follows the relation, and the price stays within what was asked for
        assert max(quote.total.epsilon, added.total.epsilon) <= EXAMPLES[method]["epsilon"] * (1 + 1e-12)
    else:
        assert quote.total.epsilon >= added.total.epsilon * (1 - 1e-9)


@pytest.mark.parametrize("method", PROMISING)
def test_no_privacy_parameter_has_a_default(method):
    with pytest.raises(ParameterError):
        make_recipe(method)
    with pytest.raises((TypeError, ParameterError)):
        METHODS[method]()
    for option, value in EXAMPLES[method].items():
        if option == "delta" and METHODS[method].route == "S":
            continue  # without a delta the total is pure: dearer, and still a promise
        if option == "parent_count":
            continue  # a choice of model, not of privacy
        rest = {name: other for name, other in EXAMPLES[method].items() if name != option}
        with pytest.raises(ParameterError, match=option if METHODS[method].route == "N" else None):
            make_recipe(method, **rest)
        assert value


@pytest.mark.parametrize("bad", [0, -1.0, math.inf, math.nan, True, "1"])
@pytest.mark.parametrize("method", PROMISING)
def test_privacy_parameters_break_their_rule_loudly(method, bad):
    option = next(name for name in ("alpha", "epsilon_per_record", "epsilon") if name in EXAMPLES[method])
    with pytest.raises(ParameterError, match=option):
        recipe_of(method, **{option: bad})


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, 2.0, math.nan])
@pytest.mark.parametrize("method", [name for name in PROMISING if name != "laplace"])
def test_delta_is_a_probability(method, bad):
    with pytest.raises(ParameterError, match="delta"):
        recipe_of(method, delta=bad)


@pytest.mark.parametrize("rows", [0, -5, 1.5, True, "10", None])
@pytest.mark.parametrize("method", METHODS)
def test_rows_are_a_whole_number_that_the_caller_states(method, rows, source, book):
    with pytest.raises(ParameterError, match="rows"):
        recipe_of(method).quote(book, rows)
    with pytest.raises(TypeError):
        recipe_of(method).quote(book)


@pytest.mark.parametrize("method", METHODS)
def test_a_seeded_stream_repeats_itself_and_promises_nothing(method, source, tmp_path):
    seed = 918_273_645
    made = [recipe_of(method).fit(source, stream=Stream.seeded(seed)).sample(ROWS) for _ in range(2)]
    assert made[0].table.equals(made[1].table)
    total = made[0].manifest.total
    assert isinstance(total, NoFormal)
    assert "seeded" in total.why
    text = (made[0].save(tmp_path / "out") / "manifest.json").read_text(encoding="utf-8")
    assert str(seed) not in text
    assert "not private" in json.loads(text)["randomness"]
    other = recipe_of(method).fit(source, stream=Stream.seeded(seed + 1)).sample(ROWS)
    assert not other.table.equals(made[0].table)


@pytest.mark.parametrize("method", METHODS)
def test_a_drafted_codebook_promises_nothing(method, book):
    drafted = replace(book, columns=tuple(replace(column, origin=Origin.DRAFTED) for column in book.columns))
    total = recipe_of(method).quote(drafted, ROWS).total
    assert isinstance(total, NoFormal)
    assert "drafted from the data" in total.why
    assert all(name in total.why for name in book.names)


@pytest.mark.parametrize("method", PROMISING)
def test_the_account_is_charged_for_every_draw_or_once(method, table, book, tmp_path):
    account = Account.create(
        tmp_path / "a.account", dataset="discharges", epsilon=1e6, delta=1e-3, neighbours=Neighbours.ADD_REMOVE
    )
    fitted = recipe_of(method).fit(open_source(table, book, account=account))
    fitted.sample(ROWS)
    once = account.spent().epsilon
    fitted.sample(ROWS)
    assert len(account.history()) == (1 if METHODS[method].route == "N" else 2)
    assert (account.spent().epsilon == once) == (METHODS[method].route == "N")


@pytest.mark.parametrize("method", DIVERSE)
def test_no_account_covers_what_is_not_differential_privacy(method, table, book, tmp_path):
    account = Account.create(
        tmp_path / "a.account", dataset="discharges", epsilon=1e6, delta=1e-3, neighbours=Neighbours.ADD_REMOVE
    )
    fitted = recipe_of(method).fit(open_source(table, book, account=account))
    with pytest.raises(BudgetError, match="not differential privacy"):
        fitted.sample(ROWS)
    assert account.history() == []


@pytest.mark.parametrize("method", DIVERSE)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"l": 0.5}, ("0.5", "at least 1")),
        ({"l": math.nan}, ("nan",)),
        ({"l": {"sex": 0.9}}, ("0.9",)),
        ({"floor": 1.0}, ("floor", "below 1")),
        ({"floor": -0.1}, ("floor",)),
        ({"hashes": 0}, ("hashes", "from 1 to 64")),
        ({"bands": 0}, ("bands",)),
        ({"key_space": 1 << 23}, ("key_space", "4,194,304")),
        ({"sweeps": 0}, ("sweeps",)),
        ({"cap": "yes"}, ("cap",)),
    ],
)
def test_bad_choices_of_diversity_are_refused(method, options, words):
    with pytest.raises(ParameterError) as refusal:
        recipe_of(method, **options)
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


@pytest.mark.parametrize("method", DIVERSE)
def test_an_l_that_levels_cannot_have_is_refused_before_anything_is_read(method, source, book):
    smallest = min(book.sizes)
    with pytest.raises(ParameterError, match=f"has {smallest} levels"):
        recipe_of(method, l=smallest + 0.5).quote(book, ROWS)
    with pytest.raises(ParameterError, match=f"has {smallest} levels"):
        recipe_of(method, l=smallest + 0.5).fit(source)
    capped = recipe_of(method, l=smallest + 0.5, cap=True)
    quote = capped.quote(book, ROWS)
    assert quote.total == LDiverse(l=float(smallest))
    assert quote.paper["capped"] == [name for name in book.names if book.column(name).size == smallest]
    assert capped.fit(source).sample(ROWS).table.num_rows == ROWS
    own = {name: 1 + 0.5 * (book.column(name).size - 1) for name in book.names}
    assert recipe_of(method, l=own).quote(book, ROWS).total == LDiverse(l=min(own.values()))


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, 2000])
@pytest.mark.parametrize("option", ["partitions", "processes"])
def test_parts_are_counted_in_whole_numbers(option, bad):
    with pytest.raises(ParameterError, match=option):
        recipe_of("plugs", **{option: bad})


def test_more_parts_than_records(book, table):
    few = open_source(table.slice(0, 3), book)
    assert recipe_of("plugs", partitions=8).fit(few).sample(200).table.num_rows == 200


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("PeGS", "pegs"),
        ("pegsrs", "pegs-rs"),
        ("laplas", "laplace"),
        ("SBA", "sba"),
        ("bayes-bootstrap", "bayesian-bootstrap"),
    ],
)
def test_an_unknown_method_gets_the_nearest_one_suggested(typed, meant):
    with pytest.raises(ParameterError, match=f"Did you mean '{meant}'") as refusal:
        find_method(typed)
    assert repr(typed) in str(refusal.value)
    assert all(name in str(refusal.value) for name in METHODS)


def test_a_word_like_no_method_gets_the_list():
    with pytest.raises(ParameterError, match="understudy methods"):
        find_method("zzz")


@pytest.mark.parametrize("method", METHODS)
def test_a_strange_option_is_named(method):
    with pytest.raises(ParameterError, match="speed"):
        make_recipe(method, **EXAMPLES[method], speed=3)
