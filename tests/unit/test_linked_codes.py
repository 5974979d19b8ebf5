"""Detailed codes in linked tables: drawn, written, verified, evaluated, and kept in model files."""

import json
import shutil
import zipfile

import numpy as np
import pyarrow.parquet as pq
import pytest
from coded_examples import CODES, coded_book, coded_data

import understudy as us
from understudy.blocks.code_estimates import NoisyCounts
from understudy.codebook.views import views_of
from understudy.errors import ReleaseError
from understudy.histories.codes import MeasuredCodes, tables_of_codes
from understudy.mechanisms.stream import Stream
from understudy.synth.details import draw_details

BOOK = coded_book()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release at so large an epsilon that noise hides nothing frequent, and its model."""
    place = tmp_path_factory.mktemp("codes")
    data = coded_data(300)
    how = {"epsilon": 8.0, "delta": 1e-6, "seed": 5}
    us.synthesize(data, BOOK, 300, out=place / "release", save_model=place / "model", **how)
    return data, place


def released(folder, name):
    return pq.read_table(folder / f"{name}.parquet")


def test_codes_and_their_parents_are_released_and_agree(made):
    _, place = made
    stays = released(place / "release", "stays")
    own = ["ward", *(f"diag_{n}{level}" for n in (1, 2, 3) for level in ("_chapter", "_block", ""))]
    assert stays.column_names == ["sid", "pid", "turn", *own]
    for name in ("diag_1", "diag_2", "diag_3"):
        for row in stays.select([name, f"{name}_block", f"{name}_chapter"]).to_pylist():
            code, block, chapter = row.values()
            if code is None or code == "other":
                assert (block, chapter) == (code, code)
            elif code in CODES.codes:
                assert (chapter, block) == CODES.codes[code]
            else:  # fell back to a parent
                assert CODES.nodes[code][0] == chapter
    assert us.verify(place / "release").problems == ()


def test_frequent_codes_are_frequent(made):
    """Noise has a deviation of a few records here; a code of 100 and more is far beyond it."""
    data, place = made
    for name in ("diag_1", "diag_2", "diag_3"):
        real, drawn = (table[name].to_pylist() for table in (data["stays"], released(place / "release", "stays")))
        for code in ("A1", "B5"):
            share = drawn.count(code) / len(drawn)
            assert abs(share - real.count(code) / len(real)) < 0.12
    assert {row["plan"] for row in released(place / "release", "patients").to_pylist() if row["payer"] == "own"} <= {
        "o1", "o2", "other", None,
    }  # fmt: skip


def test_a_model_file_keeps_the_codes(made):
    _, place = made
    drawn = us.draw(place / "model", 50).tables
    assert set(drawn["stays"].column_names) >= {"diag_1", "diag_1_block", "diag_1_chapter"}
    assert drawn["drugs"].num_rows == len(drawn["drugs"]["reason"])


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda held: held["views"][1].update(codes=2), "codes of 2 columns"),
        (lambda held: held.update(format=3), "format"),
    ],
)
def test_a_model_file_with_other_codes_is_refused(made, tmp_path, change, word):
    _, place = made
    with zipfile.ZipFile(place / "model") as source, zipfile.ZipFile(tmp_path / "model", "w") as target:
        for name in source.namelist():
            text = source.read(name)
            if name == "model.json":
                held = json.loads(text)
                change(held)
                text = json.dumps(held)
            target.writestr(name, text)
    with pytest.raises(ReleaseError, match=word):
        us.draw(tmp_path / "model", 5)


def test_a_changed_code_is_found(made, tmp_path):
    _, place = made
    shutil.copytree(place / "release", tmp_path / "release")
    path = tmp_path / "release" / "stays.parquet"
    stays = pq.read_table(path)
    index = stays.column_names.index("diag_1")
    pq.write_table(stays.set_column(index, "diag_1", stays["diag_2"]), path)
    assert us.verify(tmp_path / "release").problems


def test_codes_are_evaluated(made):
    data, place = made
    score = us.evaluate_linked(data, place / "release").findings.score("detailed_codes")
    names = {"patients.plan", "stays.diag_1", "stays.diag_2", "stays.diag_3", "drugs.reason"}
    assert set(score.breakdown) == names and 0 <= score.value < 0.5
    same = us.evaluate_linked(data, data, BOOK).findings.score("detailed_codes")
    assert same.value == 0


def test_columns_of_one_list_help_each_other_across_tables():
    """A code that one column alone would leave in doubt shows where three columns and another table have it too."""
    views = views_of(BOOK)
    generator = np.random.default_rng(1)
    size = BOOK.table("stays").book.column("diag_1").size
    place = BOOK.table("stays").book.column("diag_1").place_of

    def measured(view, values):
        return [
            MeasuredCodes(cells=one, counts=NoisyCounts(values=each, variance=100.0))
            for one, each in zip(view.codes, values, strict=True)
        ]

    def noisy():
        values = generator.normal(0, 1, size)  # less than the noise: nothing shows by chance
        values[place["B2"]] += 25
        values[place["A1"]] += 1000
        return values

    stays = [noisy(), noisy(), noisy()]
    reason = noisy()
    people = np.full(views[0].codes[0].size, 50.0)
    together = tables_of_codes([measured(views[0], [people]), measured(views[1], stays), measured(views[2], [reason])])
    alone = tables_of_codes([[], [measured(views[1], stays)[0]], []])

    def weight(table):
        codes, counts = table.pairs.occupied()
        return dict(zip(codes[:, 1].tolist(), counts.tolist(), strict=True)).get(place["B2"], 0)

    assert weight(together[1][0]) >= weight(alone[1][0])
    assert weight(together[1][0]) > 0
    drawn = draw_details(
        BOOK.person.book, together[0], [np.zeros(9, np.uint8), np.zeros(9, np.uint8)], Stream.seeded(1)
    )
    labels = BOOK.person.book.column("plan").labels
    assert {labels[code] for code in drawn["plan"]} <= {"p1", "p2", "p3", "other", ""}
