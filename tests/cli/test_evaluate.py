"""`evaluate`: right once, wrong many times."""

import json
import re
import stat
from html import unescape

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Ordinal
from understudy.pages.numbers import number


def words_of(page: str) -> str:
    """The text of a page, without scripts and styles."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """A release of the simulated discharges, other people held out, and the words of a command about them."""
    folder = tmp_path_factory.mktemp("evaluated")
    book = us.datasets.discharges_codebook()
    book.save(folder / "book.toml")
    pq.write_table(us.datasets.discharges(rows=1500, seed=1), folder / "real.parquet")
    pv.write_csv(us.datasets.discharges(rows=600, seed=2), folder / "held.csv")
    source = us.open(folder / "real.parquet", book)
    us.PeGSReset(alpha=1.0, block_size=10).fit(source).sample(800).save(folder / "release")
    return folder


def test_the_page_and_the_document_say_the_same(run, evaluated, tmp_path):
    page = tmp_path / "report.html"
    said = run(
        *("evaluate", evaluated / "real.parquet", evaluated / "release", "-c", evaluated / "book.toml", "-o", page),
        *("--holdout", evaluated / "held.csv", "--target", "charge", "--given", "age.yrs", "--json"),
    )
    assert said.code == 0, said.err
    doc = said.json
    assert doc["format"] == "understudy-report/1" and "does not cover" in doc["warning"]
    assert (doc["real"]["rows"], doc["synthetic"]["rows"], doc["holdout"]["rows"]) == (1500, 800, 600)
    assert "differentially private" in doc["release"]["statement"] and doc["release"]["problems"] == []
    text = words_of(page.read_text())
    assert text.index("does not cover it") < text.index("What was promised") < text.index("What an intruder gains")
    assert doc["release"]["statement"] in text
    judged = doc["judgement"]
    for verdict in judged["verdicts"]:
        assert f"{verdict['question']} " in text and verdict["answer"] in text
    assert len(judged["worst"]) == 3 and all(fact in text for fact in (judged["decision"], *judged["worst"]))
    assert all(limit["source"] in text for limit in doc["board"]["limits"].values()), "defaults with their sources"
    for line in doc["summary"]:
        assert f"{line['label']} {line['says']} {number(line['value'])}" in text
        for reference in ("bootstrap", "independent"):
            assert line[reference] is None or number(line[reference]) in text
    for item in [*doc["utility"], *doc["risk"]["scores"]]:
        assert item["value"] is None or number(item["value"]) in text, item["metric"]
        assert item["says"] in text
    for column in doc["columns"]:
        assert sum(column["real"]) == 1500 and sum(column["synthetic"]) == 800
        assert f"Total variation distance {number(column['distance'])};" in text
    names = {item["metric"] for item in doc["utility"]}
    assert {"tvd_one_way", "conditional_mae", "pmse_ratio", "train_on_synthetic", "coefficient_distance"} <= names
    assert any(
        item["metric"].startswith("mode_attack") and item["low"] < item["high"] for item in doc["risk"]["scores"]
    )
    assert stat.S_IMODE(page.stat().st_mode) == 0o600, "the page shows confidential figures"


def test_a_release_brings_its_codebook(run, evaluated, tmp_path):
    words = ("evaluate", evaluated / "real.parquet", evaluated / "release", "--risk", "none", "--json", "-o")
    without = run(*words, tmp_path / "a.html")
    given = run(*words, tmp_path / "b.html", "-c", evaluated / "book.toml")
    assert without.code == given.code == 0, without.err
    assert without.json["summary"] == given.json["summary"] and without.json["utility"] == given.json["utility"]
    large = run("evaluate", evaluated / "real.parquet", evaluated / "release", "--large", "-o", tmp_path / "c.json")
    assert large.code == 0, large.err


def test_the_table_alone_without_risk(run, evaluated, tmp_path):
    page = tmp_path / "report.html"
    pq.write_table(pq.read_table(evaluated / "release" / "synthetic.parquet"), tmp_path / "bare.parquet")
    words = ("evaluate", evaluated / "real.parquet", tmp_path / "bare.parquet", "-c", evaluated / "book.toml")
    said = run(*words, "-o", page, "--risk", "none")
    assert said.code == 0, said.err
    assert "Pairs of columns" in said.out and "not for release" in said.out
    assert re.search(r"A selection of \d+ scores: .*--json prints them", " ".join(said.out.split()))
    said = run(*words[:3], "-o", page)
    assert said.code == 2 and "--codebook is missing" in said.err
    text = words_of(page.read_text())
    assert "came without a manifest" in text and "What an intruder gains" not in text
    assert "exists already" not in run(*words, "-o", page, "--risk", "some").err, "an earlier report may be replaced"


def test_a_file_beside_its_manifest_brings_its_statement(run, evaluated, tmp_path):
    table = evaluated / "release" / "synthetic.parquet"
    words = ("evaluate", evaluated / "real.parquet", table, "-c", evaluated / "book.toml", "-o", tmp_path / "r.html")
    said = run(*words, "--risk", "none", "--json")
    assert said.code == 0 and "differentially private" in said.json["release"]["statement"]


def test_a_release_that_does_not_verify_is_called_out(run, evaluated, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in (evaluated / "release").iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    manifest = json.loads((broken / "manifest.json").read_text())
    manifest["statement"] = "Trust me."
    (broken / "manifest.json").write_text(json.dumps(manifest))
    page = tmp_path / "r.html"
    words = (
        "evaluate",
        evaluated / "real.parquet",
        broken,
        "-c",
        evaluated / "book.toml",
        "-o",
        page,
        "--risk",
        "none",
    )
    assert run(*words).code == 0
    assert "The release does not verify" in words_of(page.read_text())


SMALL = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M")),
        Ordinal(name="<b>age", levels=("young", "old", "</script><script>alert(1)</script>")),
        Categorical(name="place", levels=("here", "there")),
    ),
    title="<i>small</i>",
)
ROWS = {"sex": ["F", "M", "F", "M"], "<b>age": ["young", "old", "old", "young"], "place": ["here"] * 4}


@pytest.fixture
def small(tmp_path, run):
    """Write tables of the small codebook and evaluate them."""
    SMALL.save(tmp_path / "small.toml")

    def go(real, synthetic, *more, holdout=None):
        words = []
        for name, rows in (("real", real), ("synthetic", synthetic), ("holdout", holdout)):
            if rows is not None:
                pq.write_table(pa.table(rows), tmp_path / f"{name}.parquet")
                words += (["--holdout"] if name == "holdout" else []) + [tmp_path / f"{name}.parquet"]
        return run("evaluate", *words, "-c", tmp_path / "small.toml", "-o", tmp_path / "r.html", *more)

    return go


def test_names_that_look_like_code_stay_text(small, tmp_path):
    said = small(ROWS, ROWS)
    assert said.code == 0, said.err
    page = (tmp_path / "r.html").read_text()
    assert "<script>alert" not in page and "<i>small" not in page and "<b>age" not in page
    assert "&lt;b&gt;age" in page


def test_constant_columns_are_compared_and_named(small):
    said = small(ROWS, ROWS, "--json")
    assert said.code == 0, said.err
    doc = said.json
    place = doc["association"]["columns"].index("place")
    assert all(value is None for value in doc["association"]["real"][place])
    assert any("place takes one value in the whole confidential table" in note for note in doc["notes"])
    identical = {line["label"]: line["value"] for line in doc["summary"]}
    assert identical["Shares of levels"] == 0 and identical["Pairs of columns"] == 0


@pytest.mark.parametrize(
    ("real", "synthetic", "words"),
    [
        (ROWS, {"sex": ["F"], "<b>age": ["old"]}, ("lacks the columns 'place'",)),
        ({"sex": ["F"], "place": ["here"]}, ROWS, ("lacks the columns '<b>age'",)),
        (ROWS, {**ROWS, "sex": ["F", "M", "X", "F"]}, ("synthetic table", "does not know in 'sex' (1 rows)")),
        ({**ROWS, "sex": ["F", "M", "X", "X"]}, ROWS, ("confidential table", "does not know in 'sex' (2 rows)")),
        ({name: values[:1] for name, values in ROWS.items()}, ROWS, ("confidential table has 1 row", "at least 2")),
        (ROWS, {name: values[:1] for name, values in ROWS.items()}, ("synthetic table has 1 row", "at least 2")),
    ],
)
def test_tables_that_cannot_be_compared(small, tmp_path, real, synthetic, words):
    said = small(real, synthetic)
    assert said.code == 2
    for word in words:
        assert word in said.err.replace("\n", " "), said.err
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--target", "income"), ("--target is 'income'", "choose")),
        (("--target", "place"), ("--target is 'place'", "'here' in every row", "two classes")),
        (("--given", "income"), ("--given is 'income'",)),
        (("--risk", "some"), ("--risk is 'some'", "none, quick, full")),
        (("--codebook", "nowhere.toml"), ("no codebook at 'nowhere.toml'",)),
    ],
)
def test_choices_that_cannot_be_met(small, tmp_path, options, words):
    said = small(ROWS, ROWS, *options)
    assert said.code == 2
    for word in words:
        assert word in said.err.replace("\n", " "), said.err
    assert not (tmp_path / "r.html").exists()


def test_a_target_with_one_class_in_the_synthetic_table(small):
    said = small(ROWS, {**ROWS, "sex": ["F"] * 4}, "--target", "sex")
    assert said.code == 2 and "'F' in every row of the synthetic table" in said.err.replace("\n", " ")


def test_a_hold_out_that_overlaps_is_refused(run, evaluated, tmp_path):
    real = pq.read_table(evaluated / "real.parquet")
    for name, rows in (("same", real), ("part", real.slice(100, 400))):
        held = tmp_path / f"{name}.parquet"
        pq.write_table(rows, held)
        said = run(
            *("evaluate", evaluated / "real.parquet", evaluated / "release", "-c", evaluated / "book.toml"),
            *("-o", tmp_path / "r.html", "--holdout", held),
        )
        assert said.code == 2 and "hold-out" in said.err and "before synthesis" in said.err.replace("\n", " ")
    assert not (tmp_path / "r.html").exists()


def test_other_files_are_never_overwritten(run, evaluated, tmp_path):
    words = ("evaluate", evaluated / "real.parquet", evaluated / "release", "-c", evaluated / "book.toml", "-o")
    precious = tmp_path / "precious.csv"
    precious.write_text("a,b\n1,2\n")
    assert "exists already" in run(*words, precious).err and precious.read_text() == "a,b\n1,2\n"
    assert "is a folder" in run(*words, tmp_path).err
    assert "does not exist" in run(*words, tmp_path / "no" / "r.html").err
    said = run("evaluate", evaluated / "real.parquet", tmp_path, *words[3:], tmp_path / "r.html")
    assert said.code == 2 and "holds no manifest.json" in said.err.replace("\n", " ")


def test_linkage_with_an_external_file(run, discharges, tmp_path):
    """An intruder's file of names-to-be with some quasi-identifiers is tried against the synthetic table."""
    data, book = discharges
    release, known = tmp_path / "r", tmp_path / "known.csv"
    assert run("synth", data, "-c", book, "-m", "contingency", "-n", 500, "-o", release).code == 0
    header, *lines = data.read_text(encoding="utf-8").splitlines()
    names = [name.strip('"') for name in header.split(",")]
    kept = [names.index(name) for name in ("age.yrs", "sex")]
    rows = [[line.split(",")[k] for k in kept] for line in lines[:200]]
    known.write_text("\n".join([",".join(names[k] for k in kept), *[",".join(row) for row in rows]]) + "\n")
    words = ("evaluate", data, release, "-c", book, "--external", known, "-o", tmp_path / "report.html", "--json")
    said = run(*words)
    assert said.code == 0, said.out + said.err
    assert "linkage" in said.out
    known.write_text("colour\nred\n")
    refused = run(*words[:-1])
    assert refused.code == 2 and "none of the codebook's quasi-identifiers" in refused.err


def test_the_membership_attack_reruns_what_made_the_release(run, evaluated, tmp_path):
    page, recipe = tmp_path / "r.html", tmp_path / "recipe.toml"
    words = ("evaluate", evaluated / "real.parquet", "-c", evaluated / "book.toml", "-o", page, "--risk", "full")
    pq.write_table(pq.read_table(evaluated / "release" / "synthetic.parquet"), tmp_path / "bare.parquet")

    def attack(*more):
        said = run(*words, "--json", *more)
        assert said.code == 0, said.err
        return next(item for item in said.json["risk"]["scores"] if item["metric"] == "membership")

    found = attack(evaluated / "release", "--shadow-runs", "10")
    assert found["low"] <= found["value"] <= found["high"] and found["perfect"] == 0.5
    assert "20 runs of pegs-rs with 800 rows" in found["note"] and found["note"] in words_of(page.read_text())
    bare = attack(tmp_path / "bare.parquet")
    assert bare["value"] is None and "name the method with --recipe" in bare["note"]
    recipe.write_text('method = "bayesian-bootstrap"')
    named = attack(tmp_path / "bare.parquet", "--recipe", recipe, "--shadow-runs", "8")
    assert named["value"] is not None and "16 runs of bayesian-bootstrap" in named["note"]
    for more, said in (
        (("--recipe", tmp_path / "none.toml"), "cannot be read"),
        (("--shadow-runs", "2"), "--shadow-runs is 2"),
        (("--risk", "quick", "--recipe", recipe), "only with --risk full"),
    ):
        wrong = run(*words, evaluated / "release", *more)
        assert wrong.code == 2 and said in wrong.err, wrong.err


def test_columns_that_the_codebook_does_not_know_are_named(run, evaluated, tmp_path):
    table = pq.read_table(evaluated / "release" / "synthetic.parquet")
    pq.write_table(table.append_column("ssn", pa.array(["x"] * table.num_rows)), tmp_path / "more.parquet")
    words = ("evaluate", evaluated / "real.parquet", tmp_path / "more.parquet", "-c", evaluated / "book.toml")
    said = run(*words, "-o", tmp_path / "r.html", "--risk", "none")
    assert said.code == 0 and "synthetic table also has ssn" in " ".join(said.err.split())
    assert "also has ssn" in words_of((tmp_path / "r.html").read_text())


def test_what_large_tables_cannot_have_is_refused_and_not_left_aside(run, discharges, tmp_path):
    data, book = discharges
    for words in (("--risk", "full"), ("--shadow-runs", 3), ("--recipe", "r.toml")):
        said = run("evaluate", data, data, "-c", book, "-o", tmp_path / "o.json", "--large", *words)
        assert said.code == 2 and f"{words[0]} needs models or attacks" in said.err, said.err
