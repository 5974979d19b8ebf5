"""Reconstruction: careless input, disclosure, kinds of aggregates, noise, draws, and the risk of one's own averages."""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

sys.path.insert(0, str(Path(__file__).parent))

from reconstruct_cases import averages, table

import understudy as us
from understudy.codebook import Categorical, Codebook, Generalisation, Integer, Ordinal
from understudy.errors import DataError, ParameterError, RefusalError, UnderstudyError
from understudy.mechanisms.stream import Stream
from understudy.reconstruct import (
    CUDIA,
    LUDIA,
    METHODS,
    Aggregate,
    EcologicalRegression,
    MoorePenrose,
    ShrunkenRegression,
)
from understudy.reconstruct.grams import DenseGram
from understudy.reconstruct.links import LINKS
from understudy.reconstruct.risk import ELSEWHERE, LIMIT, RiskQuestion, assess


def people(**columns):
    return pd.DataFrame(columns)


FIVE = people(county=["A", "A", "B", "B", "B"], days=[1, 2, 3, 4, 5])


def by_county(**values):
    return Aggregate(by="county", target="charge", values=values)


@pytest.mark.parametrize(
    ("frame", "aggregate", "method", "words"),
    [
        (FIVE, by_county(A=1.0), MoorePenrose, ("'B'", "only among the individuals", "ignore")),
        (FIVE, by_county(A=1.0, B=2.0, C=3.0), MoorePenrose, ("'C'", "only in the aggregates")),
        (FIVE, by_county(X=1.0), lambda: MoorePenrose(unmatched="ignore"), ("shares no group",)),
        (
            FIVE,
            by_county(A=1.0, B=2.0),
            lambda: EcologicalRegression(columns=["days", "county"]),
            ("3 coefficients", "2 different"),
        ),
        (FIVE, by_county(A=1.0, B=2.0), lambda: MoorePenrose(link="log2"), ("'log2'", "identity, log")),
        (FIVE, by_county(A=-1.0, B=2.0), lambda: MoorePenrose(link="log"), ("-1", "strictly between 0")),
        (FIVE, by_county(A=1.0, B=2.0), lambda: ShrunkenRegression(columns=["height"]), ("'height'", "they have")),
        (FIVE, by_county(A=1.0, B=2.0), lambda: CUDIA(clusters=3), ("2 groups for 3 clusters",)),
        (FIVE, by_county(A=1.0, B=2.0), ShrunkenRegression, ("2 groups", "3 or more")),
        (FIVE, by_county(A=1.0, B=2.0), lambda: LUDIA(rank=9), ("`rank` is 9", "from 1 to")),
        (FIVE, by_county(A=1.0, B=2.0), lambda: LUDIA(rank=1, start="warm"), ("'warm'", "mp, er, random")),
        (FIVE, by_county(A=1.0, B=2.0), lambda: LUDIA(rank=1, iterations=0), ("`iterations` is 0",)),
        (FIVE.iloc[:0], by_county(A=1.0, B=2.0), MoorePenrose, ("no rows",)),
        (FIVE.drop(columns="county"), by_county(A=1.0, B=2.0), MoorePenrose, ("no column 'county'",)),
        (
            FIVE.assign(charge=1.0),
            by_county(A=1.0, B=2.0),
            MoorePenrose,
            ("already have a column 'charge'", "truth"),
        ),
        (FIVE, [], MoorePenrose, ("no aggregates",)),
    ],
)
def test_careless_input_gets_a_sentence(frame, aggregate, method, words):
    with pytest.raises(UnderstudyError) as said:
        method().fit(frame, aggregate)
    for word in words:
        assert word in str(said.value), said.value


def test_a_missing_figure_is_refused_when_the_table_is_made():
    with pytest.raises(DataError, match="no number for 'A'"):
        by_county(A=float("nan"), B=2.0)
    with pytest.raises(DataError, match="no groups"):
        by_county()
    with pytest.raises(ParameterError, match="mean, sum, median"):
        Aggregate(by="county", target="charge", values={"A": 1.0}, kind="mode")


def test_aggregates_that_contradict_each_other_are_refused_unless_noise_is_declared():
    frame = people(county=["A", "A", "B", "B"], town=["x", "x", "y", "y"], days=[1, 2, 3, 5])
    one = Aggregate(by="county", target="charge", values={"A": 1.0, "B": 4.0})
    other = {"by": "town", "target": "charge", "values": {"x": 1.5, "y": 4.0}}
    with pytest.raises(DataError, match=r"contradict each other by up to 0\.25.*'A'.*noise"):
        MoorePenrose().fit(frame, [one, Aggregate(**other)])
    both = EcologicalRegression().fit(frame, [one, Aggregate(**other, noise=0.5)]).reconstruct()
    assert both.met[0].largest_gap < 1e-9  # the exact one is met, the noisy one is not forced
    assert both.met[1].exact == 0


def test_a_group_of_one_is_disclosed_and_said():
    frame = people(county=["A", "B", "B", "C", "C"], days=[1, 2, 3, 4, 7])
    result = MoorePenrose().fit(frame, by_county(A=1.0, B=2.0, C=9.0)).reconstruct()
    assert result.disclosed["charge"].tolist() == [True, False, False, False, False]
    assert any("hold one person" in note and "'A'" in note for note in result.notes)
    assert result.to_dict()["disclosed"] == {"charge": 1}


def test_differences_of_overlapping_groups_disclose_too():
    """Everybody is in groups of two or more, yet the last person is the whole minus a pair."""
    frame = people(a=["all"] * 3, b=["pair", "pair", None])
    levels = [
        Aggregate(by="a", target="y", values={"all": 2.0}),
        Aggregate(by="b", target="y", values={"pair": 1.0}),
    ]
    result = MoorePenrose().fit(frame, levels).reconstruct()
    assert result.values["y"] == pytest.approx([1.0, 1.0, 4.0])
    assert result.disclosed["y"].tolist() == [False, False, True]
    assert any("differences" in note for note in result.notes)


def test_people_without_any_group_get_what_is_typical():
    frame = people(county=["A", "A", "B", None], days=[1, 2, 3, 4])
    result = MoorePenrose().fit(frame, by_county(A=1.0, B=4.0)).reconstruct()
    assert result.values["charge"].tolist() == [1.0, 1.0, 4.0, 2.0]


def test_leverage_is_the_diagonal_of_the_projection():
    frame, y = table(n=40, groups=5)
    model = MoorePenrose().fit(frame, [averages(frame, y, "county"), averages(frame, y, "ward")])
    a = model.problem_.stacks[0].matrix.toarray()
    assert model.problem_.stacks[0].leverage == pytest.approx(np.diagonal(np.linalg.pinv(a) @ a), abs=1e-9)


def test_sums_sizes_and_medians():
    total = Aggregate(by="county", target="charge", values={"A": 3.0, "B": 12.0}, kind="sum")
    assert MoorePenrose().fit(FIVE, total).reconstruct().values["charge"].tolist() == [1.5, 1.5, 4.0, 4.0, 4.0]
    # six people behind the figure of B, three of them listed: a guide, not a constraint
    sized = Aggregate(by="county", target="charge", values={"A": 3.0, "B": 12.0}, kind="sum", sizes={"A": 2, "B": 6})
    fitted = EcologicalRegression(columns=["days"]).fit(FIVE, sized).reconstruct()
    assert fitted.met[0].exact == 1 and fitted.met[0].largest_gap < 1e-9
    assert any("cover more people" in note for note in fitted.notes)
    for sizes, word in (
        ({"A": 2}, "no size for 'B'"),
        ({"A": 2, "B": float("nan")}, "no size"),
        ({"A": 1, "B": 3}, "fewer people"),
    ):
        with pytest.raises(DataError, match=word):
            MoorePenrose().fit(FIVE, Aggregate(by="county", target="charge", values={"A": 3.0, "B": 1.0}, sizes=sizes))
    median = Aggregate(by="county", target="charge", values={"A": 3.0, "B": 12.0}, kind="median")
    said = EcologicalRegression(columns=["days"]).fit(FIVE, median).reconstruct()
    assert said.met[0].exact == 0 and any("medians" in note for note in said.notes)
    assert not said.disclosed["charge"].any()


def test_crossed_and_overlapping_groups():
    frame = people(home=["A", "A", "B"], work=["A", "B", "B"], days=[1, 2, 3])
    crossed = Aggregate(by="home+work", target="y", values={"A+A": 1.0, "A+B": 2.0, "B+B": 3.0})
    assert MoorePenrose().fit(frame, crossed).reconstruct().values["y"].tolist() == [1.0, 2.0, 3.0]
    overlapping = Aggregate(by=("home", "work"), target="y", values={"A": 1.5, "B": 2.5})
    model = MoorePenrose().fit(frame, overlapping)
    matrix = model.problem_.stacks[0].matrix.toarray()
    assert matrix.tolist() == [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]  # nobody is twice in one group
    assert model.reconstruct().values["y"] == pytest.approx(np.linalg.pinv(matrix) @ [1.5, 2.5])


def test_several_targets_at_once_and_with_groups_of_their_own():
    frame, y = table()
    other = 3 - 2 * y
    both = [averages(frame, y, "county"), Aggregate(**{**vars(averages(frame, other, "county")), "target": "z"})]
    joint = LUDIA(rank=2).fit(frame, both).reconstruct()
    assert set(joint.values) == {"y", "z"} and all(met.largest_gap < 1e-9 for met in joint.met)
    apart = [averages(frame, y, "county"), Aggregate(**{**vars(averages(frame, other, "ward")), "target": "z"})]
    model = MoorePenrose().fit(frame, apart)
    assert len(model.problem_.together()) == 2 and len(model.reconstruct().met) == 2


def test_constant_columns_gaps_words_and_names():
    frame, y = table(n=150)
    frame = frame.assign(
        same=7,
        sex=np.where(np.arange(150) % 3 == 0, "F", "M"),
        gap=np.where(np.arange(150) % 5 == 0, np.nan, 1.5),
        id=range(150),
    )
    model = ShrunkenRegression().fit(frame, averages(frame, y, "county"))
    said = " ".join(model.reconstruct().notes)
    assert "'same' is constant" in said and "'id'" in said and "'gap' is missing in 30 rows" in said
    assert "sex = F" in model.design_.names and "id" not in model.design_.names
    with pytest.raises(DataError, match="different words"):
        ShrunkenRegression(columns=["name"]).fit(
            frame.assign(name=[f"n{k}" for k in range(150)]), averages(frame, y, "county")
        )


def test_noise_of_known_size_shrinks_the_correction():
    frame, y = table(noise=1.0)
    exact = averages(frame, y, "county")
    gaps = []
    for noise in (None, 0.05, 5.0):
        aggregate = Aggregate(by="county", target="y", values=exact.values, noise=noise)
        result = EcologicalRegression(columns=["x0", "x1", "x2"]).fit(frame, aggregate).reconstruct()
        gaps.append(result.met[0].largest_gap_of_all)
    assert gaps[0] < 1e-9 < gaps[1] < gaps[2]


def test_predict_knows_the_group_or_does_without():
    frame, y = table()
    model = EcologicalRegression().fit(frame, averages(frame, y, "county"))
    assert model.predict(frame)["y"] == pytest.approx(model.reconstruct().values["y"])
    strange = model.predict(frame.drop(columns="county"))["y"]
    assert np.abs(strange - y).mean() < 1.0
    with pytest.raises(DataError, match="lack the columns 'x0'"):
        model.predict(frame.drop(columns="x0"))
    with pytest.raises(ParameterError, match="not fitted"):
        LUDIA().predict(frame)


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_scikit_learn_estimators(name):
    method = METHODS[name]()
    copied = clone(method.set_params(unmatched="ignore"))
    assert copied.get_params() == method.get_params() and copied.unmatched == "ignore"


def test_draws_scatter_as_they_should():
    frame, y = table(n=2000, groups=40, noise=0.5)
    model = EcologicalRegression(columns=["x0", "x1", "x2"]).fit(frame, averages(frame, y, "county"))
    # the estimate has 36 degrees of freedom: relative deviation sqrt(2/36)/2 = 0.12; 7 of them
    assert model.effects_["y"].spread == pytest.approx(0.5, rel=0.85)
    draws = model.reconstructions(5, seed=1, spread=0.5)
    within = np.std([draw.values["y"] for draw in draws], axis=0, ddof=1)
    assert np.sqrt((within**2).mean()) == pytest.approx(0.5, rel=0.25)
    assert model.reconstructions(1, seed=1)[0].values["y"] == pytest.approx(
        model.reconstructions(1, seed=1)[0].values["y"]
    )
    with pytest.raises(ParameterError, match="spread"):
        MoorePenrose().fit(frame, averages(frame, y, "county")).reconstructions(2)
    with pytest.raises(ParameterError, match="`count` is 0"):
        model.reconstructions(0)


def test_averages_of_the_link_are_met_on_its_scale():
    frame, y = table()
    model = EcologicalRegression(link="log", aggregates_of="link").fit(frame, averages(frame, y, "county"))
    result = model.reconstruct()
    assert result.values["y"] == pytest.approx(np.exp(result.linked["y"])) and result.met[0].largest_gap < 1e-9
    with pytest.raises(ParameterError, match="aggregates_of"):
        EcologicalRegression(aggregates_of="logs").fit(frame, averages(frame, y, "county"))


def test_links_are_inverse_and_their_slope_is_right():
    for name in ("identity", "log", "log1p", "logit"):
        link, line = LINKS[name], np.linspace(-2, 2, 9)
        assert link.forth(link.back(line)) == pytest.approx(line)
        step = 1e-6
        assert (link.back(line + step) - link.back(line - step)) / (2 * step) == pytest.approx(
            link.slope(line), rel=1e-6
        )


def test_too_many_stacked_groups_are_refused(monkeypatch):
    monkeypatch.setattr("understudy.reconstruct.grams.MOST_STACKED", 3)
    with pytest.raises(RefusalError, match="4 groups together"):
        DenseGram(np.eye(4))


def test_cudia_finds_clusters_again():
    """PRIVACY section 8: means within 0.75 of (10, 20, 35), error near 2 where averages alone have 7."""
    from experiments.ludia.simulate import draw_clusters

    drawn = draw_clusters(np.random.default_rng(2))
    frame = people(a=drawn.x[:, 0], b=drawn.x[:, 1], group=drawn.groups)
    means = pd.Series(drawn.y).groupby(drawn.groups).mean()
    aggregate = Aggregate(by="group", target="y", values={str(k): float(v) for k, v in means.items()})
    for version in ("mcem", "greedy"):
        model = CUDIA(clusters=3, version=version, iterations=20, seed=1, correct=False).fit(frame, aggregate)
        fitted = model.models_["y"]
        assert np.sort(fitted.eta) == pytest.approx([10, 20, 35], abs=1.5)
        assert np.abs(model.reconstruct().values["y"] - drawn.y).mean() < 2.5
    assert 0.5 < CUDIA(clusters=3, iterations=5, seed=1).fit(frame, aggregate).models_["y"].accepted < 0.95
    with pytest.raises(RefusalError, match="one partition"):
        CUDIA().fit(frame.assign(h=0), [aggregate, Aggregate(by="h", target="y", values={"0": float(drawn.y.mean())})])


def grouped(x, y, groups):
    """Two known columns, and the averages of y by group."""
    frame = people(a=x[:, 0], b=x[:, 1], group=groups)
    means = pd.Series(y).groupby(groups).mean()
    return frame, Aggregate(by="group", target="y", values={str(k): float(v) for k, v in means.items()})


def hospital_effects(rng):
    """Heights of groups that no means of clusters explain: they fall and rise as one kind gives way to the other."""
    groups, shares = np.repeat(np.arange(30), 30), np.linspace(0.1, 0.9, 30)
    x = rng.standard_normal((900, 2))
    x[:, 0] += 4.0 * (rng.random(900) < shares[groups])
    return x, 6 * np.abs(shares - 0.5)[groups] + 0.5 * rng.standard_normal(900), groups


@pytest.mark.parametrize("settings", [{}, {"clusters": 3, "ridge": 1e-3}], ids=["chosen", "given"])
def test_cudia_gives_way_to_group_means_where_held_out_averages_do_not_support_it(settings):
    x, y, groups = hospital_effects(np.random.default_rng(3))
    frame, aggregate = grouped(x, y, groups)
    plain = MoorePenrose().fit(frame, aggregate).reconstruct().values["y"]
    model = CUDIA(iterations=10, seed=1, **settings).fit(frame, aggregate)
    result = model.reconstruct()
    held = result.held_out[0]
    assert held.fell_back and held.ahead < 2
    assert result.values["y"] == pytest.approx(plain, abs=1e-9)
    assert "fell back to group means for y" in result.statement
    assert "the average of the group instead" in result.to_dict()["held_out"][0]["sentence"]
    assert model.predict(frame)["y"] == pytest.approx(plain, abs=1e-9)
    draws = model.reconstructions(2, seed=1)
    assert all(draw.met[0].largest_gap < 1e-9 and draw.held_out == (held,) for draw in draws)


def test_cudia_without_the_fallback_says_that_it_is_not_to_be_trusted():
    x, y, groups = hospital_effects(np.random.default_rng(3))
    frame, aggregate = grouped(x, y, groups)
    result = CUDIA(iterations=10, seed=1, clusters=3, ridge=1e-3, fallback=False).fit(frame, aggregate).reconstruct()
    plain = np.abs(MoorePenrose().fit(frame, aggregate).reconstruct().values["y"] - y).mean()
    assert np.abs(result.values["y"] - y).mean() > plain  # means of clusters that the averages cannot tell apart
    assert not result.held_out[0].fell_back
    assert "Do not trust its values" in result.held_out[0].sentence
    assert "fell back" not in result.statement


def test_cudia_keeps_clusters_that_predict_held_out_averages():
    from experiments.ludia.simulate import draw_clusters

    drawn = draw_clusters(np.random.default_rng(3), groups=30, per_group=30)
    frame, aggregate = grouped(drawn.x, drawn.y, drawn.groups)
    result = CUDIA(iterations=10, seed=1).fit(frame, aggregate).reconstruct()
    held = result.held_out[0]
    assert not held.fell_back and held.settings["clusters"] >= 3 and held.error < held.error_of_means / 2
    plain = np.abs(MoorePenrose().fit(frame, aggregate).reconstruct().values["y"] - drawn.y).mean()
    assert np.abs(result.values["y"] - drawn.y).mean() < plain / 2
    assert "standard errors better" in held.sentence


# ---------------------------------------------------------------- risk


def own_table(n=1500, *, singles=False):
    rng = np.random.default_rng(5)
    county = rng.integers(0, 12, n)
    los = np.minimum(rng.poisson(3 + county % 4, n) + 1, 40)
    charge = np.clip(20 * los + 30 * (county % 3) + rng.integers(0, 30, n), 0, 1000)
    if singles:
        county[0], county[county == 11] = 11, 10
        county[0] = 11
    levels = tuple(f"c{k}" for k in range(12))
    halves = tuple(
        (half, tuple(level for k, level in enumerate(levels) if (k < 6) == (half == "south")))
        for half in ("south", "north")
    )
    book = Codebook(
        columns=(
            Categorical(name="county", levels=levels, hierarchy=(Generalisation(name="half", groups=halves),)),
            Integer(name="los", edges=(Fraction(0), Fraction(5), Fraction(50))),
            Ordinal(name="sev", levels=("low", "mid", "high")),
            Integer(name="charge", edges=(Fraction(0), Fraction(100), Fraction(1000))),
        )
    )
    frame = people(
        county=[levels[k] for k in county],
        los=los,
        sev=np.array(["low", "mid", "high"])[rng.integers(0, 3, n)],
        charge=charge,
    )
    return frame, book


def question(**more):
    return RiskQuestion(**{"groups": ("county",), "value": "charge", "known": ("los", "sev"), **more})


def test_risk_finds_what_averages_give_away():
    frame, book = own_table()
    found = assess(frame, book, question(epsilons=(0.01, 5.0), repeats=1), stream=Stream.seeded(1))
    names = [study["name"] for study in found["groupings"]]
    assert names == ["county", "county by half"]
    study = found["groupings"][0]
    truth = frame["charge"].to_numpy(dtype=float)
    assert study["blind"]["mae"] == pytest.approx(np.abs(truth - truth.mean()).mean())
    means = frame.groupby("county")["charge"].transform("mean")
    assert study["attacks"]["mp"]["mae"] == pytest.approx(np.abs(truth - means).mean())
    assert study["attacks"][study["best"]]["mae"] < study["attacks"]["mp"]["mae"]
    # nothing with one common slope has smaller squares than the limit, which saw the values themselves
    linear = ("mp", "er", "shrunken", "pc-er", "ludia")
    assert study["attacks"][LIMIT]["rmse"] <= min(study["attacks"][name]["rmse"] for name in linear) + 1e-9
    assert ELSEWHERE in study["attacks"] and not study["passes"]
    assert "give away too much" in found["recommendation"][0]
    for item in found["noisy"]:
        assert item["guarantee"]["kind"] == "PureDP" and item["guarantee"]["epsilon"] <= item["epsilon"]
    weak, strong = found["noisy"]
    assert weak["error_of_published_means"] > strong["error_of_published_means"]
    assert found["ledger_of_this_report"][0]["guarantee"]["kind"] == "NoFormal"


def test_risk_names_people_alone_in_their_group():
    frame, book = own_table(singles=True)
    found = assess(frame, book, question(known=()), stream=Stream.seeded(1))
    study = found["groupings"][0]
    assert study["disclosed"] == 1 and study["smallest"] == 1 and not study["passes"]
    assert "exact value of 1 people" in found["recommendation"][0]
    assert any("merged" in item["name"] for item in found["groupings"])


def test_groupings_published_together_disclose_by_differences():
    """Nobody is alone in a county or in a group by stay, yet some are where the two meet."""
    frame, book = own_table(n=60)
    found = assess(frame, book, question(groups=("county", "sev"), known=("los",)), stream=Stream.seeded(1))
    together = found["groupings"][-1]
    assert together["together"] and together["name"] == "county and sev, published together"
    apart = [study for study in found["groupings"] if study["asked"] and not study["together"]]
    assert together["groups"] == sum(study["groups"] for study in apart)
    assert together["attacks"]["mp"]["mae"] <= min(study["attacks"]["mp"]["rmse"] for study in apart)
    assert together["disclosed"] >= max(study["disclosed"] for study in apart)
    assert any("published together" in line for line in found["recommendation"])


def test_drafted_levels_take_the_promise_away():
    from understudy.codebook import Origin

    frame, book = own_table(n=300)
    from dataclasses import replace

    drafted = Codebook(
        columns=tuple(replace(c, origin=Origin.DRAFTED) if c.name == "charge" else c for c in book.columns)
    )
    found = assess(frame, drafted, question(epsilons=(1.0,), repeats=1, known=("los",)), stream=Stream.seeded(1))
    assert found["noisy"][0]["guarantee"]["kind"] == "NoFormal"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"value": "county"}, "no order"),
        ({"value": "price"}, "no column 'price'"),
        ({"known": ("charge",)}, "cannot be known"),
        ({"groups": ()}, "no grouping"),
        ({"most": 1.5}, "above 0 and below 1"),
        ({"epsilons": (0.0,)}, "epsilon"),
        ({"lower": 5.0, "upper": 5.0, "epsilons": (1.0,)}, "rise"),
    ],
)
def test_risk_refuses_careless_questions(more, words):
    frame, book = own_table(n=200)
    with pytest.raises(UnderstudyError, match=words):
        assess(frame, book, question(**more), stream=Stream.seeded(1))


def test_ordinal_values_count_by_rank():
    frame, book = own_table(n=300)
    found = assess(frame, book, question(value="sev", known=("los",)), stream=Stream.seeded(1))
    ranks = frame["sev"].map({"low": 0, "mid": 1, "high": 2}).to_numpy(dtype=float)
    assert found["ranks"] and found["groupings"][0]["blind"]["mae"] == pytest.approx(
        np.abs(ranks - ranks.mean()).mean()
    )


def test_estimates_of_several_draws_combine():
    frame, y = table(n=400, groups=20)
    model = EcologicalRegression(columns=["x0", "x1", "x2"]).fit(frame, averages(frame, y, "county"))
    draws = [draw.values["y"] for draw in model.reconstructions(5, seed=3)]
    made = us.combine([d.mean() for d in draws], [d.var() / len(d) for d in draws], kind="missing")
    assert made.estimate == pytest.approx(y.mean(), abs=1e-6)  # the mean follows from the averages
