"""Imputation and PMI: what is kept, what is replaced, and what bad input is told."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.blocks.engines import ENGINES, EngineChoice, engine_words, make_learner
from understudy.blocks.learning import Records
from understudy.codebook import Categorical, Codebook, Dates, Grain, Integer, Ordinal, Role
from understudy.errors import BudgetError, DataError, ParameterError, RefusalError
from understudy.mechanisms.prediction import fitted_in_secret
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.privacy.account import Account
from understudy.privacy.provenance import Made, Provenance
from understudy.release.release import save_many
from understudy.release.verify import verify_release
from understudy.sources import EncodedSource, open_source
from understudy.sources.rows import rows_of
from understudy.synth.chained import Chain
from understudy.synth.filling import Filling
from understudy.synth.methods.pmi import fit_models

ROWS = 400


def book_of(*, missing=None):
    return Codebook(
        columns=(
            Categorical(name="place", levels=("n", "s", "w"), role=Role.QUASI_IDENTIFIER),
            Ordinal(name="age", levels=tuple("12345"), role=Role.QUASI_IDENTIFIER),
            Integer(name="stay", edges=tuple(map(Fraction, (0, 1, 2, 4, 8, 16))), missing=missing, clip=True),
            Categorical(name="cause", levels=("p", "q"), role=Role.SENSITIVE, missing=missing),
        )
    )


BOOK = book_of()


def source_of(seed=1, rows=ROWS, book=BOOK):
    draw = np.random.default_rng(seed)
    age = draw.integers(0, 5, rows)
    columns = [
        draw.integers(0, 3, rows),
        age,
        np.clip(age + draw.integers(-1, 2, rows), 0, 4),
        (draw.random(rows) < age / 6).astype(int),
    ]
    return EncodedSource(codebook=book, columns=[column.astype(np.uint8) for column in columns])


def joint(table, names, book=BOOK):
    return open_source(table, book).count([names])[0].open().to_grid()


@pytest.mark.parametrize("engine", [word for word in ENGINES if word != "linear"])
@pytest.mark.parametrize("sweeps", [0, 2])
def test_every_engine_makes_a_file(engine, sweeps):
    recipe = us.Imputation(engines=engine, sweeps=sweeps)
    table = recipe.fit(source_of(), stream=Stream.seeded(1)).sample(ROWS).table
    counts = joint(table, ("age", "stay"))
    assert counts.sum() == ROWS
    independent = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / ROWS
    assert np.abs(counts - independent).sum() > 0.4 * ROWS  # stay follows age: far from independence
    pmi = us.PMI(alpha=1.0, engines=engine, sweeps=sweeps).fit(source_of(), stream=Stream.seeded(1)).sample(50)
    assert pmi.table.num_rows == 50


@pytest.mark.parametrize("key", ["columns", "feature-hash", "minhash"])
def test_engines_are_mixed_by_column(key):
    engines = {"stay": "linear", "cause": "logistic", "*": "blocks"}
    recipe = us.Imputation(engines=engines, key=key, key_space=64, order=("age", "stay"), parents={"stay": ("age",)})
    words = {name: learner.word for name, learner in recipe.chain(BOOK).learners().items()}
    assert words == {"age": "blocks", "stay": "linear", "place": "blocks", "cause": "logistic"}
    assert list(words) == ["age", "stay", "place", "cause"]  # the rest follows as the codebook has it
    assert recipe.fit(source_of()).sample(20).table.num_rows == 20
    assert json.loads(json.dumps(recipe.parameters()))["engines"] == engines


def test_complete_files_differ_and_come_many_at_once():
    fitted = us.Imputation().fit(source_of())
    made = fitted.sample_many(30, files=3)
    assert len(made) == 3
    assert not made[0].table.equals(made[1].table)
    with pytest.raises(ParameterError, match="files"):
        fitted.sample_many(30, files=0)


def test_a_partial_file_keeps_every_record_but_for_what_is_replaced():
    recipe = us.Imputation(synthesis="partial")
    assert recipe.replaced(BOOK) == ("cause",)
    release = recipe.fit(source_of(), stream=Stream.seeded(2)).sample(ROWS)
    real = source_of().count([["place", "age", "stay"]])[0].open().to_grid()
    assert (joint(release.table, ("place", "age", "stay")) == real).all()
    assert "all of which are kept" in release.manifest.rows_origin
    assert "every real record is kept" in release.statement
    with pytest.raises(ParameterError, match="keeps each of the 400 records"):
        recipe.fit(source_of()).sample(ROWS - 1)


def test_only_values_at_risk_are_replaced():
    """Records whose quasi-identifiers many share are untouched; all files keep one order, which is not sorted."""
    recipe = us.Imputation(synthesis="partial", columns=("age", "cause"), at_risk=26)
    source = source_of()
    grid = source.count([["place", "age"]])[0].open().to_grid()
    rare = grid < 26
    assert rare.any() and not rare.all()
    made = [release.table for release in recipe.fit(source, stream=Stream.seeded(2)).sample_many(ROWS, files=2)]
    real = source.count([BOOK.names])[0].open().to_grid()
    kept = joint(made[0], BOOK.names)
    assert (kept[~rare] >= real[~rare]).all()  # every record that is not at risk is still there
    assert kept.sum() == ROWS
    codes = [table.drop_columns(["stay"]).to_pylist() for table in made]  # numbers are redrawn inside their bins
    same = sum(a == b for a, b in zip(*codes, strict=True))
    assert same >= grid[~rare].sum()
    places = made[0]["place"].to_pylist()
    assert places != sorted(places)


def test_a_full_file_takes_its_given_columns_from_real_records():
    recipe = us.Imputation(synthesis="full")
    table = recipe.fit(source_of(rows=40), stream=Stream.seeded(2)).sample(1000).table
    real = source_of(rows=40).count([["place", "age", "stay"]])[0].open().to_grid()
    assert (joint(table, ("place", "age", "stay"))[real == 0] == 0).all()
    assert "real records" in recipe.quote(BOOK, 5).total.why


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"synthesis": "half"}, "half"),
        ({"sweeps": -1}, "sweeps"),
        ({"engines": "forest"}, "forest"),
        ({"key": "sha"}, "sha"),
        ({"columns": ("age",)}, "every column"),
        ({"at_risk": 2}, "partial"),
        ({"at_risk": 1, "synthesis": "partial"}, "2 or more"),
        ({"parents": "declared"}, "COLUMN=PARENT"),
    ],
)
def test_wrong_words_are_refused_at_once(options, said):
    with pytest.raises(ParameterError, match=said):
        us.Imputation(**options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"engines": {"weight": "cart"}}, "weight"),
        ({"engines": "linear"}, "'place' is categorical"),
        ({"engines": {"age": "linear"}}, "'age' is ordinal"),
        ({"order": ("age", "age")}, "each column once"),
        ({"order": ("weight",)}, "weight"),
        ({"synthesis": "partial", "columns": ("weight",)}, "weight"),
        ({"synthesis": "partial", "columns": ("age", "age")}, "each once"),
        ({"synthesis": "partial", "columns": ()}, "empty"),
    ],
)
def test_wrong_columns_are_refused_before_any_data_is_read(options, said):
    with pytest.raises(ParameterError, match=said):
        us.Imputation(**options).quote(BOOK, 10)


def test_a_partial_file_needs_roles():
    plain = Codebook(columns=tuple(replace(column, role=Role.OTHER) for column in BOOK.columns))
    with pytest.raises(ParameterError, match="calls none so"):
        us.Imputation(synthesis="full").quote(plain, 10)
    with pytest.raises(ParameterError, match="quasi-identifiers"):
        us.Imputation(synthesis="partial", columns=("age",), at_risk=2).quote(plain, 10)


@pytest.mark.parametrize("words", [["cart", "blocks"], ["age=cart", "age=blocks"], ["=cart"]], ids=" ".join)
def test_engines_given_twice_are_refused(words):
    with pytest.raises(ParameterError, match="each once"):
        engine_words(words)
    assert engine_words(["cart"]) == "cart"
    assert engine_words("age=cart") == {"age": "cart"}


# --- difficult data --------------------------------------------------------------------------------------------------


def three_columns(x, y, z=None):
    levels = {"x": x, "y": y, **({} if z is None else {"z": z})}
    book = Codebook(columns=tuple(Categorical(name=n, levels=("0", "1", "2")) for n in levels))
    return EncodedSource(codebook=book, columns=[np.asarray(v, dtype=np.uint8) for v in levels.values()])


def test_a_perfectly_separable_regression_stays_finite():
    x = np.tile(np.arange(3), 50)
    source = three_columns(x, x)
    table = us.Imputation().fit(source, stream=Stream.seeded(1)).sample(600).table
    agree = np.mean([a == b for a, b in zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True)])
    assert agree > 0.95  # the penalty keeps a little doubt; probabilities stay finite
    learner = make_learner(source.codebook, "y", ("x",), EngineChoice())
    records = Records.of(source.count([source.codebook.names])[0].open())
    learner.tune(records, np.random.default_rng(1))
    coefficients = learner.fit(records, records.counts, np.random.default_rng(1)).coefficients
    assert np.isfinite(coefficients.effects).all() and np.abs(coefficients.effects).max() < 50


@pytest.mark.parametrize("engine", ["auto", "cart", "blocks"])
def test_collinear_columns_are_learned(engine):
    x = np.tile(np.arange(3), 60)
    y = (x + (np.arange(180) % 7 == 0)) % 3
    table = us.Imputation(engines=engine).fit(three_columns(x, x, y), stream=Stream.seeded(1)).sample(400).table
    assert table.num_rows == 400


def test_collinear_numbers_share_their_effect():
    edges = tuple(map(Fraction, range(9)))
    book = Codebook(columns=tuple(Integer(name=name, edges=edges) for name in "abc"))
    code = np.tile(np.arange(8, dtype=np.uint8), 20)
    records = Records(columns=(code, code, code), counts=np.ones(160))
    model = make_learner(book, "c", ("a", "b"), EngineChoice()).fit(records, records.counts, np.random.default_rng(1))
    assert model.mean([code, code, code]) == pytest.approx(code + 0.5)
    assert np.isfinite(model.probabilities([code, code, code])).all()


@pytest.mark.parametrize("engine", ["auto", "cart", "blocks"])
def test_a_column_that_is_constant_in_the_data_stays_constant(engine):
    x = np.tile(np.arange(3), 20)
    source = three_columns(x, np.ones(60))
    table = us.Imputation(engines=engine, sweeps=1).fit(source).sample(50).table
    assert set(table["y"].to_pylist()) == {"1"}
    noisy = us.PMI(alpha=5.0, engines=engine).fit(source).sample(500).table
    assert set(noisy["y"].to_pylist()) == {"0", "1", "2"}  # levels come from the codebook, never from the data


def test_an_empty_table_is_refused_or_uniform():
    nothing = three_columns([], [])
    with pytest.raises(RefusalError, match="no rows"):
        us.Imputation().fit(nothing)
    assert us.PMI(alpha=1.0).fit(nothing).sample(20).table.num_rows == 20


def test_a_fit_that_fails_is_uniform_and_tells_nothing(monkeypatch):
    def broken(*_):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr("understudy.blocks.regressions.LogisticLearner.fit", broken)
    fitted = us.PMI(alpha=1.0).fit(source_of())
    assert fitted.sample(10).table.num_rows == 10
    chain = Chain(book=BOOK, choice=EngineChoice(), drawn=BOOK.names, sweeps=1)
    counts = source_of().count([BOOK.names])[0]
    models = fitted_in_secret(counts, lambda t: fit_models(chain, t, np.random.default_rng(1), None))
    assert isinstance(models, Secret)
    shares = models.open()["place"].probabilities([np.zeros(1, np.uint8)] * 4)
    assert shares.tolist() == [[1 / 3] * 3]


def test_progress_is_told_by_column_and_fold():
    told = []
    us.PMI(alpha=1.0).fit(source_of(), report=lambda *words: told.append(words))
    steps = [(done, of) for step, done, of in told if step == "fitting models"]
    assert steps[-1] == (16, 16)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert len(steps) > 8


# --- filling missing values ------------------------------------------------------------------------------------------


def holed_table(rows=300, every=False, seed=4):
    draw = np.random.default_rng(seed)
    book = book_of(missing="NA")
    whole = us.Imputation().fit(source_of(rows=rows), stream=Stream.seeded(seed)).sample(rows).table
    stay = draw.random(rows) < 0.5
    cause = ~stay if every else draw.random(rows) < 0.2
    columns = {name: whole[name] for name in ("place", "age")} | {
        "stay": pa.array(whole["stay"].to_numpy(), mask=stay),
        "cause": pa.array(whole["cause"].to_pylist(), mask=cause),
    }
    return pa.table(columns), book


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("engines", ["auto", {"stay": "cart", "cause": "blocks"}])
def test_filling_leaves_what_is_there_and_fills_what_is_not(every, engines, tmp_path):
    """Also where every row misses something."""
    table, book = holed_table(every=every)
    made = (
        Filling(engines=engines, sweeps=2).fit(us.open(table, book), stream=Stream.from_system()).sample_many(files=2)
    )
    assert len(made) == 2
    for release in made:
        for name in book.names:
            before, after = table[name].to_pylist(), release.table[name].to_pylist()
            assert None not in after
            assert all(b is None or a == b for a, b in zip(after, before, strict=True))
    assert not made[0].table.equals(made[1].table)
    folder = save_many(made, tmp_path / "filled", formats=["csv"])
    assert sorted(path.name for path in (folder / "1").iterdir()) == [
        "codebook.toml",
        "completed.csv",
        "completed.parquet",
        "index.html",
        "manifest.json",
    ]
    assert verify_release(folder / "2").problems == ()
    manifest = json.loads((folder / "1" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["confidential"] is True
    assert manifest["guarantee"]["kind"] == "NoFormal"
    assert "real records" in manifest["statement"]


def test_filling_dates_and_unknown_values():
    book = Codebook(
        columns=(
            Dates(
                name="day",
                grain=Grain.DAY,
                start=np.datetime64("2020-01-01").item(),
                end=np.datetime64("2020-01-04").item(),
                missing="NA",
            ),
            Categorical(name="x", levels=("a", "b"), missing="?"),
        )
    )
    table = pa.table({"day": ["2020-01-01", "NA", "2020-01-03", "2020-01-02"] * 10, "x": ["a", "?", "b", "zz"] * 10})
    with pytest.raises(DataError, match="'x'"):
        Filling().fit(us.open(table, book)).sample_many(files=1)
    made = Filling(sweeps=1).fit(us.open(table, book, unknown="missing")).sample().table
    assert made["day"].null_count == made["x"].null_count == 0
    assert [str(day) for day in made["day"].to_pylist()[2:4]] == ["2020-01-03", "2020-01-02"]
    assert set(made["x"].to_pylist()) == {"a", "b"}
    with pytest.raises(ParameterError, match="other"):
        Filling().fit(us.open(table, book, unknown="other")).sample_many(files=1)


def test_what_is_filled_says_what_it_was_made_from_and_no_account_holds_it(tmp_path):
    table, book = holed_table(rows=60)
    marked = Provenance(made=Made.SYNTHETIC, release="r1", record_wise=False)
    source = us.open(table.replace_schema_metadata(marked.mark()), book)
    fitted = Filling(engines="blocks", sweeps=1).fit(source)
    quote = fitted.quote()
    assert [entry.stage for entry in quote.ledger] == ["input", "rows"] and "synthetic already" in quote.total.why
    release = fitted.write(tmp_path / "one", formats=["csv"])
    assert release.manifest.provenance.made is Made.COMPLETED and release.manifest.real_records
    assert verify_release(tmp_path / "one").problems == ()
    with pytest.raises(DataError, match="completed release"):
        us.open(tmp_path / "one" / "completed.csv", book).provenance.refuse_as_data("a count")
    account = Account.create(tmp_path / "a", dataset="d", epsilon=9, delta=1e-3, neighbours=Neighbours.ADD_REMOVE)
    with pytest.raises(BudgetError, match="no formal total"):
        Filling(engines="blocks", sweeps=1).fit(us.open(table, book, account=account)).sample()
    assert account.history() == []


def test_rows_come_only_from_a_table_that_was_opened():
    table, book = holed_table(rows=60)
    codes = rows_of(us.open(table, book)).open().codes
    with pytest.raises(RefusalError, match="gives no rows"):
        Filling().fit(EncodedSource(codebook=book, columns=codes))


def test_nothing_to_fill_and_nothing_to_learn_from_are_said():
    table, book = holed_table(rows=50)
    whole = table.drop_null()
    with pytest.raises(RefusalError, match="no value is missing"):
        Filling().fit(us.open(whole, book)).sample_many(files=1)
    empty = table.set_column(3, "cause", pa.nulls(50, pa.string()))
    with pytest.raises(RefusalError, match="'cause' has no value in any row"):
        Filling().fit(us.open(empty, book)).sample_many(files=1)
    with pytest.raises(ParameterError, match="files"):
        Filling().fit(us.open(table, book)).sample_many(files=0)
    with pytest.raises(ParameterError, match="sweeps"):
        Filling(sweeps=0)
