"""`anonymize run, risk, verify, report`, and synthesis of what came out, as a person uses them."""

import json
import shutil

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.privacy import Neighbours
from understudy.privacy.account import Account

QUASI = ("--quasi", "sex,pay,patzip", "--hierarchy", "patzip=prefix:2,1")


@pytest.fixture(scope="module")
def released(discharges, tmp_path_factory):
    """One release by columns and one by boxes."""
    from understudy.cli.app import main

    data, book = discharges
    folder = tmp_path_factory.mktemp("released")
    for name, words in (
        ("columns", ("--suppression", "0.05", "--distinct", "disp=2")),
        (
            "boxes",
            ("--mondrian", "--closeness", "charge=0.5,ordered", "--entropy", "disp=1.2", "--recursive", "MDC=4,2"),
        ),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["anonymize", "run", str(data), "-c", str(book), "--k", "3", *QUASI, *words, "-o", str(folder / name)])
        assert not stop.value.code
    return folder


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def test_a_release_says_what_it_has_and_what_it_has_not(run, discharges, tmp_path):
    data, book = discharges
    words = ("anonymize", "run", data, "-c", book, "--k", 3, "--suppression", 0.05, *QUASI)
    said = run(*words, "-o", tmp_path / "out", "--csv", "--report", tmp_path / "page.html")
    assert said.code == 0, said.err
    assert "3-anonymous for the quasi-identifiers sex, pay, patzip" in said.out
    assert "gives no bound against other releases" in said.out and "not differential privacy" in said.out
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["anonymized.csv", "anonymized.parquet", "codebook.toml", "index.html", "manifest.json"]
    manifest = manifest_of(tmp_path / "out")
    assert manifest["guarantee"] == {"kind": "KAnonymous", "k": manifest["anonymity"]["measured"]["k"]}
    assert manifest["parameters"]["steps"][0]["do"] == "full-domain"
    assert (tmp_path / "page.html").stat().st_mode & 0o077 == 0
    table = pv.read_csv(tmp_path / "out" / "anonymized.csv")
    assert table.num_rows == manifest["rows"]["number"]
    again = run(*words, "-o", tmp_path / "json", "--json")
    assert again.json["manifest"]["guarantee"]["k"] >= 3


def test_verify_counts_again(run, released, tmp_path):
    for name in ("columns", "boxes"):
        assert run("verify", released / name).code == 0
        said = run("anonymize", "verify", released / name, "--json")
        assert said.code == 0 and said.json["valid"] and said.json["measured"]["k"] >= 3
    broken = tmp_path / "broken"
    shutil.copytree(released / "columns", broken)
    table = pq.read_table(broken / "anonymized.parquet")
    pq.write_table(table.slice(0, table.num_rows - 1), broken / "anonymized.parquet")
    said = run("verify", broken)
    assert said.code == 1 and "was changed after the release" in said.out


def test_a_manifest_that_claims_more_than_the_table_has(run, released, tmp_path):
    """Even where digests, ledger and statement agree with each other, the table is counted."""
    lying = tmp_path / "lying"
    shutil.copytree(released / "columns", lying)
    text = (lying / "manifest.json").read_text(encoding="utf-8")
    k = manifest_of(lying)["anonymity"]["measured"]["k"]
    text = text.replace(f'"k": {k}', '"k": 99').replace(f"{k}-anonymous", "99-anonymous")
    (lying / "manifest.json").write_text(text.replace(f"at least {k} rows", "at least 99 rows"), encoding="utf-8")
    said = run("verify", lying)
    assert said.code == 1
    assert f"the table is {k}-anonymous" in said.out and "the manifest says 99" in said.out
    assert "ledger claims 99-anonymity" in said.out


def test_risk_of_a_table_and_of_a_release(run, discharges, released):
    data, book = discharges
    before = run("anonymize", "risk", data, "-c", book, "--quasi", "sex,pay,patzip", "--json").json
    after = run("anonymize", "risk", released / "columns", "--json").json
    assert before["uniques"] > 0 and before["prosecutor_highest"] == 1
    assert after["uniques"] == 0 and after["prosecutor_highest"] <= 1 / 3 and after["smallest"] >= 3
    assert sum(before["histogram"].values()) == before["rows"] == 3000
    shown = run("anonymize", "risk", released / "columns")
    assert shown.code == 0 and "no population given" in shown.out


def test_risk_with_a_population(run, discharges, tmp_path):
    data, book = discharges
    people = tmp_path / "people.csv"
    pv.write_csv(
        pa.concat_tables([us.datasets.discharges(rows=3000, seed=5), us.datasets.discharges(rows=9000, seed=6)]), people
    )
    words = ("anonymize", "risk", data, "-c", book, "--quasi", "sex,pay", "--json")
    alone, known = run(*words).json, run(*words, "--population", people).json
    assert known["population"] and known["marketer"] < alone["marketer"]
    assert known["journalist_highest"] <= alone["journalist_highest"]
    small = tmp_path / "small.csv"
    pv.write_csv(us.datasets.discharges(rows=50, seed=6), small)
    said = run("anonymize", "risk", data, "-c", book, "--quasi", "sex,pay", "--population", small)
    assert said.code == 2 and "must hold the people of the table too" in said.err


def test_the_page_says_nothing_that_the_document_does_not_hold(run, discharges, released, tmp_path):
    data, book = discharges
    page = tmp_path / "page.html"
    said = run("anonymize", "report", data, released / "columns", "-c", book, "-o", page, "--json")
    doc = said.json
    assert doc["format"] == "understudy-anonymity/2"
    assert doc["before"]["rows"] == 3000 and doc["after"]["rows"] + doc["deleted"] == 3000
    assert doc["mosaics"][0]["up"] == "patzip" and doc["mosaics"][1]["k"] == 3
    assert min(count for line in doc["mosaics"][1]["counts"] for count in line if count) >= 3
    assert set(doc["homogeneity"]) == {"disp", "MDC"} and doc["homogeneity"]["disp"]["after"] == 0  # 2-diverse
    text = page.read_text(encoding="utf-8")
    assert "Confidential" in text and doc["statement"].split(":")[0] in text
    plain = run("anonymize", "report", data, released / "boxes", "-c", book, "-o", page)
    assert plain.code == 0 and "not for release" in plain.out


def test_synthesis_of_an_anonymised_table_keeps_both_manifests_and_upgrades_nothing(run, released, tmp_path):
    table, book = released / "columns" / "anonymized.parquet", released / "columns" / "codebook.toml"
    words = (table, "-c", book, "-m", "marginals", "--epsilon", 1, "--delta", 1e-6, "-n", 60)
    quoted = run("quote", *words, "--json").json
    assert quoted["total"]["kind"] == "NoFormal" and "not for the people behind them" in quoted["statement"]
    said = run("synth", *words, "-o", tmp_path / "out")
    assert said.code == 0, said.err
    assert (tmp_path / "out" / "input-manifest.json").read_text() == (
        released / "columns" / "manifest.json"
    ).read_text()
    manifest = manifest_of(tmp_path / "out")
    assert manifest["guarantee"]["kind"] == "NoFormal"
    assert manifest["inputs"]["data"]["release"] == manifest_of(released / "columns")["release"]
    assert run("verify", tmp_path / "out").code == 0
    # an account holds epsilons, and this is none
    account = tmp_path / "a.account"
    Account.create(account, dataset="d", epsilon=9, delta=1e-3, neighbours=Neighbours.ADD_REMOVE)
    refused = run("synth", *words, "-o", tmp_path / "paid", "--account", account)
    assert refused.code != 0 and not (tmp_path / "paid").exists()
    model = run("synth", *words, "-o", tmp_path / "m", "--save-model", tmp_path / "m.model")
    assert model.code == 1 and "a model would lose it" in model.err and not (tmp_path / "m").exists()
    # nor does a copy without its manifest forget where it came from
    copy = tmp_path / "copy.parquet"
    shutil.copy(table, copy)
    assert run("quote", copy, *words[1:], "--json").json["total"]["kind"] == "NoFormal"
    assert not us.open(pq.read_table(copy), book).provenance.record_wise
    # and lugs, which promises diversity, is not upgraded either
    diverse = run("quote", table, "-c", book, "-m", "lugs", "--l", 1.1, "-n", 20, "--json").json
    assert diverse["total"]["kind"] == "NoFormal"


def test_a_changed_table_beside_its_manifest_is_refused(run, released, tmp_path):
    shutil.copytree(released / "columns", tmp_path / "c")
    table = pq.read_table(tmp_path / "c" / "anonymized.parquet")
    pq.write_table(table.slice(3), tmp_path / "c" / "anonymized.parquet")
    words = ("-c", tmp_path / "c" / "codebook.toml", "-m", "marginals", "--epsilon", 1, "--delta", 1e-6, "-n", 60)
    said = run("synth", tmp_path / "c" / "anonymized.parquet", *words, "-o", tmp_path / "out")
    assert said.code == 2 and "was changed after its release" in said.err


RECODE = """
format = 1
[[steps]]
do = "keep"
columns = ["sex", "pay", "patzip", "charge"]
[[steps]]
do = "group"
column = "pay"
levels = ["Other Government", "Other Indigent", "Other Payer", "County Indigent"]
into = "Other"
[[steps]]
do = "generalise"
column = "patzip"
to = "first 2"
[hierarchies.patzip]
prefix = [2]
"""


def test_public_rules_for_each_record_keep_the_promise_of_the_draw(run, discharges, tmp_path):
    data, book = discharges
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECODE, encoding="utf-8")
    assert (
        run("anonymize", "run", data, "-c", book, "-r", recipe, "-o", tmp_path / "a", "--quasi", "sex,pay,patzip").code
        == 0
    )
    made = tmp_path / "a"
    words = ("-c", made / "codebook.toml", "-m", "marginals", "--epsilon", 1, "--delta", 1e-6, "-n", 60)
    said = run("synth", made / "anonymized.parquet", *words, "-o", tmp_path / "s", "--json")
    assert said.code == 0, said.err
    manifest = manifest_of(tmp_path / "s")
    assert manifest["guarantee"]["kind"] == "ApproxDP"
    assert any("recoded by itself by public rules" in warning for warning in manifest["warnings"])
    # the manifest of the input counts its records and classes: under a promise about records it stays at home
    assert not (tmp_path / "s" / "input-manifest.json").exists()
    told = manifest["inputs"]["data"]
    assert told["release"] == manifest_of(made)["release"] and told["ledger"] == [] and told["k"] is None
    assert run("verify", tmp_path / "s").code == run("verify", made).code == 0


def test_an_account_remembers_who_looked(run, discharges, released, tmp_path):
    data, book = discharges
    account = tmp_path / "a.account"
    Account.create(account, dataset="d", epsilon=9, delta=1e-3, neighbours=Neighbours.ADD_REMOVE)
    assert run("anonymize", "risk", released / "columns", "--account", account).code == 0
    assert Account.open(account).looks() == []  # a released table is no secret
    assert run("anonymize", "risk", data, "-c", book, "--account", account).code == 0
    page = tmp_path / "page.html"
    assert (
        run("anonymize", "report", data, released / "columns", "-c", book, "-o", page, "--account", account).code == 0
    )
    assert [what for _, what in Account.open(account).looks()] == [
        "risk of the table by its classes",
        "report about the anonymised release columns",
    ]
    words = ("-c", book, "-m", "marginals", "--epsilon", 1, "--delta", 1e-6, "-n", 60, "--account", account)
    said = run("synth", data, *words, "-o", tmp_path / "out")
    assert said.code == 0 and "after a confidential look" in said.out


BAD = [
    (("--k", 5), "--suppression is missing"),
    (("--suppression", 0), "nothing is asked: give --k"),
    (("--k", 1, "--suppression", 0), "--k is 1"),
    (("--k", 9999, "--suppression", 0), "the table has 3,000 rows"),
    (("--k", "five", "--suppression", 0), "--k is 'five'; it must be a whole number of 2 or more"),
    (("--k", 5, "--suppression", 1.5), "at least 0 and at most 1"),
    (("--k", 5, "--suppression", 0, "--loss", "joy"), "--loss is 'joy'"),
    (("--k", 5, "--mondrian", "--suppression", 0.1), "suppresses nothing"),
    (("--k", 5, "--mondrian", "--quasi", ""), "no quasi-identifier is declared"),
    (("--k", 5, "--mondrian", "--quasi", "shoe"), "no column 'shoe'"),
    (
        ("--k", 5, "--mondrian", "--hierarchy", "patzip=prefix:x"),
        "--hierarchy is 'x'; it must be a whole number of 0 or more",
    ),
    (("--k", 5, "--mondrian", "--hierarchy", "patzip"), "write COLUMN=VALUE"),
    (("--k", 5, "--mondrian", "--hierarchy", "patzip=magic:3"), "write intervals:5,10,20"),
    (("--k", 5, "--mondrian", "--hierarchy", "patzip=arx:none.csv"), "no hierarchy file"),
    (("--k", 5, "--mondrian", "--distinct", "disp"), "write COLUMN=VALUE"),
    (("--k", 5, "--mondrian", "--distinct", "sex=2", "--quasi", "sex,pay"), "quasi-identifier and sensitive at once"),
    (("--k", 5, "--mondrian", "--closeness", "disp=2"), "at least 0 and at most 1"),
    (
        ("--k", 5, "--mondrian", "--closeness", "disp=0.2,far"),
        "--closeness is 'far'; it must be one of equal, ordered, hierarchical",
    ),
    (("--k", 5, "--mondrian", "--recursive", "MDC=4"), "write COLUMN=C,L"),
    (("--k", 5, "--mondrian", "--distinct", "disp=many"), "--distinct is 'many'; it must be a whole number"),
    (("--recipe", "none.toml"), "no recipe at"),
    (("--recipe", "none.toml", "--k", 5), "a recipe says everything that is asked"),
    (("--k", 5, "--mondrian", "--unknown", "maybe"), "--unknown is 'maybe'"),
]


@pytest.mark.parametrize(("words", "sentence"), BAD)
def test_bad_requests_are_sentences_and_leave_nothing(run, discharges, tmp_path, words, sentence):
    data, book = discharges
    said = run("anonymize", "run", data, "-c", book, *words, "-o", tmp_path / "out")
    assert said.code == 2 and sentence in said.err
    assert list(tmp_path.iterdir()) == []


def test_refusals_say_how_close_it_came(run, discharges, tmp_path):
    data, book = discharges
    words = ("anonymize", "run", data, "-c", book, "--quasi", "sex,pay,patzip", "-o", tmp_path / "out")
    said = run(*words, "--k", 5, "--suppression", 0, "--distinct", "sev=99")
    assert said.code == 1 and "the closest would suppress" in said.err
    boxes = run(*words, "--k", 5, "--mondrian", "--distinct", "sev=99")
    assert boxes.code == 1 and "even the whole table as one class does not satisfy distinct 99-diversity" in boxes.err
    assert (
        run(*words, "--k", 5, "--suppression", 0, "--distinct", "sev=99", "--json").json["error"]["kind"]
        == "RefusalError"
    )
    assert list(tmp_path.iterdir()) == []


def test_other_commands_refuse_what_they_cannot_read(run, discharges, released, tmp_path):
    data, book = discharges
    assert "holds no anonymised release" in run("anonymize", "verify", tmp_path).err
    assert "no release folder" in run("anonymize", "verify", tmp_path / "none").err
    assert (
        "holds no anonymised release"
        in run("anonymize", "report", data, tmp_path, "-c", book, "-o", tmp_path / "x.html").err
    )
    assert "--codebook is missing" in run("anonymize", "risk", data).err
    assert "above" in run("anonymize", "risk", data, "-c", book).out
    assert "above 0 and below 1" in run("anonymize", "risk", data, "-c", book, "--threshold", 2).err
    again = run(
        *(
            "anonymize",
            "run",
            released / "columns" / "anonymized.parquet",
            "-c",
            released / "columns" / "codebook.toml",
        ),
        *("--k", 2, "--mondrian", "-o", tmp_path / "out"),
    )
    assert again.code == 2 and "itself the anonymised release" in again.err
    compared = run("evaluate", data, released / "columns", "-c", book, "-o", tmp_path / "e.html")
    assert compared.code == 2 and "anonymize report" in compared.err
    existing = run("anonymize", "run", data, "-c", book, "--k", 3, "--mondrian", "-o", released / "columns")
    assert existing.code == 2 and "never overwrites" in existing.err
