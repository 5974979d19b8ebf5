"""Metrics of linked tables: perfect on equal tables, known values by hand, and each moves when its fault is planted."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from understudy import datasets
from understudy.codebook import Categorical, Codebook, Integer
from understudy.codebook.linked import Constant, LinkedCodebook, LinkedTable
from understudy.codebook.readings import Reading
from understudy.codebook.rules import Order
from understudy.errors import DataError, ParameterError
from understudy.evaluate.linked.compare import compare_linked
from understudy.evaluate.linked.metrics import LINKED, MUST_BE_PERFECT
from understudy.evaluate.linked.metrics.children import share_by_number
from understudy.evaluate.linked.rows import NONE, read_rows

BOOK = datasets.histories_codebook()


@pytest.fixture(scope="module")
def real():
    return datasets.histories(600, seed=11)._asdict()


@pytest.fixture(scope="module")
def others():
    return datasets.histories(400, seed=12, first=10_000)._asdict()


def changed(tables, table, **columns):
    """The tables with some columns of one of them replaced."""
    written = tables[table]
    for name, values in columns.items():
        written = written.set_column(written.column_names.index(name), name, pa.array(values, written[name].type))
    return {**tables, table: written}


def scores(real, synthetic, **options):
    return {score.metric: score for score in compare_linked(real, synthetic, BOOK, **options).scores}


def test_equal_tables_are_perfect(real, others):
    findings = compare_linked(real, real, BOOK, holdout=others)
    assert {score.metric for score in findings.scores} == set(LINKED) - {"detailed_codes"}
    for score in findings.scores:
        if score.metric != "next_event":
            assert score.value == LINKED[score.metric].metric.perfect, score
    task = findings.score("next_event")
    assert task.breakdown["trained on real rows"] == task.breakdown["trained on synthetic rows"] == task.value
    assert 0.5 < task.value < 0.9 and task.low < task.value < task.high
    assert findings.wrong == ()


def test_each_side_is_read_as_it_is_written(real):
    """The real tables by their reading rules, those that we wrote by the plain convention: there 3.0 is not 30."""
    stays = BOOK.table("stays")
    number = replace(stays.book.column("days"), reading=Reading(decimal=",", thousands="."))
    columns = tuple(number if one.name == "days" else one for one in stays.book.columns)
    other = replace(stays, book=replace(stays.book, columns=columns))
    book = replace(BOOK, tables=tuple(other if one is stays else one for one in BOOK.tables))

    def spelled(mark):
        days = pa.array([f"{value}{mark}0" for value in real["stays"]["days"].to_pylist()])
        written = real["stays"]
        return {**real, "stays": written.set_column(written.column_names.index("days"), "days", days)}

    wrong = compare_linked(spelled(","), spelled("."), book).score("cross_table_pairs").value
    found = compare_linked(spelled(","), spelled("."), book, made_book=book.plain).score("cross_table_pairs").value
    assert found == LINKED["cross_table_pairs"].metric.perfect != wrong


def test_another_draw_of_the_same_people_is_close_and_breaks_nothing(real, others):
    found = scores(real, others, holdout=datasets.histories(300, seed=13, first=20_000)._asdict())
    assert all(found[name].value == LINKED[name].metric.perfect for name in MUST_BE_PERFECT)
    assert 0 < found["cross_table_pairs"].value < 0.2
    assert 0 < found["transitions"].value < 0.25


def test_an_orphan_is_counted(real):
    ids = real["stays"]["patient_id"].to_pylist()
    found = scores(real, changed(real, "stays", patient_id=["nobody", "nobody", *ids[2:]]))
    assert found["orphans"].value == found["orphans"].breakdown["orphans in stays"] == 2
    assert scores(real, real)["orphans"].value == 0


def test_a_repeated_key_is_counted(real):
    ids = real["stays"]["stay_id"].to_pylist()
    found = scores(real, changed(real, "stays", stay_id=[ids[1], *ids[1:]]))
    assert found["orphans"].breakdown["repeated keys in stays"] == 1


def test_keys_match_whether_numbers_or_texts():
    patients = pa.table({"patient_id": [1, 2], "sex": ["F", "M"], "birth_year": [1950, 1990], "region": ["north"] * 2,
                         "chronic": ["no"] * 2})  # fmt: skip
    tables = datasets.histories(2, seed=1)._asdict()
    stays = tables["stays"].set_column(1, "patient_id", pa.array(["1", *["2"] * (tables["stays"].num_rows - 1)]))
    rows = read_rows({**tables, "patients": patients, "stays": stays}, BOOK)
    assert rows.tables["stays"].above.tolist() == [0, *[1] * (stays.num_rows - 1)]


def test_a_person_of_two_sexes_is_found_in_one_table_that_repeats_people(real):
    one = datasets.encounters(600, seed=11)
    joined = {"stays": one, "diagnoses": real["diagnoses"]}
    assert scores(real, joined)["constants"].value == 1
    several = one.group_by("patient_id").aggregate([([], "count_all")])
    person = several.filter(pc.greater(several["count_all"], 1))["patient_id"][0].as_py()
    row = one["patient_id"].to_pylist().index(person)
    sexes = one["sex"].to_pylist()
    sexes[row] = "M" if sexes[row] == "F" else "F"
    faulty = {**joined, "stays": one.set_column(2, "sex", pa.array(sexes))}
    found = scores(real, faulty)["constants"]
    assert found.breakdown["patients.sex"] == pytest.approx(599 / 600)
    assert found.value == pytest.approx(1 - 1 / (600 * 4))
    assert "1 with several values of patients.sex" in scores(faulty, real)["constants"].note


def test_a_missing_value_contradicts_no_constant():
    """As where constants are read: one known value beside a missing one is one value."""
    sex = Categorical(name="sex", levels=("F", "M"), missing="?")
    ward = Categorical(name="ward", levels=("a", "b"))
    people = LinkedTable(
        name="people", key="id", made_of="stays", book=Codebook(columns=(sex,)),
        constants=(Constant(column="sex", child="stays", rule="most frequent"),),
    )  # fmt: skip
    stays = LinkedTable(name="stays", parent="people", parent_key="id", cap=3, book=Codebook(columns=(ward,)))
    told = {"id": ["1", "1", "2", "2", "3"], "sex": ["F", "?", "F", "M", "?"], "ward": list("ababa")}
    rows = read_rows({"stays": pa.table(told)}, LinkedCodebook(tables=(people, stays)))
    assert rows.differing["people.sex"] == (2, 3)


def test_a_patient_listed_twice_with_two_sexes_is_not_constant(real):
    people = real["patients"]
    twice = pa.concat_tables(
        [people, people.slice(0, 1).set_column(1, "sex", pa.array(["M" if people["sex"][0].as_py() == "F" else "F"]))]
    )
    found = scores(real, {**real, "patients": twice})
    assert found["constants"].breakdown["patients.sex"] == pytest.approx(599 / 600)
    assert found["orphans"].breakdown["repeated keys in patients"] == 1


def test_broken_rules_are_counted_within_a_person_and_in_time(real):
    wards = real["stays"]["ward"].to_pylist()
    sexes = dict(zip(real["patients"]["patient_id"].to_pylist(), real["patients"]["sex"].to_pylist(), strict=True))
    man = next(row for row, who in enumerate(real["stays"]["patient_id"].to_pylist()) if sexes[who] == "M")
    wards[man] = "obstetrics"
    found = scores(real, changed(real, "stays", ward=wards))["broken_rules"]
    assert found.value == found.breakdown["men have no deliveries"] == 1
    rows = read_rows(real, BOOK)
    followed = int(rows.tables["stays"].before[rows.tables["stays"].before != NONE][0])
    outcomes = real["stays"]["outcome"].to_pylist()
    outcomes[followed] = "died"
    found = scores(real, changed(real, "stays", outcome=outcomes))["broken_rules"]
    assert found.value == found.breakdown["nothing after death"] == 1


def test_numbers_of_one_bin_can_break_an_order():
    edges = tuple(range(0, 20, 10))
    stays = replace(BOOK.table("stays"), order=None)
    from fractions import Fraction

    columns = tuple(Integer(name=name, edges=tuple(map(Fraction, (*edges, 20)))) for name in ("low", "high"))
    stays = replace(
        stays,
        key=None,
        book=replace(stays.book, columns=columns, constraints=(Order(low="low", relation="<=", high="high"),)),
    )
    book = LinkedCodebook(tables=(BOOK.table("patients"), stays))
    patients = datasets.histories(3, seed=1).patients
    ids = patients["patient_id"].to_pylist()
    tables = {"patients": patients, "stays": pa.table({"patient_id": ids, "low": [1, 5, 12], "high": [2, 4, 11]})}
    findings = compare_linked(tables, tables, book)
    assert findings.score("broken_rules").value == 2


def test_shuffled_order_moves_transitions_and_gaps_and_leaves_pairs_alone(real):
    """The stays of each person with their dates dealt out anew: who and what stay, when does not."""
    stays = real["stays"]
    dates = stays["admitted"].to_pylist()
    where: dict[str, list[int]] = {}
    for row, who in enumerate(stays["patient_id"].to_pylist()):
        where.setdefault(who, []).append(row)
    generator = np.random.default_rng(5)
    for rows in where.values():
        taken = [dates[row] for row in rows]
        for row, place in zip(rows, generator.permutation(len(rows)), strict=True):
            dates[row] = taken[place]
    before, after = scores(real, real), scores(real, changed(real, "stays", admitted=dates))
    assert after["transitions"].value > before["transitions"].value == 0
    assert after["gaps"].breakdown["gaps in stays"] < 0.05 < after["gaps"].value  # the same gaps after other stays
    children = after["children_by_group"].breakdown
    assert all(value == 0 for name, value in children.items() if name.endswith("rows of stays"))
    assert after["cross_table_pairs"].breakdown["patients.sex x stays.ward"] <= 0.05  # caps keep other stays


def test_rows_that_ignore_their_patient_move_the_pairs(real):
    wards = real["stays"]["ward"].to_pylist()
    found = scores(real, changed(real, "stays", ward=wards[::-1]))
    pair = found["cross_table_pairs"].breakdown["patients.sex x stays.ward"]
    assert pair > 0 == found["cross_table_pairs"].breakdown["patients.sex x stays.severity"]
    assert "no link between them would score" in found["cross_table_pairs"].note


def test_people_with_other_numbers_of_stays_move_the_children(real):
    first = read_rows(real, BOOK, capped=False).tables["stays"].place == 0
    few = {**real, "stays": real["stays"].filter(pa.array(first))}
    few["diagnoses"] = few["diagnoses"].filter(
        pc.is_in(few["diagnoses"]["stay_id"], few["stays"]["stay_id"].combine_chunks())
    )
    found = scores(real, few)
    counts = np.array(share_by_number(read_rows(real, BOOK), "stays"))
    assert found["children_by_group"].breakdown["rows of stays"] == pytest.approx(1 - counts[1])
    assert found["gaps"].value == found["transitions"].breakdown["stays.severity"] == 1  # nothing follows anything
    assert "No table" in scores(few, real)["gaps"].note


def test_caps_keep_so_many_siblings_by_chance():
    tables = datasets.histories(500, seed=2)._asdict()
    rows, whole = read_rows(tables, BOOK), read_rows(tables, BOOK, capped=False)
    most = int(whole.children("stays").max())
    assert most == 6 > BOOK.table("stays").cap == int(rows.children("stays").max())
    assert rows.tables["stays"].rows == int(np.minimum(whole.children("stays"), 5).sum())
    assert sum(share_by_number(rows, "stays")) == pytest.approx(1)
    assert (rows.tables["diagnoses"].above != NONE).all()  # what belongs to a stay beyond the cap goes with it
    dropped = {*tables["stays"]["stay_id"].to_pylist()} - {*rows.tables["stays"].written["stay_id"].to_pylist()}
    people = whole.tables["stays"]
    places = people.place[np.isin(people.written["stay_id"].to_numpy(zero_copy_only=False), list(dropped))]
    assert len(set(places.tolist())) > 1  # not always the last ones


def test_a_declared_label_and_what_is_wrong_with_one(real, others):
    found = scores(real, real, holdout=others, label="stays.severity=extreme")["next_event"]
    assert "stays.severity is extreme" in found.note and 0.5 < found.value < 1
    for label, words in (
        ("stays.severity=huge", "huge"),
        ("stays.x=1", "stays.x=1"),
        ("nowhere", "TABLE.COLUMN=LEVEL"),
    ):
        with pytest.raises(ParameterError, match=words):
            compare_linked(real, real, BOOK, holdout=others, label=label)


def test_readmission_is_known_by_hand():
    patients = datasets.histories(2, seed=1).patients
    ids = patients["patient_id"].to_pylist()
    day = dt.date(2015, 1, 1)
    stays = pa.table(
        {
            "stay_id": ["a", "b", "c"],
            "patient_id": [ids[0], ids[0], ids[1]],
            "admitted": [day + dt.timedelta(40), day, day],
            "days": [1, 2, 3],
            "ward": ["surgery"] * 3,
            "severity": ["mild"] * 3,
            "outcome": ["home"] * 3,
        }
    )
    diagnoses = pa.table({"stay_id": ["a"], "position": [1], "code": ["I50"]})
    rows = read_rows({"patients": patients, "stays": stays, "diagnoses": diagnoses}, BOOK)
    from understudy.evaluate.linked.metrics.gaps import gap_days
    from understudy.evaluate.linked.metrics.next_event import examples, find_task

    assert gap_days(rows, "stays")[0] == 40 and np.isnan(gap_days(rows, "stays")[1:]).all()
    assert rows.tables["stays"].before.tolist() == [1, NONE, NONE]
    for within, answers in ((30, [False] * 3), (40, [False, True, False])):
        task = find_task(BOOK, label=None, within=within)
        assert examples(rows, task)[1].tolist() == answers


def test_findings_hide_their_figures(real):
    findings = compare_linked(real, real, BOOK)
    assert "not for release" in repr(findings) and "not for release" in repr(findings.real)
    assert findings.to_dict()["rows"]["real"]["patients"] == 600


def test_tables_that_do_not_fit_are_refused(real):
    with pytest.raises(ParameterError, match="wards"):
        compare_linked({**real, "wards": real["stays"]}, real, BOOK)
    with pytest.raises(DataError, match="severity"):
        compare_linked(real, {**real, "stays": real["stays"].drop_columns(["severity"])}, BOOK)
    with pytest.raises(ParameterError, match="patients"):
        compare_linked(real, {"stays": real["stays"], "diagnoses": real["diagnoses"]}, BOOK)
    with pytest.raises(ParameterError, match="list"):
        compare_linked({**real, "stays": [1]}, real, BOOK)
