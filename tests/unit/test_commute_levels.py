"""A release by levels: whole flows that agree on every level, intervals, characteristics, and what is refused."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commute_cases import TOWN, verify

import understudy as us
from understudy.commute import CommuteRecipe, ctpp_minnesota
from understudy.commute.estimates import intervals
from understudy.commute.hierarchy import SPLIT, build_hierarchy
from understudy.commute.jobs import open_commutes, quote_commutes
from understudy.commute.places import read_places
from understudy.commute.synthesize import draw
from understudy.commute.whole_flows import Margin, even_labels, fewest, nearest, rounded, shuffled_labels, whole_step
from understudy.errors import DataError, ParameterError
from understudy.facade.commutes import evaluate_commute
from understudy.mechanisms.stream import Stream

LEVELS = {"epsilon": 4.6, "delta": 1e-6}
GROUPS = {"age": ("young", "old")}


def flows(**more):
    """The town with an age of every worker, as columns of workers."""
    workers = np.array(TOWN.flows["workers"])
    young = workers // 2
    columns = {name: TOWN.flows[name] for name in TOWN.flows.column_names}
    return pa.table(columns | {"young": young, "old": workers - young} | more)


def given(**more):
    return open_commutes(flows(), **{"count": "workers", "places": TOWN.places, "characteristics": GROUPS, **more})


@pytest.fixture
def sparse(monkeypatch):
    """Places have too many pairs, so that districts are the finest level that is measured in full."""
    monkeypatch.setattr("understudy.commute.hierarchy.MOST_PAIRS", 60)


def frames(release):
    return {name: table.to_pandas() for name, table in release.attachments.items()}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_level_is_the_sum_over_the_workers(sparse, seed):
    release = us.commute(
        flows(), 4.6, delta=1e-6, count="workers", places=TOWN.places, characteristics=GROUPS, seed=seed
    )
    tables, workers = frames(release), release.table.to_pandas()
    district = dict(zip(TOWN.places["place"].to_pylist(), TOWN.places["district"].to_pylist(), strict=True))
    for level, unit in (("place", lambda name: name), ("district", district.get)):
        drawn = workers.groupby([workers.origin.map(unit), workers.destination.map(unit)]).size()
        listed = tables["flows.parquet"].query("level == @level")
        told = listed[listed.flow > 0].set_index(["origin", "destination"]).flow
        assert told.sort_index().to_dict() == drawn.sort_index().to_dict()
        for side, column in (("home", "origin"), ("work", "destination")):
            total = tables["totals.parquet"].query("level == @level and side == @side").set_index("unit").workers
            assert total[total > 0].to_dict() == workers.groupby(workers[column].map(unit)).size().to_dict()
            groups = tables["characteristics.parquet"]
            groups = groups[(groups.level == level) & (groups.side == side)]
            if level == "district":  # where pairs of places are too many, places have no groups
                assert groups.groupby("unit").workers.sum().to_dict() == total.to_dict()
    ages = tables["characteristics.parquet"].query("level == 'district'").groupby(["side", "group"]).workers.sum()
    assert ages["home"].to_dict() == ages["work"].to_dict()
    real = TOWN.flows.group_by("destination").aggregate([("workers", "sum")]).to_pandas()
    assert workers.groupby("destination").size().to_dict() == dict(zip(real.destination, real.workers_sum, strict=True))
    for table in ("flows.parquet", "totals.parquet", "characteristics.parquet"):
        assert (tables[table].low <= tables[table].high).all() and (tables[table].low >= 0).all()


def test_where_all_places_are_measured_every_pair_is_listed():
    release = us.commute(TOWN.flows, 4.6, delta=1e-6, count="workers", places=TOWN.places)
    table = frames(release)["flows.parquet"].query("level == 'place'")
    tree = build_hierarchy(given())
    assert len(table) == len(tree.origins) * len(tree.destinations)
    assert table.flow.sum() == release.table.num_rows == 400


def test_it_is_the_default_and_a_certificate_asks_for_the_papers_method():
    assert CommuteRecipe(**LEVELS).method == "levels"
    assert CommuteRecipe(**LEVELS, certificate="exact").method == "dirichlet"
    plan = quote_commutes(CommuteRecipe(**LEVELS), given())
    total = plan.quote.total
    assert (total.neighbours.value, total.delta, plan.quote.route) == ("origin-in-destination", 1e-6, "N")
    assert total.epsilon <= 4.6
    assert sum(plan.hierarchy.units(plan.event).values()) <= plan.event.units


def test_zones_without_coordinates_and_census_columns():
    """Another country's zones: names, counts, and two levels with names of their own."""
    zones = [f"Zone {i}" for i in range(12)]
    rng = np.random.default_rng(3)
    table = pa.table({"von": rng.choice(zones, 300), "nach": rng.choice(zones[:5], 300), "Zahl": np.ones(300, int)})
    places = pa.table({"name": zones, "Land": ["L1"] * 6 + ["L2"] * 6, "Kreis": [f"K{i // 3}" for i in range(12)],
                       "Kreis_name": [f"Kreis {i // 3}" if i else None for i in range(12)]})  # fmt: skip
    names = {"origin": "von", "destination": "nach", "count": "Zahl"}
    release = us.commute(table, 2.0, delta=1e-6, places=places, levels="land,kreis", **names)
    tables = frames(release)
    assert set(tables["flows.parquet"].level) == {"land", "kreis", "place"}
    assert tables["places.parquet"].kreis_name.tolist()[:4] == ["Kreis 0"] * 3 + ["Kreis 1"]
    assert release.table.column_names == ["von", "nach"]
    bare = us.commute(table, 2.0, delta=1e-6, **names, origins=zones)
    assert set(frames(bare)["flows.parquet"].level) == {"place"}


@pytest.mark.parametrize("seed", [0, 1])
def test_a_level_with_one_area_is_public_and_costs_nothing(seed):
    """Everybody lives in the country: its flows are the totals of destinations."""
    one = TOWN.places.append_column("country", pa.array(["X"] * TOWN.places.num_rows))
    plan = quote_commutes(CommuteRecipe(**LEVELS), open_commutes(TOWN.flows, count="workers", places=one))
    plain = quote_commutes(CommuteRecipe(**LEVELS), open_commutes(TOWN.flows, count="workers", places=TOWN.places))
    assert plan.hierarchy.names[0] == "country"
    assert plan.hierarchy.units(plan.event) == plain.hierarchy.units(plain.event)
    tables = draw(plan, stream=Stream.seeded(seed)).tables
    for name, column in (("flows.parquet", "flow"), ("totals.parquet", "workers")):
        found = tables[name].to_pandas().query("level == 'country'")
        assert set(found[column]) == {400} and set(found.low) == set(found.high) == {400.0}


def test_levels_that_do_not_nest_are_cut_into_pieces(sparse):
    """A tract in two towns: its flows are the sums of its pieces, with their variances."""
    number = TOWN.places.num_rows
    crossing = TOWN.places.append_column("tract", pa.array([f"T{i % 3}" for i in range(number)]))
    opened = open_commutes(TOWN.flows, count="workers", places=crossing, levels=("tract",))
    plain = draw(CommuteRecipe(**LEVELS).plan(opened), stream=Stream.seeded(1)).tables["flows.parquet"].to_pandas()
    assert len(plain.query("level == 'tract'")) == 9
    both = open_commutes(TOWN.flows, count="workers", places=crossing, levels=("tract", "district"))
    tree = build_hierarchy(both)
    assert tree.measured == 1 and tree.homes.sizes[1] > 9


def test_a_release_is_verified_and_a_changed_one_is_not(sparse, tmp_path):
    folder = tmp_path / "release"
    us.commute(flows(), 4.6, delta=1e-6, count="workers", places=TOWN.places, characteristics=GROUPS, out=folder)
    assert not verify(folder).problems
    found = evaluate_commute(flows(), folder, count="workers")
    assert found.synthetic_workers == 400
    original = pq.read_table(folder / "flows.parquet")
    flow = original["flow"].to_numpy().copy()
    flow[0] += 1
    changed = original.set_column(original.column_names.index("flow"), "flow", pa.array(flow))
    pq.write_table(changed, folder / "flows.parquet")
    assert any("sums over the synthetic workers" in problem for problem in verify(folder).problems)
    pq.write_table(original, folder / "flows.parquet")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["parameters"]["epsilon"] = 1.0
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert any("other noise" in problem for problem in verify(folder).problems)


def test_nearest_is_the_projection_and_whole_flows_keep_all_sums():
    rng = np.random.default_rng(1)
    values, groups = rng.normal(0, 3, 40), np.repeat(np.arange(4), 10)
    totals = np.array([0.0, 1.0, 12.0, 200.0])
    near = nearest(values, groups, totals)
    assert (near >= 0).all() and np.bincount(groups, weights=near) == pytest.approx(totals)
    for group in range(4):  # where positive, all were shifted alike; others would have to be shifted by more
        inside = groups == group
        shift = (values - near)[inside]
        positive = near[inside] > 0
        if positive.any():
            assert np.ptp(shift[positive]) < 1e-9 and (shift[~positive] <= shift[positive].max() + 1e-9).all()
    whole = rounded(near, groups, totals.astype(np.int64))
    assert (whole >= 0).all() and np.bincount(groups, weights=whole).tolist() == totals.tolist()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        shape = (6, 5)
        parents = (np.arange(6)[:, None] // 3 * 2 + np.array([0, 0, 0, 1, 1])).reshape(-1)
        truth = rng.integers(0, 4, shape)
        columns = truth.sum(axis=0)
        above = np.bincount(parents, weights=truth.reshape(-1)).astype(np.int64)
        margin = Margin(totals=columns, of=np.array([0, 0, 0, 1, 1]))
        rows = Margin(totals=truth.sum(axis=1), of=np.array([0, 0, 0, 1, 1, 1]))
        for given_rows in (None, rows):
            made = whole_step(rng.normal(0, 5, 30), shape, parents, above, margin, given_rows)
            assert (made >= 0).all() and made.reshape(shape).sum(axis=0).tolist() == columns.tolist()
            assert np.bincount(parents, weights=made).tolist() == above.tolist()
        assert made.reshape(shape).sum(axis=1).tolist() == rows.totals.tolist()


def test_the_fewest_values_are_the_largest_ones():
    rng = np.random.default_rng(4)
    values, groups = rng.normal(1, 3, 60), np.repeat(np.arange(6), 10)
    positive = np.bincount(groups, weights=np.maximum(values, 0))
    totals = np.array([0.0, 1.0, 5.0, positive[3], positive[4] + 7, 1000.0])
    found = fewest(values, groups, totals)
    assert (found >= 0).all() and np.bincount(groups, weights=found) == pytest.approx(totals)
    for group in range(4):
        mine, given = found[groups == group], values[groups == group]
        changed = (mine > 0) & (np.abs(mine - given) > 1e-9)
        assert changed.sum() <= 1  # all but the last are kept as they are
        if (mine > 0).any():
            assert given[mine > 0].min() >= given[mine == 0].max(initial=-np.inf)
    assert found[groups >= 4] == pytest.approx(nearest(values, groups, totals)[groups >= 4])


def test_labels_are_dealt_evenly_or_at_random_and_each_as_often_as_it_counts():
    counts, label_groups = np.array([30, 10, 0, 5, 7]), np.array([0, 0, 0, 1, 1])
    groups = np.repeat([1, 0], [12, 40])
    for deal in (even_labels, shuffled_labels):
        dealt = deal(groups, counts, label_groups, Stream.seeded(3))
        assert np.bincount(dealt, minlength=5).tolist() == counts.tolist()
        assert (label_groups[dealt] == groups).all()
    mine = even_labels(groups, counts, label_groups, Stream.seeded(3))[groups == 0]
    for start in range(0, 40, 8):  # a fifth of the workers has a fifth of each label, or one off
        stretch = np.bincount(mine[start : start + 8], minlength=2)
        assert np.abs(stretch - np.array([6, 2])).max() <= 1


@pytest.fixture
def split(monkeypatch):
    """Pairs of places are too many, and flows from districts to places are not."""
    tree = build_hierarchy(given())
    most = tree.homes.sizes[0] * tree.work.sizes[-1]
    assert most < tree.homes.sizes[-1] * tree.work.sizes[-1]
    monkeypatch.setattr("understudy.commute.hierarchy.MOST_PAIRS", most)


@pytest.mark.parametrize("seed", range(4))
def test_flows_to_single_places_are_measured_where_pairs_of_places_are_too_many(split, seed):
    plan = quote_commutes(CommuteRecipe(epsilon=40.0, delta=1e-6), given(characteristics=None))
    assert plan.hierarchy.splits and SPLIT in plan.hierarchy.units(plan.event)
    drawn = draw(plan, stream=Stream.seeded(seed))
    assert np.bincount(drawn.destinations).tolist() == plan.hierarchy.totals.tolist()
    # with little noise every workplace has the homes, by district, that it really has
    tree, cells = plan.hierarchy, given().flows.cells.open()
    made, real = np.zeros((tree.homes.sizes[0], len(tree.totals))), np.zeros((tree.homes.sizes[0], len(tree.totals)))
    np.add.at(made, (tree.homes.of[0][drawn.origins], drawn.destinations), 1)
    np.add.at(real, (tree.homes.of[0][cells.units], cells.rows), cells.counts)
    assert np.abs(made - real).sum() / 2 < 0.1 * len(drawn.origins)


@pytest.mark.parametrize("seed", range(4))
def test_residents_are_what_was_estimated(sparse, seed):
    """Moved as little as not being negative asks for, and rounded: the number that is shown and its interval agree."""
    drawn = draw(quote_commutes(CommuteRecipe(**LEVELS), given()), stream=Stream.seeded(seed))
    totals = drawn.tables["totals.parquet"].to_pandas().query("level == 'district' and side == 'home'")
    near = nearest(totals.estimate.to_numpy(), np.zeros(len(totals), dtype=np.int64), np.array([400.0]))
    assert np.abs(totals.workers - near).max() <= 1 + 1e-2


@pytest.mark.parametrize("truth", [0.0, 0.4, 1.0, 3.0, 50.0])
def test_intervals_cover_every_count_alike(truth):
    """Exactly, by the quantiles of the noise: the interval holds the truth for 95 % of them."""
    from statistics import NormalDist

    steps = 20_000
    noise = np.array([NormalDist().inv_cdf((i + 0.5) / steps) for i in range(steps)])
    low, high = intervals(truth + noise, np.ones(steps))
    assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(0.95, abs=0.004)
    low, high = intervals(np.array([3.0, 0.0]), np.zeros(2))
    assert low.tolist() == high.tolist() == [3.0, 0.0]


def test_what_is_refused(monkeypatch):
    with pytest.raises(ParameterError, match="certificate"):
        CommuteRecipe(**LEVELS, method="dirichlet")
    with pytest.raises(ParameterError, match="rings, split belong to the method dirichlet"):
        CommuteRecipe(**LEVELS, rings=ctpp_minnesota(), split=5.0)
    with pytest.raises(ParameterError, match="one worker for every real one"):
        CommuteRecipe(**LEVELS, size=2.0)
    with pytest.raises(ParameterError, match="released by the method levels"):
        quote_commutes(CommuteRecipe(**LEVELS, certificate="exact"), given())
    with pytest.raises(DataError, match="do not add up"):
        open_commutes(flows(old=TOWN.flows["workers"]), count="workers", places=TOWN.places, characteristics=GROUPS)
    with pytest.raises(DataError, match="called 'North' and 'South'"):
        read_places(pa.table({"place": ["a", "b"], "town": ["t", "t"], "town_name": ["North", "South"]}))
    monkeypatch.setattr("understudy.commute.hierarchy.MOST_PAIRS", 5)
    with pytest.raises(DataError, match="coarser level"):
        quote_commutes(CommuteRecipe(**LEVELS), given())


def test_the_theorem_names_the_true_cause_under_shrinking():
    recipe = CommuteRecipe(epsilon=4.6, delta=1e-5, certificate="theorem-4.4", rings=ctpp_minnesota(), shrink=True)
    plain = CommuteRecipe(epsilon=4.6, delta=1e-5, certificate="theorem-4.4")
    opened = open_commutes(TOWN.flows, count="workers", places=TOWN.places)
    for asked in (recipe, plain):
        notes = " ".join(quote_commutes(asked, opened).quote.warnings)
        assert ("`shrink` leaves fewer virtual workers" in notes) == ("fails the exact tails" in notes and asked.shrink)
