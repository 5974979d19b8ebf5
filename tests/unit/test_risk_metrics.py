"""Risk: hand-computed cases, known values for copies and for strangers, and independence of the order of rows."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import understudy as us
from understudy.codebook import Categorical, Codebook, Integer, Role
from understudy.errors import DataError, ParameterError, RefusalError
from understudy.evaluate import shadows
from understudy.evaluate.metric import Score
from understudy.evaluate.risk import scores
from understudy.evaluate.risk.attack import find_attacks
from understudy.evaluate.risk.cells import Cells, joint_keys, open_cells
from understudy.evaluate.risk.copies import closest_record, exact_copies, uniqueness
from understudy.evaluate.risk.giomi import inference, linkability, singling_out
from understudy.evaluate.risk.guesses import mean_attack, mode_attack
from understudy.evaluate.risk.intervals import Rate, clopper_pearson, residual, wilson
from understudy.evaluate.risk.linking import link_gain, linkage, match_probability
from understudy.evaluate.risk.membership import Shadows, agreements, membership, rarest_record
from understudy.evaluate.risk.neighbours import nearest, scale_of
from understudy.evaluate.risk.scores import METRICS, metric_of, risk_scores
from understudy.mechanisms.stream import Stream
from understudy.sources import EncodedSource
from understudy.synth import BayesianBootstrap, Contingency, LaplaceHistogram, make_recipe

LEVELS = ("x", "y", "z")
BOOK = Codebook(
    columns=(
        Categorical(name="q", levels=LEVELS, role=Role.QUASI_IDENTIFIER),
        Categorical(name="s", levels=LEVELS, role=Role.SENSITIVE),
        Integer(name="n", edges=tuple(map(Fraction, (0, 10, 20, 30))), missing="NA"),
    )
)


def table(*records, book=BOOK):
    """Records as rows of codes."""
    codes = np.array(records, dtype=np.uint8).reshape(-1, len(book.names))
    return EncodedSource(codebook=book, columns=[codes[:, i].copy() for i in range(codes.shape[1])])


def random_table(rows, seed, sizes=(3, 3, 4), book=BOOK):
    rng = np.random.default_rng(seed)
    return EncodedSource(codebook=book, columns=[rng.integers(s, size=rows).astype(np.uint8) for s in sizes])


REAL = table((0, 0, 0), (0, 0, 0), (0, 1, 1), (1, 1, 2), (1, 2, 3), (2, 0, 1))
COPY = table((0, 0, 1), (0, 0, 2), (0, 1, 0), (1, 1, 2), (1, 0, 0), (1, 1, 1))


def test_mode_attack_by_hand():
    """q=0: modes x -> right for 2 of 3; q=1: mode y -> 1 of 2; q=2 unseen: the column's mode, a tie of x and y."""
    score = mode_attack(REAL, COPY, quasi=["q"], sensitive="s")
    assert score.value == pytest.approx(1 - (2 + 1 + 0.5) / 6)
    assert score.breakdown["marginal"] == pytest.approx(1 - (3 * 0.5 + 2 * 0.5) / 6)
    rate = wilson(6 * score.value, 6)
    assert (score.low, score.high) == (rate.low, rate.high)
    control = table((0, 1, 0), (1, 1, 0))
    assert mode_attack(REAL, COPY, quasi=["q"], sensitive="s", holdout=control).breakdown["control"] == 0.5


def test_mean_attack_by_hand():
    """Bins count as their middles 4.5, 14.5 and 25 (the last holds its end); a record with a missing n is left out."""
    score = mean_attack(REAL, COPY, quasi=["q"], sensitive="n")
    zero, one = (14.5 + 25 + 4.5) / 3, (25 + 4.5 + 14.5) / 3
    everybody = (14.5 + 25 + 4.5 + 25 + 4.5 + 14.5) / 6
    errors = [zero - 4.5, zero - 4.5, abs(zero - 14.5), abs(one - 25), abs(everybody - 14.5)]
    assert score.value == pytest.approx(np.mean(errors))
    assert score.low <= score.value <= score.high


def test_attacks_on_a_copy_are_perfect_where_groups_are_pure():
    pure = table(*[(q, q, q) for q in range(3)] * 4)
    assert mode_attack(pure, pure, quasi=["q"], sensitive="s").value == 0
    assert mean_attack(pure, pure, quasi=["q"], sensitive="n").value == pytest.approx(0)
    assert match_probability(pure, pure, quasi=["q"], sensitive=["s"]).value == 1


def test_attacks_on_independent_columns_know_no_more_than_the_marginal():
    """All nine combinations equally often: the mode of a group is no better than the column's, and 1/3 is right."""
    even = table(*[(q, s, 0) for q, s in itertools.product(range(3), range(3))])
    score = mode_attack(even, even, quasi=["q"], sensitive="s")
    assert score.value == score.breakdown["marginal"] == pytest.approx(2 / 3)
    assert match_probability(even, even, quasi=["q"], sensitive=["s"]).value == pytest.approx(1 / 3)
    assert link_gain(even, even, quasi=["q"], sensitive="s", linked=["n"]).value == pytest.approx(1.0)


def test_match_probability_by_hand():
    """Real q=0: 3 fit; s=0 twice right of 3 (two people), s=1 once of 3; q=1: s=1 2 of 3, s=2 none; q=2: none fit."""
    score = match_probability(REAL, COPY, quasi=["q"], sensitive=["s"])
    assert score.value == pytest.approx((2 * 2 / 3 + 1 / 3 + 2 / 3 + 0 + 0) / 6)
    assert score.breakdown["maximum"] == pytest.approx(2 / 3)
    assert score.breakdown["claimed"] == pytest.approx(5 * (1 / 3) / 6)
    assert score.breakdown["people at the maximum"] == pytest.approx(3 / 6)
    lone = table((0, 0, 0), (1, 1, 0), (1, 1, 0), (2, 1, 0))
    people = table((0, 0, 0), (2, 2, 0), (1, 1, 0), (1, 0, 0))
    found = match_probability(people, lone, quasi=["q"], sensitive=["s"]).breakdown
    assert found["true match rate"] == 0.25 and found["false match rate"] == 0.5
    assert found["expected"] == pytest.approx((1 + 0 + 1 + 0) / 4) and found["maximum"] == 1


def test_link_gain_by_hand():
    """One group, s = x or y evenly; n tells s apart: before 1/2, after 1, gain 2, the bound 1/Pr attained."""
    people = table((0, 0, 0), (0, 1, 1), (0, 0, 0), (0, 1, 1))
    score = link_gain(people, people, quasi=["q"], sensitive="s")
    assert score.value == 2.0 and score.breakdown["n"] == 2.0
    assert (score.breakdown["chance before"], score.breakdown["chance after"]) == (0.5, 1.0)


@settings(deadline=None, max_examples=50)  # the first call compiles
@given(st.integers(0, 1_000))
def test_link_gain_obeys_the_bound_that_is_true(seed):
    """Only Lambda <= 1 / Pr(Y~ = Y | X) follows from Bayes (PRIVACY section 4); its mean is at most the mean bound."""
    real, copy = random_table(30, seed), random_table(30, seed + 5_000)
    score = link_gain(real, copy, quasi=["q"], sensitive="s", linked=["n"])
    if math.isnan(score.value):
        return
    codes = open_cells(copy, ("q", "s"))
    shares = [
        c / codes.counts[codes.codes[:, 0] == q].sum() for (q, _), c in zip(codes.codes, codes.counts, strict=True)
    ]
    assert 0 <= score.value <= 1 / min(shares) + 1e-9


def test_uniqueness_by_hand():
    real, copy = table((0, 0, 0), (0, 0, 1), (1, 0, 0), (2, 0, 0)), table((0, 0, 0), (1, 1, 1), (2, 0, 0), (2, 1, 0))
    score = uniqueness(real, copy, columns=["q"])
    assert score.value == 0.5 and score.breakdown["original"] == 0.5
    assert score.breakdown["unique in both"] == 0.25
    everything = uniqueness(real, real, columns=["q", "s", "n"])
    assert everything.value == everything.breakdown["unique in both"] == 1


def test_exact_copies_by_hand():
    score = exact_copies(REAL, COPY, holdout=table((0, 0, 0), (2, 2, 2)))
    assert score.value == pytest.approx(1 / 6) and score.breakdown["copies of a lone record"] == pytest.approx(1 / 6)
    assert score.breakdown["control"] == 0.5
    assert exact_copies(REAL, REAL).value == 1
    assert exact_copies(REAL, table((2, 2, 2), (2, 2, 2))).value == 0


def test_linkage_by_hand():
    """The register has q only: x fits three synthetic records, y one, which is right about the real y, z another."""
    book = Codebook(columns=(BOOK.column("q"),))
    register = table((0,), (1,), (2,), (2,), book=book)
    real = table((0, 0, 0), (0, 1, 0), (1, 1, 0), (2, 2, 0))
    copy = table((0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 3), (2, 0, 0))
    found = linkage(real, copy, register, quasi=["q"], sensitive=["s"])
    assert found.value == 0.25
    assert found.breakdown["fits exactly one"] == 0.75 and found.breakdown["fits one in both"] == 0.75
    assert found.breakdown["fits some synthetic record"] == found.breakdown["in the real table"] == 1
    other = Codebook(columns=(Categorical(name="q", levels=("x", "y")),))
    with pytest.raises(DataError, match="other levels"):
        linkage(real, copy, table((0,), book=other), quasi=["q"], sensitive=["s"])


def gower(a, b):
    """The definition, slowly: categories 0 or 1, numbers |difference| over the range, missing 1 from all."""
    far = [float(a[0] != b[0]), float(a[1] != b[1])]
    far.append(0.0 if a[2] == b[2] else 1.0 if 3 in (a[2], b[2]) else abs(int(a[2]) - int(b[2])) / 2)
    return sum(far) / 3


@settings(deadline=None, max_examples=50)  # the first call compiles
@given(st.integers(0, 1_000))
def test_nearest_agrees_with_brute_force(seed):
    rng = np.random.default_rng(seed)
    points, rows = (np.stack([rng.integers(s, size=k) for s in (3, 3, 4)], axis=1) for k in (4, 9))
    places, distances = nearest(points, rows, scale_of(BOOK, BOOK.names))
    for point, place, distance in zip(points, places, distances, strict=True):
        every = [gower(point, row) for row in rows]
        assert distance == pytest.approx(min(every)) == pytest.approx(every[place])


def test_nearest_agrees_with_scikit_learn():
    """Without ordered columns the distance is Hamming's."""
    from sklearn.neighbors import NearestNeighbors

    book = Codebook(columns=tuple(Categorical(name=f"c{i}", levels=tuple("abcd")) for i in range(5)))
    rng = np.random.default_rng(1)
    points, rows = rng.integers(4, size=(50, 5)), rng.integers(4, size=(80, 5))
    theirs = NearestNeighbors(n_neighbors=1, metric="hamming", algorithm="brute").fit(rows).kneighbors(points)[0][:, 0]
    assert nearest(points, rows, scale_of(book, book.names))[1] == pytest.approx(theirs)


@settings(deadline=None, max_examples=50)  # the first call compiles
@given(st.lists(st.integers(2, 1 << 40), min_size=1, max_size=6), st.integers(0, 99))
def test_joint_keys_tell_records_apart_on_any_domain(sizes, seed):
    rng = np.random.default_rng(seed)
    base = np.stack([rng.integers(size, size=6) for size in sizes], axis=1)
    left, right = base[rng.integers(6, size=8)], base[rng.integers(6, size=5)]
    one, other = joint_keys(sizes, left, right)
    for i, j in itertools.product(range(8), range(5)):
        assert (one[i] == other[j]) == (left[i] == right[j]).all()


def test_closest_record_sees_a_copy_and_not_a_stranger():
    """200 records of 6 columns: their copy is at distance 0 of them; a stranger leans neither way (z=6)."""
    book = Codebook(columns=tuple(Categorical(name=f"c{i}", levels=tuple("abcdefgh")) for i in range(6)))
    real, other, third = (random_table(200, seed, (8,) * 6, book) for seed in (1, 2, 3))
    copy = closest_record(real, real, holdout=other)
    assert copy.value > 0.95 and copy.breakdown["mean distance to the data"] == 0
    assert abs(closest_record(real, third, holdout=other).value - 0.5) < 6 * math.sqrt(0.25 / 200)
    missing = closest_record(real, copy and real, holdout=None)
    assert math.isnan(missing.value) and "hold-out" in missing.note


@pytest.mark.parametrize("attack", [singling_out, linkability, lambda *a, **k: inference(*a, sensitive="c0", **k)])
def test_attacks_gain_on_a_copy_and_not_on_a_stranger(attack):
    book = Codebook(columns=tuple(Categorical(name=f"c{i}", levels=tuple("abcdefgh")) for i in range(6)))
    real, other, third = (random_table(300, seed, (8,) * 6, book) for seed in (1, 2, 3))
    copied = attack(real, real, holdout=other, stream=Stream.seeded(4))
    stranger = attack(real, third, holdout=other, stream=Stream.seeded(4))
    assert copied.value > 0.5 and copied.low > 0.3
    lines = stranger.breakdown
    attacked = lines.get("attack at the control's size", lines["attack"])
    trials = lines.get("guesses", 300)  # every person is a target
    assert abs(attacked - lines["control"]) < 6 * math.sqrt(2 * 0.25 / trials)
    for score in (copied, stranger):
        assert 0 <= score.low <= score.value <= score.high <= 1
        assert {"attack", "control", "baseline"} <= set(score.breakdown)
    alone = attack(real, real, stream=Stream.seeded(4))
    assert "control" not in alone.breakdown and alone.value == alone.breakdown["attack"]


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (10, 10), (3, 10), (420, 1_000)])
def test_intervals_agree_with_scipy(hits, trials):
    for method, ours in (
        ("wilson", wilson(hits, trials)),
        ("exact", Rate(value=0, **dict(zip(("low", "high"), clopper_pearson(hits, trials, miss=0.025), strict=True)))),
    ):
        theirs = stats.binomtest(hits, trials).proportion_ci(0.95, method=method)
        assert (ours.low, ours.high) == (pytest.approx(theirs.low, abs=1e-12), pytest.approx(theirs.high, abs=1e-12))


@settings(deadline=None, max_examples=50)  # the first call compiles
@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 50))
def test_residual_is_a_share_and_no_gain_is_none(hits, control, trials):
    attack, other = (wilson(min(n, trials), trials) for n in (hits, control))
    gain = residual(attack, other)
    assert 0 <= gain.low <= gain.value <= gain.high <= 1
    if hits <= control:
        assert gain.value == 0
    assert residual(attack, Rate(value=0.0, low=0.0, high=0.0)).value == pytest.approx(attack.value, abs=1e-9)


@settings(deadline=None, max_examples=50)  # the first call compiles
@given(st.integers(0, 500), st.randoms())
def test_order_of_rows_does_not_matter(seed, random):
    codes = np.random.default_rng(seed).integers(3, size=(40, 3))
    mixed = random.sample(range(40), 40)
    copy = random_table(40, seed + 1)
    first, second = (risk_scores(table(*rows), copy) for rows in (codes, codes[mixed]))
    assert [s.to_dict() for s in first] == [s.to_dict() for s in second]


def test_order_of_columns_does_not_matter_to_counting():
    names = ("n", "q", "s")
    turned = Codebook(columns=tuple(BOOK.column(name) for name in names))

    def turn(source):
        cells = open_cells(source, names)
        return table(*cells.records(), book=turned)

    left, right = random_table(60, 1), random_table(60, 2)
    for attack in (
        lambda a, b: match_probability(a, b, quasi=["q"], sensitive=["s", "n"]),
        lambda a, b: link_gain(a, b, quasi=["q"], sensitive="s"),
        exact_copies,
        lambda a, b: Score(metric="", value=mode_attack(a, b, quasi=["q"], sensitive="s").value),
    ):
        assert attack(left, right).value == pytest.approx(attack(turn(left), turn(right)).value)


def test_bootstraps_and_subsamples_keep_their_size():
    cells = open_cells(random_table(500, 3), BOOK.names)
    rng = Stream.seeded(1).generator()
    assert cells.resample(77, rng).rows == 77
    part = cells.subsample(123, rng)
    assert part.rows == 123 and cells.subsample(501, rng) is cells
    ours, theirs = joint_keys(cells.sizes, cells.codes, part.codes)
    have = dict(zip(ours.tolist(), cells.counts.tolist(), strict=True))
    assert all(count <= have[key] for key, count in zip(theirs.tolist(), part.counts.tolist(), strict=True))
    assert len(part.records()) == 123


def test_membership_sees_a_copy_machine_and_not_an_oblivious_one():
    """Contingency copies the only z among 30 x's: it shows in 31 draws with probability 1 - (30/31)^31 = 0.64, so that
    the rule "z shows" is right with 0.82. A histogram of epsilon 0.01 allows no rule to be right with more than
    1/(1 + e^-0.01) = 0.5025. 100 runs test the rule: a standard error is 0.05 at most, z = 5."""
    real = table(*[(0, 0, 0)] * 30, (2, 2, 2))
    found = membership(Contingency(), real, rows=31, runs=100, stream=Stream.seeded(1))
    assert found.value > 0.82 - 0.25
    private = LaplaceHistogram(epsilon=0.01)
    quiet = membership(private, real, rows=31, runs=100, stream=Stream.seeded(2))
    assert quiet.value < 0.5025 + 0.25
    assert found.low <= found.value <= found.high


def test_membership_parts():
    assert rarest_record(np.array([[0, 0], [0, 0], [0, 1]])).tolist() == [0, 1]
    assert agreements(np.array([[0, 1, 2]]), np.array([0, 1, 0])).tolist() == [1, 1, 0, 1, 0, 0, 0, 1]
    with pytest.raises(ParameterError, match="runs"):
        membership(BayesianBootstrap(), REAL, rows=5, runs=2)
    with pytest.raises(RefusalError, match="Attack a sample"):
        membership(BayesianBootstrap(), random_table(5_001, 1), rows=5)


def test_shadow_models_do_not_depend_on_the_number_of_processes(monkeypatch):
    real = table(*[(0, 0, 0)] * 30, (2, 2, 2))
    monkeypatch.setattr(shadows, "_WARM", 0.0)
    alone = membership(Contingency(), real, rows=31, runs=20, stream=Stream.seeded(1))
    monkeypatch.setattr(shadows, "_WORTH", -1.0)  # as if the work were long
    assert membership(Contingency(), real, rows=31, runs=20, stream=Stream.seeded(1), processes=2) == alone


def test_a_membership_attack_that_cannot_be_tried_says_why(monkeypatch):
    monkeypatch.setattr(shadows, "_WARM", 0.0)
    real = table(*[(0, 0, 0)] * 30, (2, 2, 2))
    with pytest.raises(RefusalError, match=r"200 runs of contingency would take about \d+ minutes here.*unasked"):
        membership(Contingency(), real, rows=31, seconds=0.0)
    nothing = make_recipe("sba", epsilon=0.01, delta=1e-9)
    for recipe, source, said in (
        (None, real, "Not tried: no recipe"),
        (nothing, real, "drew nothing in any run"),
        (Contingency(), random_table(5_001, 1), "more than 5,000 records"),
    ):
        rerun = Shadows(recipe=recipe, runs=8, why_not="no recipe")
        found = rerun.attack(source, random_table(5, 2), stream=Stream.seeded(1))
        assert math.isnan(found.value) and said in found.note
    with pytest.raises(ParameterError, match="runs"):
        Shadows(recipe=Contingency(), runs=2).attack(real, real, stream=Stream.seeded(1))
    assert metric_of(found).perfect == 0.5


@pytest.fixture(scope="module")
def discharges():
    book = us.datasets.discharges_codebook()
    whole = us.datasets.discharges(rows=3_000, seed=4)
    return book, *(us.open(whole.slice(start, 1_000), book) for start in (0, 1_000, 2_000))


def test_all_scores_of_a_release(discharges):
    _, real, other, holdout = discharges
    steps = []
    found = risk_scores(
        real, other, holdout=holdout, level="full", report=lambda step, done, of: steps.append((step, done, of))
    )
    names = [score.metric for score in found]
    assert names[:2] == ["mode_attack: disp", "mode_attack: MDC"] and len(set(names)) == len(names)
    assert {name.partition(": ")[0] for name in names} == set(METRICS) - {"mean_attack", "linkage", "membership"}
    assert steps[-1] == ("measuring risk", len(found), len(found))
    json.dumps([score.to_dict() for score in found], allow_nan=False)
    for score in found:
        metric = metric_of(score)
        assert metric.room == "risk" and metric.name == score.metric
        assert metric.lowest <= score.value <= metric.highest
        assert score.low is None or score.low <= score.value <= score.high
    quick = risk_scores(real, other, holdout=holdout)
    assert [s.to_dict() for s in quick] == [s.to_dict() for s in found[: len(quick)]]  # a fixed seed


def test_numbers_get_the_mean_attack():
    found = risk_scores(REAL, COPY, quasi=["q"], sensitive=["n"])
    assert found[0].metric == "mean_attack: n"


def test_guesses_stand_in_the_order_of_the_columns_and_every_column_has_each_attack_once():
    names = [score.metric for score in risk_scores(REAL, COPY, quasi=["q"], sensitive=["n", "s"])]
    assert names == [
        "mean_attack: n",
        "mode_attack: s",
        "match_probability: n",
        "match_probability: s",
        "link_gain: n",
        "link_gain: s",
        "uniqueness",
        "exact_copies",
    ]


OF_A_NEWCOMER = """
from understudy.evaluate.metric import Metric
from understudy.evaluate.risk.attack import attacks

GUESS = Metric(name="first_level", title="The first level", room="risk", says="How many have the first level.")
SLOW = Metric(name="slow", title="Slow", room="risk", says="Takes long.")


@attacks(GUESS, "quasi", each=True, where=lambda scene, about: about not in scene.quasi)
def first_level(real, synthetic, *, quasi, sensitive):
    first = real.count([[sensitive]])[0].open().to_grid()
    return GUESS.score(first[0] / first.sum(), note=f"{len(quasi)} known")


@attacks(SLOW, full=True)
def slow(real, synthetic):
    return SLOW.score(0.5)
"""


def test_an_attack_is_found_by_its_file_and_changes_no_other(tmp_path, monkeypatch):
    folder = tmp_path / "attacks_of_a_newcomer"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "guessing.py").write_text(OF_A_NEWCOMER)
    monkeypatch.syspath_prepend(tmp_path)
    before = risk_scores(REAL, COPY, quasi=["q"], sensitive=["s"])
    found = find_attacks(folder.name, [str(folder)])
    assert list(found) == ["first_level", "slow"]
    monkeypatch.setattr(scores, "ATTACKS", found | scores.ATTACKS)
    after = risk_scores(REAL, COPY, quasi=["q"], sensitive=["s"])
    assert after[:-1] == before
    assert after[-1] == Score(metric="first_level: s", value=3 / 6, note="1 known")
    assert "slow" in {score.metric for score in risk_scores(REAL, COPY, quasi=["q"], level="full")}


def test_strangers_from_the_same_population_look_the_same(discharges):
    """Real records that were not used stand in for a perfect synthetic file: attack and control agree within z = 6."""
    _, real, other, holdout = discharges
    found = risk_scores(real, other, holdout=holdout, sensitive=["MDC"])
    (guess,) = [score for score in found if score.metric.startswith("mode_attack")]
    assert abs(guess.value - guess.breakdown["control"]) < 6 * math.sqrt(2 * 0.25 / 1_000)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: risk_scores(REAL, COPY, level="deep"), ParameterError, "quick"),
        (lambda: risk_scores(REAL, COPY, quasi=["nobody"]), ParameterError, "no column"),
        (lambda: risk_scores(REAL, COPY, quasi=["s"], sensitive=["s"]), ParameterError, "at once"),
        (lambda: risk_scores(table((0, 0, 0)), COPY), DataError, "1 row"),
        (lambda: risk_scores(REAL, COPY, holdout=table((0, 0, 0))), DataError, "hold-out"),
        (lambda: mode_attack(REAL, COPY, quasi=["s"], sensitive="s"), ParameterError, "twice"),
        (lambda: mean_attack(REAL, COPY, quasi=["q"], sensitive="s"), ParameterError, "no number"),
        (lambda: mean_attack(table((0, 0, 3)), COPY, quasi=["q"], sensitive="n"), DataError, "missing in every row"),
        (lambda: match_probability(REAL, COPY, quasi=[], sensitive=["s"]), ParameterError, "at least one of each"),
        (lambda: link_gain(REAL, COPY, quasi=["q"], sensitive="s", linked=["q"]), ParameterError, "another file"),
        (lambda: uniqueness(REAL, COPY, columns=[]), ParameterError, "empty"),
        (lambda: linkage(REAL, COPY, COPY, quasi=[], sensitive=["s"]), ParameterError, "quasi-identifiers"),
        (lambda: linkability(REAL, COPY, halves=(["q"], ["q"])), ParameterError, "without a common one"),
        (lambda: inference(REAL, COPY, sensitive="s", known=["s"]), ParameterError, "do not hold it"),
        (lambda: wilson(3, 2), ParameterError, "more than all"),
        (lambda: wilson(1, 2, confidence=1.0), ParameterError, "above 0 and below 1"),
        (lambda: clopper_pearson(1, 0, miss=0.1), ParameterError, "within trials"),
    ],
)
def test_bad_input_is_one_sentence(call, error, said):
    with pytest.raises(error, match=said) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_other_columns_are_refused():
    renamed = Codebook(columns=(replace(BOOK.column("q"), name="r"), *BOOK.columns[1:]))
    with pytest.raises(DataError, match="lacks 'q'"):
        risk_scores(REAL, table((0, 0, 0), (1, 1, 1), book=renamed))


def test_a_holdout_of_training_rows_is_refused(discharges):
    _, real, other, _ = discharges
    with pytest.raises(DataError, match="hold-out"):
        risk_scores(real, other, holdout=real)


def test_a_constant_column_is_guessed_always():
    flat = table(*[(q % 3, 1, 0) for q in range(9)])
    score = mode_attack(flat, flat, quasi=["q"], sensitive="s")
    assert score.value == 0 and score.breakdown["marginal"] == 0


def test_cells_know_their_columns():
    cells = Cells(columns=("a", "b"), sizes=(2, 3), codes=np.array([[0, 1]]), counts=np.array([2]))
    assert cells.pick(["b"]).tolist() == [[1]] and cells.sizes_of(["b", "a"]) == (3, 2) and cells.rows == 2
