"""`us.infer` on a release: every statistic, parts of the population, what is refused, and what a release carries."""

import json
import math
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Detail, Integer, Ordinal
from understudy.errors import DataError, ParameterError, RefusalError, ReleaseError
from understudy.evaluate.utility.regression import compare_models
from understudy.facade.inference import listed_figures
from understudy.infer.opened import open_release
from understudy.release.measurements import MEASUREMENTS, _most_dependent, read_measurements

ROWS = 6_000
BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M")),
        Categorical(name="region", levels=("north", "south", "east", "nowhere")),
        Ordinal(name="sev", levels=("0", "1", "2"), missing="NA"),
        Integer(name="age", edges=tuple(map(Fraction, (0, 20, 40, 60, 80)))),
        Detail(
            name="town",
            detail_of="region",
            groups=(("north", ("n1",)), ("south", ("s1",)), ("east", ("e1",)), ("nowhere", ("x1",))),
            other="another",
        ),
    )
)


def people(seed=1):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], ROWS)
    age = np.clip(rng.normal(40 + 6 * (sex == "M"), 15, ROWS), 0, 79).astype(int)
    sev = np.clip((age / 30 + rng.normal(0, 0.7, ROWS)).astype(int), 0, 2).astype(str)
    sev[rng.random(ROWS) < 0.05] = "NA"
    region = rng.choice(["north", "south", "east"], ROWS, p=[0.5, 0.3, 0.2])
    town = np.char.add(np.char.array([name[0] for name in region]), "1")
    return pa.table({"sex": sex, "region": region, "sev": sev, "age": age, "town": np.asarray(town)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("infer") / "release"
    options = {"epsilon": 20.0, "delta": 1e-6, "detail_epsilon": 5.0, "detail_delta": 1e-7}
    us.synthesize(people(), BOOK, ROWS, out=place, save_model=place.with_name("model.us"), **options)
    return place


def only(folder, **asked):
    (figure,) = us.infer(folder, **asked)
    return figure


def truth():
    table = people()
    age = np.array(table["age"].to_pylist(), dtype=float)
    sex = np.array(table["sex"].to_pylist())
    sev = np.array([float(x) if x != "NA" else np.nan for x in table["sev"].to_pylist()])
    return sex, sev, age


def near(figure, value):
    """Within six standard errors: but once in five hundred million releases."""
    assert abs(figure.estimate - value) < 6 * figure.error, figure
    assert figure.low <= figure.estimate <= figure.high


def test_shares_means_and_differences_are_near_the_table(folder):
    sex, sev, age = truth()
    known = ~np.isnan(sev)
    asked = {"target": "table"}
    near(only(folder, share="sex=F", **asked), (sex == "F").mean())
    near(only(folder, share="sex=F,sev=2", **asked), ((sex == "F") & (sev == 2)).mean())
    near(only(folder, share="sev=2", **asked), (sev[known] == 2).mean())  # of those that have any
    near(only(folder, mean="sev", **asked), np.nanmean(sev))
    near(only(folder, mean="sev", where="sex=M", **asked), np.nanmean(sev[sex == "M"]))
    gap = us.infer(folder, mean="sev", by="sex", difference=True, **asked).figures[-1]
    near(gap, np.nanmean(sev[sex == "M"]) - np.nanmean(sev[sex == "F"]))
    bins = np.array([9.5, 29.5, 49.5, 69.5])[(age // 20).astype(int)]
    assert only(folder, mean="age", **asked).estimate == pytest.approx(bins.mean(), abs=2)


def test_a_quantile_of_a_part_is_shown_beside_that_of_the_same_part_of_the_rows(folder):
    opened = open_release(folder)
    age = opened.codes("age")[opened.codes("sev") == 2]
    reached = np.bincount(age, minlength=4).cumsum() / len(age)
    figure = only(folder, quantile="age:0.3", where={"sev": "2"}, target="table")
    assert figure.in_rows in opened.inside("age")[int(np.argmax(reached >= 0.3))]
    assert figure.in_rows > only(folder, quantile="age:0.3", target="table").in_rows


def test_correlations_models_tables_quantiles_and_totals_are_near_the_table(folder):
    sex, sev, age = truth()
    known = ~np.isnan(sev)
    assert only(folder, correlation="sev,age", target="table").estimate == pytest.approx(
        np.corrcoef(sev[known], age[known])[0, 1], abs=0.1
    )
    import statsmodels.api as sm

    design = sm.add_constant((sex == "M").astype(float)[known])
    fitted = sm.GLM((sev[known] > 1).astype(float), design, family=sm.families.Binomial()).fit()
    for figure, value in zip(us.infer(folder, logistic="sev > 1 ~ sex", target="table"), fitted.params, strict=True):
        near(figure, value)
    fitted = sm.OLS(sev[known], design).fit()
    for figure, value in zip(us.infer(folder, linear="sev ~ sex", target="table"), fitted.params, strict=True):
        near(figure, value)
    fitted = sm.GLM(sev[known], design, family=sm.families.Poisson()).fit()
    for figure, value in zip(us.infer(folder, poisson="sev ~ sex", target="table"), fitted.params, strict=True):
        near(figure, value)
    cells = us.infer(folder, table="sex,sev", target="table")
    assert len(cells) == 2 * 4
    assert sum(figure.estimate for figure in cells) == pytest.approx(1, abs=0.01)
    median = only(folder, quantile="age:0.5", target="table")
    assert median.low <= median.estimate <= median.high
    assert 20 <= median.estimate < 60
    total = only(folder, total="sex=F", target="table")
    near(total, (sex == "F").sum())
    assert only(folder, total="sex=F", population_size=1e6).estimate == pytest.approx(
        1e6 * (sex == "F").mean(), rel=0.1
    )


def test_the_population_adds_sampling_and_a_level_widens(folder):
    table, population = only(folder, share="sex=F", target="table"), only(folder, share="sex=F")
    assert table.sampling == 0
    assert population.error > table.error
    assert population.sampling + population.privacy == pytest.approx(1)
    share = population.estimate
    assert population.error**2 * population.sampling == pytest.approx(share * (1 - share) / ROWS, rel=0.1)
    wide = only(folder, share="sex=F", level=0.99)
    assert wide.high - wide.low == pytest.approx((population.high - population.low) * 2.5758 / 1.96, rel=1e-3)


def test_an_inference_carries_the_statement_and_is_plain_data(folder):
    inference = us.infer(folder, share="sex")
    assert len(inference) == 2
    document = json.loads(json.dumps(inference.to_dict()))
    assert document["statement"] == json.loads((folder / "manifest.json").read_text())["statement"]
    assert document["for"] == "population"
    assert {"estimate", "error", "low", "high", "sampling", "privacy", "in_rows"} <= set(document["figures"][0])
    assert repr(inference) == "<Inference of 2 figures for the population, level 0.95>"


def test_a_page_shows_intervals_and_an_earlier_one_is_replaced(folder, tmp_path):
    page = tmp_path / "page.html"
    for _ in range(2):
        us.infer(folder, share="sex", logistic="sev > 1 ~ sex", out=page)
    text = page.read_text()
    assert "intervals-0" in text and "sev &gt; 1 ~ sex" in text
    assert "differentially private" in text


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ({"share": "town=n1"}, RefusalError, "detail code"),
        ({"linear": "sev ~ town"}, RefusalError, "detail code"),
        ({"linear": "sev ~ nobody"}, ParameterError, "neither a column"),
        ({"linear": "1 ~ 1"}, ParameterError, "names no column"),
        ({"share": "sex=F", "where": "region=nowhere"}, RefusalError, "too few"),
        ({"mean": "region"}, ParameterError, "without an order"),
        ({"logistic": "sev > 1 ~ I(sev > 1)"}, RefusalError, "perfect separation"),
        ({"poisson": "I(sev - 5) ~ sex"}, ParameterError, "negative"),
        ({}, ParameterError, "nothing is asked"),
        ({"total": "sex=F"}, ParameterError, "population_size"),
        ({"quantile": "age:half"}, ParameterError, "COLUMN:SHARE"),
        ({"table": "sex"}, ParameterError, "two or three columns"),
    ],
)
def test_what_cannot_be_told_is_refused_with_the_remedy(folder, asked, error, says):
    with pytest.raises(error, match=says):
        us.infer(folder, **asked)


def test_a_release_without_measurements_is_refused_with_the_remedy(tmp_path):
    without = us.synthesize(
        people().drop_columns(["town"]),
        Codebook(columns=BOOK.columns[:4]),
        50,
        epsilon=1,
        delta=1e-6,
        measurements=False,
    )
    with pytest.raises(RefusalError, match="no-measurements"):
        us.infer(without, share="sex=F")
    other = us.synthesize(
        people().drop_columns(["town"]), Codebook(columns=BOOK.columns[:4]), 50, "sba", epsilon=1, delta=1e-6
    )
    with pytest.raises(RefusalError, match=r"sba carry no measurements.*combine"):
        us.infer(other, share="sex=F")


def test_measurements_are_in_the_manifest_and_checked(folder, tmp_path):
    assert MEASUREMENTS in json.loads((folder / "manifest.json").read_text())["files"]
    assert us.verify(folder).is_valid
    copy = shutil.copytree(folder, tmp_path / "copy")
    table = pq.read_table(copy / MEASUREMENTS)
    pq.write_table(table.slice(0, 5), copy / MEASUREMENTS)
    assert any(MEASUREMENTS in problem for problem in us.verify(copy).problems)
    with pytest.raises(ReleaseError, match="changed after the release"):
        us.infer(copy, share="sex=F")


def without(release, *columns):
    """The release as if nobody had measured these columns together."""
    table = release.attachments[MEASUREMENTS]
    lines = [line | ({"values": None} if len(columns) == 2 else {}) for line in table.to_pylist()]
    kept = [
        new if tuple(new["columns"]) == columns and len(columns) == 2 else old
        for old, new in zip(table.to_pylist(), lines, strict=True)
        if len(columns) < 3 or tuple(old["columns"]) != columns
    ]
    changed = pa.Table.from_pylist(kept, schema=table.schema)
    return replace(release, attachments={MEASUREMENTS: changed})


@pytest.fixture(scope="module")
def small():
    book = Codebook(columns=BOOK.columns[:3])
    table = people().select(["sex", "region", "sev"])
    return us.synthesize(table, book, ROWS, epsilon=20, delta=1e-6)


def test_an_interaction_that_nobody_measured_is_refused_and_other_figures_of_it_warn(small):
    alone = without(small, "sex", "region", "sev")
    with pytest.raises(RefusalError, match="interaction of sex, region, sev"):
        us.infer(alone, linear="sev ~ sex*region")
    with pytest.raises(RefusalError, match="interaction of sex, region, sev"):
        us.infer(alone, linear="sev ~ sex + region + sex:region")
    assert us.infer(alone, linear="sev ~ sex + region").figures[0].refused is None


def test_a_pair_that_nobody_measured_warns_where_it_matters(small):
    lone = without(without(small, "sex", "region", "sev"), "sex", "sev")
    figure = only(lone, share="sex=F,sev=2")
    assert figure.error > only(small, share="sex=F,sev=2").error
    if figure.warnings:
        assert "nobody measured sex with sev" in figure.warnings[0]


def test_measurements_are_noisy_and_hold_no_count(folder):
    """Noise of the known deviation: the sum of squares lies within what chi-squares of its cells allow."""
    table = pq.read_table(folder / MEASUREMENTS)
    measured = read_measurements(table, BOOK)
    counts = np.unique(np.array(people()["sex"].to_pylist()), return_counts=True)[1]
    known = measured.tables["sex",]
    away = known.values - (counts / ROWS - 0.5)
    assert 0 < np.abs(away).max() < 8 * math.sqrt(known.variance)
    assert (folder / MEASUREMENTS).stat().st_size < 100_000


def test_rows_drawn_from_the_model_carry_the_measurements_and_parts_of_it_do_not(folder):
    model = folder.with_name("model.us")
    drawn = us.draw(model, 500)
    assert abs(only(drawn, share="sex=F").estimate - only(folder, share="sex=F").estimate) < 0.01
    part = us.draw(model, 500, where=["sex=F"])
    with pytest.raises(RefusalError, match="sub-population"):
        us.infer(part, share="region=north")


def test_a_release_in_parts_carries_them_too(tmp_path):
    book = Codebook(columns=BOOK.columns[:4])
    us.synthesize_parts(
        people().drop_columns(["town"]),
        book,
        500,
        out=tmp_path / "parts",
        part_rows=200,
        workers=1,
        epsilon=5,
        delta=1e-6,
    )
    assert us.verify(tmp_path / "parts").is_valid
    assert only(tmp_path / "parts", share="sex=F").estimate == pytest.approx(0.5, abs=0.1)


def test_a_release_in_memory_and_its_folder_say_the_same(folder, tmp_path):
    book = Codebook(columns=BOOK.columns[:4])
    release = us.synthesize(people().drop_columns(["town"]), book, 500, epsilon=5, delta=1e-6)
    release.save(tmp_path / "saved")
    a, b = only(release, mean="sev"), only(tmp_path / "saved", mean="sev")
    assert a == b
    assert open_release(release).rows == 500


@pytest.mark.parametrize(
    ("true", "by_chance", "deviation"), [(0, 200, 100), (300, 200, 100), (900, 200, 50), (0, 0, 0)]
)
def test_dependence_is_seldom_above_what_its_score_allows(true, by_chance, deviation):
    """Within one and a half times of it but for noise of two deviations below."""
    seen = math.hypot(true, by_chance) - 2 * deviation
    assert true <= 1.5 * _most_dependent(seen, deviation, by_chance)
    assert _most_dependent(math.hypot(true, by_chance), deviation, by_chance) <= true + 2 * (by_chance + deviation)


WIDE = Codebook(
    columns=(
        Categorical(name="ward", levels=("a", "b")),
        Integer(name="days", edges=tuple(map(Fraction, (1, 2, 4, 12, 600)))),
    )
)
"""The last bin is wide, as that of a length of stay is; there one ward has smaller values than the other."""


def stays(rows=4_000, seed=3):
    rng = np.random.default_rng(seed)
    ward = rng.choice(["a", "b"], rows)
    long_ones = 12 + rng.geometric(np.where(ward == "a", 0.04, 0.15), rows)
    days = np.where(rng.random(rows) < 0.1, long_ones, rng.integers(1, 12, rows))
    return pa.table({"ward": ward, "days": np.minimum(days, 600)})


@pytest.fixture(scope="module")
def wide():
    return us.synthesize(stays(), WIDE, 4_000, epsilon=50.0, delta=1e-6)


def test_an_interval_knows_that_values_vary_inside_their_bins(wide):
    days = np.array(stays()["days"].to_pylist(), dtype=float)
    figure = only(wide, mean="days")
    assert figure.error > 0.9 * days.std() / math.sqrt(len(days))
    near(only(wide, mean="days", target="table"), days.mean())


def test_a_mean_by_group_says_what_bins_hide(wide):
    by_ward = us.infer(wide, mean="days", by="ward")
    assert any("where in its bins days lies" in word for word in by_ward.warnings)
    assert any("| ward=a: off by" in word for word in by_ward.warnings)
    assert us.infer(wide, mean="days").warnings == ()
    assert us.infer(wide, linear="days ~ C(ward)").warnings


def test_a_quantile_is_a_value_that_the_column_can_have(wide):
    days = np.array(stays()["days"].to_pylist(), dtype=float)
    for share in (0.3, 0.7, 0.97):
        figure = only(wide, quantile=f"days:{share}")
        assert figure.estimate == int(figure.estimate) and figure.low <= figure.estimate <= figure.high
        assert (days <= figure.high).mean() >= share - 0.05 and (days < figure.low).mean() <= share + 0.05
    assert figure.low < figure.high


def test_a_mean_lies_within_what_was_declared():
    few = us.synthesize(stays(rows=300), WIDE, 300, epsilon=0.3, delta=1e-6)
    for figure in us.infer(few, mean="days", by="ward"):
        assert figure.refused or (figure.low >= 1 and figure.high <= 600)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"mean": "days", "by": "ward,days"}, "name one column"),
        ({"quantile": "0.5:days"}, "write COLUMN:SHARE"),
        ({"mean": "days", "where": {"days": "20"}}, r"named by their whole bin: '\[12, 600\]'"),
    ],
)
def test_a_question_that_is_put_wrongly_is_told_its_form(wide, asked, says):
    with pytest.raises(ParameterError, match=says):
        us.infer(wide, **asked)


@pytest.fixture(scope="module")
def schooled():
    """An ordinal column of which no level is its rank, and a number that hangs together with it."""
    rng = np.random.default_rng(4)
    school = rng.integers(3, 7, ROWS)
    pay = np.clip(10 * school + rng.normal(0, 5, ROWS), 0, 99).astype(int)
    table = pa.table({"school": school.astype(str), "pay": pay, "sex": rng.choice(["1", "2"], ROWS)})
    book = Codebook(
        columns=(
            Ordinal(name="school", levels=("3", "4", "5", "6")),
            Integer(name="pay", edges=tuple(Fraction(10 * k) for k in range(11))),
            Categorical(name="sex", levels=("1", "2")),
        )
    )
    return table, book, us.synthesize(table, book, ROWS, epsilon=20, delta=1e-6)


def test_levels_that_are_numbers_are_the_same_numbers_in_inference_and_evaluation(schooled):
    table, book, release = schooled
    assert 4 < only(release, mean="school").estimate < 5
    inferred = us.infer(release, logistic="school == 5 ~ pay").figures
    assert all(figure.refused is None for figure in inferred)
    share = float(np.mean(np.array(table["school"].to_pylist()) == "5"))
    near(only(release, share="school=5"), share)
    same = us.open(table, book)
    compared = compare_models(same, same, formula="pay ~ school", kind="linear")
    assert abs(compared.real.estimates[0]) < 5 and compared.names[0] == "Intercept"  # by ranks it would be thirty


def test_a_comparison_that_is_always_false_says_how_it_is_written(schooled):
    with pytest.raises(DataError, match="sex == '2'"):
        us.infer(schooled[2], logistic="sex == 2 ~ pay")
    with pytest.raises(DataError, match="without quotes"):
        us.infer(schooled[2], logistic="school == '5' ~ pay")


def test_coefficients_are_listed_under_their_formula_and_what_cannot_vary_has_no_shares(schooled):
    asked = us.infer(schooled[2], linear=["pay ~ school", "pay ~ sex"], share="sex=1", by="sex")
    _, lines = listed_figures(asked)
    heads = [line[0] for line in lines if not any(line[1:])]
    assert heads == ["linear: pay ~ school", "linear: pay ~ sex"]
    certain = [figure for figure in asked if figure.error == 0]
    assert certain and all(figure.sampling is None and figure.privacy is None for figure in certain)
