"""Laws of reconstruction: order does not matter, redundant knowledge changes nothing, links meet averages."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from reconstruct_cases import averages, table

from understudy.reconstruct import METHODS, Aggregate, EcologicalRegression, MoorePenrose, ShrunkenRegression
from understudy.reconstruct.files import AggregateSpec

seeds = st.integers(0, 10_000)
EXACT = [name for name in METHODS if name != "cudia"]  # cudia draws at random
QUICK = {"ludia": {"rank": 2, "iterations": 30}, "ludia-svd": {"rank": 2, "iterations": 50}}
"""Held-out ranks are as lawful (one test has them) but take a second each."""


def make(name):
    return METHODS[name](**QUICK.get(name, {}))


@settings(max_examples=3, deadline=None)
@given(seeds)
@pytest.mark.parametrize("name", EXACT)
def test_permuting_individuals_permutes_the_answer(name, seed):
    frame, y = table(seed=seed, n=120, groups=9)
    order = np.random.default_rng(seed).permutation(len(frame))
    aggregate = averages(frame, y, "county")
    plain = make(name).fit(frame, aggregate).reconstruct().values["y"]
    moved = make(name).fit(frame.iloc[order].reset_index(drop=True), aggregate).reconstruct().values["y"]
    assert moved == pytest.approx(plain[order], rel=1e-6, abs=1e-6)


@settings(max_examples=3, deadline=None)
@given(seeds)
@pytest.mark.parametrize("name", EXACT)
def test_permuting_and_renaming_groups_changes_nothing(name, seed):
    frame, y = table(seed=seed, n=120, groups=9)
    aggregate = averages(frame, y, "county")
    names = np.random.default_rng(seed).permutation(9)
    renamed = frame.assign(county=names[frame["county"]])
    backwards = Aggregate(
        by="county",
        target="y",
        values={str(names[int(group)]): value for group, value in reversed(aggregate.values.items())},
    )
    plain = make(name).fit(frame, aggregate).reconstruct().values["y"]
    moved = make(name).fit(renamed, backwards).reconstruct().values["y"]
    assert moved == pytest.approx(plain, rel=1e-6, abs=1e-6)


@settings(max_examples=4, deadline=None)
@given(seeds)
def test_a_redundant_aggregate_changes_nothing(seed):
    """A coarser level that follows from the finer one: the row space of A, hence A+A, stays the same."""
    frame, y = table(seed=seed, n=150, groups=12)
    frame = frame.assign(state=frame["county"] // 4)
    one, both = averages(frame, y, "county"), [averages(frame, y, "county"), averages(frame, y, "state")]
    for method in (MoorePenrose, EcologicalRegression):
        shared = {} if method is MoorePenrose else {"columns": ["x0", "x1", "x2"]}
        plain = method(**shared).fit(frame, one).reconstruct().values["y"]
        stacked = method(**shared).fit(frame, both).reconstruct().values["y"]
        assert stacked == pytest.approx(plain, abs=1e-7)


@settings(max_examples=4, deadline=None)
@given(seeds, st.floats(-50, 50), st.floats(0.1, 20))
@pytest.mark.parametrize("name", ["mp", "er", "shrunken", "pc-er"])
def test_a_change_of_unit_changes_the_unit_of_the_answer(name, seed, shift, scale):
    frame, y = table(seed=seed, n=100, groups=8)
    plain = make(name).fit(frame, averages(frame, y, "county")).reconstruct().values["y"]
    other = make(name).fit(frame, averages(frame, scale * y + shift, "county")).reconstruct().values["y"]
    assert other == pytest.approx(scale * plain + shift, rel=1e-5, abs=1e-4)


@settings(max_examples=4, deadline=None)
@given(seeds, st.sampled_from(["log", "log1p", "logit", "identity"]))
def test_links_keep_to_their_range_and_meet_the_averages(seed, link):
    frame, y = table(seed=seed, n=150, groups=6)
    positive = np.exp((y - y.mean()) / (3 * y.std()))
    target = positive / (1 + positive) if link == "logit" else positive
    levels = [averages(frame, target, name) for name in ("county", "ward")]
    result = ShrunkenRegression(link=link).fit(frame, levels).reconstruct()
    assert max(met.largest_gap for met in result.met) < 1e-8
    if link == "log":
        assert (result.values["y"] > 0).all()
    if link == "logit":
        assert ((result.values["y"] > 0) & (result.values["y"] < 1)).all()


@settings(max_examples=3, deadline=None)
@given(seeds)
def test_every_draw_meets_the_averages(seed):
    frame, y = table(seed=seed, n=100, groups=8)
    model = ShrunkenRegression().fit(frame, [averages(frame, y, "county"), averages(frame, y, "ward")])
    draws = model.reconstructions(3, seed=seed)
    assert [draw.draw for draw in draws] == [1, 2, 3]
    assert max(met.largest_gap for draw in draws for met in draw.met) < 1e-8
    assert not np.allclose(draws[0].values["y"], draws[1].values["y"])


names = st.text("abcXYZ_09", min_size=1, max_size=8)


@given(names, names, names, st.sampled_from(["", ":sum", ":median,noise=2", ":size=n,target=t"]))
def test_a_word_of_the_command_line_is_taken_apart(file, group, figure, options):
    spec = AggregateSpec.parse(f"C:/{file}.csv:{group}:{figure}{options}")
    assert (spec.file, spec.by, spec.figure) == (f"C:/{file}.csv", group, figure)
    assert spec.kind == ("sum" if "sum" in options else "median" if "median" in options else "mean")
    assert spec.target == ("t" if "target" in options else figure)


def test_a_rank_chosen_by_held_out_averages_does_not_depend_on_order():
    frame, y = table(n=100, groups=8)
    order = np.random.default_rng(0).permutation(len(frame))
    aggregate = averages(frame, y, "county")
    moved = frame.iloc[order].reset_index(drop=True)
    backwards = Aggregate(by="county", target="y", values=dict(reversed(aggregate.values.items())))
    for name in ("ludia", "pc-er"):
        plain, other = METHODS[name]().fit(frame, aggregate), METHODS[name]().fit(moved, backwards)
        assert plain.rank_ == other.rank_
        assert other.reconstruct().values["y"] == pytest.approx(plain.reconstruct().values["y"][order], abs=1e-6)


def test_frames_of_all_kinds_say_the_same():
    import polars
    import pyarrow as pa

    frame, y = table()
    aggregate = averages(frame, y, "county")
    plain = ShrunkenRegression().fit(frame, aggregate).reconstruct().values["y"]
    for other in (pa.Table.from_pandas(frame), polars.from_pandas(frame), frame.to_dict("list")):
        assert ShrunkenRegression().fit(other, aggregate).reconstruct().values["y"] == pytest.approx(plain)
    assert isinstance(frame, pd.DataFrame)
