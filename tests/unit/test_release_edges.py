"""Edges of releases: figures that are no numbers, who may read confidential folders, parts, long numbers, odd texts."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import understudy as us
from understudy.anonymize import EntropyDiversity, FullDomain, Recipe
from understudy.codebook import Categorical, Codebook, Integer, Role
from understudy.errors import ReleaseError
from understudy.privacy.guarantees import ApproxDP, Neighbours, PureDP
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import Made
from understudy.privacy.quote import Quote
from understudy.release.face import FACE
from understudy.release.folders import digest_of
from understudy.release.formats import FORMATS, holds_same_rows, write_table
from understudy.release.making import choices_of
from understudy.release.passport.description import in_quotes
from understudy.release.passport.writing import PASSPORT
from understudy.release.reading import read_manifest_file
from understudy.release.verify import Looked, _agree, _check_counts, differing_prices, refuse_other_promise
from understudy.release.verify_face import page_faults
from understudy.synth.ranged import synthesize_parts

BOOK = Codebook(columns=(Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("0", "1"))))
TABLE = pa.table({"a": ["x", "y"] * 50, "b": ["0", "0", "1", "1"] * 25})


@pytest.fixture(scope="module")
def counted(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("counted") / "r"
    us.count(TABLE, BOOK, by=["a"], epsilon=1.0, out=out)
    return out


@pytest.mark.parametrize("figure", ["NaN", "Infinity", "-Infinity", "0.5"])
def test_a_stated_promise_that_is_no_number_agrees_with_nothing(counted, tmp_path, figure):
    place = shutil.copytree(counted, tmp_path / "r")
    assert us.verify(place).is_valid
    facts = read_manifest_file(place)
    facts["guarantee"]["epsilon"] = float(figure)
    (place / "manifest.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    assert any("is not what the ledger adds up to" in problem for problem in us.verify(place).problems)


def test_a_criterion_that_is_no_number_is_not_what_the_table_has(tmp_path):
    book = Codebook(columns=(replace(BOOK.column("a"), role=Role.QUASI_IDENTIFIER), BOOK.column("b")))
    criteria = (EntropyDiversity(column="b", l=1.5),)
    us.anonymize(
        TABLE, book, recipe=Recipe(steps=(FullDomain(k=2, suppression=0.0, criteria=criteria),)), out=tmp_path / "r"
    )
    assert us.verify(tmp_path / "r").is_valid
    facts = read_manifest_file(tmp_path / "r")
    facts["anonymity"]["measured"]["criteria"][0]["achieved"] = math.nan
    (tmp_path / "r" / "manifest.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    assert any("in the worst class, the manifest says nan" in problem for problem in us.verify(tmp_path / "r").problems)


def test_endless_figures_agree_with_themselves_alone():
    assert _agree({"epsilon": math.inf}, {"epsilon": math.inf})
    assert not _agree({"epsilon": 1.0}, {"epsilon": math.inf})


def test_a_table_of_counts_with_too_few_rows_is_told_without_laying_out_what_it_should_have(counted, tmp_path):
    names = [f"c{number}" for number in range(9)]
    book = Codebook(
        columns=tuple(Categorical(name=name, levels=tuple(f"v{code}" for code in range(1000))) for name in names)
    )
    table = pa.table({**{name: ["v0"] for name in names}, "count": [1], "low": [0.0], "high": [2.0]})
    pa.parquet.write_table(table, tmp_path / "counts.parquet")
    looked = Looked(place=tmp_path, manifest=read_manifest_file(counted))
    _check_counts(looked, book)
    assert "the table does not hold every combination of the levels of its columns once" in looked.problems


@pytest.mark.parametrize(("rows", "is_whole"), [((0, 1, 2, 3), True), ((0, 1, 2, 2), False), ((0, 1, 2, 3, 0), False)])
def test_every_combination_stands_in_a_table_of_counts_once(counted, tmp_path, rows, is_whole):
    """One in the place of another, or one twice, is no table of counts, whatever number the manifest states."""
    both = [("x", "0"), ("x", "1"), ("y", "0"), ("y", "1")]
    figures = {"count": [3.0] * len(rows), "low": [1.0] * len(rows), "high": [5.0] * len(rows)}
    table = {name: [both[row][place] for row in rows] for place, name in enumerate(("a", "b"))} | figures
    pa.parquet.write_table(pa.table(table), tmp_path / "counts.parquet")
    manifest = {**read_manifest_file(counted), "rows": {"number": len(rows)}}
    looked = Looked(place=tmp_path, manifest=manifest)
    _check_counts(looked, BOOK)
    told = "the table does not hold every combination of the levels of its columns once"
    assert looked.problems == ([] if is_whole else [told])


def test_a_manifest_that_promises_less_than_its_ledger_costs_is_not_passed_on(counted):
    facts = read_manifest_file(counted)
    refuse_other_promise(counted, facts)
    facts["guarantee"]["epsilon"] = 0.5
    with pytest.raises(ReleaseError, match="is not passed on"):
        refuse_other_promise(counted, facts)


def test_public_files_are_choices_by_their_content_and_a_server_is_not_asked(tmp_path):
    quote = Quote(method="m", route="N", rows=1, own=Ledger(), own_delta=None)

    def fixed(*tables):
        return choices_of(quote, {}, "book", public=tables)

    path, other = tmp_path / "t.csv", tmp_path / "other.csv"
    for place, text in ((path, "a\n1\n"), (other, "a\n2\n")):
        place.write_text(text, encoding="utf-8")
    assert len({fixed(), fixed(path), fixed(other), fixed(path, other)}) == 4
    assert fixed(path) == fixed(str(path)) == fixed(None, path), "no table is no choice"
    before = fixed(path)
    path.write_text("a\n3\n", encoding="utf-8")
    assert fixed(path) != before


def test_public_tables_in_memory_and_in_databases_are_choices_too(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    quote = Quote(method="m", route="N", rows=1, own=Ledger(), own_delta=None)

    def fixed(table):
        return choices_of(quote, {}, "book", public=[table])

    assert fixed(TABLE) == fixed(TABLE) != fixed(TABLE.slice(1))
    assert fixed(TABLE.to_pandas()) != fixed(TABLE.slice(1).to_pandas())
    path, seen = tmp_path / "t.duckdb", set()
    for value in (1, 2):
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT {value} AS a")
        seen |= {fixed(f"duckdb:///{path}?table=t")}
    assert len(seen) == 2


def test_what_is_written_about_confidential_releases_is_for_their_owner(tmp_path):
    gaps = TABLE.set_column(0, "a", pa.array(["x", None] * 50))
    book = Codebook(columns=(Categorical(name="a", levels=("x", "y"), missing="NA"), BOOK.column("b")))
    place = tmp_path / "r"
    us.impute(gaps, book, out=place)
    place = place if (place / "manifest.json").is_file() else place / "1"
    us.withdraw(place, why="A mistake")
    us.passport(place)
    written = [path for path in place.iterdir() if path.is_file()]
    assert {"notice.json", FACE, PASSPORT} < {path.name for path in written}
    assert {oct(path.stat().st_mode & 0o777) for path in written} == {"0o600"}


def test_a_style_that_is_spelled_otherwise_is_another_style(counted, tmp_path):
    page = (counted / FACE).read_text(encoding="utf-8")
    facts = read_manifest_file(counted)
    facts["versions"]["understudy"] = "0.0.1"  # so that the page is not made again
    other = tmp_path / FACE
    for start in ("<STYLE>", '<style type="text/css">'):
        other.write_text(
            page.replace("<style>", f"{start}body{{background:url(https://example.org)}}"), encoding="utf-8"
        )
        assert page_faults(other, facts, lambda: page) == [f"{FACE} has another style beside its own"]
    assert page_faults(counted / FACE, facts, lambda: page) == []


def test_the_page_of_a_release_in_parts_states_its_noise(tmp_path):
    recipe = us.Marginals(epsilon=2.0, delta=1e-6)
    synthesize_parts(TABLE, BOOK, recipe, rows=20, part_rows=10, out=tmp_path / "r")
    page = (tmp_path / "r" / FACE).read_text(encoding="utf-8")
    assert "Shares of single columns: noise moves them" in page
    assert "carries no measurements" not in page
    assert us.verify(tmp_path / "r").is_valid


def test_the_passport_states_long_numbers_as_they_are(tmp_path):
    end = 12_345_678_901_234
    book = Codebook(columns=(Integer(name="n", edges=(0, 10, end)),))
    us.synthesize(pa.table({"n": [1, end] * 20}), book, rows=10, method="laplace", epsilon=1.0, out=tmp_path / "r")
    us.passport(tmp_path / "r", formats=["frictionless"])
    (field,) = json.loads((tmp_path / "r" / "datapackage.json").read_text())["resources"][0]["schema"]["fields"]
    assert (field["constraints"]["minimum"], field["constraints"]["maximum"]) == (0, end)


def test_texts_in_yaml_are_read_back():
    yaml = pytest.importorskip("yaml")
    for words in ("plain", "é: 日本", 'a "b" \\ud83d', "\U0001f600\U00020bb7", "tab\tline\n"):
        assert yaml.safe_load(f"key: {in_quotes(words)}") == {"key": words}


@pytest.mark.parametrize("form", [form for form in FORMATS if form.endswith("csv")])
def test_levels_with_line_breaks_are_the_same_rows_in_csv(tmp_path, form):
    levels = ("one\ntwo", 'say "x", or\r\ny', "=1")
    book = Codebook(columns=(Categorical(name="a", levels=levels), Categorical(name="b", levels=("0",))))
    rows = 150_000  # more than a block of the reader
    table = pa.table({"a": [levels[row % 3] for row in range(rows)], "b": ["0"] * rows})
    path = tmp_path / f"t.{form}"
    write_table(table, book, Made.SYNTHETIC, path, form)
    assert holds_same_rows(path, form, table, book, Made.SYNTHETIC)
    assert digest_of(path)


# ---- what `verify` says it looked at, and what it makes of every change


def test_verify_names_everything_that_it_looked_at(tmp_path):
    """Who reads the list takes what is not on it for unchecked."""
    us.count(TABLE, BOOK, by=["a"], epsilon=1.0, out=tmp_path / "r", formats=["csv"])
    digests = ("codebook.toml", "counts.csv", "counts.parquet", "index.html")
    told = [
        *(f"{name} has the digest that the manifest states" for name in digests),
        "the codebook is the one that the release was made with",
        "all 2 combinations of a are there",
        "counts.csv holds the same rows as the table",
        "the ledger adds up to the stated total, PureDP (epsilon 1, delta 0, neighbours add-remove)",
        "the statement says what the ledger supports",
        "the table says of itself what its manifest says",
        "the method, its parameters and the codebook cost what is stated",
        f"{FACE} states the promise of the manifest, runs nothing and loads nothing",
    ]
    verdict = us.verify(tmp_path / "r")
    assert list(verdict.passed) == told and verdict.is_valid and verdict.problems == ()
    assert repr(verdict) == "<Verdict: a table of 2 noisy counts by counts; valid>"


def dropped(place, name):
    (place / name).unlink()


def noted(place, change):
    facts = read_manifest_file(place)
    change(facts)
    (place / "manifest.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


CHANGES = [
    (lambda place: dropped(place, "counts.parquet"), "counts.parquet is listed in the manifest but"),
    (lambda place: dropped(place, "codebook.toml"), "the codebook cannot be used"),
    (lambda place: (place / "notes.txt").write_text("x"), "notes.txt lies in the folder and is not part"),
    (lambda place: (place / "more").mkdir(), "more lies in the folder and is not part"),
    (lambda place: (place / FACE).write_text("x"), f"{FACE} was changed after the release"),
    (lambda place: noted(place, lambda f: f["files"].pop("counts.parquet")), "the manifest lists no counts.parquet"),
    (lambda place: noted(place, lambda f: f["files"].update({"../r/x": "sha256:1"})), "../r/x is listed in"),
    (lambda place: noted(place, lambda f: f.update(parts=1)), "speaks of 1 parts"),
    (lambda place: noted(place, lambda f: f["codebook"].update(digest="sha256:1")), "is not the one that the release"),
    (lambda place: noted(place, lambda f: f["codebook"].update(attested={"a": "x"})), "the attestations"),
    (lambda place: noted(place, lambda f: f.update(publication={"title": "x"})), "of the publication"),
    (lambda place: noted(place, lambda f: f["rows"].update(number=3)), "the manifest says 3"),
    (lambda place: noted(place, lambda f: f.update(ledger=[])), "the stated total"),
    (lambda place: noted(place, lambda f: f["ledger"][0]["event"].update(kind="x")), "cannot be priced"),
    (lambda place: noted(place, lambda f: f["ledger"][0]["guarantee"].update(epsilon=0.5)), "not what its event costs"),
    (lambda place: noted(place, lambda f: f["basic_composition"].update(epsilon=0.5)), "basic composition"),
    (lambda place: noted(place, lambda f: f.update(assumptions=["none"])), "the list of assumptions"),
    (lambda place: noted(place, lambda f: f.update(statement="All is well.")), "the statement in plain words"),
    (lambda place: noted(place, lambda f: f.update(confidential=True)), "holds real records"),
    (lambda place: noted(place, lambda f: f.update(real_records=True)), "holds real records"),
    (lambda place: noted(place, lambda f: f.update(randomness="seeded with 1")), "the randomness was seeded"),
    (lambda place: noted(place, lambda f: f["inputs"].clear()), "does not say what table went in"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_whatever_is_changed_in_a_release_is_named(counted, tmp_path, number):
    change, words = CHANGES[number]
    place = shutil.copytree(counted, tmp_path / "r")
    change(place)
    verdict = us.verify(place)
    assert not verdict.is_valid and any(words in problem for problem in verdict.problems), verdict.problems


@pytest.mark.parametrize("value", [1e-12, 0.3, 1.0, 7.0, 1e6])
def test_stated_figures_agree_up_to_their_last_digits(value):
    """Of an epsilon to nine digits after the point or nine in all, of a delta to nine in all, however small it is."""
    for name in ("epsilon", "delta"):
        scale = value if name == "delta" else max(1.0, value)
        for part, agree in ((0.0, True), (5e-10, True), (-5e-10, True), (2e-9, False), (-2e-9, False), (-2.0, False)):
            assert _agree({"kind": "x", name: value + part * scale}, {"kind": "x", name: value}) is agree, (name, part)
    for stated in ({}, {"epsilon": value, "delta": 0.0}, {"delta": value}, {"epsilon": str(value)}, {"epsilon": None}):
        assert not _agree(stated, {"epsilon": value})
    assert _agree({"k": 3, "kind": "x"}, {"k": 3, "kind": "x"}) and not _agree({"k": 4}, {"k": 3})
    assert not _agree({"epsilon": math.nan}, {"epsilon": value}) and not _agree(
        {"epsilon": value}, {"epsilon": math.nan}
    )


def test_a_price_that_is_computed_anew_may_differ_by_a_millionth_and_no_more():
    due = ApproxDP(epsilon=2.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
    for part in (1.0, 1 + 9e-7, 1 - 9e-7):
        for same in (replace(due, epsilon=2.0 * part), replace(due, delta=1e-6 * part)):
            assert differing_prices(due, same) == differing_prices(same, due) == []
    for other in (
        replace(due, epsilon=2.0 * (1 + 2e-6)), replace(due, delta=1e-6 * (1 - 2e-6)),
        replace(due, neighbours=Neighbours.REPLACE), PureDP(epsilon=2.0, neighbours=Neighbours.ADD_REMOVE),
    ):  # fmt: skip
        assert len(differing_prices(due, other)) == len(differing_prices(other, due)) == 1
    pure = PureDP(epsilon=2.0, neighbours=Neighbours.ADD_REMOVE)
    assert differing_prices(pure, pure) == []
