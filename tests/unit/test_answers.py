"""Questions on the real data: what they mean, what is refused before anything is paid, and what an answer says."""

import json
from dataclasses import replace
from datetime import date
from fractions import Fraction
from html import unescape

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from understudy.answers import Answer, parse_question, plan_answer
from understudy.answers.design import design_of
from understudy.answers.intervals import reach
from understudy.answers.question import Question, canonical_formula
from understudy.codebook import Categorical, Codebook, Continuous, Integer, Ordinal, PersonUnit, Role, Text
from understudy.codebook.columns import Origin
from understudy.codebook.declare import declare_text
from understudy.errors import DataError, ParameterError, RefusalError, UnderstudyError
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account
from understudy.privacy.guarantees import ApproxDP, Neighbours, PureDP
from understudy.synth.counts import Counts

COLUMNS = (
    Categorical(name="sex", levels=("F", "M")),
    Categorical(name="region", levels=("North", "South", "East"), missing="NA"),
    Integer(name="age", edges=tuple(map(Fraction, (0, 18, 40, 65, 100)))),
    Continuous(name="charge", edges=tuple(map(Fraction, (0, 10, 20, 40, 100))), precision=2, missing="NA"),
    Ordinal(name="grade", levels=("1", "2", "3")),
)
BOOK = Codebook(columns=COLUMNS)
SURE = 1e4
"""An epsilon whose noise is far below everything that is looked at."""


def people(rows=400, seed=1):
    drawn = np.random.default_rng(seed)
    sex = drawn.choice(["F", "M"], rows)
    age = drawn.integers(0, 100, rows)
    charge = np.round(np.clip(10 + 0.3 * age + 5 * (sex == "M") + drawn.normal(0, 8, rows), 0, 100), 2)
    return pa.table(
        {
            "sex": sex,
            "region": drawn.choice(["North", "South", "East", "NA"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "age": age,
            "charge": [None if k % 50 == 0 else float(v) for k, v in enumerate(charge)],
            "grade": drawn.choice(["1", "2", "3"], rows),
        }
    )


TABLE = people()
FRAME = TABLE.to_pandas()


def told(question, *, epsilon=SURE, book=BOOK, data=TABLE, target="table", seed=1, **more):
    plan = plan_answer(parse_question(question, book), book, epsilon=epsilon, target=target, **more)
    return plan.draw(plan.open(data), Stream.seeded(seed))


@pytest.mark.parametrize("levels", [("30", "20", "10"), ("20", "30", "10")])
def test_levels_that_are_numbers_are_these_numbers_in_whatever_order(levels):
    """Not their ranks, in an answer as in what a release of the same table says."""
    book = Codebook(columns=(Ordinal(name="dose", levels=levels), Categorical(name="sex", levels=("F", "M"))))
    rows = ["10"] * 500 + ["20"] * 300 + ["30"] * 200
    data = pa.table({"dose": rows, "sex": ["F", "M"] * 500})
    for question, due in {"mean of dose": 17.0, "sum of dose": 17_000.0, "quantile 0.4 of dose": 10.0}.items():
        assert told(question, book=book, data=data)[0].estimate == pytest.approx(due, rel=1e-3)
    release = us.synthesize(data, book, 1000, epsilon=1e4, delta=1e-6)
    for asked, due in ({"mean": "dose"}, 17.0), ({"quantile": "dose:0.4"}, 10.0), ({"quantile": "dose:0.7"}, 20.0):
        assert us.infer(release, **asked).figures[0].estimate == pytest.approx(due, rel=0.02)


SAME = {
    "count by sex": ["COUNT   by sex", "count of records by sex", "table of sex", 'count by "sex"'],
    "table of sex, region": ["count by region, sex", "table of region and sex", "table of sex,region"],
    "mean of charge by sex where region=North": [
        "average of charge  by sex where region = North",
        "mean of charge by sex where 'region'='North'",
    ],
    "quantile 0.5 of age": ["median of age", "quantile .50 of age", "quantile 5e-1 of age"],
    "share of sex=F where region=North, region=South, age=[0, 18)": [
        "share of sex=F where age=[0, 18) and region=South, region=North",
    ],
    "sum of charge": ["total of charge", "sum of charge where sex=F, sex=M"],
    "linear charge ~ age + sex": ["linear charge~sex+age", "linear  charge ~ sex + age + sex"],
    "difference of mean of charge by sex": ["difference of average of charge by sex"],
}


@pytest.mark.parametrize("canonical", SAME)
def test_other_words_for_the_same_question_are_the_same_question(canonical):
    first = parse_question(canonical, BOOK)
    assert first.text == canonical
    for words in SAME[canonical]:
        assert parse_question(words, BOOK) == first
        assert parse_question(words, BOOK).digest(BOOK) == first.digest(BOOK)
    assert parse_question(first.text, BOOK) == first


@given(st.permutations(["age", "C(region)", "np.log1p(charge)", "age:sex"]), st.sampled_from(["+", " + ", " +"]))
def test_the_order_of_terms_does_not_matter(terms, plus):
    assert canonical_formula("grade", plus.join(terms)) == canonical_formula(
        "grade", "age + C(region) + np.log1p(charge) + age:sex"
    )


REFUSED = {
    "": "ask for something",
    "mean of chrage": "no column 'chrage'",
    "mean of sex": "share of a level",
    "median of region": "no order",
    "share of sex=X": "no level of 'sex'",
    "share of sex by region": "COLUMN=LEVEL",
    "share of sex=F by sex": "Group by another",
    "mean of charge by sex, sex": "once",
    "quantile 2 of age": "quantile",
    "quantile x of age": "between 0 and 1",
    "mean of age where": "name a column",
    "mean of age where sex": "COLUMN=LEVEL",
    "difference of count by sex": "count",
    "difference of mean of age": "compares",
    "variance of age": "begins with none",
    "linear charge": "~",
    "linear charge ~ I(__import__('os').system('true'))": "__import__",
    "linear charge ~ center(age)": "learns numbers",
    "linear charge ~ 0 + age": "intercept",
    "linear charge ~ np.log(age)": "no number",
    "linear charge ~ age + charge": "both sides",
    "logistic charge ~ age": "two answers",
    "logistic sex == 'F' ~ sex": "perfect separation",
    "linear charge ~ age + I(2 * age)": "follows from",
    "linear charge ~ " + " + ".join(f"I(age ** {k})" for k in range(1, 201)): "characters",
    "linear charge ~ " + " + ".join(f"I(age > {k})" for k in range(1, 60)): "coefficients",
    "linear charge ~ " + "*".join(["age", "region", "sex", "grade"] * 5): "coefficients",
    "linear charge ~ C(age * region)": "cannot be computed",
    "linear charge ~ C(grade + age % 7)": "levels of several columns",
    "linear charge ~ I(age - age[0])": "age[0]",
    "linear charge ~ I((center)(age))": "center",
    "linear age ~ C(charge)": "coefficients",
    "mean of age \x00": "control",
}


@pytest.mark.parametrize("words", REFUSED, ids=lambda words: words[:40])
def test_what_cannot_be_asked_is_a_sentence_and_costs_nothing(words, tmp_path):
    account = Account.create(
        tmp_path / "a", dataset="d", epsilon=1.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE, composition="basic"
    )
    with pytest.raises(UnderstudyError) as reason:
        us.answer(TABLE, BOOK, words, epsilon=1.0, account=account)
    assert REFUSED[words] in str(reason.value)
    assert str(reason.value).rstrip().endswith((".", ")"))
    assert account.history() == [] or not list(account.history())


@pytest.mark.parametrize("number", [0, -1, float("nan"), float("inf"), "one", None, True])
def test_a_price_must_be_one(number):
    with pytest.raises((ParameterError, TypeError)):
        us.quote_answer(BOOK, "count", epsilon=number)


def test_there_is_no_default_price():
    with pytest.raises(TypeError, match="epsilon"):
        us.answer(TABLE, BOOK, "count")


def test_with_little_noise_figures_are_those_of_the_table():
    present = FRAME[FRAME.charge.notna()]
    by_sex = present.groupby("sex").charge.mean()
    assert [figure.estimate for figure in told("mean of charge by sex")] == pytest.approx(by_sex.tolist(), abs=0.02)
    assert [figure.estimate for figure in told("count by sex")] == FRAME.sex.value_counts().sort_index().tolist()
    assert told("sum of charge")[0].estimate == pytest.approx(present.charge.sum(), rel=1e-3)
    assert told("mean of grade")[0].estimate == pytest.approx(FRAME.grade.astype(int).mean(), abs=1e-3)
    women = FRAME[FRAME.region != "NA"].groupby("region").sex.apply(lambda sex: (sex == "F").mean())
    shares = {figure.name: figure.estimate for figure in told("share of sex=F by region")}
    assert shares["sex=F | region=North"] == pytest.approx(women["North"], abs=1e-3)
    assert told("median of charge")[0].estimate == pytest.approx(present.charge.median(), abs=0.5)
    part = present[(present.region == "North") & (present.age < 18)]
    assert told("mean of charge where region=North, age=[0, 18)")[0].estimate == pytest.approx(
        part.charge.mean(), abs=0.05
    )
    difference = told("difference of mean of charge by sex")[0]
    assert difference.name == "mean of charge | sex=M minus sex=F"
    assert difference.estimate == pytest.approx(by_sex["M"] - by_sex["F"], abs=0.03)


def test_with_little_noise_models_are_those_of_the_table():
    smf = pytest.importorskip("statsmodels.formula.api")
    present = FRAME[FRAME.charge.notna()].assign(old=lambda frame: (frame.age > 50).astype(int))
    linear = smf.ols("charge ~ age + sex", present).fit()
    figures = told("linear charge ~ age + sex", target="population")
    assert {figure.name: figure.estimate for figure in figures} == pytest.approx(dict(linear.params), rel=0.01)
    assert {figure.name: figure.error for figure in figures} == pytest.approx(dict(linear.bse), rel=0.05)
    logistic = smf.logit("old ~ charge + sex", present).fit(disp=0)
    figures = told("logistic age > 50 ~ charge + sex", target="population")
    # one Newton step from public coefficients, itself one from 0: not the end of the road
    assert {figure.name: figure.estimate for figure in figures} == pytest.approx(
        dict(logistic.params), rel=0.1, abs=0.1
    )


@pytest.mark.parametrize("question", ["mean of age", "linear charge ~ age + sex + region", "median of age by sex"])
def test_a_declared_delta_is_used_only_where_it_helps(question):
    plan = plan_answer(parse_question(question, BOOK), BOOK, epsilon=0.5, delta=1e-6)
    assert isinstance(plan.quote.total, ApproxDP | PureDP)
    assert plan.quote.total.epsilon <= 0.5
    assert plan.quote.total.delta <= 1e-6


@pytest.mark.parametrize("question", ["count", "mean of charge by sex", "median of age", "logistic sex == 'F' ~ age"])
def test_a_person_costs_what_was_declared_whatever_the_cap(question):
    book = Codebook(columns=(Text(name="id", role=Role.IDENTIFIER), *COLUMNS), unit=PersonUnit(id="id", cap=3))
    plan = plan_answer(parse_question(question, book), book, epsilon=1.0)
    assert plan.quote.total.epsilon == pytest.approx(1.0, rel=1e-6)
    assert plan.quote.total.epsilon <= 1.0
    assert plan.quote.total.neighbours is Neighbours.ADD_REMOVE_PERSON
    table = TABLE.append_column("id", pa.array(np.arange(TABLE.num_rows) // 10))
    counted = told("count", book=book, data=table)[0].estimate
    assert counted == 3 * TABLE.num_rows / 10
    assert "at most 3" in plan.quote.warnings[-1]


def test_a_drafted_codebook_promises_nothing():
    drafted = us.draft(TABLE).codebook
    assert not us.quote_answer(drafted, "count by sex", epsilon=1.0).total.is_formal


def test_a_release_is_not_the_data():
    release = us.synthesize(TABLE, BOOK, rows=50, method="laplace", epsilon=5.0)
    with pytest.raises(DataError, match="one person can change the rows of many"):
        us.answer(release.table, BOOK, "count", epsilon=1.0)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "release"
    us.synthesize(TABLE, BOOK, rows=400, method="marginals", epsilon=50.0, delta=1e-6, out=folder)
    return folder


QUESTIONS = [
    "count by sex",
    "table of sex, region",
    "mean of charge by sex",
    "sum of charge",
    "share of sex=F by region",
    "median of charge",
    "difference of mean of charge by sex",
    "linear charge ~ age + sex",
    "logistic sex == 'M' ~ age + charge",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_question_is_tried_on_a_release_and_the_answer_says_how_far_it_was_off(question, release, tmp_path):
    free = us.ask_release(release, question)
    answer = us.answer(TABLE, BOOK, question, epsilon=50.0, release=release, out=tmp_path / "out")
    assert [figure.estimate for figure in answer.synthetic] == [figure.estimate for figure in free.figures]
    assert sum(gap is not None for gap in answer.gaps) >= len(answer.figures) - 1  # a release has no missing group
    for figure, gap in zip(answer.figures, answer.gaps, strict=True):
        assert gap is None or gap + answer.synthetic[0].estimate is not None
        assert figure.refused is None
        assert figure.low <= figure.estimate <= figure.high
    verdict = us.verify(tmp_path / "out")
    assert verdict.is_valid, verdict.problems
    assert Answer.from_dict(answer.to_dict()) == answer
    assert "used as release that was asked first, is in the price" in answer.statement
    page = unescape(answer.page())
    assert answer.question in page
    assert "made from confidential data" not in page


def test_an_account_that_paid_for_the_release_pays_for_the_answers_alone(tmp_path):
    account = Account.create(
        tmp_path / "a", dataset="d", epsilon=200.0, delta=1e-3, neighbours=Neighbours.ADD_REMOVE, composition="basic"
    )
    folder = tmp_path / "release"
    us.synthesize(TABLE, BOOK, rows=50, method="marginals", epsilon=50.0, delta=1e-6, out=folder, account=account)
    before = account.spent().epsilon
    for _ in range(2):
        us.answer(TABLE, BOOK, "count", epsilon=1.0, release=folder, account=account)
    assert account.spent().epsilon == pytest.approx(before + 2.0)


def test_a_changed_folder_is_noticed(tmp_path):
    us.answer(TABLE, BOOK, "mean of charge by sex", epsilon=1.0, out=tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("mean of charge by sex", "mean of charge by region"), encoding="utf-8")
    assert not us.verify(tmp_path / "out").is_valid


HOSTILE = [("level", 7), ("level", "0.95"), ("level", None), ("target", ["table"]), ("epsilon", True), ("delta", 2)]


@pytest.mark.parametrize(("name", "value"), HOSTILE)
def test_what_a_manifest_states_of_a_question_is_held_to_its_rules(name, value, tmp_path):
    us.answer(TABLE, BOOK, "mean of charge by sex", epsilon=1.0, out=tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    facts = json.loads(manifest.read_text(encoding="utf-8"))
    facts["parameters"][name] = value
    manifest.write_text(json.dumps(facts), encoding="utf-8")
    assert any(f"`{name}` is " in problem for problem in us.verify(tmp_path / "out").problems)


def test_another_grid_is_refused():
    plan = plan_answer(parse_question("mean of charge", BOOK), BOOK, epsilon=1.0)
    with pytest.raises(RefusalError, match="another grid"):
        plan.draw(us.open(TABLE, BOOK), Stream.seeded(1))


def test_what_noise_hides_is_not_told():
    """A group of one and an empty group read alike: neither can be told from the noise."""
    alone = TABLE.slice(0, 1)
    for data in (TABLE.slice(0, 0), alone):
        for seed in range(5):
            figure = told("mean of age", epsilon=0.1, data=data, seed=seed)[0]
            assert figure.refused is None or "told from the noise" in figure.refused


@pytest.mark.parametrize(
    "question", [*QUESTIONS, "mean of charge by sex where region=East", "quantile 0.1 of age by sex"]
)
@pytest.mark.parametrize("rows", [0, 1])
def test_no_refusal_depends_on_the_records(question, rows):
    """An empty table, one record, a few: always as many figures, under the same names, at the same price."""
    plan = plan_answer(parse_question(question, BOOK), BOOK, epsilon=1.0)
    figures = plan.draw(plan.open(TABLE.slice(3, rows)), Stream.seeded(rows))
    assert len(figures) == plan.quote.rows
    full = plan.draw(plan.open(TABLE), Stream.seeded(1))
    assert [figure.name for figure in figures] == [figure.name for figure in full]
    for figure in figures:
        assert figure.refused is not None or np.isfinite([figure.estimate, figure.low, figure.high, figure.error]).all()


@pytest.mark.parametrize(
    ("right", "told"),
    [("I(age - age[0])", "several records at once"), ("I((center)(age))", "several records at once"),
     ("C(grade * (age % 7))", "levels of several columns")],
)  # fmt: skip
def test_terms_follow_from_one_record_alone_whatever_a_formula_admits(right, told):
    """Where one record moved the terms of others, no length of its own vector would bound what it moves."""
    question = Question(text="", kind="linear", columns=("age", "charge", "grade"), formula=f"charge ~ {right}")
    with pytest.raises(ParameterError, match=told):
        design_of(question, BOOK)


def test_quantiles_of_very_many_values_are_refused_before_they_are_worked_out():
    book = Codebook(columns=(Ordinal(name="place", levels=tuple(f"p{place:04}" for place in range(3_000))),))
    with pytest.raises(ParameterError, match=r"may hold 3,000 values .* at most 2,048"):
        plan_answer(parse_question("median of place", book), book, epsilon=1.0)


def test_perfect_separation_in_the_records_is_an_answer_like_any_other():
    """What a column foretells with certainty in this table is not told by a refusal; coefficients stay finite."""
    data = TABLE.set_column(0, "sex", pa.array(np.where(FRAME.age > 50, "M", "F")))
    figures = told("logistic sex == 'M' ~ age", data=data, epsilon=5.0)
    assert figures[1].estimate > 0
    assert np.isfinite([figure.high for figure in figures]).all()


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("laplace", [[1.0], [1.0, 1.0], [1.0, 0.3, 0.1], [0.5] * 12])
@pytest.mark.parametrize("normal", [0.0, 0.5, 3.0])
def test_reach_is_the_quantile_of_the_sum(level, laplace, normal):
    """Against draws; the tolerance is four standard errors of a share of 200,000, and 1 % for the approximation."""
    drawn = np.random.default_rng(2)
    error = normal * drawn.standard_normal(200_000)
    for scale in laplace:
        error += drawn.laplace(0, scale, 200_000)
    inside = np.mean(np.abs(error) <= reach(level, normal=normal, laplace=laplace))
    assert abs(inside - level) < 4 * np.sqrt(level * (1 - level) / 200_000) + 0.01


COVERED = [
    ("mean of charge by sex", 0),
    ("share of died=yes by sex", 0),
    ("difference of mean of charge by sex", 0),
    ("median of charge", 0),
    ("linear charge ~ age + sex", 2),
]


@pytest.mark.long
@pytest.mark.parametrize(("question", "place"), COVERED)
def test_intervals_cover(question, place):
    """80 tables: 95 % give or take 4.5 deviations of the binomial law."""
    from benchmarks.answers import BOOK as SIMULATED
    from benchmarks.answers import covered, truth

    plan = plan_answer(parse_question(question, SIMULATED), SIMULATED, epsilon=1.0)
    share = covered(plan, truth()[question], runs=80, rows=1000)[place]
    assert share > 0.95 - 4.5 * np.sqrt(0.95 * 0.05 / 80)


def test_what_was_attested_or_paid_for_stays_so_whatever_is_asked():
    drafted = Codebook(columns=tuple(replace(column, origin=Origin.DRAFTED) for column in COLUMNS))
    book = Codebook.from_toml(
        declare_text(drafted.to_toml(), columns=None, by="J. Doe", source="dictionary", on=date(2024, 5, 1))
    )
    assert not us.quote_answer(drafted, "mean of age", epsilon=1.0).total.is_formal
    for words in ("mean of charge by sex", "median of age", "linear charge ~ age", "count by age"):
        assert us.quote_answer(book, words, epsilon=1.0).total == PureDP(epsilon=1.0, neighbours=Neighbours.ADD_REMOVE)
    counted = Counts(book=replace(book, weight=None), by=("sex", "age"), epsilon=1.0)
    assert counted.quote().total.is_formal
    bounded = replace(book.column("charge"), missing=None, edges=tuple(map(Fraction, (1, 10, 40, 100))))
    bounded = replace(bounded, attestation=replace(bounded.attestation, of=bounded.content))
    weighted = replace(book, columns=(*COLUMNS[:3], bounded), weight="charge")
    assert Counts(book=weighted, by=("sex", "age"), epsilon=1.0, weighted=True).quote().total.is_formal


def test_a_number_is_told_its_bin():
    with pytest.raises(ParameterError, match=r"named by their whole bin: '\[18, 40\)'"):
        parse_question("mean of charge where age=30", BOOK)
    with pytest.raises(ParameterError, match=r"is no level of 'sex'; it has 'F', 'M'\."):
        parse_question("mean of charge where sex=f", BOOK)
