"""Whatever is altered in a release is named, and nothing else is: tables, parts, marks and copies (decision 0178).

Each change is made as a careful hand would: the digests in the manifest are those of the altered files, so that only
the check of what the files say can notice it.
"""

import json
import shutil
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.privacy import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.provenance import MARK, Made, Provenance
from understudy.release.folders import digest_of
from understudy.release.verify import bought_inputs
from understudy.sources.inputs import other_than_marked
from understudy.synth.ranged import synthesize_parts

BOOK = Codebook(columns=(Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("0", "1"))))
TABLE = pa.table({"a": ["x", "y"] * 50, "b": ["0", "0", "1", "1"] * 25})


def paid(scale):
    event = GeometricHistogram(scale=Fraction(scale), neighbours=Neighbours.ADD_REMOVE)
    return Ledger((Entry(stage="counts", reads="counts", event=event),))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("verifying")
    us.count(TABLE, BOOK, by=["a"], epsilon=1.0, out=place / "counts", formats=["csv"])
    us.synthesize(TABLE, BOOK, rows=20, method="laplace", epsilon=1.0, out=place / "rows", formats=["csv", "xlsx"])
    synthesize_parts(TABLE, BOOK, us.Marginals(epsilon=2.0, delta=1e-6), rows=30, part_rows=10, out=place / "parts")
    for name in ("counts", "rows", "parts"):
        assert us.verify(place / name).is_valid
    return place


def manifest_of(place):
    return json.loads((place / "manifest.json").read_text(encoding="utf-8"))


def put(place, facts):
    (place / "manifest.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def altered(folders, tmp_path, name, change, *, listed=True):
    """The problems of a copy that was changed, with the digests of what it holds now."""
    place = shutil.copytree(folders / name, tmp_path / name)
    change(place)
    facts = manifest_of(place)
    if listed:
        facts["files"] = {
            file: digest_of(place / file) if (place / file).is_file() and file != "index.html" else digest
            for file, digest in facts["files"].items()
        }
        put(place, facts)
    return [problem for problem in us.verify(place).problems if "index.html" not in problem]


def rewritten(path, change, *, metadata=None):
    """The table with other rows and the mark that it had, or another."""
    table = pq.read_table(path)
    kept = table.schema.metadata if metadata is None else metadata(dict(table.schema.metadata))
    pq.write_table(change(table).replace_schema_metadata(kept), path)


# ---- rows


def set_cell(table, column, row, value):
    values = table.column(column).to_pylist()
    values[row] = value
    place = table.column_names.index(column)
    kind = table.schema.field(column)
    return table.set_column(place, kind.with_nullable(True), pa.array(values, kind.type))


ROWS = [
    (lambda t: t.slice(1), "the table has 19 rows, the manifest says 20"),
    (lambda t: pa.concat_tables([t, t.slice(0, 1)]), "the table has 21 rows, the manifest says 20"),
    (lambda t: t.drop_columns(["b"]), "column 'b' of the codebook is not in the header"),
    (lambda t: t.append_column("c", pa.array(["x"] * 20)), "column 'c' is not in the codebook"),
]


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_rows_that_the_manifest_does_not_state_are_named(folders, tmp_path, number):
    change, words = ROWS[number]

    def both(place):
        rewritten(place / "synthetic.parquet", change)
        for copy in ("synthetic.csv", "synthetic.xlsx"):
            (place / copy).unlink()
            facts = manifest_of(place)
            del facts["files"][copy]
            put(place, facts)

    [problem] = altered(folders, tmp_path, "rows", both)
    assert words in problem


@pytest.mark.parametrize("copy", ["synthetic.csv", "synthetic.xlsx"])
def test_a_copy_in_another_format_holds_the_rows_of_the_table(folders, tmp_path, copy):
    def swapped(place):
        other = shutil.copytree(folders / "rows", tmp_path / "other")
        rewritten(other / "synthetic.parquet", lambda t: t.take([*range(1, 20), 0]))
        shutil.copy(other / "synthetic.parquet", place / "synthetic.parquet")

    def damaged(place):
        (place / copy).write_bytes(b"PK\x03\x04 no such file")

    rows = pq.read_table(folders / "rows" / "synthetic.parquet").to_pylist()
    moved = any(one != two for one, two in zip(rows, rows[1:] + rows[:1], strict=True))
    problems = altered(folders, tmp_path, "rows", swapped)
    assert not moved or f"{copy} does not hold the rows of the table" in problems
    problems = altered(folders, tmp_path / "damaged", "rows", damaged)
    assert any(problem.startswith(copy) for problem in problems), problems
    other = next(name for name in ("synthetic.csv", "synthetic.xlsx") if name != copy)
    assert not any(other in problem for problem in problems), "and the other one is as it was"


@pytest.mark.parametrize(
    ("low", "count", "high", "is_right"),
    [(1.0, 2, 3.0, True), (2.0, 2, 2.0, True), (2.5, 2, 3.0, False), (1.0, 2, 1.5, False), (3.0, 2, 1.0, False)],
)
def test_a_count_lies_inside_its_own_interval(folders, tmp_path, low, count, high, is_right):
    def change(place):
        for name, value in (("low", low), ("count", count), ("high", high)):
            rewritten(place / "counts.parquet", lambda t: set_cell(t, name, 1, value))  # noqa: B023
        (place / "counts.csv").unlink()
        facts = manifest_of(place)
        del facts["files"]["counts.csv"]
        put(place, facts)

    problems = altered(folders, tmp_path, "counts", change)
    assert ("a count of the table lies outside its own interval" in problems) is not is_right


# ---- marks


def test_what_the_table_says_of_itself_is_what_the_manifest_says(folders, tmp_path):
    def marked(**changed):
        def metadata(kept):
            facts = json.loads(kept[MARK])
            return {**kept, MARK: json.dumps({**facts, **changed}).encode()}

        return lambda place: rewritten(place / "synthetic.parquet", lambda table: table, metadata=metadata)

    for number, (changed, words) in enumerate((
        ({"release": "of somebody else"}, "release"), ({"seeded": True}, "seeded"), ({"ledger": []}, "ledger"),
        ({"record_wise": True}, "record_wise"), ({"real_records": True}, "real_records"), ({"made": "counts"}, "made"),
        ({"delta_for_total": 0.25}, "delta"),
    )):  # fmt: skip
        problems = altered(folders, tmp_path / str(number), "rows", marked(**changed))
        assert any(f"the table says of itself another {words}" in problem for problem in problems), (changed, problems)
    for number, metadata in enumerate((lambda kept: {}, lambda kept: {**kept, MARK: b"{"})):
        change = lambda place: rewritten(place / "synthetic.parquet", lambda t: t, metadata=metadata)  # noqa: B023, E731
        problems = altered(folders, tmp_path / f"bare{number}", "rows", change)
        assert any("of itself" in problem for problem in problems)
    assert altered(folders, tmp_path / "same", "rows", marked()) == []

    def first_format(place):
        put(place, {**manifest_of(place), "format": 1})

    problems = altered(folders, tmp_path / "first", "rows", first_format)
    assert any("written in a later one" in problem for problem in problems)


def test_a_mark_differs_in_every_thing_that_it_states():
    stated = Provenance(made=Made.SYNTHETIC, release="r", record_wise=False, ledger=paid(1), delta=0.5)
    assert other_than_marked(stated, stated) == [] == other_than_marked(replace(stated, text="t", k=3), stated)
    for name, value in (
        ("made", Made.COUNTS), ("record_wise", True), ("real_records", True), ("delta", 0.25), ("release", "other"),
        ("ledger", paid(2)),
    ):  # fmt: skip
        assert other_than_marked(stated, replace(stated, **{name: value})) == [name]
    seeded = replace(stated, seeded=True)
    assert other_than_marked(seeded, replace(seeded, release="nameless")) == [], "what has a seed has no name"
    assert other_than_marked(stated, replace(seeded, release="nameless")) == ["seeded"]


# ---- parts


def part(place, number=0):
    return sorted((place / "synthetic").glob("*.parquet"))[number]


PARTS = [
    (lambda place: part(place).unlink(), False, "but is not in the folder"),
    (lambda place: part(place).write_bytes(part(place, 1).read_bytes()), False, "was changed after the release"),
    (lambda place: shutil.copy(part(place), place / "synthetic" / f"part-00009-{'0' * 32}.parquet"), False,
     "is in the folder but not in the manifest"),
    (lambda place: (place / "synthetic" / "notes.txt").write_text("x"), False,
     "is in the folder but not in the manifest"),
    (lambda place: (place / "other").mkdir(), False, "other lies in the folder"),
    (lambda place: put(place, {**manifest_of(place), "parts": 2}), False, "speaks of 2 parts"),
    (lambda place: rewritten(part(place), lambda t: t.slice(1)), True, "the table has 29 rows, the manifest says 30"),
    (lambda place: rewritten(part(place), lambda t: set_cell(t, "a", 0, "z")), True, "column 'a' has 'z' in row 1"),
    (lambda place: rewritten(part(place, 2), lambda t: t, metadata=lambda kept: {}), True,
     "a part of it, does not say"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PARTS)))
def test_whatever_is_changed_in_a_release_in_parts_is_named(folders, tmp_path, number):
    change, listed, words = PARTS[number]
    problems = altered(folders, tmp_path, "parts", change, listed=listed)
    assert any(words in problem for problem in problems), problems


def test_digests_of_parts_are_counted_and_those_of_other_files_named(folders):
    passed = us.verify(folders / "parts").passed
    assert "3 parts have the digests that the manifest states" in passed
    assert "codebook.toml has the digest that the manifest states" in passed
    assert not any(said.startswith("synthetic/") for said in passed) and "all 30 rows fit the codebook" in passed


def test_a_folder_beside_a_release_in_one_piece_is_no_part_of_it(folders, tmp_path):
    def stray(place):
        (place / "synthetic").mkdir()
        shutil.copy(place / "synthetic.parquet", place / "synthetic" / f"part-00000-{'0' * 32}.parquet")

    problems = altered(folders, tmp_path, "rows", stray, listed=False)
    assert any("synthetic lies in the folder" in problem for problem in problems)
    assert any("is in the folder but not in the manifest" in problem for problem in problems)


# ---- what was bought


def test_a_release_that_is_used_twice_is_bought_once_and_the_data_are_not_bought():
    one, two = paid(1).to_list(), paid(4).to_list()
    inputs = {
        "data": {"release": "d", "ledger": two},
        "seeds": {"release": "a", "ledger": one},
        "prior": {"release": "a", "ledger": one},
        "places": {"release": "b", "ledger": two},
        "compared": {"made": "declared"},
    }
    assert bought_inputs({"inputs": inputs}).basic().epsilon == 1.25
    assert bought_inputs({}) == bought_inputs({"inputs": {}}) == Ledger()
