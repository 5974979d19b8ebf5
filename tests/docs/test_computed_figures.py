"""Figures of the pages that follow from formulas, thresholds and prices are computed here, and must stand there.

Those that a block of code prints are held by the block itself. Where it is cheap the formula is written out here and
not taken from the library, so that page and library cannot be wrong together.
"""

import math
import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from copies import ROOT
from scipy.optimize import brentq, minimize_scalar

import understudy as us
from experiments.sbhg.noise import _event, noise
from experiments.sbhg.simulate import private_floor, simulated
from experiments.sbhg.theory import expected_l1, expected_l1_with_typical_noise, paper_threshold
from understudy.release.face.promise import of_100

E = math.e
BOOK = us.datasets.discharges_codebook()


def guess(epsilon: float) -> float:
    """How often somebody is right who may be at most e^epsilon times surer than a coin."""
    return math.exp(epsilon) / (1 + math.exp(epsilon))


def of_zcdp(rho: float, delta: float) -> float:
    """The epsilon of rho-zCDP, by the best order."""

    def at(log: float) -> float:
        order = 1 + math.exp(log)
        return rho * order + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)

    return float(minimize_scalar(at, bounds=(-6, 9), method="bounded").fun)


def odds() -> list[str]:
    assert guess(10) > 0.9999
    return [f"{100 * guess(1):.0f} % at ε = 1, {100 * guess(2):.0f} % at ε = 2, and more than 99.99 % at ε = 10"]


def rounded_up() -> list[str]:
    assert math.ceil(1000 * guess(1)) == 732 and math.ceil(1000 * guess(5)) == 994
    return [f"{of_100(guess(1))} of 100 for epsilon 1, and {of_100(guess(5))} of 100 for epsilon 5"]


def factors() -> list[str]:
    return [f"ε = 1 means a factor of {E:.1f}, ε = 2 a factor of {E**2:.1f}"]


def noise_and_thresholds() -> list[str]:
    """The table of what a count needs: our events, and the plain formulas where shares are simply added."""
    found = noise(quick=False)
    words = ("sbhg, add-remove", "sbhg-gauss, add-remove", "sbhg, replace-one", "sbhg-gauss, replace-one")
    for columns in (2, 3, 5):
        for word, scale in (("sbhg, add-remove", columns), ("sbhg, replace-one", 2 * columns)):
            q = math.exp(-1 / scale)
            least = 1 + math.ceil(scale * math.log(columns / (1e-6 * (1 + q))))
            assert found[str(columns)][word]["threshold"] == least
            assert found[str(columns)][word]["deviation"] == pytest.approx(math.sqrt(2 * q) / (1 - q))
    return [
        f"| {columns} | "
        + " | ".join(f"{found[columns][word]['deviation']:.1f} / {found[columns][word]['threshold']}" for word in words)
        + " |"
        for columns in found
    ]


def needed_at_half() -> list[str]:
    """What a cell needs at the budget of the paper's tables, and its own threshold 1 + (2p/epsilon) ln(2p/delta)."""
    lines = []
    for title, columns, parents in (("dense", 3, 2), ("dense", 3, 1), ("sparse", 10, 3), ("sparse", 10, 1)):
        book = simulated(columns, 0).source.codebook
        needed = [
            _event(cls, book, word, 0.5, 1e-4).threshold
            for cls in (us.SBHG, us.SBHGGauss)
            for word in (us.Neighbours.REPLACE, us.Neighbours.ADD_REMOVE)
        ]
        paper = 1 + 2 * columns / 0.5 * math.log(2 * columns / 1e-4)
        lines.append(
            f"{title}, R = {parents} | * | {needed[0]} ({needed[1]}) | {needed[2]} ({needed[3]}) | {paper:.0f} |"
        )
    return lines


def errors_of_a_histogram() -> list[str]:
    """What a count of 30 errs by on average; here also by integrating over the noise."""
    threshold, scale, count = paper_threshold(0.5, 1e-4), 2 / 0.5, np.array([30])
    drawn = np.linspace(-200, 200, 4_000_001)
    density = np.exp(-np.abs(drawn) / scale) / (2 * scale)
    error = np.where(30 + drawn >= threshold, np.abs(drawn), 30)
    corrected = expected_l1(count, epsilon=0.5, threshold=threshold)
    assert corrected == pytest.approx(np.trapezoid(density * error, drawn), rel=1e-5)
    typical = expected_l1_with_typical_noise(count, epsilon=0.5, threshold=threshold)
    return [f"c = 30: {corrected:.3f}", f"paper's form with its p repaired gives {typical:.3f}"]


def least_error() -> list[str]:
    """No private file of the sparse table errs less; and what resampling misses."""
    least = private_floor(10, epsilon=0.5, delta=1e-4)
    return [
        f"= {least:,.1f} (half: {math.floor(least / 2):,})",
        f"n/e = {3000 / E:,.0f}",
        f"√(1000·3000) = {math.sqrt(3e6):,.0f} on average, half of which is {math.sqrt(3e6) / 2:.0f}",
    ]


def where_sba_shows() -> list[str]:
    q = math.exp(-2.5)
    return [f"at ε = 5, where its threshold is {1 + math.ceil(math.log(1 / (1e-4 * (1 + q))) / 2.5)}"]


def price_of_a_file() -> list[str]:
    pegs = us.PeGS(epsilon_per_record=1.0, delta=1e-6).quote(BOOK, rows=1000).total.epsilon
    reset = us.PeGSReset(epsilon_per_record=1.0, delta=1e-6, block_size=10).quote(BOOK, rows=1000).total.epsilon
    return [f"{pegs:.1f} for PeGS and {reset:.1f} for PeGS.rs"]


def price_of_blocks() -> list[str]:
    [words] = price_of_a_file()
    pegs, reset = re.findall(r"[\d.]+\d", words)
    return [f"({reset} against {pegs} for 1,000 rows"]


def price_of_predictions() -> list[str]:
    return [f"ε₀²/2-zCDP, which would say {of_zcdp(13_000 * (1 / 13) ** 2 / 2, 1e-6):.1f} below"]


def combinations() -> list[str]:
    return [f"{math.prod(BOOK.sizes):,}, not 2 or 2.6 trillion"]


def commuting() -> list[str]:
    pure = 15 / math.expm1(4.6)
    return [f"α ≥ m/(e^ε − 1) | {pure:.4f} |", f"(914 in its example should be {1e6 / math.expm1(7):.1f})"]


def shrinking() -> list[str]:
    return [f"(the paper's rule says {4.6 + math.log(1 / 0.0378) + math.log(2):.2f})"]


def one_commute() -> list[str]:
    return [f"(a factor of {math.exp(4.6):.1f})"]


def bobs_guesses() -> list[str]:
    """Changing a label is a removal and an addition: two epsilons."""
    return [f"forest, epsilon {epsilon:g} | * | {guess(2 * epsilon):.3f} |" for epsilon in (0.1, 1, 10)]


def tails_that_diverge() -> list[str]:
    """Laplace densities at 5 with the chapter's own sensitivities: 5 positive of 10, against 6 of 11."""

    def density(share: float, span: float) -> float:
        return math.exp(-(5 - share) / span) / (2 * span)

    return [f"a ratio of {density(1 / 2, 6 / 10 - 4 / 9) / density(6 / 11, 7 / 11 - 5 / 10):.1f} at the output 5"]


def likeliest_of_100() -> list[str]:
    """The most that one of 100 levels may have where the entropy is ln 2."""

    def entropy(p: float) -> float:
        return -p * math.log(p) - (1 - p) * math.log((1 - p) / 99) - math.log(2)

    return [f"may still have probability {brentq(entropy, 0.5, 0.999):.4f}"]


def information_that_rises() -> list[str]:
    """Two contexts, (.5, .5, 0) twice as often as (.7, .3, 0): only the second is smoothed at l = 2."""

    def entropy(p: np.ndarray) -> float:
        return float(-sum(x * math.log(x) for x in p if x > 0))

    first, second, uniform = np.array([0.5, 0.5, 0]), np.array([0.7, 0.3, 0]), np.full(3, 1 / 3)
    weight = brentq(lambda w: entropy((1 - w) * second + w * uniform) - math.log(2), 0, 1)
    smoothed = (1 - weight) * second + weight * uniform

    def information(a: np.ndarray, b: np.ndarray) -> float:
        return entropy((2 * a + b) / 3) - (2 * entropy(a) + entropy(b)) / 3

    return [f"gain {information(first, smoothed) - information(first, second):.4f} nats"]


def ranks() -> list[str]:
    """Spearman's formula as printed, with the centre C/2, of two orders without any correlation."""
    first, second = np.array([1, 2, 3, 4]), np.array([3, 1, 4, 2])
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(0)
    top = int(((first - 2) * (second - 2)).sum())
    return [f"the printed formula gives {Fraction(top, int(((first - 2) ** 2).sum()))}"]


def middle_of_a_bin() -> list[str]:
    return [f"has a mean of {(300_000 + 2_000_000) // 2:,}"]


def shown_by_chance() -> list[str]:
    """26,712 lone cells of Adult, each shown with probability delta."""
    share = 1 - (1 - 1e-6) ** 26_712
    assert 35 < 1 / share < 45
    return ["so about one run in forty shows some"]


def plan_of_a_billion() -> list[str]:
    return us.plan(BOOK, 1_000_000_000, workers=16, cores=8).lines()


COMPUTED: list[tuple[str, Callable[[], list[str]]]] = [
    ("docs/legal.md", odds),
    ("docs/guide/publishing.md", rounded_up),
    ("docs/start/steward.md", factors),
    ("docs/guide/commute.md", one_commute),
    ("docs/guide/numbers.md", middle_of_a_bin),
    ("docs/guide/scale.md", plan_of_a_billion),
    ("docs/methods/sbhg.md", noise_and_thresholds),
    ("docs/methods/sbhg.md", needed_at_half),
    ("docs/methods/sbhg.md", errors_of_a_histogram),
    ("docs/methods/sbhg.md", least_error),
    ("docs/methods/sbhg.md", where_sba_shows),
    ("docs/methods/sbhg.md", shown_by_chance),
    ("docs/methods/pegs-experiments.md", price_of_a_file),
    ("docs/methods/pegs-rs.md", price_of_blocks),
    ("docs/methods/pegs.md", combinations),
    ("docs/methods/imputation.md", price_of_predictions),
    ("docs/methods/onthemap.md", commuting),
    ("docs/methods/onthemap.md", shrinking),
    ("docs/methods/dpat.md", bobs_guesses),
    ("docs/methods/dpat.md", tails_that_diverge),
    ("docs/methods/lugs.md", likeliest_of_100),
    ("docs/methods/concordance/lugs.toml", information_that_rises),
    ("docs/methods/evaluation.md", ranks),
]


@pytest.mark.parametrize(
    ("page", "compute"), COMPUTED, ids=lambda value: value if isinstance(value, str) else value.__name__
)
def test_a_computed_figure_stands_on_its_page(page, compute):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    for words in compute():
        expression = r"\|[^|]*\|".join(map(re.escape, " ".join(words.split()).split("| * |")))
        assert re.search(expression, text), f"{page} does not say {words!r}"
