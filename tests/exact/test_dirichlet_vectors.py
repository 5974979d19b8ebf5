"""Prices of Dirichlet draws against figures computed elsewhere, and against exact arithmetic."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from understudy import datasets
from understudy.errors import ParameterError, ReleaseError
from understudy.mechanisms.dirichlet import (
    DirichletDraws,
    DirichletResetBlocks,
    alpha_for,
    draw_epsilon,
    draw_renyi,
    rational_alpha,
)
from understudy.privacy import ApproxDP, Neighbours, PureDP
from understudy.privacy.events import event_from_dict
from understudy.synth import PeGS, PeGSReset

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
ALPHA = 12.506409624324117
BOOK = datasets.discharges_codebook()


def uniform(alpha, levels):
    return ((Fraction(alpha), levels),)


def epsilon_of(recipe, rows=1000):
    claim = recipe.quote(BOOK, rows).total
    assert isinstance(claim, PureDP | ApproxDP)
    return claim.epsilon


def zcdp_epsilon(rho, delta=1e-6):
    """The conversion of [CKS20 Prop 12] for rho-zCDP, minimised over the order by brute force."""
    order = 1 + np.geomspace(1e-4, 1e5, 200_001)
    with np.errstate(divide="ignore"):
        curve = rho * order + np.log1p(-1 / order) - (np.log(delta) + np.log(order)) / (order - 1)
    return float(curve.min())


def test_the_codebook_is_that_of_table_2():
    assert BOOK.cells == 1_018_967_040_000
    assert len(BOOK.names) == 13


@pytest.mark.parametrize(
    ("epsilon", "columns", "alpha"),
    [
        (1, 1, 0.5819767068693265),
        (1, 2, 1.5414940825367982),
        (0.1, 13, 129.50064102500883),
        (1, 13, 12.506409624324117),
        (10, 13, 0.863479165487276),
        (100, 13, 0.00045653222714766396),
    ],
)
def test_alpha_of_equation_8(epsilon, columns, alpha):
    found = alpha_for(epsilon_per_record=epsilon, columns=columns)
    assert alpha <= found <= alpha + max(alpha, 1) * 2.0**-29  # rounded up to 30 bits
    assert columns * draw_epsilon(uniform(found, 2)) <= epsilon


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, math.log(2), math.log1p(1 / 3), 1.0, 20.0, 650.0])
@pytest.mark.parametrize("columns", [1, 2, 13])
def test_equation_8_is_met_after_rounding(epsilon, columns):
    found = alpha_for(epsilon_per_record=epsilon * columns, columns=columns)
    claim = DirichletDraws(priors=(uniform(found, 2),) * columns, draws=1, neighbours=AR).guarantee()
    assert isinstance(claim, PureDP)
    assert claim.epsilon <= epsilon * columns


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.inf, math.nan])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(ParameterError, match="alpha"):
        rational_alpha(alpha)


@pytest.mark.parametrize(
    ("order", "levels", "bound", "slack"),
    [
        (2.0, 2, 0.001478925368181283, 1e-10),
        (2.0, 3, 0.0013470455671054649, 1e-10),
        (2.0, 10, 0.0005661568090586377, 1e-10),
        (2.0, 25, 0.00024391546259673602, 1e-10),
        (10.0, 2, 0.007341644657492794, 2e-5),  # the stored figure comes from a grid of p, which falls short
        (10.0, 2, 0.00734178775923607, 1e-10),  # so this is its closed form
        (10.0, 3, 0.007045257537506794, 1e-10),
        (10.0, 10, 0.0033266748097742723, 1e-10),
        (10.0, 25, 0.0014834132927750863, 1e-10),
        (32.0, 2, 0.02195809448964605, 1e-9),
        (32.0, 3, 0.021958081751553414, 1e-6),  # again a grid
        (32.0, 10, 0.015283863396719822, 1e-10),
        (32.0, 25, 0.008217098013760528, 1e-10),
    ],
)
def test_renyi_curve_of_one_draw(order, levels, bound, slack):
    found = draw_renyi(uniform(ALPHA, levels), np.array([order]))[0]
    assert bound * (1 - 1e-12) <= found <= bound * (1 + slack)


def exact_divergence(order, size, count, total, mass):
    """Both directions for a cell of ``total`` records, ``count`` of them in a category of ``size`` virtual ones."""
    low = Fraction(count + size) / (total + mass)
    high = Fraction(count + 1 + size) / (total + 1 + mass)
    forward = high**order / low ** (order - 1) + (1 - high) ** order / (1 - low) ** (order - 1)
    backward = low**order / high ** (order - 1) + (1 - low) ** order / (1 - high) ** (order - 1)
    return math.log(max(forward, backward)) / (order - 1)


@pytest.mark.parametrize("order", [2, 3, 7, 30])
@pytest.mark.parametrize(
    "prior",
    [
        ((Fraction(1), 2),),
        ((Fraction(1, 8), 3),),
        ((Fraction(3), 25),),
        ((Fraction(1, 2), 1), (Fraction(3, 2), 2), (Fraction(20), 1)),
    ],
    ids=["binary", "ternary", "many", "shaped"],
)
def test_renyi_curve_is_the_supremum_over_counts(prior, order):
    """Every cell of up to 40 records, in exact arithmetic; the curve may take any real p, so it lies a little above."""
    mass = sum(alpha * levels for alpha, levels in prior)
    bound = draw_renyi(prior, np.array([float(order)]))[0]
    worst = max(
        exact_divergence(order, alpha, count, total, mass)
        for alpha, _ in prior
        for total in range(41)
        for count in range(total + 1)
    )
    assert worst <= bound <= 1.05 * worst
    assert bound <= min(draw_epsilon(prior), order * draw_epsilon(prior) ** 2 / 8)


@pytest.mark.parametrize("alpha", [1e-6, 0.5, 30.0, 1e5, 1e9, 1e14])
def test_rounding_never_makes_a_price_too_small(alpha):
    orders = 1 + np.geomspace(1e-4, 1e6, 21)
    prior = uniform(rational_alpha(alpha), 2)
    stated = draw_renyi(prior, orders)
    with localcontext(Context(prec=80, Emin=-(10**12), Emax=10**12)):
        size = Decimal(prior[0][0].numerator) / Decimal(prior[0][0].denominator)
        tilt = (1 + 1 / size).ln()
        assert Decimal(draw_epsilon(prior)) >= tilt
        assert Decimal(draw_epsilon(prior)) <= tilt * (1 + Decimal("1e-14"))
        for order, bound in zip(orders, stated, strict=True):
            power = Decimal(float(order))
            far, more = (power * tilt).exp() - 1, tilt.exp() - 1
            chance = min((far - power * more) / (far * more * (power - 1)), Decimal("0.5"))
            exact = ((1 + chance * far).ln() - power * (1 + chance * more).ln()) / (power - 1)
            assert Decimal(float(bound)) >= exact


def test_whole_file_by_basic_composition_and_by_renyi():
    """PRIVACY section 1, 13 columns, 1000 rows, delta 1e-6: pure, eps0^2/2 (replace-one), eps0^2/8, level-aware."""
    for per_record, alpha, pure, replaced, eighth, aware in (
        (0.01, 1299.50, 10, 0.374, 0.1791, 0.123),
        (0.1, 129.501, 100, 4.50, 2.097, 1.43),
        (1.0, 12.5064, 1000, 82.8, 31.40, 20.1),
        (10.0, 0.863479, 10000, 4303, 1189, 767),
    ):
        recipe = PeGS(epsilon_per_record=per_record, delta=1e-6)
        assert float(recipe.alpha_used(BOOK)) == pytest.approx(alpha, rel=1e-5)
        assert recipe.quote(BOOK, 1000).pure.epsilon == pytest.approx(pure, rel=1e-8)
        assert epsilon_of(recipe) == pytest.approx(aware, rel=5e-3)  # as many digits as the table has
        assert epsilon_of(PeGS(epsilon_per_record=per_record, delta=1e-6, neighbours=RO)) == pytest.approx(
            replaced, rel=2e-3
        )
        step = draw_epsilon(recipe.priors(BOOK)[0])
        hoeffding = zcdp_epsilon(13_000 * step**2 / 8)
        assert hoeffding == pytest.approx(eighth, rel=5e-4)
        assert epsilon_of(recipe) < hoeffding
        assert epsilon_of(PeGS(epsilon_per_record=per_record, delta=1e-6, neighbours=RO)) == pytest.approx(
            zcdp_epsilon(13_000 * step**2 / 2), rel=1e-6
        )


def test_binary_columns_pay_hoeffding():
    """rho = 13000 eps0^2/8 gives 31.396; draws at p = 1/2 really cost 29.75, so no total below that is true."""
    event = DirichletDraws(priors=(uniform(ALPHA, 2),) * 13, draws=1000, neighbours=AR)
    orders = 1 + np.geomspace(1e-2, 1e2, 4001)
    curve = event.renyi(orders)
    found = (curve + np.log1p(-1 / orders) - (math.log(1e-6) + np.log(orders)) / (orders - 1)).min()
    assert 29.75 < found < 31.39612453168639


@pytest.mark.parametrize(
    ("options", "alpha", "slack"),
    [
        # PRIVACY says 182.7; we find 180.3. Why is not known; a brute-force search over counts and p agreed
        # with our curve, so 182.7 is taken as a valid figure that is not the smallest
        ({"delta": 1e-6}, 182.7, 0.02),
        ({"delta": 1e-6, "neighbours": RO}, 516.1, 1e-4),
        ({}, 12999.5, 1e-6),
    ],
    ids=["add-remove", "replace-one", "pure"],
)
def test_calibration_to_a_whole_file_target(options, alpha, slack):
    recipe = PeGS(epsilon=1.0, rows=1000, **options)
    found = float(recipe.alpha_used(BOOK))
    assert alpha * (1 - slack) <= found <= alpha * (1 + 1e-6)
    assert 1 - 1e-5 <= epsilon_of(recipe) <= 1.0
    smaller = PeGS(alpha=found * (1 - 1e-5), **options)
    assert epsilon_of(smaller) > 1.0


@pytest.mark.parametrize(("block_size", "pure", "zcdp"), [(10, 100, 7.59), (100, 10, 2.10)])
def test_prices_of_blocks_with_reset(block_size, pure, zcdp):
    recipe = PeGSReset(alpha=ALPHA, block_size=block_size, delta=1e-6)
    assert recipe.quote(BOOK, 1000).pure.epsilon == pytest.approx(pure, rel=1e-8)
    hoeffding = zcdp_epsilon(1000 / block_size * 13 * math.log1p(1 / ALPHA) ** 2 / 8)
    assert hoeffding == pytest.approx(zcdp, abs=5e-3)
    assert epsilon_of(recipe) < hoeffding  # level-aware


def test_equation_9():
    recipe = PeGSReset(epsilon_per_record=1.0, block_size=10)
    assert float(recipe.alpha_used(BOOK)) == pytest.approx(0.863479165487276, rel=1e-8)
    assert recipe.paper_figure(BOOK)["epsilon_per_record"] == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("cls", [DirichletDraws, DirichletResetBlocks])
def test_an_edited_event_is_refused_or_priced_at_its_smallest_count(cls):
    """Manifests are read from files that anybody may have edited."""
    count = "draws" if cls is DirichletDraws else "blocks"
    prior = ((Fraction(5), 1), (Fraction(1, 2), 1))  # not sorted
    event = cls(**{"priors": (prior,), count: 1, "neighbours": AR})
    assert event.guarantee().epsilon == pytest.approx(math.log(3), rel=1e-14)
    for change in (
        {count: 0},
        {count: -3},
        {count: 2.5},
        {count: True},
        {"neighbours": "worker"},
        {"priors": [[["0/1", 2]]]},
        {"priors": [[["1/0", 2]]]},
        {"priors": [[["1/1", 0]]]},
        {"priors": [[["1/1", "2"]]]},
        {"priors": [[]]},
        {"priors": "many"},
    ):
        with pytest.raises(ReleaseError):
            event_from_dict({**event.to_dict(), **change})
