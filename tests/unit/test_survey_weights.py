"""Survey weights: declared, drawn, counted with noise, and used in evaluation."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from understudy.codebook import Categorical, Codebook, Continuous, Integer, PersonUnit, Role, Text
from understudy.errors import BudgetError, CodebookError, DataError, ParameterError
from understudy.evaluate.utility import utility_scores
from understudy.evaluate.utility.regression import compare_models
from understudy.evaluate.utility.survey import weighted_mean, weighted_means, weighted_tvd
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.sources import open_source
from understudy.synth import Marginals
from understudy.synth.counts import Counts

F = Fraction
BOOK = Codebook(
    columns=(
        Text(name="id", role=Role.IDENTIFIER),
        Categorical(name="sex", levels=("F", "M")),
        Integer(name="age", edges=(F(0), F(1), F(2), F(3), F(7, 2)), missing="NA"),
        Continuous(name="w", edges=(F(1), F(2), F(4)), precision=1),
    ),
    weight="w",
)
"""The bins of the weight are [1, 2) and [2, 4]: their middles are 1.45 and 3."""


def table(rows=4000, seed=2):
    drawn = np.random.default_rng(seed)
    sex = drawn.choice(["F", "M"], rows)
    return pa.table(
        {
            "id": [str(k % 1500) for k in range(rows)],
            "sex": sex,
            "age": drawn.integers(0, 4, rows),
            "w": np.where(sex == "F", 3.0, 1.4),
        }
    )


def test_the_weight_is_written_as_it_was_read():
    text = BOOK.to_toml()
    assert '\nweight = "w"\n' in text and Codebook.from_toml(text) == BOOK


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weight": "nothing"}, "not a column"),
        ({"weight": "sex"}, "a categorical column"),
        ({"weight": "id"}, "a text column"),
        ({"weight": "age"}, "edges start at 0; a weight of 0 or less"),
    ],
)
def test_weights_that_are_zero_or_no_numbers_are_refused(change, said):
    with pytest.raises(CodebookError, match=said):
        replace(BOOK, **change)


def test_negative_missing_and_unbounded_weights_are_refused():
    low = Continuous(name="w", edges=(F(-1), F(4)), precision=1, missing="NA")
    with pytest.raises(CodebookError, match="start at -1") as caught:
        replace(BOOK, columns=(*BOOK.columns[:3], low))
    assert "may be missing" in str(caught.value)
    with pytest.raises(CodebookError, match="edges"):
        Codebook.from_toml(BOOK.to_toml().replace("edges = [1, 2, 4]", "edges = [1, inf]"))
    with pytest.raises(CodebookError, match="name of a column in quotes"):
        Codebook.from_toml(BOOK.to_toml().replace('weight = "w"', "weight = 3"))
    data = table(10).set_column(3, "w", pa.array([0.0] * 10))
    with pytest.raises(DataError, match="'w'"):
        Marginals(epsilon=1.0, delta=1e-6).fit(open_source(data, BOOK))


def test_weights_are_drawn_for_synthetic_rows():
    release = Marginals(epsilon=20.0, delta=1e-6).fit(open_source(table(), BOOK)).sample(2000)
    drawn = release.table["w"].to_numpy()
    assert drawn.min() >= 1 and drawn.max() <= 4
    women = release.table["sex"].to_numpy(zero_copy_only=False) == "F"
    assert drawn[women].mean() > drawn[~women].mean() + 1  # the weight keeps what it knows about sex


def weighted(columns, book=BOOK):
    return Counts(book=book, by=tuple(columns), epsilon=1.0, weighted=True)


def test_weighted_counts_cover_the_largest_weight_and_are_paid_for(tmp_path):
    account = Account.create(
        tmp_path / "a.db", dataset="survey", epsilon=1.5, delta=0.0, neighbours=Neighbours.ADD_REMOVE
    )
    plan = weighted(["sex"])
    fitted = plan.fit(plan.open(table(), account=account))
    found = fitted.sample()
    assert found.manifest.total.epsilon <= 1.0 and account.spent().epsilon == pytest.approx(1.0)
    sexes, weights = table()["sex"].to_numpy(zero_copy_only=False), table()["w"].to_numpy()
    assert found.table["sex"].to_pylist() == ["F", "M"]
    # noise of scale 4 / epsilon: beyond 100 with probability 2 e^-25; a weight is rounded to a thousandth of 4
    expected = [weights[sexes == sex].sum() for sex in ("F", "M")]
    assert np.abs(found.table["count"].to_numpy() - expected).max() < 100 + 0.004 * len(sexes)
    with pytest.raises(BudgetError):
        fitted.sample()
    assert not plan.fit(plan.open(table()), stream=Stream.seeded(1)).sample().manifest.total.is_formal


def test_weighted_counts_of_people():
    plan = weighted(["sex", "age"], replace(BOOK, unit=PersonUnit(id="id", cap=2)))
    total = plan.quote().total
    assert total.neighbours is Neighbours.ADD_REMOVE_PERSON and total.epsilon == pytest.approx(1.0)
    assert plan.fit(plan.open(table())).sample().manifest.total == total


@pytest.mark.parametrize("columns", [[], ["w"], ["sex", "sex"], ["id"]])
def test_bad_columns_are_refused(columns):
    with pytest.raises(ParameterError):
        weighted(columns).quote()
    with pytest.raises(ParameterError, match="no weight column"):
        weighted(["sex"], replace(BOOK, weight=None)).quote()


def small(sexes, ages, weights):
    return open_source(pa.table({"sex": sexes, "age": ages, "w": weights}), BOOK)


def test_weighted_marginals_by_hand():
    """Weights 3 and 1.45: F has 3 of 4.45 in one table and 1.45 of 4.45 in the other."""
    a = small(["F", "M"], [0, 1], [3.0, 1.4])
    b = small(["F", "M"], [0, 1], [1.4, 3.0])
    score = weighted_tvd(a, b)
    assert score.breakdown["sex"] == pytest.approx((3 - 1.45) / 4.45)
    assert weighted_tvd(a, a).value == 0.0
    names = [score.metric for score in utility_scores(a, b)]
    assert "weighted_tvd" in names
    plain = replace(BOOK, weight=None)
    assert "weighted_tvd" not in [
        s.metric for s in utility_scores(*[open_source(t, plain) for t in (table(50), table(50))])
    ]
    with pytest.raises(ParameterError, match="no weight column"):
        weighted_tvd(open_source(table(50), plain), open_source(table(50), plain))


def test_evaluations_compare_weighted_means_and_their_intervals():
    real, near = (open_source(table(4000, seed), BOOK) for seed in (2, 3))
    score = next(s for s in utility_scores(real, near) if s.metric == "weighted_means")
    assert score.breakdown["age: real"] == weighted_mean(real, "age").value
    assert 0 < score.value < 1 and "w" not in score.breakdown
    same = next(s for s in utility_scores(real, real) if s.metric == "weighted_means")
    assert same.value == 1.0
    far = small(["F"] * 4, [3, 3, 3, 3], [3.0] * 4)
    assert weighted_means(real, far).value == 0.0


def test_a_weighted_mean_and_its_interval_by_hand():
    """Ages 0, 1, 3 with weights 3, 1.45, 3: mean 10.45 / 7.45."""
    found = weighted_mean(small(["F"] * 4, [0, 1, 3, None], [3.0, 1.4, 3.0, 3.0]), "age")
    mean = 10.45 / 7.45
    assert found.value == pytest.approx(mean)
    spread = 9 * mean**2 + 1.45**2 * (1 - mean) ** 2 + 9 * (3 - mean) ** 2
    assert found.error == pytest.approx(np.sqrt(spread) / 7.45)
    assert found.high - found.low == pytest.approx(2 * 1.959963984540054 * found.error)
    assert found.effective == pytest.approx(7.45**2 / (9 + 1.45**2 + 9))
    for column in ("sex", "w"):
        with pytest.raises(ParameterError, match="no mean"):
            weighted_mean(small(["F"] * 2, [0, 1], [3.0, 3.0]), column)
    with pytest.raises(DataError, match="no value at all"):
        weighted_mean(small(["F"] * 2, [None, None], [3.0, 3.0]), "age")


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_weighted_regressions_are_those_of_statsmodels(kind):
    """Row by row, with the sandwich of its own: weighted least squares HC0, and the logistic scores by hand."""
    import statsmodels.api as sm

    drawn = np.random.default_rng(8)
    rows = 600
    age = drawn.integers(0, 4, rows)
    heavy = drawn.random(rows) < 0.2 + 0.15 * age
    sex = drawn.random(rows) < 0.3 + 0.1 * age + 0.2 * heavy
    source = small(np.where(sex, "M", "F"), age, np.where(heavy, 3.0, 1.4))
    weights, design = np.where(heavy, 3.0, 1.45), np.column_stack([np.ones(rows), sex if kind == "linear" else age])
    formula = "age ~ sex" if kind == "linear" else "sex == 'M' ~ age"
    found = compare_models(source, source, formula=formula, kind=kind).real
    if kind == "linear":
        expected = sm.WLS(age.astype(float), design, weights=weights).fit(cov_type="HC0")
        errors, estimates = expected.bse, expected.params
    else:
        model = sm.GLM(sex.astype(float), design, family=sm.families.Binomial(), freq_weights=weights).fit()
        estimates, mu = model.params, model.mu
        bread = np.linalg.inv((design * (weights * mu * (1 - mu))[:, None]).T @ design)
        scores = design * (weights * (sex - mu))[:, None]
        errors = np.sqrt(np.diag(bread @ (scores.T @ scores) @ bread))
    assert found.estimates == pytest.approx(estimates, rel=1e-6)
    assert found.errors == pytest.approx(errors, rel=1e-6)
    assert found.high - found.low == pytest.approx(2 * 1.959963984540054 * errors, rel=1e-6)
