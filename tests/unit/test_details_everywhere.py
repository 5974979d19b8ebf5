"""Detailed codes and measured numbers in parts, shadow runs, audits and maps: paid for, and never noised twice."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Detail, Integer
from understudy.errors import ParameterError, RefusalError, ReleaseError
from understudy.evaluate.audit import audit, neighbouring
from understudy.evaluate.risk.membership import membership
from understudy.evaluate.rumap.measure import Questions
from understudy.evaluate.rumap.plan import Plan
from understudy.evaluate.rumap.run import run_map
from understudy.evaluate.utility import utility_scores
from understudy.evaluate.utility.distances import detail_tvd
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.release.verify import verify_release
from understudy.release.workshop import PARTS
from understudy.sources import open_source
from understudy.synth import make_recipe
from understudy.synth.model_file import load_model
from understudy.synth.ranged import draw_parts, synthesize_parts
from understudy.synth.workers import LocalWorkers

F = Fraction
BOOK = Codebook(
    columns=(
        Categorical(name="chapter", levels=("heart", "lung", "none")),
        Integer(name="age", edges=(F(0), F(50), F(100)), shape="measured", pieces=50),
        Detail(
            name="code",
            detail_of="chapter",
            other="other",
            groups=(("heart", ("h1", "h2")), ("lung", ("l1", "l2"))),
            missing="NA",
        ),
    )
)
PRICE = {"detail_epsilon": 20.0, "detail_delta": 1e-6}
METHODS = {
    "marginals": {"epsilon": 5.0, "delta": 1e-6},
    "laplace": {"epsilon": 5.0},
    "pegs": {"alpha": 5.0, "delta": 1e-6},
    "contingency": {},
    "lugs": {"l": 1.2},
}


def visits(rows=2000):
    """Hearts are h1, lungs l2; below 50 all are 7, above 77."""
    drawn = np.random.default_rng(3)
    chapter = drawn.choice(["heart", "lung"], rows)
    return pa.table(
        {
            "chapter": chapter,
            "age": drawn.choice([7, 77], rows),
            "code": np.where(chapter == "heart", "h1", "l2"),
        }
    )


def believable(table):
    drawn = table.to_pydict()
    pairs = set(zip(drawn["chapter"], drawn["code"], strict=True))
    assert pairs <= {(c, "other") for c in ("heart", "lung", "none")} | {("heart", "h1"), ("lung", "l2")}
    assert np.mean(np.isin(drawn["age"], [7, 77])) > 0.95  # noise of scale 0.1 on 101 pieces, and 2,000 records


@pytest.mark.parametrize("method", METHODS)
def test_details_are_drawn_in_parts_at_their_price(method, tmp_path):
    recipe = make_recipe(method, **METHODS[method], **PRICE)
    release = synthesize_parts(visits(), BOOK, recipe, rows=400, part_rows=150, out=tmp_path / "r")
    assert release.manifest.total == recipe.quote(BOOK, 400).total
    assert any(entry.stage == "details" for entry in release.manifest.ledger)
    assert verify_release(tmp_path / "r").problems == ()
    believable(pq.read_table(tmp_path / "r" / PARTS))


def test_more_rows_of_a_model_in_parts_have_details(tmp_path):
    fitted = make_recipe("laplace", epsilon=5.0, **PRICE).fit(open_source(visits(), BOOK))
    fitted.save_model(tmp_path / "m")
    draw_parts(tmp_path / "m", rows=300, part_rows=100, out=tmp_path / "r")
    believable(pq.read_table(tmp_path / "r" / PARTS))


class PowerCut(LocalWorkers):
    def draw(self, job, drawer, missing, told):
        super().draw(job, drawer, missing[:1], told)
        raise OSError("power cut")


def test_a_resumed_run_on_route_s_goes_on_with_the_details_it_paid_for(tmp_path, monkeypatch):
    """The second run counts other noise, which must never reach a part: all of its fresh codes would be h2."""
    from understudy.synth import ranged, recipe

    account = Account.create(tmp_path / "a", dataset="d", epsilon=99.0, delta=0.1, neighbours=Neighbours.ADD_REMOVE)
    chosen = make_recipe("pegs", **METHODS["pegs"], **PRICE)
    work = {"rows": 300, "part_rows": 100, "out": tmp_path / "r", "account": account}
    with pytest.raises(ReleaseError, match="power cut"):
        synthesize_parts(visits(), BOOK, chosen, workers=PowerCut(), **work)
    swapped = visits().set_column(2, "code", pa.array(["h2"] * 2000))
    counted = recipe.count_details
    fresh = []

    def other_noise(which, source, stream):
        fresh.append(counted(which, open_source(swapped, BOOK), stream))
        return fresh[-1]

    monkeypatch.setattr(recipe, "count_details", other_noise)
    synthesize_parts(visits(), BOOK, chosen, **work)
    assert fresh
    believable(pq.read_table(tmp_path / "r" / PARTS))
    [charge] = account.history()
    assert charge.state.name == "COMMITTED" and account.spent().epsilon < 99
    # and a kept table that was damaged is not made anew
    with pytest.raises(ReleaseError, match="power cut"):
        synthesize_parts(visits(), BOOK, chosen, workers=PowerCut(), rows=300, part_rows=100, out=tmp_path / "q")
    (tmp_path / "q.unfinished" / ranged._DETAILS).write_bytes(b"nothing")
    with pytest.raises(ReleaseError, match="the table of details"):
        synthesize_parts(visits(), BOOK, chosen, rows=300, part_rows=100, out=tmp_path / "q")


def test_exact_details_of_a_baseline_are_not_written_down(tmp_path):
    with pytest.raises(ReleaseError, match="power cut"):
        synthesize_parts(
            visits(), BOOK, make_recipe("contingency"), workers=PowerCut(), rows=300, part_rows=100, out=tmp_path / "r"
        )
    assert not list((tmp_path / "r.unfinished").glob("details*"))


def test_an_audit_replays_details_and_looks_at_their_tables():
    source = open_source(visits(300), BOOK)
    person, _, tables = neighbouring(source, neighbours=Neighbours.ADD_REMOVE)
    chapter, _, code, piece = person
    assert tables[0].shape == (300, 4)
    # rare: nobody has chapter none, which has no codes of its own; a heart's canary has a heart's code
    assert BOOK.columns[0].labels[chapter] == "none"
    canary, _, _ = neighbouring(source, neighbours=Neighbours.ADD_REMOVE, canary={"chapter": "heart", "age": "7"})
    assert BOOK.column("code").labels[canary[2]] == "h2" and canary[3] == 7
    assert piece >= 0 and code >= 0
    recipe = make_recipe("laplace", epsilon=1.0, detail_epsilon=1.0, detail_delta=1e-3)
    found = audit(recipe, source, rows=20, runs=60, canary={"chapter": "heart", "code": "h1", "age": "7"})
    assert found.epsilon == pytest.approx(2.0, rel=1e-3) and not found.refuted
    assert found.canary["code"] == "h1" and "age within its bins" in found.canary
    with pytest.raises(ParameterError, match="the table has chapter, age, code"):
        audit(recipe, source, rows=20, runs=60, canary={"age within its bins": "7"})


def test_an_audit_refutes_a_method_that_forgets_to_noise_its_details(monkeypatch):
    """The canary alone has h2: exact detail counts give it away in every run; 200 runs prove more than epsilon 0.2."""
    from understudy.synth import detail_tables

    def exact(counts, *, epsilon, neighbours, stream, **_):
        return counts.open(), None

    monkeypatch.setattr(detail_tables, "stable_histogram", exact)
    recipe = make_recipe("laplace", epsilon=0.1, detail_epsilon=0.1, detail_delta=1e-6)
    source = open_source(visits(200), BOOK)
    found = audit(recipe, source, rows=5, runs=200, canary={"chapter": "heart", "code": "h2", "age": "7"})
    assert found.refuted


def test_shadow_runs_replay_details():
    score = membership(
        make_recipe("contingency"), open_source(visits(60), BOOK), rows=60, runs=8
    )  # exact details and all: every run is the same but for the draw
    assert 0 <= score.value <= 1


def test_a_map_pays_for_details_beside_every_epsilon(tmp_path):
    plan = Plan(
        methods=("laplace", "contingency"),
        epsilons=(1.0, 3.0),
        rows=100,
        repeat=1,
        options={"detail_epsilon": 2.0, "detail_delta": 1e-6},
    )
    run_map(open_source(visits(), BOOK), plan, Questions(), folder=tmp_path / "map")
    runs = [json.loads(line) for line in (tmp_path / "map" / "runs.jsonl").read_text().splitlines()]
    totals = {run["epsilon"]: run["total_epsilon"] for run in runs if run["method"] == "laplace"}
    assert totals == {1.0: pytest.approx(3.0, rel=1e-3), 3.0: pytest.approx(5.0, rel=1e-3)}
    with pytest.raises(ParameterError, match="detail_epsilon"):
        Plan(methods=("laplace",), epsilons=(1.0,), rows=100, repeat=1).check(BOOK)


@pytest.mark.parametrize("method", ["laplace", "marginals"])
def test_rows_of_a_detailed_code(method, tmp_path):
    """All hearts are h1, all lungs l2: rows of both codes are as often either as the chapters are; z = 7."""
    fitted = make_recipe(method, **METHODS[method], **PRICE).fit(open_source(visits(), BOOK))
    made = fitted.sample(50, where={"code": "h1"})
    assert set(made.table["code"].to_pylist()) == {"h1"} and set(made.table["chapter"].to_pylist()) == {"heart"}
    assert made.manifest.parameters["where"] == {"code": ["h1"]}
    if method == "marginals":
        return
    fitted.save_model(tmp_path / "m")
    model = load_model(tmp_path / "m")
    both = model.sample(3000, where={"code": ["h1", "l2"]}).table["code"].to_pylist()
    assert set(both) == {"h1", "l2"} and abs(np.mean(np.array(both) == "h1") - 0.5) < 7 * 0.5 / 3000**0.5 + 0.05
    with pytest.raises(ParameterError, match="belongs to none of the values of 'chapter'"):
        model.sample(10, where={"code": "h1", "chapter": "lung"})
    with pytest.raises(RefusalError, match="does not show code = h2"):
        model.sample(10, where={"code": "h2"})
    with pytest.raises(ParameterError, match="no level of"):
        model.sample(10, where={"code": "h9"})
    with pytest.raises(ParameterError, match="chapter, age, code"):
        model.sample(10, where={"age within its bins": "7"})


def test_rows_of_codes_of_several_levels_follow_their_shares():
    """A tenth of the hearts and half of the lungs are other: of all others, one in six is a heart's; z = 7."""
    rows = 6000
    hearts = np.arange(rows) % 2 == 0
    others = np.where(hearts, np.arange(rows) % 20 == 0, np.arange(rows) % 4 == 1)
    code = np.where(others, "other", np.where(hearts, "h1", "l2"))
    table = pa.table({"chapter": np.where(hearts, "heart", "lung"), "age": [7] * rows, "code": code})
    fitted = make_recipe("laplace", epsilon=50.0, detail_epsilon=50.0, detail_delta=1e-6).fit(open_source(table, BOOK))
    drawn = fitted.sample(4000, where={"code": "other", "chapter": ["heart", "lung"]}).table.to_pydict()
    assert set(drawn["code"]) == {"other"}
    assert abs(np.mean(np.array(drawn["chapter"]) == "heart") - 1 / 6) < 7 * (5 / 36 / 4000) ** 0.5 + 0.01


def test_a_refusal_about_released_details_stays_charged(tmp_path):
    account = Account.create(tmp_path / "a", dataset="d", epsilon=99.0, delta=0.1, neighbours=Neighbours.ADD_REMOVE)
    fitted = make_recipe("laplace", epsilon=1.0, **PRICE).fit(open_source(visits(), BOOK, account=account))
    with pytest.raises(ParameterError):
        fitted.sample(5, where={"code": "h1", "chapter": "lung"})
    assert account.spent().epsilon == 0
    with pytest.raises(RefusalError, match="does not show"):
        fitted.sample(5, where={"code": "h2"})
    assert account.spent().epsilon == pytest.approx(21.0, rel=1e-3)


def test_evaluations_compare_detailed_codes():
    """No code is where it was: all records would have to change."""
    real = open_source(visits(), BOOK)
    hearts = np.array(visits()["chapter"].to_pylist()) == "heart"
    changed = visits().set_column(2, "code", pa.array(np.where(hearts, "h2", "other")))
    score = detail_tvd(real, open_source(changed, BOOK))
    assert score.value == 1.0 and f"{1 - hearts.mean():.1%} of code became other" in score.note
    assert detail_tvd(real, real).value == 0.0
    assert "detail_tvd" in [found.metric for found in utility_scores(real, real)]


def test_a_model_with_tables_of_other_details_is_refused(tmp_path):
    fitted = us.LaplaceHistogram(epsilon=5.0, **PRICE).fit(open_source(visits(), BOOK))
    fitted.save_model(tmp_path / "m")
    model = load_model(tmp_path / "m").model
    assert model.faults() == [] and len(model.details.tables()) == 3
    from dataclasses import replace

    odd = replace(model, details=type(model.details).of(model.details.tables()[:2], codes=1))
    assert "details" in odd.faults()[0]
