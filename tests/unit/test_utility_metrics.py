"""Every utility metric against a case worked out by hand, and against the library that others would use."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from understudy.codebook import Categorical, Codebook, Integer, Ordinal
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility import METRICS, UTILITY, Options, utility_models, utility_references, utility_scores
from understudy.evaluate.utility.association import chi_square_difference, chi_square_of, information
from understudy.evaluate.utility.columns import mean_utility, missing_ratio
from understudy.evaluate.utility.distances import (
    artificial_share,
    conditional_mae,
    conditional_mse,
    joint_l1_score,
    marginal_mae,
    marginal_mse,
    tvd_one_way,
    tvd_three_way,
    tvd_two_way,
)
from understudy.evaluate.utility.measure import find_measures
from understudy.evaluate.utility.pmse import pmse
from understudy.evaluate.utility.ranks import (
    kendall,
    kendall_conditional,
    kendall_marginal,
    spearman,
    spearman_conditional,
    spearman_marginal,
)
from understudy.evaluate.utility.references import expected_gap, expected_square
from understudy.evaluate.utility.regression import (
    Coefficients,
    Comparison,
    compare_models,
    distance_of_coefficients,
    overlap_of_intervals,
    utility_of_coefficients,
)
from understudy.evaluate.values import values_of
from understudy.sources import EncodedSource
from understudy.sources.tables import CountTable


def source(book, *columns):
    return EncodedSource(codebook=book, columns=[np.array(column, dtype=np.uint8) for column in columns])


AB = Codebook(columns=tuple(Categorical(name=name, levels=("x", "y")) for name in "ab"))
REAL = source(AB, [0, 0, 1, 1], [0, 0, 1, 1])
COPY = source(AB, [0, 0, 0, 1], [0, 0, 1, 1])

NUMBERS = Codebook(
    columns=(
        Integer(name="y", edges=tuple(Fraction(edge) for edge in range(7))),
        Ordinal(name="x", levels=("low", "mid", "high")),
        Categorical(name="sex", levels=("F", "M"), missing="NA"),
    )
)


def random_numbers(seed, rows, shift=0.0):
    rng = np.random.Generator(np.random.PCG64(seed))
    x, sex = rng.integers(0, 3, rows), rng.choice(3, rows, p=[0.5, 0.45, 0.05])
    y = np.clip(np.round(1 + x + 0.7 * (sex == 1) + shift * x + rng.normal(size=rows)), 0, 5)
    return source(NUMBERS, y, x, sex)


def expanded(table):
    """The rows behind a source as a pandas frame, missing ones dropped: what an analyst would load."""
    codes, counts = table.count([table.codebook.names])[0].open().occupied()
    rows = np.repeat(codes, counts, axis=0)
    y = values_of(NUMBERS.column("y"))[rows[:, 0]]  # the last bin holds 5 and 6
    frame = pd.DataFrame({"y": y, "x": rows[:, 1].astype(float), "sex": rows[:, 2].astype(int)})
    return frame[frame.sex < 2].assign(sex=lambda f: np.where(f.sex == 1, "M", "F")).reset_index(drop=True)


# --- distances, by hand ---------------------------------------------------------------------------


def test_distances_by_hand():
    assert tvd_one_way(REAL, COPY).breakdown == {"a": 0.25, "b": 0.0}
    assert tvd_one_way(REAL, COPY).value == 0.125
    assert tvd_two_way(REAL, COPY).value == 0.25  # a quarter of the rows moved from (y, y) to (x, y)
    assert joint_l1_score(REAL, COPY).value == 2.0
    assert joint_l1_score(REAL, COPY).breakdown["share of the largest possible"] == 0.25
    assert marginal_mae(REAL, COPY).value == 0.125
    assert marginal_mse(REAL, COPY).value == 0.03125
    given = conditional_mae(REAL, COPY, conditional_on="a")
    assert given.breakdown == {"b | a": pytest.approx(1 / 6)}  # (1, 0) against (2/3, 1/3), and (0, 1) twice
    assert conditional_mse(REAL, COPY, conditional_on="a").value == pytest.approx(1 / 18)
    assert set(conditional_mae(REAL, COPY).breakdown) == {"b | a", "a | b"}


def test_three_way_tables_are_chosen_or_given():
    book = Codebook(columns=tuple(Categorical(name=name, levels=("x", "y")) for name in "abcd"))
    real = source(book, [0, 1], [0, 1], [0, 1], [0, 1])
    copy = source(book, [0, 1], [0, 1], [0, 1], [0, 0])
    assert tvd_three_way(real, copy, tables=[("a", "b", "c")]).value == 0.0
    assert tvd_three_way(real, copy, tables=[("a", "b", "d")]).value == 0.5
    assert len(tvd_three_way(real, copy).breakdown) == 4
    assert math.isnan(tvd_three_way(REAL, COPY).value)  # two columns have no table of three


def test_total_variation_is_one_minus_the_complement_of_sdmetrics():
    from sdmetrics.single_column import TVComplement

    rng = np.random.Generator(np.random.PCG64(5))
    book = Codebook(columns=(Categorical(name="a", levels=tuple("pqrst")),))
    real, copy = rng.integers(0, 5, 200), rng.integers(0, 4, 150)
    ours = tvd_one_way(source(book, real), source(book, copy)).value
    theirs = TVComplement.compute(pd.Series(real).astype(str), pd.Series(copy).astype(str))
    assert ours == pytest.approx(1 - theirs, abs=1e-12)


# --- ranks ----------------------------------------------------------------------------------------


def test_ranks_by_hand():
    # 1, 2, 3, 4 against 1, 2, 4, 3: five pairs agree and one does not, over C(C-1)/2 = 6
    assert kendall(np.array([1, 2, 3, 4]), np.array([1, 2, 4, 3])) == pytest.approx(4 / 6)
    # centred at (C+1)/2 = 2.5: (2.25 + 0.25 + 0.75 + 0.75) / 5
    assert spearman(np.array([1, 2, 3, 4]), np.array([1, 2, 4, 3])) == pytest.approx(0.8)
    assert kendall(np.array([1, 2, 3]), np.array([3, 2, 1])) == -1.0
    assert math.isnan(kendall(np.array([2, 2]), np.array([1, 3])))


def test_the_printed_formulas_are_off():
    """Kendall's printed denominator turns the sign; with Spearman's printed centre no correlation is not 0."""
    ranks, other = np.array([1, 2, 3, 4]), np.array([3, 1, 4, 2])  # three pairs agree, three do not: rho and tau are 0
    printed = ((ranks - 2) * (other - 2)).sum() / np.sqrt(((ranks - 2) ** 2).sum() * ((other - 2) ** 2).sum())
    assert spearman(ranks, other) == pytest.approx(0.0, abs=1e-12)
    assert printed == pytest.approx(1 / 6)
    assert kendall(ranks, ranks) == 1.0 and 6 / (0.5 * 4 * (1 - 4)) == -1.0


def test_rank_scores_leave_out_what_has_no_order():
    book = Codebook(columns=(Categorical(name="a", levels=tuple("pqr")), Categorical(name="b", levels=("x", "y"))))
    real = source(book, [0, 1, 1, 2, 2, 2], [0, 1, 0, 1, 0, 1])
    copy = source(book, [0, 1, 1, 1, 2, 2], [0, 0, 0, 1, 0, 1])
    score = kendall_marginal(real, copy)
    assert score.breakdown == {"a": pytest.approx(1 / 3)} and "1 of 2" in score.note
    assert spearman_marginal(real, copy).value == pytest.approx(0.5)
    assert set(kendall_conditional(real, copy, conditional_on="b").breakdown) == {"a | b"}
    assert -1 <= spearman_conditional(real, copy, conditional_on="b").value <= 1


# --- association, information, records ------------------------------------------------------------


def pearson(counts: np.ndarray) -> float:
    return chi_square_of(CountTable.dense(tuple(map(str, range(counts.ndim))), counts)).pearson


def test_chi_square_by_hand_and_by_scipy():
    from scipy.stats import chi2_contingency

    assert pearson(np.array([[2, 1], [0, 1]])) == pytest.approx(4 / 3)
    assert chi_square_difference(REAL, COPY).value == pytest.approx(2 / 3)  # 1 and 1/3 per row
    rng = np.random.Generator(np.random.PCG64(3))
    for shape in ((4, 3), (2, 3, 4), (2, 2, 2, 2)):
        counts = rng.integers(1, 30, shape)
        assert pearson(counts) == pytest.approx(chi2_contingency(counts, correction=False).statistic, rel=1e-9)


def test_independent_columns_have_no_association():
    counts = np.multiply.outer(np.multiply.outer([1, 2], [3, 1, 2]), [2, 5])
    assert pearson(counts) == pytest.approx(0, abs=1e-9)
    assert pearson(np.array([[3, 0], [5, 0]])) == pytest.approx(0, abs=1e-9)  # an empty level is no level


def test_information_by_hand_and_by_scikit_learn():
    from sklearn.metrics import mutual_info_score

    score = information(REAL, COPY)
    after = 0.5 * math.log(0.5 / 0.375) + 0.25 * math.log(0.25 / 0.375) + 0.25 * math.log(0.25 / 0.125)
    assert score.breakdown["a: real"] == pytest.approx(math.log(2))
    assert score.breakdown["b: synthetic"] == pytest.approx(after)
    assert score.value == pytest.approx(math.log(2) - after)
    table = random_numbers(1, 500)
    codes, counts = table.count([NUMBERS.names])[0].open().occupied()
    rows = np.repeat(codes, counts, axis=0)
    literal = information(table, table, rest="all").breakdown["y: real"]
    assert literal == pytest.approx(mutual_info_score(rows[:, 0], rows[:, 1] * 3 + rows[:, 2]), rel=1e-9)


def test_missing_and_artificial_shares_by_hand():
    book = Codebook(columns=(Categorical(name="a", levels=("x", "y"), missing="NA"), *AB.columns[1:]))
    real, copy = source(book, [0, 1, 2, 2], [0, 0, 0, 0]), source(book, [0, 1, 1, 2], [0, 0, 1, 0])
    assert missing_ratio(real, copy).breakdown == {"a: real": 0.5, "a: synthetic": 0.25}
    assert missing_ratio(real, copy).value == 0.25
    assert artificial_share(real, copy).value == 0.25  # (y, y) is new
    assert artificial_share(real, copy).breakdown["new real rows would give about"] == 0.5  # two of four occur once
    assert missing_ratio(REAL, COPY).value == 0.0


def test_mean_utility_by_hand():
    assert mean_utility(REAL, COPY).value == pytest.approx(math.exp(-0.125))  # shares (1/2, 1/2) and (3/4, 1/4)
    book = Codebook(columns=(Integer(name="n", edges=tuple(Fraction(edge) for edge in (0, 10, 20)), missing=""),))
    real, copy = source(book, [0, 1, 2]), source(book, [1, 1, 2])
    assert mean_utility(real, copy).value == pytest.approx(math.exp(-1))  # half a bin, which is one deviation


# --- propensity -----------------------------------------------------------------------------------


def test_pmse_by_hand():
    """One binary column makes the model saturated: the chance of a level is its share of synthetic rows."""
    book = Codebook(columns=AB.columns[:1])
    score = pmse(source(book, [0, 0, 1, 1]), source(book, [0, 0, 0, 1]))
    assert score.breakdown["pmse"] == pytest.approx((5 * 0.1**2 + 3 * (1 / 6) ** 2) / 8)
    assert score.breakdown["null"] == pytest.approx(0.5**3 / 8)
    assert score.value == pytest.approx(16 / 15)


def test_pmse_by_statsmodels():
    import statsmodels.api as sm

    real, copy = random_numbers(1, 400), random_numbers(2, 300, shift=0.5)
    frames = []
    for label, table in enumerate((real, copy)):
        codes, counts = table.count([NUMBERS.names])[0].open().occupied()
        frames.append(pd.DataFrame(np.repeat(codes, counts, axis=0)).assign(label=label))
    rows = pd.concat(frames)
    design = pd.get_dummies(rows[[0, 1, 2]].astype(str), drop_first=True).astype(float)
    p = sm.Logit(rows.label.to_numpy(), sm.add_constant(design.to_numpy())).fit(disp=0).predict()
    score = pmse(real, copy)
    assert score.breakdown["pmse"] == pytest.approx(((p - 300 / 700) ** 2).mean(), rel=1e-5)
    assert score.breakdown["coefficients"] == design.shape[1] + 1


def test_a_bootstrap_has_a_ratio_of_one():
    """The ratio is chi-square / (k - 1): its deviation is sqrt(2 / (k - 1)); 40 repeats, z = 5."""
    table = random_numbers(7, 2000)
    codes, counts = table.count([NUMBERS.names])[0].open().occupied()
    rng = np.random.Generator(np.random.PCG64(11))
    ratios = []
    for _ in range(40):
        drawn = np.repeat(codes, rng.multinomial(2000, counts / 2000), axis=0)
        ratios.append(pmse(table, source(NUMBERS, *drawn.T)).value)
    k = pmse(table, table).breakdown["coefficients"]
    assert abs(np.mean(ratios) - 1) < 5 * math.sqrt(2 / (k - 1) / 40)


def test_levels_that_only_one_table_has_are_told_apart_completely():
    book = Codebook(columns=(Categorical(name="a", levels=tuple("pqr")),))
    score = pmse(source(book, [0] * 50), source(book, [1] * 25 + [2] * 25))
    assert score.breakdown["pmse"] == pytest.approx(0.25, abs=1e-3)


# --- regression -----------------------------------------------------------------------------------


def made(real, synthetic, names=("a",), width=1.0):
    def side(values):
        values = np.array(values, dtype=float)
        return Coefficients(
            estimates=values, low=values - width, high=values + width, errors=np.full(len(values), width / 2), rows=9
        )

    return Comparison(formula="y ~ a", kind="linear", names=names, real=side(real), synthetic=side(synthetic), note="")


def test_regression_scores_by_hand():
    fitted = made([1.0, -2.0, 0.0], [1.5, -1.0, 3.0], names=("a", "b", "zero"))
    assert distance_of_coefficients(fitted).value == pytest.approx(0.5 + 0.5)
    assert "zero" not in distance_of_coefficients(fitted).breakdown
    assert utility_of_coefficients(fitted).value == pytest.approx(math.exp(-(0.25 + 1 + 9)))
    # intervals of width 2, moved by 0.5, 1 and 3: 3/4, 1/2 and nothing in common
    assert overlap_of_intervals(fitted).breakdown == pytest.approx({"a": 0.75, "b": 0.5, "zero": 0.0})
    assert overlap_of_intervals(made([1.0], [1.0], width=0.0)).value == 1.0
    assert overlap_of_intervals(made([1.0], [2.0], width=0.0)).value == 0.0


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_models_are_those_of_the_rows(kind):
    import statsmodels.api as sm

    formula = "y ~ x + sex" if kind == "linear" else "y > 2 ~ x + sex"
    real, copy = random_numbers(1, 600), random_numbers(2, 500, shift=0.3)
    fitted = compare_models(real, copy, formula=formula, kind=kind)
    assert fitted.names == ("Intercept", "sex[T.M]", "x")
    for table, side in ((real, fitted.real), (copy, fitted.synthetic)):
        rows = expanded(table)
        design = np.column_stack([np.ones(len(rows)), rows.sex == "M", rows.x]).astype(float)
        if kind == "linear":
            theirs = sm.OLS(rows.y.to_numpy(), design).fit()
        else:
            theirs = sm.Logit((rows.y > 2).to_numpy().astype(float), design).fit(disp=0)
        assert side.estimates == pytest.approx(theirs.params, rel=1e-6)
        assert side.errors == pytest.approx(theirs.bse, rel=1e-5)
        assert side.rows == len(rows)
    assert "left out" in fitted.note


def test_a_saturated_logistic_model_is_a_log_odds_ratio():
    book = Codebook(columns=AB.columns)
    table = source(book, [0] * 7 + [0] * 3 + [1] * 2 + [1] * 8, [1] * 7 + [0] * 3 + [1] * 2 + [0] * 8)
    fitted = compare_models(table, table, formula="b == 'y' ~ a", kind="logistic")
    assert fitted.real.estimates == pytest.approx([math.log(7 / 3), math.log(2 / 8) - math.log(7 / 3)], rel=1e-6)


def test_a_coefficient_that_one_table_cannot_estimate_is_left_out():
    book = Codebook(columns=(NUMBERS.columns[0], *AB.columns))
    real = source(book, [0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1])
    copy = source(book, [0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0, 1])  # b repeats a
    fitted = compare_models(real, copy, formula="y ~ a + b", kind="linear")
    assert fitted.names == ("Intercept", "a[T.y]")
    assert "the synthetic table cannot estimate b[T.y]" in fitted.note


def test_names_that_are_no_identifiers_can_be_quoted():
    book = Codebook(columns=(Ordinal(name="age yrs", levels=tuple("abc")), Ordinal(name="los", levels=tuple("pqr"))))
    table = source(book, [0, 1, 2, 0, 1], [0, 1, 2, 1, 0])
    fitted = compare_models(table, table, formula="los ~ Q('age yrs')", kind="linear")
    assert distance_of_coefficients(fitted).value == 0.0
    assert utility_models(table, table, target="los").formula == "los ~ Q('age yrs')"
    assert utility_models(table, table) is None


# --- reference lines ------------------------------------------------------------------------------


def test_expected_distances_by_enumeration():
    from scipy.stats import binom

    for rows in (1, 2, 7):
        for p, q in ((0.3, 0.3), (0.5, 0.2), (0.0, 0.4), (1.0, 1.0), (2 / 7, 2 / 7), (0.9, 0.0)):
            seen = np.arange(rows + 1)
            chance = binom.pmf(seen, rows, q)
            gap, square = (chance * np.abs(seen / rows - p)).sum(), (chance * (seen / rows - p) ** 2).sum()
            assert expected_gap(np.array([p]), np.array([q]), rows)[0] == pytest.approx(gap, abs=1e-12)
            assert expected_square(np.array([p]), np.array([q]), rows)[0] == pytest.approx(square, abs=1e-12)


def test_reference_lines_match_simulation():
    """100 simulated tables of each kind; the mean of each metric within z = 5 standard errors of its line.

    Lines of conditionals replace a random number of rows by its mean, whose effect is of second order: 2% more.
    """
    table = random_numbers(3, 300)
    codes, counts = table.count([NUMBERS.names])[0].open().occupied()
    rows = np.repeat(codes, counts, axis=0)
    rng = np.random.Generator(np.random.PCG64(2))
    lines = utility_references(table, random_numbers(4, 250))
    metrics = {
        "marginal_mae": marginal_mae,
        "marginal_mse": marginal_mse,
        "tvd_two_way": tvd_two_way,
        "tvd_three_way": tvd_three_way,
        "joint_l1": joint_l1_score,
        "conditional_mae": conditional_mae,
        "conditional_mse": conditional_mse,
    }
    scores = {(name, kind): [] for name in metrics for kind in ("bootstrap", "independent")}
    for _ in range(100):
        together = rows[rng.integers(0, len(rows), 250)]
        apart = np.stack([rows[rng.integers(0, len(rows), 250), j] for j in range(3)], axis=1)
        for kind, drawn in (("bootstrap", together), ("independent", apart)):
            copy = source(NUMBERS, *drawn.T)
            for name, metric in metrics.items():
                scores[name, kind].append(metric(table, copy).value)
    for (name, kind), values in scores.items():
        line = getattr(lines[name], kind)
        slack = 5 * np.std(values) / math.sqrt(len(values)) + (0.02 * line if "conditional" in name else 0)
        assert abs(np.mean(values) - line) < slack, (name, kind)


# --- all of them ----------------------------------------------------------------------------------


def test_every_metric_describes_itself_and_runs():
    heard = []
    scores = utility_scores(
        random_numbers(1, 400), random_numbers(2, 400), target="y", holdout=random_numbers(3, 100),
        report=lambda step, done, total: heard.append((done, total)),
    )  # fmt: skip
    assert {score.metric for score in scores} == set(UTILITY) - {"weighted_tvd", "weighted_means", "detail_tvd"}
    for score in scores:
        metric = METRICS[score.metric]
        assert isinstance(metric, Metric) and isinstance(score, Score) and metric.says.endswith(".")
        assert metric.lowest <= score.value <= metric.highest
        assert score.to_dict()["metric"] == metric.name
    assert heard[-1][0] == heard[-1][1]
    assert {score.metric for score in utility_scores(REAL, COPY)} < set(UTILITY)


def test_a_metric_is_found_in_its_file(tmp_path, monkeypatch):
    (tmp_path / "rooms_of_mine").mkdir()
    (tmp_path / "rooms_of_mine" / "__init__.py").write_text("")
    (tmp_path / "rooms_of_mine" / "mine.py").write_text("""
from understudy.evaluate.metric import Metric
from understudy.evaluate.utility.measure import measures

MINE = Metric(name="mine", title="Mine", says="Always the number of the column.")


@measures(MINE, "target", where=lambda real, options: len(real.codebook.names) > 1)
def mine(real, synthetic, *, target):
    return MINE.score(real.codebook.names.index(target))
""")
    monkeypatch.syspath_prepend(tmp_path)
    (measure,) = find_measures("rooms_of_mine", [str(tmp_path / "rooms_of_mine")]).values()
    first, second = REAL.codebook.names[:2]
    assert measure.metric.title == "Mine" and measure(REAL, COPY, Options()) is None
    assert (
        measure(REAL, COPY, Options(target=second)).value == 1 and measure(REAL, COPY, Options(target=first)).value == 0
    )
    assert list(UTILITY)[:3] == ["tvd_one_way", "tvd_two_way", "tvd_three_way"], "in the order of a report"


def test_a_score_is_plain_data():
    import json

    score = Score(metric="m", value=math.nan, breakdown={"a": np.float64(1.5), "b": math.inf}, low=0.5)
    assert json.loads(json.dumps(score.to_dict(), allow_nan=False)) == {
        "metric": "m", "value": None, "breakdown": {"a": 1.5, "b": None}, "low": 0.5, "high": None, "note": "",
    }  # fmt: skip
