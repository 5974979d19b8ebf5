"""The exponential mechanism and its scores, by enumeration: no sampling error unless a test says so."""

import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from understudy.errors import DataError, ParameterError, ReleaseError
from understudy.mechanisms import exponential
from understudy.mechanisms.exponential import (
    SCORE_ERROR,
    ExponentialSelection,
    penalties,
    select,
    selection_event,
)
from understudy.mechanisms.selection_scores import (
    MAX_RECORDS,
    conditional_entropy_score,
    conditional_entropy_sensitivity,
    information_of_all,
    mutual_information,
    mutual_information_sensitivity,
    score_tables,
)
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.privacy.events import event_from_dict
from understudy.sources.tables import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


# --- the draw --------------------------------------------------------------------------------------------------------


class Branch(Exception):
    """A trial whose outcome the script does not say yet."""

    def __init__(self, chance):
        self.chance = chance


def enumerated(run, monkeypatch, floor):
    """Exact probabilities of what ``run`` returns, over all outcomes of its trials; ``rest`` was not followed."""
    laws, rest = {}, Fraction(0)
    waiting = [((), Fraction(1))]
    while waiting:
        script, weight = waiting.pop()
        if weight < floor:
            rest += weight
            continue
        answers = iter(script)

        def happens(chance, stream, answers=answers):
            if chance == 0:
                return False
            if chance == 1:
                return True
            answer = next(answers, None)
            if answer is None:
                raise Branch(chance)
            return answer

        monkeypatch.setattr(exponential, "_happens", happens)
        try:
            outcome = run()
        except Branch as branch:
            waiting.append(((*script, True), weight * branch.chance))
            waiting.append(((*script, False), weight * (1 - branch.chance)))
        else:
            laws[outcome] = laws.get(outcome, Fraction(0)) + weight
    return laws, rest


@pytest.mark.parametrize("gap", ["0", "1/7", "1/2", "1", "5/2", "22/7"])
def test_coin_is_exact(gap, monkeypatch):
    laws, rest = enumerated(lambda: exponential._exp_minus(Fraction(gap), None), monkeypatch, Fraction(1, 10**12))
    truth = math.exp(-Fraction(gap))
    assert float(rest) < 1e-9
    assert float(laws.get(True, 0)) - 1e-15 <= truth <= float(laws.get(True, 0) + rest) + 1e-15


class Fixed(Stream):
    """Always offers the same candidate, once."""

    def __init__(self, candidate):
        self.candidate = candidate

    def below(self, bound):
        candidate, self.candidate = self.candidate, None
        if candidate is None:
            raise StopIteration
        return candidate


@pytest.mark.parametrize("monotone", [True, False])
def test_choice_has_the_law_of_its_penalties(monotone, monkeypatch):
    """One round of the rejection, for each candidate that it may begin with: kept with probability e^-gap exactly."""
    scores, epsilon, sensitivity = [0.0, 1.5, -2.25, 1.4, 0.1], 1.25, 0.8
    gaps = penalties(scores, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone)
    assert min(gaps) == gaps[1] == 0
    factor = epsilon / sensitivity * (1 if monotone else 0.5)
    for score, gap in zip(scores, gaps, strict=True):
        # two roundings to a grid of 2^-16, and the enlarged sensitivity of 2^-13
        assert float(gap) == pytest.approx(factor * (1.5 - score), abs=factor * (2**-16 + 3.75 * 2**-13))
        candidate = scores.index(score)

        def run(candidate=candidate):
            try:
                options = {"epsilon": epsilon, "sensitivity": sensitivity, "monotone": monotone, "neighbours": AR}
                return select(scores, **options, stream=Fixed(candidate))[0]
            except StopIteration:
                return None

        laws, rest = enumerated(run, monkeypatch, Fraction(1, 10**9))
        assert set(laws) <= {candidate, None}
        assert float(laws[candidate]) - 1e-15 <= math.exp(-gap) <= float(laws[candidate] + rest) + 1e-15


def test_whole_choice_against_its_law():
    """20,000 choices; chi-square at its 1e-8 quantile, all expected counts above 50."""
    scores, runs = [3.0, 2.0, 2.5, 0.0, 2.9], 20_000
    stream, options = Stream.seeded(5), {"epsilon": 2.0, "sensitivity": 1.0, "monotone": False, "neighbours": RO}
    found = np.bincount([select(scores, **options, stream=stream)[0] for _ in range(runs)], minlength=5)
    weights = np.exp([-float(gap) for gap in penalties(scores, epsilon=2.0, sensitivity=1.0, monotone=False)])
    expected = weights / weights.sum() * runs
    assert expected.min() > 50
    assert (((found - expected) ** 2) / expected).sum() <= stats.chi2.isf(1e-8, 4)
    chosen, event = select(Secret(scores), **options, stream=Stream.seeded(5))
    assert (chosen, event) == (select(scores, **options, stream=Stream.seeded(5))[0], event)
    assert event == selection_event(epsilon=2.0, selections=1, neighbours=RO)


# --- the price -------------------------------------------------------------------------------------------------------


def log_law(gaps):
    gaps = np.array([float(gap) for gap in gaps])
    return -gaps - math.log(np.exp(-gaps).sum())


def data_sets(records):
    """Counts of all data sets of three binary columns (child last) with so many records."""
    for places in itertools.combinations_with_replacement(range(8), records):
        yield np.bincount(places, minlength=8).astype(np.int64)


def two_candidates(counts):
    """Tables of (first, child) and (second, child)."""
    cube = counts.reshape(2, 2, 2)
    return [cube.sum(axis=1), cube.sum(axis=0)]


def moved(counts, enters, leaves=None):
    other = counts.copy()
    other[enters] += 1
    if leaves is not None:
        other[leaves] -= 1
    return other


def test_choice_by_conditional_entropy_has_range_epsilon():
    """All pairs of neighbours up to 5 records: log-ratios within epsilon, and their range too, which zCDP rests on."""
    epsilon, n_max = 1.5, 5
    options = {"epsilon": epsilon, "sensitivity": conditional_entropy_sensitivity(n_max), "monotone": True}
    worst = 0.0
    for records in range(n_max):
        for counts in data_sets(records):
            here = log_law(penalties([conditional_entropy_score(t) for t in two_candidates(counts)], **options))
            for enters in range(8):
                tables = two_candidates(moved(counts, enters))
                ratios = here - log_law(penalties([conditional_entropy_score(t) for t in tables], **options))
                worst = max(worst, float(np.ptp(ratios)), float(np.abs(ratios).max()))
    assert 0.3 * epsilon <= worst <= epsilon


def test_choice_by_mutual_information_has_range_epsilon():
    epsilon, n = 1.5, 4
    options = {"epsilon": epsilon, "sensitivity": mutual_information_sensitivity(n, binary=True), "monotone": False}
    laws = {}
    for counts in data_sets(n):
        scores = [mutual_information(t) for t in two_candidates(counts)]
        laws[tuple(counts)] = log_law(penalties(scores, **options))
    worst = 0.0
    for counts, here in laws.items():
        for leaves, enters in itertools.permutations(range(8), 2):
            if counts[leaves]:
                ratios = here - laws[tuple(moved(np.array(counts), enters, leaves))]
                worst = max(worst, float(np.ptp(ratios)), float(np.abs(ratios).max()))
    assert 0.5 * epsilon <= worst <= epsilon


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("sensitivity", [1.0, 0.0079, 3.7, 1e-9, 12345.678])
def test_float_error_of_the_worst_kind_is_covered(sensitivity, monotone):
    """Scores that move by the whole sensitivity, each off by the whole allowed error, anywhere on the grid."""
    error = sensitivity * float(SCORE_ERROR) * (1 - 1e-9)
    low = 0.0 if monotone else -sensitivity
    options = {"epsilon": 1.0, "sensitivity": sensitivity, "monotone": monotone}
    worst = 0.0
    for place in np.linspace(0, 3 * sensitivity, 101):
        before = [place + error, 2 * place - error]
        after = [place + low - error, 2 * place + sensitivity + error]
        ratios = log_law(penalties(before, **options)) - log_law(penalties(after, **options))
        worst = max(worst, float(np.ptp(ratios)))
    assert 0.999 <= worst <= 1.0


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_curve_bounds_every_choice(epsilon):
    """Divergences of two-point tilts of range epsilon, the worst kind, at every probability on a fine grid."""
    orders = np.array([1.0001, 1.5, 2.0, 10.0, 500.0])
    curve = selection_event(epsilon=epsilon, selections=1, neighbours=AR).renyi(orders)
    assert (curve <= np.minimum(orders * epsilon**2 / 8, epsilon) * (1 + 1e-11)).all()
    chance = np.linspace(0.001, 0.999, 999)
    for order, bound in zip(orders, curve, strict=True):
        mean = np.log1p(chance * math.expm1(epsilon))
        with np.errstate(over="ignore"):
            moment = np.logaddexp(np.log1p(-chance), np.log(chance) + order * epsilon)
        divergence = (moment - order * mean) / (order - 1)
        assert divergence.max() <= bound * (1 + 1e-9) + 1e-12 / (order - 1)  # rounding of the difference of logarithms
        if order == 2.0 and epsilon < 0.1:
            assert divergence.max() >= 0.99 * bound  # and nearly attained
    seven = selection_event(epsilon=epsilon, selections=7, neighbours=AR)
    assert seven.renyi(orders) == pytest.approx(7 * curve, rel=1e-14)
    assert seven.guarantee().epsilon == pytest.approx(7 * epsilon, rel=1e-15)
    assert Fraction(seven.guarantee().epsilon) >= 7 * Fraction(epsilon)


# --- the scores ------------------------------------------------------------------------------------------------------


def all_tables(cells, records):
    """All ways to put so many records in so many cells, one row each."""
    bars = np.array(list(itertools.combinations(range(records + cells - 1), cells - 1)))
    edges = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), records + cells - 1)], axis=1)
    return np.diff(edges, axis=1) - 1


def times_log(counts):
    counts = np.asarray(counts, dtype=float)
    return np.where(counts > 0, counts * np.log(np.maximum(counts, 1)), 0.0)


def information(tables, shape):
    grid = tables.reshape(-1, *shape)
    n = int(tables[0].sum())
    total = times_log(grid).sum(axis=(1, 2)) - times_log(grid.sum(axis=1)).sum(axis=1)
    return (total - times_log(grid.sum(axis=2)).sum(axis=1) + times_log(n)) / n


def largest_change(shape, records):
    tables = all_tables(math.prod(shape), records)
    here = information(tables, shape)
    worst = 0.0
    for leaves, enters in itertools.permutations(range(math.prod(shape)), 2):
        able = tables[:, leaves] > 0
        other = tables[able].copy()
        other[:, leaves] -= 1
        other[:, enters] += 1
        worst = max(worst, float(np.abs(information(other, shape) - here[able]).max()))
    return worst


@pytest.mark.parametrize(("shape", "most"), [((2, 2), 8), ((2, 3), 7), ((3, 2), 7), ((2, 4), 6), ((3, 3), 6)], ids=str)
def test_mutual_information_sensitivity_by_brute_force(shape, most):
    for records in range(2, most + 1):
        found = largest_change(shape, records)
        bound = mutual_information_sensitivity(records, binary=2 in shape)
        assert found <= bound * (1 + 1e-12)
        if 2 in shape or (shape == (3, 3) and records in (3, 5)):
            assert found >= bound * (1 - 1e-12)  # attained
        assert mutual_information_sensitivity(records, binary=False) >= found * (1 - 1e-12)


def test_mutual_information_sensitivity_of_the_privacy_contract():
    """privacy_vectors.json, key "mi_sens_nats"; a few float operations each."""
    vectors = {
        5: (0.5004024235381879, 0.7638170019537756),
        100: (0.05600153435484741, 0.09824012676522902),
        1000: (0.007907255112232175, 0.014429215863510904),
        100_000: (0.00012512920464949757, 0.00023639556568779628),
    }
    for n, (binary, general) in vectors.items():
        assert mutual_information_sensitivity(n, binary=True) == pytest.approx(binary, rel=1e-11)
        assert mutual_information_sensitivity(n, binary=False) == pytest.approx(general, rel=1e-11)


@pytest.mark.parametrize(("shape", "most"), [((2, 2), 8), ((2, 3), 7), ((3, 2), 7)], ids=str)
def test_conditional_entropy_sensitivity_by_brute_force(shape, most):
    """Adding a record never raises the score, and lowers it by at most (n+1) ln(n+1) - n ln n, which is attained."""
    for records in range(1, most):
        worst = 0.0
        for flat in all_tables(math.prod(shape), records):
            here = conditional_entropy_score(flat.reshape(shape))
            for enters in range(len(flat)):
                fall = here - conditional_entropy_score(moved(flat, enters).reshape(shape))
                assert fall >= -1e-13  # a few terms of at most 8 ln 8
                worst = max(worst, fall)
        assert worst == pytest.approx(times_log(records + 1) - times_log(records), rel=1e-12)
        assert worst <= conditional_entropy_sensitivity(records)
    assert conditional_entropy_sensitivity(20) == pytest.approx(4.0445, abs=5e-5)


@pytest.mark.parametrize(("shape", "most"), [((2, 2), 8), ((2, 3), 7), ((3, 2), 7)], ids=str)
def test_information_of_all_sensitivity_by_brute_force(shape, most):
    """n I moves by at most the sensitivity of n H(X | parents), and in both directions: it is not monotone."""
    for records in range(1, most):
        changes = [
            information_of_all(moved(flat, enters).reshape(shape)) - information_of_all(flat.reshape(shape))
            for flat in all_tables(math.prod(shape), records)
            for enters in range(len(flat))
        ]
        assert max(map(abs, changes)) <= conditional_entropy_sensitivity(records)
        assert max(changes) > 0
        assert records < 2 or min(changes) < 0


def exact_score(table, *, axes):
    """Sum of c ln c with signs, in 60 digits."""
    with localcontext(Context(prec=60)):

        def total(counts):
            return sum((Decimal(int(c)) * Decimal(int(c)).ln() for c in np.ravel(counts) if c), Decimal(0))

        score = total(table) - total(table.sum(axis=1))
        if axes == "information":
            score = (score - total(table.sum(axis=0)) + total(table.sum())) / int(table.sum())
        return score


@pytest.mark.parametrize("records", [50, 10**5, 10**8, MAX_RECORDS])
@pytest.mark.parametrize("shape", [(2, 2), (40, 3), (7, 60)], ids=str)
def test_scores_are_as_exact_as_their_price_needs(records, shape):
    words = Stream.seeded(records % 1000).words(3 * math.prod(shape)).reshape(3, *shape)
    spread = [words[0] % 1000 + 1, np.uint64(1) << (words[1] % 40), np.where(words[2] % 5 == 0, words[2] % 99, 0)]
    for weights in spread:
        counts = [int(w) * (records - 10) // max(int(weights.astype(object).sum()), 1) for w in weights.ravel()]
        table = np.array(counts, dtype=np.int64).reshape(shape)
        table[0, 0] += records - table.sum()
        binary = 2 in shape
        error = abs(Decimal(mutual_information(table)) - exact_score(table, axes="information"))
        assert error <= Decimal(mutual_information_sensitivity(records, binary=binary)) / 2**16 / 2
        error = abs(Decimal(conditional_entropy_score(table)) - exact_score(table, axes="entropy"))
        assert error <= Decimal(conditional_entropy_sensitivity(records)) / 2**16 / 2


def test_tables_are_scored_in_their_box():
    """Child last; parents together; sparse and dense tables alike."""
    cube = np.arange(24, dtype=np.int64).reshape(2, 3, 4)
    dense = CountTable.dense(["a", "b", "child"], cube)
    sparse = CountTable.sparse(dense.columns, dense.sizes, *dense.occupied())
    for score in (mutual_information, conditional_entropy_score):
        secret = score_tables([Secret(dense), Secret(sparse)], score, records=276, exactly=True)
        assert repr(secret) == "<withheld>"
        assert secret.open() == pytest.approx([score(cube)] * 2, rel=1e-14)
        assert score(cube) == pytest.approx(score(cube.reshape(6, 4)), rel=1e-15)
    nobody = CountTable.sparse(["a", "child"], (5, 5), np.empty((0, 2), dtype=np.uint8), np.empty(0, dtype=np.int64))
    for score in (mutual_information, conditional_entropy_score):
        assert score_tables([Secret(nobody)], score, records=9, exactly=False).open() == [0.0]
    plain = score_tables([Secret(dense)] * 2, mutual_information, records=300, exactly=False).open()
    lowered = score_tables([Secret(dense)] * 2, mutual_information, records=300, exactly=False, offsets=[0.5, 0.25])
    assert lowered.open() == [plain[0] - 0.5, plain[1] - 0.25]
    for records, exactly in ((275, False), (275, True), (277, True)):
        with pytest.raises(DataError, match="what the price rests on"):
            score_tables([Secret(dense)], mutual_information, records=records, exactly=exactly)
    assert mutual_information(np.array([[3, 6], [1, 2]])) == pytest.approx(0, abs=1e-15)


# --- manifests, refusals ---------------------------------------------------------------------------------------------


def test_events_survive_a_manifest():
    event = selection_event(epsilon=0.1, selections=12, neighbours=RO)
    assert event_from_dict(event.to_dict()) == event
    for fields in ({"epsilon": "1/0"}, {"neighbours": "x"}, {"selections": 1.5}):
        with pytest.raises(ReleaseError, match="cannot be read"):
            event_from_dict({**event.to_dict(), **fields})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("epsilon", value) for value in (0.0, -1.0, math.nan, math.inf, True, "1", 10**400)),
        *(("sensitivity", value) for value in (0.0, -1.0, math.nan, math.inf, True, "1")),
        ("monotone", 1),
        ("neighbours", "add-remove"),
        ("scores", []),
    ],
)
def test_bad_options(field, value):
    good = {"scores": [1.0, 2.0], "epsilon": 1.0, "sensitivity": 1.0, "monotone": False, "neighbours": AR}
    with pytest.raises(ParameterError, match=f"`{field}` is"):
        select(**{**good, field: value}, stream=Stream.seeded(1))


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_bad_scores(score):
    with pytest.raises(DataError, match="not a finite number"):
        penalties([1.0, score], epsilon=1.0, sensitivity=1.0, monotone=False)


@pytest.mark.parametrize(("epsilon", "selections"), [(0.5, 1), (Fraction(0), 1), (Fraction(1), 0), (Fraction(1), True)])
def test_bad_events(epsilon, selections):
    with pytest.raises(ParameterError, match=r"`(epsilon|selections)` is"):
        ExponentialSelection(epsilon=epsilon, selections=selections, neighbours=AR)


@pytest.mark.parametrize("table", [np.ones(3, dtype=np.int64), np.ones((2, 2)), np.array([[1, -1]]), [[1]]])
def test_bad_tables(table):
    for score in (mutual_information, conditional_entropy_score):
        with pytest.raises(DataError):
            score(table)


def test_too_many_records_are_refused():
    with pytest.raises(DataError, match="more than"):
        mutual_information(np.array([[MAX_RECORDS, 1]]))
    for bad in (1, 0, True, 2.0, MAX_RECORDS + 1):
        with pytest.raises(ParameterError, match="`n` is"):
            mutual_information_sensitivity(bad, binary=True)
    with pytest.raises(ParameterError, match="`n_max` is"):
        conditional_entropy_sensitivity(0)
