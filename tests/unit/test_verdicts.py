"""Planted faults: the first screen of a report names each of them, and a good release passes. All tables are seeded."""

import json
import re
from html import unescape

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from understudy.codebook import Categorical, Codebook, Ordinal, Role
from understudy.evaluate.board import Board
from understudy.evaluate.report.gather import gather
from understudy.evaluate.report.page import report_page
from understudy.evaluate.report.release_facts import ReleaseFacts
from understudy.evaluate.report.verdicts import NOT_MEASURED
from understudy.evaluate.risk.gains import difference
from understudy.evaluate.risk.intervals import wilson
from understudy.sources import open_source

FIVE = ("0", "1", "2", "3", "4")


def book_of(*, roles: bool = True) -> Codebook:
    known = Role.QUASI_IDENTIFIER if roles else Role.OTHER
    return Codebook(
        columns=(
            Categorical(name="sex", levels=("F", "M"), role=known),
            Ordinal(name="age", levels=FIVE, role=known),
            Categorical(name="pregnant", levels=("no", "yes")),
            Categorical(name="ill", levels=("no", "yes"), role=Role.SENSITIVE if roles else Role.OTHER),
            *(Ordinal(name=f"q{k}", levels=FIVE) for k in range(6)),
        ),
        title="planted",
    )


def people(rows: int, seed: int) -> dict[str, np.ndarray]:
    """Age makes ill, no man is pregnant, and six answers tell people apart."""
    rng = np.random.default_rng(seed)
    sex, age = rng.integers(0, 2, rows), rng.integers(0, 5, rows)
    ill = rng.random(rows) < 1 / (1 + np.exp(2.0 - age))
    pregnant = (sex == 0) & (rng.random(rows) < 0.3)
    return {
        "sex": sex,
        "age": age,
        "pregnant": pregnant,
        "ill": ill,
        **{f"q{k}": rng.integers(0, 5, rows) for k in range(6)},
    }


def table(codes: dict[str, np.ndarray]) -> pa.Table:
    book = book_of()
    return pa.table({name: np.array(book.column(name).labels)[codes[name].astype(int)] for name in book.names})


PROMISED = ReleaseFacts(
    statement="s",
    method="marginals",
    guarantee={"kind": "PureDP", "epsilon": 1.0, "delta": 0.0, "neighbours": "add-remove"},
    created="2026-11-16T00:00:00+00:00",
    randomness="secure",
    account="none",
    parameters={},
    codebook=book_of().plain.digest,
    warnings=(),
    problems=(),
    table="synthetic.parquet",
)


def first_screen(synthetic, *, holdout=True, roles=True, release=PROMISED, **choices):
    """What a board member sees before scrolling, and the document behind it."""
    book = book_of(roles=roles)
    found = gather(
        open_source(table(people(3000, 1)), book),
        open_source(table(synthetic), book),
        risk="quick",
        holdout=open_source(table(people(3000, 2)), book) if holdout else None,
        release=release,
        **choices,
    )
    doc = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    section = report_page(doc).split('<section id="verdict">')[1].split("</section>")[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", section)).split()), doc


def test_a_good_release_passes():
    words, doc = first_screen(people(3000, 3), target="ill")
    assert words.startswith("Yes At these limits: may be published")
    judged = doc["judgement"]
    assert [verdict["status"] for verdict in judged["verdicts"]] == ["good"] * 4 and judged["status"] == "good"
    assert len(judged["worst"]) == 3 and all(fact in words for fact in judged["worst"])
    assert all(use["allowed"] for use in judged["uses"]) and len(judged["uses"]) == 6


def test_a_wrong_coefficient_is_named():
    wrong = people(3000, 3)
    wrong["ill"] = np.random.default_rng(4).permutation(wrong["ill"])  # the shares stay, the effect is lost
    words, doc = first_screen(wrong, target="ill")
    assert re.search(r"The model of ill = yes by [^:]*\bage\b[^:]*: age: -?[\d.]+ instead of [\d.]+", words)
    worst = doc["judgement"]["worst"]
    assert worst[0].startswith("The model of ill = yes")
    assert "may be published, for the uses below" in words, "a lost effect is no danger to anybody"
    shares = next(use for use in doc["judgement"]["uses"] if use["title"] == "Shares of single columns")
    assert shares["allowed"]


def test_an_impossible_combination_is_named():
    wrong = people(3000, 3)
    wrong["pregnant"][np.flatnonzero(wrong["sex"] == 1)[:150]] = True
    words, doc = first_screen(wrong)
    assert "sex = M and pregnant = yes in 150 rows (5%), in no real record" in words
    rows = next(use for use in doc["judgement"]["uses"] if use["title"] == "Single rows that make sense")
    assert not rows["allowed"] and rows["beyond"] == 1
    rare = people(3000, 3)
    rare["pregnant"][np.flatnonzero(rare["sex"] == 1)[:2]] = True  # two rows may be chance, and are below the limit
    assert "for the uses below" in first_screen(rare)[0]


def test_a_release_that_copies_rows_is_named_with_and_without_a_hold_out():
    words, doc = first_screen(people(3000, 1))
    assert words.startswith("No At these limits: do not publish") and "membership: +" in words
    gain = next(gain for gain in doc["attacks"]["gains"] if gain["attack"] == "membership")
    assert gain["inside"] == 1 and gain["low"] > 0.9
    words, _ = first_screen(people(3000, 1), holdout=False)
    assert words.startswith("No At these limits: do not publish")
    assert "of the synthetic rows equal the record of exactly one person" in words


def test_without_roles_risk_is_not_measured_and_nobody_is_said_to_know_anything():
    words, doc = first_screen(people(3000, 3), roles=False, target="ill")
    assert NOT_MEASURED in words and words.startswith("Open At these limits: not yet to be decided")
    assert [gain["attack"] for gain in doc["attacks"]["gains"]] == ["membership"], (
        "nobody guesses from what nobody knows"
    )
    assert not any("guesses of" in line["label"] for line in doc["summary"])
    words, _ = first_screen(people(3000, 1), roles=False)
    assert words.startswith("No At these limits: do not publish") and NOT_MEASURED in words, (
        "a leak is told all the same"
    )


def test_without_a_hold_out_or_without_attacks_nothing_is_certain():
    assert "nobody was held out" in first_screen(people(3000, 3), holdout=False)[0]
    book = book_of()
    sources = [open_source(table(people(500, seed)), book) for seed in (1, 3)]
    answer = gather(*sources, risk="none", release=PROMISED).judgement.intruder
    assert answer.status == "open" and "left out" in answer.answer


def test_a_seeded_release_promises_nothing(tmp_path):
    book = book_of()
    us.synthesize(table(people(400, 1)), book, rows=400, epsilon=1, delta=1e-6, seed=1).save(tmp_path / "r")
    found = us.evaluate(table(people(400, 1)), tmp_path / "r", book, risk="none")
    assert found.judgement.promise.status == "bad" and "seed" in found.judgement.promise.answer
    assert found.judgement.decision.startswith("At these limits: do not publish. Nothing:")


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        (
            {"guarantee": {"kind": "PureDP", "epsilon": 12.0, "delta": 0.0, "neighbours": "add-remove"}},
            "bad",
            "Too little",
        ),
        (
            {"guarantee": {"kind": "ApproxDP", "epsilon": 1.0, "delta": 0.01, "neighbours": "add-remove"}},
            "bad",
            "could be shown whole",
        ),
        ({"guarantee": {"kind": "NoFormal", "why": "nothing was proved"}}, "bad", "Nothing: nothing was proved."),
        ({"guarantee": {"kind": "LDiverse", "l": 2.0}}, "open", "another kind"),
        ({"problems": ("a file is missing",)}, "bad", "does not verify"),
    ],
)
def test_other_promises(changes, status, words):
    from dataclasses import replace

    book = book_of()
    sources = [open_source(table(people(500, seed)), book) for seed in (1, 3)]
    verdict = gather(*sources, risk="none", release=replace(PROMISED, **changes)).judgement.promise
    assert verdict.status == status and words in verdict.answer
    assert gather(*sources, risk="none").judgement.promise.answer.startswith("Nothing is known")


def test_the_limits_of_the_board_decide():
    book = book_of()
    sources = [open_source(table(people(500, seed)), book) for seed in (1, 3)]
    strict = gather(*sources, risk="none", release=PROMISED, board=Board(share_error=0.0001, most_epsilon=0.5))
    assert strict.judgement.promise.status == "bad" and strict.judgement.must_not.status == "bad"
    late = gather(*sources, risk="none", release=PROMISED, board=Board(decided_on="2026-12-24"))
    assert any("after the release was made" in point for point in late.judgement.promise.points)


@settings(deadline=None)
@given(st.integers(0, 50), st.integers(0, 50))
def test_a_gain_lies_in_its_interval_and_turns_with_its_sides(a, b):
    gain, loss = difference(wilson(a, 50), wilson(b, 50)), difference(wilson(b, 50), wilson(a, 50))
    assert -1 - 1e-9 <= gain.low <= gain.value <= gain.high <= 1 + 1e-9
    assert (gain.low, gain.high) == pytest.approx((-loss.high, -loss.low))
