"""Limits of a board on linked tables: the verdicts follow from facts that can be counted by hand."""

import datetime as dt
import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from linked_examples import hospital, hospital_data

import understudy as us
from understudy import datasets
from understudy.codebook import Integer
from understudy.codebook.columns import Categorical, Dates, Grain, Role
from understudy.errors import DataError
from understudy.evaluate.board import Board
from understudy.evaluate.linked.compare import compare_linked
from understudy.evaluate.linked.rows import read_rows
from understudy.evaluate.linked.shares import coarse
from understudy.evaluate.linked.views import banded_labels, gaps_view, numbers_view, rows_view, steps_view
from understudy.evaluate.opened import open_grids

BOOK = hospital()


@pytest.fixture(scope="module")
def sides():
    return [hospital_data(300, seed=seed, called=called) for seed, called in ((1, "p"), (2, "made"), (3, "other"))]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limits")
    real = datasets.histories(200, seed=5)._asdict()
    us.synthesize(real, datasets.histories_codebook(), 100, epsilon=2.0, delta=1e-6, out=folder / "release")
    return real, folder / "release"


def use(findings, title):
    return next(one for one in findings.judgement.uses if one.title == title)


def counted(view, source, name):
    (grid,) = open_grids(source, [[name]])
    return dict(zip(view.real.codebook.column(name).labels, grid.tolist(), strict=True))


def test_views_count_what_can_be_counted_by_hand(sides):
    rows = [read_rows(tables, BOOK) for tables in sides[:2]]
    patients, stays = (rows[0].tables[name].written for name in ("patients", "stays"))
    number = numbers_view((rows[0], rows[1]), "stays")
    had = [stays["pid"].to_pylist().count(pid) for pid in patients["pid"].to_pylist()]
    assert counted(number, number.real, "number of stays") == {str(k): had.count(k) for k in range(4)}
    own = rows_view((rows[0], rows[1]), "stays")
    wards = stays["ward"].to_pylist()
    assert counted(own, own.real, "stays.ward") == {ward: wards.count(ward) for ward in ("A", "B", "delivery")}
    sex = dict(zip(patients["pid"].to_pylist(), patients["sex"].to_pylist(), strict=True))
    (grid,) = open_grids(own.real, [("patients.sex", "stays.ward")])
    pairs = [(sex[pid], ward) for pid, ward in zip(stays["pid"].to_pylist(), wards, strict=True)]
    assert grid.tolist() == [[pairs.count((a, b)) for b in ("A", "B", "delivery")] for a in ("F", "M")]
    in_order = {}
    listed = zip(stays["pid"].to_pylist(), stays["admitted"].to_pylist(), wards, strict=True)
    for pid, day, ward in sorted(listed, key=lambda stay: stay[:2]):  # of one day, in the order of the file
        in_order.setdefault(pid, []).append((day, ward))
    followed = [pair for own in in_order.values() for pair in pairwise(own)]
    steps = steps_view((rows[0], rows[1]), "stays")
    assert steps.rows[0] == len(followed) and ("stays.previous.ward", "stays.ward") in steps.pairs
    (grid,) = open_grids(steps.real, [("stays.previous.ward", "stays.ward")])
    assert grid.sum() == len(followed) and grid[2, 2] == sum(a[1] == b[1] == "delivery" for a, b in followed)
    gaps = gaps_view((rows[0], rows[1]), "stays")
    days = [(b[0] - a[0]).days for a, b in followed]
    assert counted(gaps, gaps.real, "days to the next of stays")["1 to 7"] == sum(1 <= day <= 7 for day in days)


def test_equal_tables_are_right_in_everything_and_give_everybody_away(sides):
    real, _, others = sides
    findings = compare_linked(real, real, BOOK, holdout=others)
    assert all(
        one.allowed and one.facts[0].severity == 0 for one in findings.judgement.uses if "Predict" not in one.title
    )
    titles = {one.title for one in findings.judgement.uses}
    assert titles >= {
        "Shares of single columns",
        "Tables of two columns",
        "Which columns hang together",
        "How many rows go with one",
        "What follows what",
        "Time between events",
        "Single rows that make sense",
    }
    assert findings.judgement.intruder.status == "bad" and "do not publish" in findings.judgement.decision
    assert findings.judgement.promise.status == "bad", "tables without a manifest promise nothing"
    alone = compare_linked(real, real, BOOK).judgement.intruder
    assert alone.status in ("bad", "open") and "whole history of exactly one person" in " ".join(alone.points)


def test_the_limit_decides_and_nothing_else(sides):
    """The same facts against two boards: whatever is off by no more than its limit is within."""
    real, made, _ = sides
    found = {limit: compare_linked(real, made, BOOK, board=Board(share_error=limit)) for limit in (0.9999, 1e-6)}
    for title in (
        "Shares of single columns",
        "Tables of two columns",
        "How many rows go with one",
        "What follows what",
    ):
        loose, strict = (use(findings, title) for findings in found.values())
        assert loose.allowed and not strict.allowed and loose.measured == strict.measured
        assert loose.facts[0].severity * 0.9999 == pytest.approx(strict.facts[0].severity * 1e-6)
        assert 0 < loose.facts[0].severity < 1
    assert "limit 99.99" in use(found[0.9999], "Shares of single columns").sentence


def test_what_must_hold_forgives_nothing(sides):
    real, made, _ = sides
    stays = made["stays"]
    nobody = stays.set_column(1, "pid", pa.array(["nobody", *stays["pid"].to_pylist()[1:]]))
    findings = compare_linked(real, {**made, "stays": nobody}, BOOK, board=Board(impossible_rows=1.0))
    rows = use(findings, "Single rows that make sense")
    assert not rows.allowed and "orphans in stays: 1 (limit 0)" in rows.sentence
    late = stays.set_column(3, "left", pa.array([dt.date(2000, 1, 1)] * len(stays), pa.date32()))
    findings = compare_linked(real, {**made, "stays": late}, BOOK, board=Board(impossible_rows=1.0))
    assert "the declared rule" in " ".join(fact.says for fact in use(findings, "Single rows that make sense").facts)


def test_tables_without_rows_are_beyond_every_limit(sides):
    real, made, others = sides
    nothing = {name: table if name == "patients" else table.slice(0, 0) for name, table in made.items()}
    loose = Board(share_error=1.0, association_error=1.0, impossible_rows=1.0)
    findings = compare_linked(real, nothing, BOOK, board=loose)
    rows = use(findings, "Single rows that make sense")
    assert not rows.allowed and "the synthetic table stays has no row (limit 0)" in rows.sentence
    assert not use(findings, "What follows what").allowed
    nobody = {name: table.slice(0, 0) for name, table in made.items()}
    verdict = compare_linked(real, nobody, BOOK, holdout=others).judgement.intruder
    assert verdict.status == "open", "an attack that was not tried shows nothing"


def test_people_of_the_data_are_no_hold_out(sides):
    """Neither by their ids, nor under others, nor where some of their stays are on either side."""
    real, made, _ = sides
    with pytest.raises(DataError, match="have an id that is in the training table too"):
        compare_linked(real, made, BOOK, holdout=real)
    with pytest.raises(DataError, match="overlaps the training rows"):
        compare_linked(real, made, BOOK, holdout=hospital_data(300, seed=1, called="new"))
    early = pc.less(pc.year(real["stays"]["admitted"]), pc.year(pc.max(real["stays"]["admitted"])))
    parts = [{**real, "stays": real["stays"].filter(side)} for side in (early, pc.invert(early))]
    assert all(part["stays"].num_rows for part in parts)
    with pytest.raises(DataError, match="have an id that is in the training table too"):
        compare_linked(parts[0], made, BOOK, holdout=parts[1])


def test_roles_let_an_intruder_be_judged(sides):
    """With roles, and people of the same kind on all sides, nobody gains anything beyond the widest limit."""
    real, made, others = sides
    person = BOOK.person
    columns = (replace(person.book.columns[0], role=Role.QUASI_IDENTIFIER), *person.book.columns[1:])
    book = replace(BOOK, tables=(replace(person, book=replace(person.book, columns=columns)), *BOOK.tables[1:]))
    without = compare_linked(real, made, BOOK, holdout=others).judgement.intruder
    assert without.status == "open" and "no quasi-identifier is declared" in without.answer
    verdict = compare_linked(real, made, book, holdout=others, board=Board(attack_gain=1.0)).judgement.intruder
    assert verdict.status == "good"


def test_the_promise_of_a_release_is_held_against_the_limit(release, tmp_path):
    real, folder = release
    found = us.evaluate_linked(real, folder, out=tmp_path / "page.html", board=Board(decided_by="Board of the house"))
    assert found.judgement.promise.status == "good" and "Epsilon 2 for each person" in found.judgement.promise.answer
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in (found.judgement.decision, "The three worst facts", "Board of the house", "most_epsilon"):
        assert words in page
    strict = us.evaluate_linked(real, folder, board=Board(most_epsilon=1.0)).judgement
    assert strict.promise.status == "bad" and strict.decision.startswith("At these limits: do not publish. Too little.")
    told = json.loads(json.dumps(found.to_dict()))
    assert told["judgement"]["decision"] == found.judgement.decision
    assert told["board"]["limits"]["share_error"]["value"] == 0.03
    manifest = json.loads((folder / "manifest.json").read_text())
    copy = tmp_path / "changed"
    copy.mkdir()
    for place in folder.iterdir():
        (copy / place.name).write_bytes(place.read_bytes())
    (copy / "manifest.json").write_text(json.dumps({**manifest, "statement": "Perfectly safe."}))
    assert us.evaluate_linked(real, copy).judgement.promise.status == "bad"


def test_a_release_in_memory_says_what_it_promises():
    real, book = datasets.histories(150, seed=4)._asdict(), datasets.histories_codebook()
    made = us.synthesize(real, book, 60, epsilon=3.0, delta=1e-6)
    verdict = us.evaluate_linked(real, made).judgement.promise
    assert verdict.status == "good" and "Epsilon 3 " in verdict.answer


def test_every_code_of_a_banded_column_has_its_label():
    """Also where names are empty or alike."""
    days = Dates(name="on", grain=Grain.DAY, start=dt.date(2000, 1, 1), end=dt.date(2000, 4, 30), missing="")
    ages = Integer(name="age", edges=tuple(map(Fraction, range(0, 47))), missing="NA")
    few = Categorical(name="x", levels=("a", "(missing)"), missing="")
    for column in (days, ages, few):
        labels = banded_labels(column)
        banded, size = coarse(column, np.arange(column.size))
        assert len(labels) == len(set(labels)) == size and all(labels)
        if size < column.size:
            for code, band in enumerate(banded[: column.proper_levels]):
                first, _, last = labels[band].partition(" to ")
                assert first <= column.labels[code] <= (last or first) or column is ages
            last_band = labels[banded[column.proper_levels - 1]]
            assert last_band.endswith(column.labels[column.proper_levels - 1])
            assert labels[0].startswith(column.labels[0])
    assert banded_labels(few) == ("a", "(missing)", "(missing)'")
