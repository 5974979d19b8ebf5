"""Lasso paths, classifiers, hold-outs and Gibbs diagnostics against other software, and every refusal as a sentence."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import understudy
from understudy.codebook import Categorical, Codebook, Integer, Ordinal
from understudy.errors import DataError, ParameterError, UnderstudyError
from understudy.evaluate.holdout import check_holdout, hold_out
from understudy.evaluate.utility import dummies, utility_scores
from understudy.evaluate.utility.association import chi_square_of, information
from understudy.evaluate.utility.distances import tvd_three_way
from understudy.evaluate.utility.dummies import Design, auc, lasso, logistic_lasso, logistic_newton, normal_matrix
from understudy.evaluate.utility.lasso import lasso_auc, lasso_auc_path, lasso_mse, lasso_mse_path
from understudy.evaluate.utility.references import reference_lines
from understudy.evaluate.utility.regression import compare_models, default_formula
from understudy.evaluate.utility.train_on_synthetic import train_on_synthetic
from understudy.evaluate.values import event_of, values_of
from understudy.mechanisms.stream import Stream
from understudy.sources import EncodedSource
from understudy.sources.tables import CountTable

BOOK = Codebook(
    columns=(
        Integer(name="cost", edges=tuple(Fraction(edge) for edge in (0, 10, 20, 30, 40))),
        Ordinal(name="age", levels=tuple("abcdef")),
        Categorical(name="ward", levels=tuple("pqrst")),
        Categorical(name="sex", levels=("F", "M"), missing="NA"),
        *(Categorical(name=f"code{i}", levels=tuple("ABCDEFGH")) for i in range(6)),
    )
)


def codes(seed, rows, pull=1.0):
    rng = np.random.Generator(np.random.PCG64(seed))
    age, ward = rng.integers(0, 6, rows), rng.choice(5, rows, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    sex = rng.choice(3, rows, p=[0.5, 0.45, 0.05])
    cost = np.clip(np.round(0.5 + pull * (0.4 * age - 0.5 * (ward == 1)) + 0.7 * rng.normal(size=rows)), 0, 3)
    return [cost, age, ward, sex, *(rng.integers(0, 8, rows) for _ in range(6))]


def source(columns, book=BOOK):
    return EncodedSource(codebook=book, columns=[np.asarray(column).astype(np.uint8) for column in columns])


REAL, COPY, HELD = (source(codes(seed, rows)) for seed, rows in ((1, 1500), (2, 1200), (3, 400)))


# --- Lasso ----------------------------------------------------------------------------------------


def spelled_out(columns, design):
    """Rows by dummies, as other software wants them."""
    wide = [np.ones((len(columns[0]), 1))]
    for column, size in zip(columns, design.sizes, strict=True):
        wide.append(np.eye(size)[np.asarray(column, dtype=int)])
    return np.concatenate(wide, axis=1)[:, design.kept]


def features(seed=1, rows=600):
    columns = [np.asarray(column, dtype=np.int64) for column in codes(seed, rows)]
    return columns[0], np.stack(columns[1:4], axis=1)


def test_one_dummy_is_shrunk_by_the_formula():
    """Two groups of 50 rows, means 0 and 1: with the intercept free, the slope is 1 - 4 penalty."""
    design = Design.of([np.array([50.5, 49.5])])
    x = np.repeat([[0], [1]], 50, axis=0)
    gram = normal_matrix(design, x, np.ones(100)) / 100
    beta = lasso(gram, np.array([0.5, 0.5]), 0.1, np.zeros(2))
    assert beta == pytest.approx([0.2, 0.6], abs=1e-6)


def test_the_lasso_is_that_of_scikit_learn():
    from sklearn.linear_model import Lasso

    y, x = features()
    design = Design.of([np.bincount(x[:, j], minlength=size) for j, size in enumerate((6, 5, 3))])
    wide = spelled_out(x.T, design)
    assert normal_matrix(design, x, np.ones(len(x))) == pytest.approx(wide.T @ wide)
    for penalty in (0.1, 0.01, 0.001):
        theirs = Lasso(alpha=penalty, tol=1e-10, max_iter=100_000).fit(wide[:, 1:], y)
        ours = lasso(wide.T @ wide / len(y), wide.T @ y / len(y), penalty, np.zeros(wide.shape[1]))
        assert ours == pytest.approx([theirs.intercept_, *theirs.coef_], abs=1e-5)


def test_logistic_fits_are_those_of_statsmodels_and_scikit_learn():
    import statsmodels.api as sm
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    y, x = features()
    yes = (y > 1).astype(float)
    design = Design.of([np.bincount(x[:, j], minlength=size) for j, size in enumerate((6, 5, 3))])
    wide, ones = spelled_out(x.T, design), np.ones(len(yes))
    theirs = sm.Logit(yes, wide).fit(disp=0).params
    ours = logistic_newton(design, x, ones, yes)
    assert ours == pytest.approx(theirs, abs=1e-4)
    score = design.scores(x, ours)
    assert auc(score, yes, 1 - yes) == pytest.approx(roc_auc_score(yes, score), abs=1e-12)
    for penalty in (30.0, 5.0):
        (ours,) = logistic_lasso(design, x, ones, yes, [penalty])
        # the free intercept of liblinear is penalised, hence saga
        model = LogisticRegression(l1_ratio=1.0, C=1 / penalty, solver="saga", tol=1e-8, max_iter=20_000)
        model.fit(wide[:, 1:], yes)
        assert ours == pytest.approx([model.intercept_[0], *model.coef_[0]], abs=2e-3)


def test_lasso_paths_are_tested_on_the_real_table():
    path, variance = lasso_mse_path(REAL, COPY, target="cost")
    assert max(path.real) <= variance * (1 + 1e-9)  # never worse than the mean
    assert path.real[-1] < path.real[0] and lasso_mse(REAL, COPY, target="cost").value < 0.1
    assert lasso_mse(REAL, REAL, target="cost").value == 0.0
    rows = [np.asarray(column, dtype=np.int64) for column in codes(1, 1500)]
    assert variance == pytest.approx(values_of(BOOK.column("cost"))[rows[0]].var())
    areas, asked = lasso_auc_path(REAL, COPY, target="cost")
    assert asked == "cost > 14.5" and min(areas.real) > 0.6
    assert lasso_auc(REAL, REAL, target="cost").value == 0.0
    assert 0 < lasso_auc(REAL, COPY, target="cost").value < 0.1


def test_noise_teaches_nothing():
    noise = source(codes(2, 1500, pull=0.0))
    areas, _ = lasso_auc_path(REAL, noise, target="cost")
    assert max(areas.real) - max(areas.synthetic) > 0.1


# --- classifiers and hold-outs --------------------------------------------------------------------


def test_any_classifier_is_trained_on_synthetic_and_tested_on_real_rows():
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    score = train_on_synthetic(REAL, COPY, holdout=HELD, target="cost")
    assert score.value == score.breakdown["auc, trained on synthetic rows"] > 0.7
    assert score.low < score.value < score.high
    same = train_on_synthetic(REAL, REAL, holdout=HELD, target="cost")
    assert same.value == same.breakdown["auc, trained on real rows"] == score.breakdown["auc, trained on real rows"]
    for classifier in (DecisionTreeClassifier(max_depth=3, random_state=0), KNeighborsClassifier(25)):
        assert train_on_synthetic(REAL, COPY, holdout=HELD, target="cost", classifier=classifier).value > 0.55
    assert train_on_synthetic(REAL, COPY, holdout=HELD, target="ward", positive="q").value > 0.55


def test_the_area_is_that_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    def wide(columns):
        return np.concatenate([np.eye(BOOK.sizes[j])[np.asarray(columns[j], dtype=int)] for j in range(1, 10)], axis=1)

    train, test = codes(2, 1200), codes(3, 400)
    model = LogisticRegression(max_iter=300).fit(wide(train), train[0] > 1)
    theirs = roc_auc_score(test[0] > 1, model.predict_proba(wide(test))[:, 1])
    ours = train_on_synthetic(REAL, COPY, holdout=HELD, target="cost").value
    assert ours == pytest.approx(theirs, abs=1e-3)  # the solver stops where it stops


def test_the_ridge_is_that_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    y, x = features()
    yes, design = (y > 1).astype(float), Design.every_level((6, 5, 3))
    wide = spelled_out(x.T, design)
    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(wide[:, 1:], yes)
    ours = logistic_newton(design, x, np.ones(len(yes)), yes, ridge=1.0)
    assert ours == pytest.approx([theirs.intercept_[0], *theirs.coef_[0]], abs=1e-4)


def test_passes_in_blocks_add_up_to_one_pass(monkeypatch):
    y, x = features()
    yes, weights = (y > 1).astype(float), np.ones(len(y))
    design = Design.of([np.bincount(x[:, j], minlength=size) for j, size in enumerate((6, 5, 3))])
    narrow = x.astype(np.uint8)

    def found(codes):
        beta = logistic_newton(design, codes, weights, weights * yes)
        return beta, normal_matrix(design, codes, weights), design.scores(codes, beta)

    whole = found(x)
    monkeypatch.setattr(dummies, "_BLOCK", 37)
    for one, other in zip(whole, found(narrow), strict=True):
        assert other == pytest.approx(one, abs=1e-9)  # sums of 600 terms in another order


def test_a_synthetic_table_with_one_class_teaches_nothing():
    columns = codes(2, 300)
    columns[0] = np.zeros(300)
    score = train_on_synthetic(REAL, source(columns), holdout=HELD, target="cost")
    assert score.value == 0.5 and "one class" in score.note
    assert lasso_auc(REAL, source(columns), target="cost").value > 0.1


def test_a_hold_out_is_split_before_synthesis():
    table = pa.table({"x": np.arange(1000)})
    train, held = hold_out(table, share=0.2, stream=Stream.seeded(4))
    assert (train.num_rows, held.num_rows) == (800, 200)
    assert not set(train["x"].to_pylist()) & set(held["x"].to_pylist())
    again, _ = hold_out(table, share=0.2, stream=Stream.seeded(4))
    other, _ = hold_out(table, share=0.2, stream=Stream.seeded(5))
    assert again.equals(train) and not other.equals(train)
    for share in (0.0, 1.0, -1.0):
        with pytest.raises(ParameterError, match=r"`share` is .*Try 0\.2"):
            hold_out(table, share=share, stream=Stream.seeded(4))
    with pytest.raises(DataError, match="leaves one side empty"):
        hold_out(table.slice(0, 2), share=0.1, stream=Stream.seeded(4))


@pytest.mark.parametrize("mixed", [1.0, 0.3, 0.025])
def test_a_hold_out_that_overlaps_is_refused(mixed):
    rows, others = np.stack(codes(1, 1500)), np.stack(codes(3, 400))
    others[:, : int(400 * mixed)] = rows[:, : int(400 * mixed)]
    with pytest.raises(DataError, match=r"hold-out rows have a twin.*chance would give.*Set rows aside before"):
        check_holdout(REAL, source(others))


@pytest.mark.parametrize("seed", range(20, 30))
def test_people_who_were_not_there_are_accepted(seed):
    """Six standard deviations of the number of chance twins: no seed fails. Few columns bring many twins, and pass."""
    few = Codebook(columns=BOOK.columns[:4])
    assert 0 <= check_holdout(REAL, source(codes(seed, 400))) < 0.05
    assert check_holdout(source(codes(1, 1500)[:4], few), source(codes(seed, 400)[:4], few)) > 0.9


# --- what a target asks ---------------------------------------------------------------------------


def test_a_target_stands_for_a_question():
    assert event_of(REAL, "cost").says == "cost > 14.5"
    assert event_of(REAL, "ward").says == "ward == 'p'"  # the most common level
    assert event_of(REAL, "sex").says == "sex == 'M'"  # the second of two
    assert event_of(REAL, "sex").asked.tolist() == [True, True, False]
    assert event_of(REAL, "ward", positive="t").yes.tolist() == [False] * 4 + [True]
    piled = source([[3, 3, 3, 0], *codes(1, 4)[1:]])
    assert event_of(piled, "cost").yes.tolist() == [False, True, True, True]  # the median is the last level


@pytest.mark.parametrize("levels", [("3", "2", "1", "0"), ("10", "-5", "7.5", "0"), ("1", "2", "4", "8")])
def test_above_the_median_is_above_it_whatever_the_order_of_the_levels(levels):
    """A model holds the numbers of the levels: its formula must ask what the question asks."""
    book = Codebook(columns=(Ordinal(name="a", levels=levels), Categorical(name="b", levels=("x", "y"))))
    drawn = np.random.default_rng(5)
    asked = source([drawn.integers(0, 4, 300), drawn.integers(0, 2, 300)], book)
    event = event_of(asked, "a")
    cut = float(event.says.removeprefix("a > "))
    assert event.yes.tolist() == [float(level) > cut for level in levels] and any(event.yes)
    model = compare_models(asked, asked, formula=f"{event.says} ~ b", kind="logistic")
    below = np.isin(asked._columns[0], np.flatnonzero(~event.yes))
    share = np.mean(~below[asked._columns[1] == 0])
    assert model.real.estimates[model.names.index("Intercept")] == pytest.approx(math.log(share / (1 - share)))


@pytest.mark.parametrize("levels", [("1234567", "1234568"), ("0.3", "0.1234567"), ("-1e300", "12345678901234567")])
def test_a_model_of_two_levels_with_long_numbers_asks_for_one_of_them(levels):
    book = Codebook(columns=(Ordinal(name="a", levels=levels), Categorical(name="b", levels=("x", "y"))))
    drawn = np.random.default_rng(6)
    asked = source([drawn.integers(0, 2, 300), drawn.integers(0, 2, 300)], book)
    formula, kind = default_formula(asked, "a")
    assert float(formula.partition(" ~ ")[0].removeprefix("a == ")) == float(levels[1])
    assert np.isfinite(compare_models(asked, asked, formula=formula, kind=kind).real.estimates).all()


# --- bad input ------------------------------------------------------------------------------------


def small(**columns):
    book = Codebook(columns=tuple(Categorical(name=name, levels=("x", "y", "z")) for name in columns))
    return source(columns.values(), book)


def reject(message, call):
    with pytest.raises(UnderstudyError) as caught:
        call()
    said = str(caught.value)
    assert message in said and "\n" not in said and said.endswith((".", "?"))


def test_bad_input_is_one_sentence_each():
    good = small(a=[0, 1, 2, 0], b=[0, 1, 1, 0])
    reject("the synthetic table lacks 'b'", lambda: utility_scores(good, small(a=[0, 1])))
    reject("the real table lacks 'c' of the synthetic one", lambda: utility_scores(good, small(a=[0], b=[1], c=[0])))
    levels = Codebook(columns=(*good.codebook.columns[:1], Categorical(name="b", levels=("x", "y"))))
    reject("column 'b' has other levels", lambda: utility_scores(good, source([[0, 1], [0, 1]], levels)))
    reject("the real table has 1 row", lambda: utility_scores(small(a=[0], b=[0]), good))
    reject("the synthetic table has 0 rows", lambda: utility_scores(good, small(a=[], b=[])))
    reject("`target` is 'nope'", lambda: utility_scores(good, good, target="nope"))
    reject("`conditional_on` is 'nope'", lambda: utility_scores(good, good, conditional_on="nope"))
    constant = small(a=[0, 1, 2, 0], b=[1, 1, 1, 1])
    reject("the target 'b' holds only 'y'", lambda: utility_scores(constant, good, target="b"))
    reject("the positive level 'q'", lambda: event_of(good, "a", positive="q"))
    reject("is always false", lambda: event_of(good, "b", positive="z"))
    reject("overlaps the training rows", lambda: utility_scores(good, good, target="a", holdout=good))
    reject("the hold-out table has 1 row", lambda: utility_scores(good, good, holdout=small(a=[0], b=[0])))
    reject("the hold-out table lacks 'b'", lambda: utility_scores(good, good, holdout=small(a=[0, 1])))
    reject("`rows` is 0", lambda: reference_lines(good, rows=0))
    reject("names a column twice", lambda: tvd_three_way(good, good, tables=[("a", "a")]))
    reject("`tables` is 'q'", lambda: tvd_three_way(good, good, tables=[("a", "q")]))
    reject("independence needs at least two", lambda: chi_square_of(CountTable.dense(("a",), np.array([1, 2]))))
    reject("the table is empty", lambda: chi_square_of(CountTable.dense(("a", "b"), np.zeros((2, 2), int))))
    reject("gives 'a' itself", lambda: information(good, good, rest={"a": ["a"]}))
    reject("`rest` is 'some'", lambda: information(good, good, rest="some"))
    reject("levels without an order", lambda: lasso_mse(good, good, target="a"))
    reject("no column beside the target", lambda: lasso_auc(small(a=[0, 1]), small(a=[0, 1]), target="a"))
    held = source([column * (name != "age") for name, column in zip(BOOK.names, codes(3, 40), strict=True)])
    reject("in the hold-out age > 3 has one answer", lambda: train_on_synthetic(REAL, COPY, holdout=held, target="age"))
    reject("gives no probabilities", _ridge)


def _ridge():
    from sklearn.linear_model import RidgeClassifier

    return train_on_synthetic(REAL, COPY, holdout=HELD, target="cost", classifier=RidgeClassifier())


def test_bad_formulas_are_one_sentence_each():
    def fit(formula, kind="linear"):
        return lambda: compare_models(REAL, COPY, formula=formula, kind=kind)

    reject('must have one "~"', fit("cost"))
    reject("must be one of logistic, linear", fit("cost ~ age", "cubic"))
    reject("'y' is neither a column nor one of the functions", fit("y ~ z"))
    reject("'nope' is neither a column nor", fit("cost ~ age + nope"))
    reject("'weights' is neither a column nor", fit("weights ~ age"))  # our own names do not leak
    reject("levels without an order", fit("ward ~ age"))
    reject("levels without an order", fit("sex ~ age"))
    reject("not a question with two answers", fit("cost ~ age", "logistic"))
    reject("has one value in the real table", fit("cost > 999 ~ age", "logistic"))
    reject("age holds numbers in a model", fit("age == 'b' ~ cost", "logistic"))


def test_a_column_that_is_missing_where_the_answer_is_given_explains_nothing():
    """Records without a value are left out: with an income that only adults have, no child is left to explain."""
    ages = Integer(name="age", edges=tuple(Fraction(edge) for edge in (0, 10, 20, 30)))
    income = Integer(name="income", edges=tuple(Fraction(edge) for edge in (0, 5, 9)), special=("N",))
    kind_of_person = Categorical(name="kind", levels=("child", "adult"))
    book, bare = (Codebook(columns=columns) for columns in ((kind_of_person, ages, income), (kind_of_person, income)))
    kinds, years, amounts = [0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 2, 2], [2, 2, 2, 0, 1, 0]
    real = source([kinds, years, amounts], book)
    formula, kind = default_formula(real, "kind")
    assert (formula, kind) == ("kind == 'adult' ~ age", "logistic")
    assert compare_models(real, real, formula=formula, kind=kind).names
    reject("no column is left to explain", lambda: default_formula(source([kinds, amounts], bare), "kind"))


def test_levels_unknown_to_the_codebook_are_refused_by_the_source():
    book = Codebook(columns=(Categorical(name="a", levels=("x", "y")),))
    real, copy = (understudy.open(pa.table({"a": values}), book) for values in (["x", "y", "x"], ["x", "q", "y"]))
    reject("values that the codebook does not know in 'a'", lambda: utility_scores(real, copy))


def test_constant_columns_and_levels_of_one_side_do_no_harm():
    real, copy = small(a=[0, 1, 2, 0], b=[1, 1, 1, 1]), small(a=[0, 0, 0, 0], b=[1, 1, 1, 2])
    for score in utility_scores(real, copy):
        assert math.isfinite(score.value) or score.note, score.metric
    for score in utility_scores(small(a=[1, 1]), small(a=[1, 1, 1])):
        assert math.isfinite(score.value) or score.note, score.metric


def test_columns_of_many_levels_are_named_and_left_out():
    """Pairs beyond a million combinations are not laid out, models take 1,000 levels, and the notes say so."""
    book = Codebook(
        columns=(
            *(Categorical(name=name, levels=tuple(map(str, range(size)))) for name, size in (("a", 3000), ("b", 400))),
            Categorical(name="sex", levels=("F", "M")),
            Ordinal(name="age", levels=tuple("pqr")),
        )
    )
    rng = np.random.Generator(np.random.PCG64(1))

    def drawn():
        many = [rng.integers(0, size, 500).astype(np.uint16) for size in (3000, 400)]
        return EncodedSource(
            codebook=book, columns=[*many, *(rng.integers(0, k, 500).astype(np.uint8) for k in (2, 3))]
        )

    scores = {score.metric: score for score in utility_scores(drawn(), drawn(), target="age")}
    assert "1 table of 2 columns with more than 1,048,576 combinations left out" in scores["tvd_two_way"].note
    assert "Left out for their many levels: a" in scores["pmse_ratio"].note
    assert "b | a" not in scores["conditional_mae"].breakdown and "sex | a" in scores["conditional_mae"].breakdown
    assert not any(name.endswith("| a") for name in scores["kendall_conditional"].breakdown)
