"""Pages of anonymize, reconstruct, commute and count begin with the decision: done, loss, risk, alternatives."""

import math

import numpy as np
import pytest
from reconstruct_cases import averages
from reconstruct_cases import table as people_of

import understudy as us
from understudy.anonymize import FullDomain, Mondrian, Recipe
from understudy.anonymize.report.alternatives import detail_bits, of_classes
from understudy.anonymize.report.gather import gather
from understudy.commute.alternatives import quoted
from understudy.commute.jobs import compare_commutes
from understudy.facade.commutes import evaluate_commute
from understudy.pages.decision import SECTIONS
from understudy.pages.numbers import number, percent
from understudy.privacy.guarantees import ApproxDP, Neighbours, NoFormal, PureDP
from understudy.privacy.odds import odds_facts
from understudy.reconstruct import METHODS
from understudy.reconstruct.compare import tried_methods

QUASI = ("sex", "race", "pay")


def check_order(page):
    """The first screen, in its order, before anything else."""
    places = [page.index(f'<section id="{key}">') for key, _ in SECTIONS]
    assert places == sorted(places) and page.index("<section") == places[0]


def anonymised(step, folder):
    table, book = us.datasets.discharges(rows=400, seed=3), us.datasets.discharges_codebook()
    made = us.anonymize(
        table, book, recipe=Recipe(steps=(step,), quasi=QUASI), out=folder / "r", page=folder / "page.html"
    )
    return gather(made.before, folder / "r"), (folder / "page.html").read_text()


@pytest.mark.parametrize("step", [FullDomain(k=4, suppression=0.2), Mondrian(k=4)])
def test_anonymised_tables_are_compared_with_other_ways(step, tmp_path):
    found, page = anonymised(step, tmp_path)
    check_order(page)
    labels = [other.label for other in found.alternatives]
    assert any("k = 2" in label for label in labels) and any("k = 8" in label for label in labels)
    assert any(label.startswith("boxes" if isinstance(step, FullDomain) else "whole columns") for label in labels)
    for other in found.alternatives:
        assert other.label in page
        if other.detail_lost is None:
            assert other.why_not
        else:
            assert 0 <= other.detail_lost <= 1 and 0 < other.mean <= other.highest <= 1
            assert percent(other.detail_lost) in page and percent(other.highest) in page
    assert found.chosen.highest == 1 / found.after.smallest
    lost = {other.label: other.detail_lost for other in found.alternatives if other.detail_lost is not None}
    if isinstance(step, Mondrian):
        assert lost["boxes, k = 2"] <= found.chosen.detail_lost <= lost["boxes, k = 32"]


def test_runners_up_lose_no_less_by_the_loss_that_was_asked_for(tmp_path):
    table, book = us.datasets.discharges(rows=400, seed=3), us.datasets.discharges_codebook()
    made = us.anonymize(table, book, recipe=Recipe(steps=(FullDomain(k=4, suppression=0.2),), quasi=QUASI))
    from understudy.anonymize.losses import LOSSES
    from understudy.anonymize.state import State
    from understudy.mechanisms.stream import Stream

    step = FullDomain(k=4, suppression=0.2)
    problem, optimum = step.searched(State(cells=made.before, quasi=QUASI, rules={}, stream=Stream.seeded(0)))
    loss = LOSSES["entropy"](problem)
    values = [loss.of(outcome) for outcome in optimum.runners]
    assert values == sorted(values) and all(value >= optimum.loss for value in values)
    assert all(outcome.feasible and outcome.node != optimum.outcome.node for outcome in optimum.runners)


def test_detail_is_counted_in_bits():
    before = np.full(8, 5)
    assert detail_bits(before) == 3.0
    assert of_classes("x", np.full(2, 20), before, suppressed=0).detail_lost == pytest.approx(2 / 3)
    gone = of_classes("x", np.full(4, 5), before, suppressed=20)
    assert gone.detail_lost == pytest.approx(1 - 2 / 6) and gone.suppressed == 0.5, "half the rows tell nothing"


@pytest.mark.parametrize("method", ["shrunken", "mp", pytest.param("ludia", marks=pytest.mark.long)])
def test_reconstructions_are_compared_by_averages_that_no_method_saw(method, tmp_path):
    frame, y = people_of(n=120)
    people = frame.drop(columns="ward")
    published = averages(frame, y, "county")
    us.reconstruct(people, published, method=method, out=tmp_path / "r", seed=1)
    page = (tmp_path / "r" / "report.html").read_text()
    check_order(page)
    assert "(this one)" in page
    model = METHODS[method]().fit(people, [published])
    tried = tried_methods(model, people, [published])
    assert {"er", "pc-er", "shrunken"} <= {one.method for one in tried}
    for one in tried:
        assert one.held_out and all(number(held.error) in page for held in one.held_out)
        assert len({held.error_of_means for held in one.held_out}) == 1, "all are judged by the same groups"


def test_a_method_that_cannot_be_tried_says_why(tmp_path):
    frame, y = people_of(n=60, groups=3, columns=6)
    us.reconstruct(frame.drop(columns="ward"), averages(frame, y, "county"), method="mp", out=tmp_path / "r")
    assert "er: not possible" in (tmp_path / "r" / "report.html").read_text()


def test_commutes_are_compared_by_quotes(tmp_path):
    town = us.datasets.commutes(800, seed=3, homes=60, workplaces=8)
    us.commute(
        town.flows, 4.6, "exact", delta=1e-6, count="workers", places=town.places, cutoff=40.0, out=tmp_path / "r"
    )
    page = tmp_path / "page.html"
    evaluate_commute(town.flows, tmp_path / "r", out=page, count="workers")
    text = page.read_text()
    check_order(text)
    _, made, real = compare_commutes(town.flows, tmp_path / "r", count="workers")
    own, *others = quoted(real, made)
    assert own.total.to_dict() == made.manifest["guarantee"], "the release is quoted at its own price"
    by = {other.label: other for other in others}
    assert by["twice the epsilon"].from_prior < own.from_prior < by["half the epsilon"].from_prior
    assert by["pure promise, no delta"].from_prior > own.from_prior
    for other in (own, *others):
        assert other.label in text and percent(other.from_prior) in text
    made.manifest["parameters"]["size"] = "a public list"
    assert quoted(real, made) == [], "public tables that the folder lacks"


def test_counts_are_compared_with_other_epsilons(tmp_path):
    table, book = us.datasets.discharges(rows=400, seed=3), us.datasets.discharges_codebook()
    page = tmp_path / "page.html"
    release = us.count(table, book, ["sex", "race"], 1.0, page=page)
    text = page.read_text()
    check_order(text)
    assert release.statement.split(",")[0] in text and "made from a release" in text[:400]
    for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0):
        from understudy.facade.tables import quote_count

        price = quote_count(table, book, ["sex", "race"], epsilon)
        row = text.split(f'<th scope="row">{number(epsilon)}')[1].split("</tr>")[0]
        assert number(price.half_width) in row
    us.count(table, book, ["sex"], 1.0, page=page)
    assert page.read_text() != text, "an earlier page is replaced"
    other = tmp_path / "notes.html"
    other.write_text("mine")
    with pytest.raises(us.errors.ReleaseError, match="not an earlier report"):
        us.count(table, book, ["sex"], 1.0, page=other)


def test_odds_are_never_better_than_true():
    promise = ApproxDP(epsilon=1.0, delta=3e-7, neighbours=Neighbours.ADD_REMOVE)
    odds, fails = odds_facts(promise, whose="one record")
    assert float(odds.value.split()[0]) >= math.e and odds.label == "Odds about one record"
    assert float(fails.value.removeprefix("1 in ").replace(",", "")) <= 1 / 3e-7
    (_, never) = odds_facts(PureDP(epsilon=1.0, neighbours=Neighbours.ADD_REMOVE), whose="x")
    assert never.value == "none"
    (none,) = odds_facts(NoFormal(why="seeded"), whose="x")
    assert none.value == "no formal promise" and none.says == "seeded"
