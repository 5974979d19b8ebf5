"""Commuting tables: what is read, what is planned, what is released, and what is refused."""

import json
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.commute import CommuteRecipe, Places, Rings, ctpp_minnesota, read_places, read_regions, read_rings
from understudy.commute.evaluating import evaluate_commutes
from understudy.commute.evaluation_page import evaluation_page
from understudy.commute.jobs import open_commutes, quote_commutes, synthesize_commutes
from understudy.commute.plan import class_edges
from understudy.commute.released import read_release
from understudy.commute.synthesize import draw
from understudy.datasets import commutes
from understudy.errors import BudgetError, DataError, ParameterError, RefusalError
from understudy.evaluate.commuting import compare_flows
from understudy.mechanisms.origin_domain import draw_member
from understudy.mechanisms.origin_draws import KEEP_ALL
from understudy.mechanisms.stream import Stream, below
from understudy.parameters import options_of
from understudy.privacy import Neighbours, Secret
from understudy.privacy.account import Account
from understudy.sources.flows import Histograms, read_flows

TOWN = commutes(3000, seed=2, homes=200, workplaces=30)


@pytest.fixture
def given():
    return open_commutes(TOWN.flows, count="workers", places=TOWN.places)


def exact(**options):
    return CommuteRecipe(**{"epsilon": 4.6, "delta": 1e-6, "certificate": "exact", **options})


def test_reading_counts_and_hides(given):
    flows = given.flows
    assert flows.workers == 3000 and len(flows.destinations) == 30 and len(flows.origins) == 200
    assert "withheld" in repr(flows) and repr(flows.cells) == "<withheld>"
    rows = pa.table({"origin": ["a", "b", "a"], "destination": ["x", "x", "y"]})
    one = read_flows(rows, origins=["a", "b"])
    assert one.totals.tolist() == [2, 1] and one.destinations == ("x", "y")


def test_a_table_without_a_public_list_promises_nothing(tmp_path):
    given = open_commutes(TOWN.flows, count="workers")
    total = quote_commutes(exact(), given).quote.total
    assert total.kind == "NoFormal" and "read from the data" in total.why
    synthesize_commutes(exact(), given, out=tmp_path / "r")
    assert us.verify(tmp_path / "r").is_valid
    assert "no formal privacy guarantee" in json.loads((tmp_path / "r" / "manifest.json").read_text())["statement"]


def test_a_seed_ends_the_promise(given, tmp_path):
    synthesize_commutes(exact(), given, out=tmp_path / "a", seed=5)
    release = synthesize_commutes(exact(), given, out=tmp_path / "b", seed=5)
    assert release.manifest.total.kind == "NoFormal" and "seed" in release.manifest.total.why
    tables = [(tmp_path / name / "synthetic.parquet").read_bytes() for name in "ab"]
    assert tables[0] == tables[1]


RECIPES = [
    {},
    {"certificate": "pure", "delta": None},
    {"certificate": "theorem-4.4"},
    {"certificate": "probabilistic"},
    {"certificate": "probabilistic", "reject": True},
    {"cutoff": 12.0},
    {"rings": ctpp_minnesota(), "shrink": True},
    {"rings": ctpp_minnesota(), "shrink": True, "cutoff": 20.0, "certificate": "theorem-4.4", "reject": True},
    {"rings": ctpp_minnesota(), "prior": "distance", "split": 13.1},
    {"size": 0.5},
    {"size": 2.0, "certificate": "probabilistic"},
    {"method": "sba"},
    {"method": "laplace", "delta": None},
    {"method": "subsample"},
]


@pytest.mark.parametrize("options", RECIPES, ids=str)
def test_every_recipe_releases_and_verifies(given, tmp_path, options):
    recipe = exact(**options)
    plan = quote_commutes(recipe, given)
    release = synthesize_commutes(recipe, given, out=tmp_path / "r")
    verdict = us.verify(tmp_path / "r")
    assert verdict.problems == ()
    assert verdict.total == plan.quote.total
    assert plan.quote.total.neighbours is Neighbours.ORIGIN
    assert plan.quote.total.delta <= (recipe.delta or 0.0)
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert any("number of workers of every destination" in said for said in manifest["assumptions"])
    assert "changing the origin of one worker" in manifest["statement"]
    if not recipe.shrink and not recipe.reject:
        assert plan.quote.total.epsilon <= recipe.epsilon
    else:
        assert plan.quote.total.epsilon > recipe.epsilon
    if recipe.method == "dirichlet" and recipe.cutoff is None:
        want = np.maximum(1, np.ceil(given.flows.totals * recipe.size)).astype(int)
        counted = release.table.group_by("destination").aggregate([("origin", "count")]).to_pydict()
        found = dict(zip(counted["destination"], counted["origin_count"], strict=True))
        assert [found[name] for name in given.flows.destinations] == want.tolist()
    if recipe.certificate in ("theorem-4.4", "probabilistic") and recipe.method == "dirichlet":
        assert "probabilistic differential privacy" in manifest["statement"]
        assert manifest["paper"]["probabilistic"]["kind"] == "ProbabilisticDP"


def test_nobody_beyond_the_cut_off_is_released(given):
    recipe = exact(cutoff=8.0)
    plan = quote_commutes(recipe, given)
    made = draw(plan, stream=Stream.seeded(1))
    places = given.places
    homes = places.positions(tuple(given.flows.origins.to_pylist()), "origin")[made.origins]
    work = places.positions(given.flows.destinations, "destination")[made.destinations]
    assert places.miles(homes, work).max() <= 8.0 + 1e-9
    assert made.left_out == 3000 - len(made.origins) > 0


def test_prices_fall_with_the_promise(given):
    """Weaker promises let the data speak: the smallest virtual count falls from pure to exact."""
    medians = [
        float(np.median([float(a) for a in quote_commutes(exact(certificate=name, delta=delta), given).alphas]))
        for name, delta in (("pure", None), ("theorem-4.4", 1e-6), ("probabilistic", 1e-6), ("exact", 1e-6))
    ]
    assert medians == sorted(medians, reverse=True) and medians[0] > 2 * medians[-1]


def test_single_workers_fall_back_to_the_exact_certificate():
    flows = pa.table({"origin": ["a", "b", "c", "a"], "destination": ["x", "y", "y", "y"]})
    given = open_commutes(flows, origins=["a", "b", "c", "d"])
    plan = quote_commutes(exact(certificate="theorem-4.4"), given)
    assert any("never for a single worker" in said for said in plan.quote.warnings)
    assert float(plan.alphas[0]) == pytest.approx(1 / math.expm1(4.6), rel=1e-6)


def charged(given, file):
    return replace(given, account=Account.open(file))


def test_an_account_of_commutes_is_charged_and_refuses(given, tmp_path):
    file = tmp_path / "commutes.account"
    Account.create(file, dataset="commutes", epsilon=9.0, delta=1e-5, neighbours=Neighbours.ORIGIN)
    synthesize_commutes(exact(epsilon=4.5), charged(given, file), out=tmp_path / "1")
    assert Account.open(file).spent().epsilon == pytest.approx(4.5)
    with pytest.raises(BudgetError, match="above its cap"):
        synthesize_commutes(exact(epsilon=4.6), charged(given, file), out=tmp_path / "2")
    assert not (tmp_path / "2").exists()
    other = tmp_path / "rows.account"
    Account.create(other, dataset="rows", epsilon=9.0, delta=1e-5, neighbours=Neighbours.REPLACE)
    with pytest.raises(BudgetError, match="never added up"):
        synthesize_commutes(exact(), charged(given, other), out=tmp_path / "3")


def test_the_relation_belongs_to_commutes():
    from understudy.synth.choices import Choices

    with pytest.raises(ParameterError, match="commuting tables"):
        Choices(method="laplace", options={"epsilon": 1.0, "neighbours": "origin-in-destination"}).recipe(
            us.datasets.discharges_codebook(), 10
        )


def test_coarsening_places_by_the_public_density(given, tmp_path):
    names = given.flows.origins.to_pylist()
    table = pa.table(
        {"origin": names, "region": [f"r{i % 7}" for i in range(200)], "density": [i % 3 for i in range(200)]}
    )
    coarse = open_commutes(TOWN.flows, count="workers", places=TOWN.places, regions=table)
    plan = quote_commutes(exact(), coarse)
    assert plan.public.cells.tolist() == [[7]] * 30
    made = draw(plan, stream=Stream.seeded(4))
    assert len(made.origins) == 3000
    assert not np.any(made.origins % 3 == 0), "nobody is placed where the density is 0"
    cut = quote_commutes(exact(cutoff=10.0, rings=ctpp_minnesota(), shrink=True), coarse)
    assert cut.public.cells.sum(axis=1).max() <= 8
    release = synthesize_commutes(exact(), coarse, out=tmp_path / "r")
    assert any("partition" in said for said in release.manifest.ledger.assumptions)


def test_long_commutes_apart_take_fewer_virtual_workers(given):
    whole, apart = quote_commutes(exact(), given), quote_commutes(exact(split=6.0), given)
    assert class_edges(exact(split=6.0)) == ([6.0, math.inf], [False, True])
    assert apart.public.cells.sum() < whole.public.cells.sum()
    made = draw(apart, stream=Stream.seeded(4))
    assert len(made.origins) == 3000 and made.left_out == 0


def test_output_sizes_may_be_a_public_list(given):
    sizes = {name: 1 + row % 4 for row, name in enumerate(given.flows.destinations)}
    plan = quote_commutes(exact(sizes=sizes), given)
    assert plan.public.draws.tolist() == list(sizes.values())
    with pytest.raises(DataError, match="no workers"):
        quote_commutes(exact(sizes={**sizes, "elsewhere": 3}), given)
    with pytest.raises(DataError, match="miss the destination"):
        quote_commutes(exact(sizes={}), given)


def test_distances_and_classes_by_hand():
    """One degree of latitude is 69.09 miles on our sphere."""
    names = ("w", "a", "b", "c")
    places = Places(names=names, latitudes=np.array([41, 41.1, 41.5, 43.0]), longitudes=np.full(4, -71.0))
    degree = 2 * math.pi * 3958.7613 / 360
    assert places.miles(np.zeros(4, dtype=int), np.arange(4)) == pytest.approx(
        [0, 0.1 * degree, 0.5 * degree, 2 * degree]
    )
    flows = pa.table({"origin": ["a", "b", "c"], "destination": ["w", "w", "w"]})
    given = open_commutes(flows, places=places)
    plan = quote_commutes(exact(cutoff=100.0, split=20.0), given)
    assert plan.domain.members.tolist() == [[2, 1, 1]], "w itself and a; b; c beyond"
    assert plan.public.cells.tolist() == [[2, 1, 1]]


def test_class_counts_agree_with_brute_force_and_members_are_uniform(given):
    rings = Rings(miles=(2.0, 5.0, 11.0, math.inf), shares=(0.4, 0.3, 0.2, 0.1), keeps=(1, 1, 1, 1), source="test")
    domain = quote_commutes(exact(rings=rings), given).domain
    places = given.places
    homes = places.positions(tuple(given.flows.origins.to_pylist()), "origin")
    for row, name in enumerate(given.flows.destinations):
        miles = places.miles(np.full(200, places.number[name]), homes)
        brute = np.bincount(np.searchsorted([2.0, 5.0, 11.0], miles, side="left"), minlength=4)
        assert domain.members[row].tolist() == brute.tolist()
    words = Stream.seeded(3).words(400_000)
    kind, row = 1, int(np.argmax(domain.members[:, 1]))
    size = int(domain.members[row, kind])
    seen: dict[int, int] = {}
    position = 0
    draws = 40 * size
    for _ in range(draws):
        unit, position = draw_member(kind, row, domain.geometry(), words, position)
        seen[unit] = seen.get(unit, 0) + 1
    assert len(seen) <= size
    statistic = sum((n - 40) ** 2 / 40 for n in seen.values()) + 40 * (size - len(seen))
    assert statistic < size + 10 * math.sqrt(2 * size) + 40, "chi-square, ten standard deviations"
    assert below(np.uint64(5), np.zeros(0, dtype=np.uint64), 0)[1] == -1


def test_the_declared_example_is_the_papers():
    rings = ctpp_minnesota()
    assert rings.miles == (6.23, 13.1, 21.54, math.inf)
    assert rings.shares == (0.5, 0.25, 0.15, 0.1)
    assert min(rings.keeps) == 0.0378 and rings.keeps[0] == 1.0
    assert read_rings("ctpp-minnesota") == rings


def test_rings_from_a_table():
    rings = read_rings(pa.table({"miles": [5.0, 10.0, None], "share": [0.6, 0.3, 0.1]}))
    assert rings.keeps == pytest.approx((1.0, 0.5, 0.25)) and math.isinf(rings.miles[-1])


def test_evaluation_by_hand():
    """Two destinations, three origins at 1, 2 and 10 miles from both."""
    real = Histograms.of(np.array([0, 0, 1]), np.array([0, 2, 1]), np.array([3, 1, 2]), number=2)
    made = Histograms.of(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([2, 2, 2]), number=2)
    miles = np.array([1.0, 2.0, 10.0])
    found = compare_flows(Secret(real), made, distance=lambda rows, units: miles[units], short=5.0)
    assert found.by_destination["real"].tolist() == [13 / 4, 2.0]
    assert found.by_destination["synthetic"].tolist() == [1.5, 1.0]
    assert found.by_destination["real_short"].tolist() == [1.0, 2.0]
    assert (found.invented_pairs, found.invented_workers, found.lost_pairs) == (2 / 3, 4 / 6, 2 / 3)
    assert found.top_flow_error == pytest.approx((1 / 3 + 1 + 1) / 3)
    assert found.distance_tvd == pytest.approx((abs(3 / 6 - 4 / 6) + abs(2 / 6 - 2 / 6) + 1 / 6) / 2)
    near = compare_flows(Secret(real), made, distance=lambda rows, units: miles[units], short=5.0, within=5.0)
    assert near.by_destination["real"].tolist() == [1.0, 2.0] and near.workers == 5
    bare = compare_flows(Secret(real), made, distance=None, short=None)
    assert bare.distance_tvd is None and bare.invented_pairs == 2 / 3


def test_the_evaluation_page_is_marked_and_complete(given, tmp_path):
    synthesize_commutes(exact(), given, out=tmp_path / "r")
    made = read_release(tmp_path / "r")
    real = read_flows(TOWN.flows, count="workers", origins=list(made.origins))
    page = evaluation_page(evaluate_commutes(real, made, short=6.23), made, real)
    assert "Confidential." in page and page.count("<svg") == 3 and "6.23 miles" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


BAD_PLACES = [
    ({"place": ["a", "b"], "latitude": [41.0, 95.0], "longitude": [-71.0, -71.0]}, "between -90 and 90"),
    ({"place": ["a", "b"], "latitude": [41.0, 41.0], "longitude": [-71.0, 271.0]}, "between -180 and 180"),
    ({"place": ["a", "b"], "latitude": [41.0, None], "longitude": [-71.0, -71.0]}, "'b' has no latitude"),
    ({"place": ["a", "b"], "latitude": ["41", "north"], "longitude": ["-71", "-71"]}, "'b' has no latitude"),
    ({"place": ["a", "a"]}, "listed twice"),
    ({"place": ["a", ""]}, "empty name"),
    ({"place": ["a", "b"], "home": ["true", "maybe"]}, "true or false"),
    ({"town": ["a"]}, "no column 'place'"),
]


@pytest.mark.parametrize(("columns", "sentence"), BAD_PLACES)
def test_bad_places(columns, sentence):
    with pytest.raises(DataError, match=sentence):
        read_places(pa.table(columns))


def test_bad_regions_and_rings():
    with pytest.raises(DataError, match="misses the origin 'c'"):
        read_regions(pa.table({"origin": ["a", "b"], "region": ["r", "r"]}), ("a", "b", "c"))
    with pytest.raises(DataError, match="density 0 everywhere"):
        read_regions(pa.table({"origin": ["a", "b"], "region": ["r", "s"], "density": [1, 0]}), ("a", "b"))
    with pytest.raises(DataError, match="whole numbers"):
        read_regions(pa.table({"origin": ["a", "b"], "region": ["r", "s"], "density": [1, 0.5]}), ("a", "b"))
    with pytest.raises(DataError, match="f_d is 0"):
        read_rings(pa.table({"miles": [5.0, None], "share": [0.9, 0.1], "keep": [1.0, 0.0]}))
    with pytest.raises(DataError, match="must rise"):
        read_rings(pa.table({"miles": [5.0, 3.0, None], "share": [0.8, 0.1, 0.1]}))
    with pytest.raises(DataError, match="leave its edge open"):
        read_rings(pa.table({"miles": [5.0, 7.0], "share": [0.9, 0.1]}))
    with pytest.raises(DataError, match="not all 0"):
        read_rings(pa.table({"miles": [5.0, None], "share": [0.0, 0.0], "keep": [1.0, 1.0]}))


BAD_FLOWS = [
    ({"origin": ["a", "b"], "destination": ["x", "x"], "n": [1.0, 1.5]}, "no whole numbers"),
    ({"origin": ["a", "b"], "destination": ["x", "x"], "n": [1, -1]}, "no whole numbers"),
    ({"origin": ["a", "b"], "destination": ["x", "x"], "n": ["1", "many"]}, "no whole numbers"),
    ({"origin": ["a", None], "destination": ["x", "x"], "n": [1, 1]}, "without an origin"),
    ({"origin": ["a", "b"], "destination": ["x", "y"], "n": [1, 0]}, "destination 'y' has no workers"),
    ({"origin": ["a", "z"], "destination": ["x", "y"], "n": [1, 1]}, "does not know"),
    ({"home": ["a"], "destination": ["x"], "n": [1]}, "no column 'origin'"),
]


@pytest.mark.parametrize(("columns", "sentence"), BAD_FLOWS)
def test_bad_flows(columns, sentence):
    with pytest.raises(DataError, match=sentence):
        read_flows(pa.table(columns), count="n", origins=["a", "b", "c"])


BAD_CHOICES = [
    ({"delta": 0.0}, "`delta` is 0"),
    ({"delta": None}, "`delta` is missing"),
    ({"certificate": "pure"}, "takes none"),
    ({"epsilon": 0.0}, "`epsilon` is 0"),
    ({"epsilon": 80.0}, "at most 50"),
    ({"certificate": "vague"}, "must be one of"),
    ({"method": "magic"}, "must be one of"),
    ({"shrink": True}, "needs `rings`"),
    ({"prior": "distance"}, "needs `rings`"),
    ({"cutoff": -3.0}, "`cutoff` is -3.0; it must be a number above 0"),
    ({"cutoff": 10.0, "split": 12.0}, "below the cut-off"),
    ({"reject": True}, "lemma 5.2"),
    ({"certificate": "theorem-4.4", "size": 0.5}, "as many synthetic workers"),
    ({"size": 0.0}, "`size` is 0"),
    ({"prior_cap": 0}, "prior_cap"),
    ({"method": "sba", "cutoff": 5.0}, "belong to the method dirichlet"),
]


@pytest.mark.parametrize(("options", "sentence"), BAD_CHOICES, ids=str)
def test_bad_choices(options, sentence):
    with pytest.raises(ParameterError, match=sentence):
        exact(**options)


def test_options_are_declared_and_public_tables_read_by_their_rule():
    options = options_of(CommuteRecipe)
    assert all(option.help for option in options.values())
    assert [name for name, option in options.items() if option.is_required] == ["epsilon"]
    assert options["rings"].rule.read("rings", "ctpp-minnesota") == ctpp_minnesota()
    sizes = pa.table({"destination": ["a"], "workers": [3]})
    assert options["sizes"].rule.read("sizes", sizes) == {"a": 3}
    with pytest.raises(ParameterError, match="holds the confidential table itself"):
        options["sizes"].rule.read("sizes", sizes, context=sizes)
    with pytest.raises(ParameterError, match="`rings` is 'ctpp-minnesota'; it must be distance rings"):
        exact(rings="ctpp-minnesota")
    assert exact().with_params(cutoff=20.0) == exact(cutoff=20.0)


def test_theorem_44_needs_epsilon_above_ln_3(given):
    with pytest.raises(ParameterError, match="ln 3"):
        quote_commutes(exact(epsilon=1.0, certificate="theorem-4.4"), given)


def test_distances_need_coordinates_of_all_places(given):
    bare = open_commutes(TOWN.flows, count="workers", origins=given.flows.origins.to_pylist())
    with pytest.raises(ParameterError, match="need coordinates"):
        quote_commutes(exact(cutoff=10.0), bare)
    known = TOWN.places.slice(0, 215)
    with pytest.raises(DataError, match=r"the destination 'W\d+' is not among the places"):
        open_commutes(TOWN.flows, count="workers", places=known)


def test_noise_on_every_cell_is_refused_for_huge_domains(given):
    recipe = exact(method="laplace", delta=None)
    plan = quote_commutes(recipe, given)
    huge = replace(plan, domain=replace(plan.domain, units=1 << 30))
    with pytest.raises(RefusalError, match="does not depend on the domain"):
        draw(huge, stream=Stream.seeded(1))


def test_keeping_all_is_no_shrinking(given):
    rings = Rings(miles=(5.0, math.inf), shares=(0.8, 0.2), keeps=(1.0, 1.0), source="test")
    plan = quote_commutes(exact(rings=rings, shrink=True), given)
    assert plan.quote.total.epsilon == 4.6 and (plan.public.keeps == KEEP_ALL).all()
