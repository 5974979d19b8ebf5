"""Known randomness, unpaid tables, swapped recipes, real starts, tables that are no people."""

import copy
import multiprocessing
import os
import pickle
import shutil
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.errors import DataError, ParameterError, RefusalError
from understudy.mechanisms import GeometricHistogram
from understudy.mechanisms.stream import Stream
from understudy.privacy import NoFormal, PureDP
from understudy.privacy.events import Event
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.synth import make_recipe
from understudy.synth.choices import Choices
from understudy.synth.counts import Counts
from understudy.synth.model_file import LoadedModel, load_model
from understudy.synth.paid_draft import PaidPlan, paid_draft
from understudy.synth.seeds import RealSeeds
from understudy.trees.recipe import RiskScore
from understudy.trees.train import make_training

RECIPE = us.Marginals(epsilon=1.0, delta=1e-6)
SCORE = RiskScore(training=make_training("forest", epsilon=1.0), target="b")


class Known(Stream):
    """Says that it is secure and always offers the same words."""

    is_secure = True  # type: ignore[assignment]

    def fill(self, words):
        words[:] = 7


@pytest.mark.parametrize(
    "stream",
    [np.random.default_rng(1), Known.seeded(1), 7, object()],
    ids=["numpy", "subclass", "number", "object"],
)
@pytest.mark.parametrize(
    "use",
    [
        lambda source, stream: RECIPE.fit(source, stream=stream),
        lambda source, stream: make_recipe("pegs", alpha=2.0).fit(source, stream=stream),
        lambda source, stream: SCORE.fit(source, stream=stream),
        lambda source, stream: Counts(book=source.codebook, by=("b",), epsilon=1.0).fit(source, stream=stream),
        lambda source, stream: paid_draft(pa.table({"s": ["F"]}), PaidPlan(epsilon=1.0, delta=1e-6), stream=stream),
    ],
    ids=["marginals", "pegs", "forest", "counts", "draft"],
)
def test_another_generator_is_refused(use, stream, table, book):
    source = us.open(table, book)
    with pytest.raises(ParameterError, match="every promise rests on understudy's own stream"):
        use(source, stream)


def test_a_key_of_ones_own_is_refused():
    with pytest.raises(ParameterError, match="bytes of the caller's own"):
        Stream(key=bytes(32))
    with pytest.raises(AttributeError):
        Stream.seeded(1).is_secure = True


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_is_never_copied(how):
    with pytest.raises(TypeError, match="two copies would draw the same noise"):
        how(Stream.from_system())


def _drawn(pipe, stream):
    pipe.send(stream.words(4).tolist())
    pipe.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_process_does_not_draw_our_noise_again():
    """Two releases with the same noise would show the difference of their tables exactly."""
    context = multiprocessing.get_context("fork")
    stream = Stream.from_system()
    child = stream.spawn()
    for one in (stream, child):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_drawn, args=(theirs, one))
        process.start()
        there = ours.recv()
        process.join()
        assert one.words(4).tolist() != there


@pytest.mark.parametrize("method", ["marginals", "pegs", "laplace", "marginal-bootstrap"])
def test_a_seed_promises_nothing(method, table, book):
    from tests.unit.test_registry import EXAMPLES

    release = make_recipe(method, **EXAMPLES[method]).fit(us.open(table, book), stream=Stream.seeded(1)).sample(5)
    assert "the randomness was seeded" in release.manifest.total.why


def test_a_seed_promises_nothing_for_models_drawn_later(table, book, tmp_path):
    seeded = RECIPE.fit(us.open(table, book), stream=Stream.seeded(1))
    kept = load_model(seeded.save_model(tmp_path / "seeded.model")).sample(5)
    assert "the randomness was seeded" in kept.manifest.total.why
    secure = RECIPE.fit(us.open(table, book)).save_model(tmp_path / "secure.model")
    later = load_model(secure).sample(5, stream=Stream.seeded(1))
    assert "the randomness was seeded" in later.manifest.total.why, "the manifest does not contradict itself"
    assert load_model(secure).sample(5).manifest.total.is_formal


def test_a_seeded_score_promises_nothing(table, book):
    model = SCORE.fit(us.open(table, book), stream=Stream.seeded(1)).sample()
    assert isinstance(model.guarantee, NoFormal) and "seed" in model.guarantee.why


def test_real_starts_promise_nothing(table, book):
    release = make_recipe("pegs", alpha=5.0, seeds=RealSeeds()).fit(us.open(table, book)).sample(5)
    assert "chains were started from real rows" in release.manifest.total.why


@pytest.mark.parametrize("option", ["seeds", "prior"])
@pytest.mark.parametrize("copied", [False, True], ids=["itself", "a copy"])
def test_the_confidential_table_is_not_public(option, copied, data, book, tmp_path):
    other = shutil.copy(data, tmp_path / "public.parquet") if copied else data
    recipe = Choices(method="pegs", options={"alpha": 5.0, option: str(other)}).recipe(book, 5)
    with pytest.raises(ParameterError, match="it holds the confidential table itself"):
        recipe.fit(us.open(data, book))


def test_quality_is_not_measured_on_the_training_table_as_if_it_were_public(data, book, tmp_path):
    with pytest.raises(ParameterError, match="public records to measure quality on, which must be public"):
        us.train(
            data,
            book,
            method=make_training("forest", epsilon=1.0),
            target="b",
            out=tmp_path / "m.us",
            quality_data=shutil.copy(data, tmp_path / "test.parquet"),
        )


def test_a_fit_keeps_its_recipe_and_codebook(table, book):
    fitted = RECIPE.fit(us.open(table, book))
    with pytest.raises(RefusalError, match="the recipe of a fit"):
        fitted.recipe = us.Marginals(epsilon=0.5, delta=1e-6)
    with pytest.raises(RefusalError, match="the codebook of a fit"):
        fitted.codebook = book


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_fit_is_never_copied(how, table, book):
    for recipe in (RECIPE, make_recipe("pegs", alpha=5.0)):
        with pytest.raises(TypeError, match="confidential"):
            how(recipe.fit(us.open(table, book)))


@pytest.mark.parametrize(
    "look",
    [
        lambda fitted: LoadedModel(fitted.model).sample(5),
        lambda fitted: fitted.model.tables,
        lambda fitted: fitted.details,
        lambda fitted: fitted.drawer(5, fitted.quote(5).ledger),
    ],
    ids=["draw", "tables", "details", "drawer"],
)
def test_perturbed_tables_are_not_shown_before_they_are_paid_for(look, table, book, account):
    fitted = RECIPE.fit(us.open(table, book, account=account))
    with pytest.raises(RefusalError, match="are not paid for yet"):
        look(fitted)
    fitted.sample(5)
    look(fitted)
    assert account.spent().epsilon == pytest.approx(1.0)


def test_smoothed_tables_are_not_opened_before_they_are_paid_for(table, book, account):
    fitted = make_recipe("pegs", alpha=500.0).fit(us.open(table, book, account=account))
    with pytest.raises(RefusalError, match="the smoothed tables of this fit are not paid for yet"):
        fitted.drawer(5, fitted.quote(5).ledger)


def test_parents_chosen_privately_are_not_shown_before_they_are_paid_for(table, book, account):
    recipe = make_recipe("pegs", alpha=500.0, parents="private", parent_count=1, selection_epsilon=0.5, public_rows=300)
    fitted = recipe.fit(us.open(table, book, account=account))
    with pytest.raises(RefusalError, match="the parents of this fit are not paid for yet"):
        _ = fitted.parents
    fitted.sample(5)
    assert set(fitted.parents) == {"a", "b"}


def test_parents_chosen_by_raw_data_are_not_shown_under_an_account(table, book, account):
    """No account can pay for them."""
    recipe = make_recipe("pegs", alpha=500.0, parents="mutual-information", parent_count=1)
    fitted = recipe.fit(us.open(table, book, account=account))
    with pytest.raises(RefusalError, match="the parents of this fit are not paid for yet"):
        _ = fitted.parents
    assert set(recipe.fit(us.open(table, book)).parents) == {"a", "b"}


def test_a_model_says_who_paid_for_it(table, book, account, tmp_path):
    free = load_model(RECIPE.fit(us.open(table, book)).save_model(tmp_path / "free.model"))
    assert "which itself was charged to no account" in free.sample(5).manifest.account
    paid = load_model(RECIPE.fit(us.open(table, book, account=account)).save_model(tmp_path / "paid.model"))
    assert "charged to the account of 'patients'" in paid.sample(5).manifest.account


@pytest.mark.parametrize("method", ["pegs", "pegs-rs", "pmi", "marginal-bootstrap"])
def test_a_sub_population_is_not_drawn_again_and_again_on_route_s(method, table, book, account):
    from tests.unit.test_registry import EXAMPLES

    fitted = make_recipe(method, **EXAMPLES[method]).fit(us.open(table, book, account=account))
    with pytest.raises(RefusalError, match="pays for every row it draws"):
        fitted.sample(5, where={"b": ["1"]})
    assert account.spent() == PureDP(epsilon=0.0, neighbours=Neighbours.ADD_REMOVE)


class Claims(Event):
    kind = "claims-of-the-attacks"
    proof = "trust_me.md"

    def guarantee(self):
        return PureDP(epsilon=0.01, neighbours=Neighbours.ADD_REMOVE)


def test_an_event_without_a_proof_promises_nothing():
    entry = Entry(stage="rows", reads="everything", event=Claims())
    assert "no proof recorded" in Ledger.of([entry]).total().why


def test_one_line_does_not_pay_twice():
    line = Entry(stage="t", reads="t", event=GeometricHistogram(scale=Fraction(1), neighbours=Neighbours.ADD_REMOVE))
    assert Ledger.of([line]).unpaid([line, line]) == [line]
    assert Ledger.of([line, line]).unpaid([line, line]) == []


@pytest.fixture(scope="module")
def derived(table, book, tmp_path_factory):
    """Tables that a person might take for the confidential one."""
    folder = tmp_path_factory.mktemp("derived")
    us.impute(table, book, files=1, out=folder / "filled")
    release = make_recipe("contingency").fit(us.open(table, book)).sample(300)
    release.save(folder / "synthetic", formats=["csv"])
    shutil.copy(folder / "synthetic" / "synthetic.parquet", folder / "elsewhere.parquet")
    return {
        "completed": folder / "filled" / "1" / "completed.parquet",
        "synthetic": folder / "synthetic" / "synthetic.parquet",
        "csv": folder / "synthetic" / "synthetic.csv",
        "copied": folder / "elsewhere.parquet",
        "in memory": release.table,
        "pandas": release.to_pandas(),
        "pandas, changed": release.to_pandas().drop(columns="b").assign(b="1"),
    }


@pytest.mark.parametrize("which", ["completed", "synthetic", "csv", "copied", "in memory", "pandas", "pandas, changed"])
def test_what_is_drawn_from_a_release_promises_nothing_to_people(which, derived, book, tmp_path):
    made = "filled in from all confidential records" if which == "completed" else "synthetic already"
    quoted = RECIPE.fit(us.open(derived[which], book)).quote(5)
    assert made in quoted.total.why
    if which not in ("in memory", "pandas", "pandas, changed"):
        assert made in us.quote(book, 5, "laplace", data=derived[which], epsilon=1.0).total.why
    with pytest.raises(DataError, match=r"the table is the (completed|synthetic) release"):
        SCORE.fit(us.open(derived[which], book))
    with pytest.raises(DataError, match=r"the table is the (completed|synthetic) release"):
        paid_draft(derived[which], PaidPlan(epsilon=1.0, delta=1e-6))


def test_the_manifest_of_a_completed_table_stays_at_home(derived, book, tmp_path):
    """It states the number of confidential records."""
    RECIPE.fit(us.open(derived["completed"], book)).sample(5).save(tmp_path / "out")
    assert not (tmp_path / "out" / "input-manifest.json").exists()


def test_numbers_of_rows_are_declared(book):
    said = RECIPE.quote(book, 300).statement
    assert "settings and number of rows must have been chosen without looking at the data" in said
    assert "an evaluation, a risk-utility map, an audit" in said


def test_details_are_paid_for_beside_the_model(book):
    from understudy.codebook.details import Detail

    groups = (("x", ("x1", "x2")), ("y", ("y1",)), ("z", ("z1",)))
    detail = Detail(name="c", detail_of="a", groups=groups, other="rest")
    with_codes = Codebook(columns=(Categorical(name="a", levels=("x", "y", "z")), book.column("b"), detail))
    quote = RECIPE.quote(with_codes, 5)
    assert "details" in {entry.stage for entry in quote.ledger.entries}
    assert quote.total.epsilon <= RECIPE.epsilon and quote.total.delta <= RECIPE.delta
    with pytest.raises(ParameterError, match="whose tables are paid for beside the model"):
        us.LaplaceHistogram(epsilon=1.0).quote(with_codes, 5)  # codes need a delta, and there is none to share
