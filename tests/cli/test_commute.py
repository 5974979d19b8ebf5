"""`understudy commute` as a person types it, and what it says when they type it wrong."""

import json

import pyarrow as pa
import pyarrow.csv as pv
import pytest

PROMISE = ("--epsilon", "4.6", "--delta", "1e-6", "--certificate", "exact")


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """A folder with a small simulated town."""
    from understudy.commute.jobs import write_example

    folder = tmp_path_factory.mktemp("commute") / "town"
    write_example(folder, workers=1500, seed=4)
    return folder


def words(town, *more):
    return (town / "flows.csv", "--count", "workers", "--places", town / "places.csv", *PROMISE, *more)


def test_the_whole_way(run, town, tmp_path):
    out = tmp_path / "release"
    quoted = run("commute", "quote", *words(town), "--json").json
    assert quoted["guarantee"]["neighbours"] == "origin-in-destination" and quoted["rows"] == 1500
    made = run("commute", "synth", *words(town), "-o", out, "--csv")
    assert made.code == 0 and "changing the origin of one worker" in made.out
    assert sorted(path.name for path in out.iterdir()) == [
        "codebook.toml", "index.html", "manifest.json", "places.parquet", "synthetic.csv", "synthetic.parquet",
    ]  # fmt: skip
    assert run("verify", out).code == 0
    page = tmp_path / "evaluation.html"
    found = run("commute", "evaluate", town / "flows.csv", out, "--count", "workers", "-o", page, "--json").json
    assert found["confidential"] and found["workers"] == 1500 and page.is_file()
    shown = run("commute", "evaluate", town / "flows.csv", out, "--count", "workers")
    assert shown.out.startswith("confidential") and "invented pairs" in shown.out
    chart = tmp_path / "map.html"
    assert run("commute", "map", out, "-o", chart).code == 0
    assert run("commute", "map", out, "-o", chart).code == 0, "an earlier map is replaced"
    both = tmp_path / "both.html"
    said = run("commute", "map", out, "-o", both, "--original", town / "flows.csv", "--count", "workers", "--json").json
    assert said["confidential"] and "Confidential." in both.read_text()
    (tmp_path / "letter.html").write_text("dear")
    refused = run("commute", "map", out, "-o", tmp_path / "letter.html")
    assert refused.code == 2 and "not an earlier" in refused.err


def test_a_quote_in_words(run, town):
    said = run("commute", "quote", *words(town, "--rings", "ctpp-minnesota", "--shrink", "--cutoff", "20"))
    assert "virtual workers per origin" in said.out and "add epsilon" in said.out


def test_a_recipe_file_holds_the_choices_and_flags_win(run, town, tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(
        f'epsilon = 9.0\ndelta = 1e-6\ncertificate = "exact"\ncount = "workers"\nrings = "ctpp-minnesota"\n'
        f"shrink = true\nplaces = '{town / 'places.csv'}'\n"
    )
    asked = ("commute", "quote", town / "flows.csv", "--recipe", path)
    told = run(*asked, "--epsilon", "4.6", "--json")
    assert told.code == 0, told.err
    assert 4.6 < told.json["guarantee"]["epsilon"] < 9 and told.json["method"] == "commute-dirichlet"
    path.write_text(path.read_text() + "colour = 1\n")
    said = run(*asked)
    assert said.code == 2 and "recipe.toml': commute does not take 'colour'" in said.err.replace("\n", " ")
    bare = run("commute", "quote", town / "flows.csv")
    assert bare.code == 2 and "commute needs --epsilon; there is no default" in bare.err.replace("\n", " ")


def test_the_account_of_commutes(run, town, tmp_path):
    account = tmp_path / "c.account"
    opened = run(
        "account", "create", account, "--dataset", "c", "--epsilon", "5", "--delta", "1e-5", "--neighbours",
        "origin-in-destination",
    )  # fmt: skip
    assert opened.code == 0
    assert run("commute", "synth", *words(town), "-o", tmp_path / "1", "--account", account).code == 0
    refused = run("commute", "synth", *words(town), "-o", tmp_path / "2", "--account", account)
    assert refused.code == 1 and "above its cap" in refused.err and not (tmp_path / "2").exists()


def test_a_sheet_that_is_too_short_is_refused_before_anything_is_charged(run, town, tmp_path, monkeypatch):
    """A workbook leaves out what is beyond its last row, without a word."""
    account = tmp_path / "c.account"
    kept = ("--dataset", "c", "--epsilon", "5", "--delta", "1e-5", "--neighbours", "origin-in-destination")
    assert run("account", "create", account, *kept).code == 0
    monkeypatch.setattr("understudy.release.formats._MOST_XLSX_ROWS", 3)
    said = run("commute", "synth", *words(town), "-o", tmp_path / "r", "--format", "xlsx,parquet", "--account", account)
    assert said.code == 2 and "a sheet has 3" in said.err and not (tmp_path / "r").exists()
    assert run("account", "history", account, "--json").json == []


def write(path, **columns):
    pv.write_csv(pa.table(columns), path)
    return path


BAD = [
    (("--delta", "0"), "above 0 and below 1"),
    (("--certificate", "surely"), "must be one of"),
    (("--shrink",), "needs --rings"),
    (("--cutoff", "-1"), "it must be a number above 0 and below"),
    (("--reject",), "lemma 5.2"),
    (("--rings", "nowhere.csv"), "nowhere.csv"),
    (("--count", "people"), "no column 'people'"),
    (("--size", "0"), "--size is 0"),
]


@pytest.mark.parametrize(("more", "sentence"), BAD, ids=str)
def test_bad_choices_write_nothing(run, town, tmp_path, more, sentence):
    said = run("commute", "synth", *words(town), "-o", tmp_path / "r", *more)
    assert said.code == 2 and sentence in said.err.replace("\n", " ")
    assert not (tmp_path / "r").exists()
    as_json = run("commute", "synth", *words(town), "-o", tmp_path / "r", *more, "--json")
    assert sentence in as_json.json["error"]["message"]


def test_bad_tables_write_nothing(run, town, tmp_path):
    out = tmp_path / "r"
    places = pv.read_csv(town / "places.csv")
    lost = write(
        tmp_path / "lost.csv", place=places["place"], latitude=[99.0] * len(places), longitude=places["longitude"]
    )
    half = write(
        tmp_path / "half.csv",
        place=places["place"],
        latitude=[None, *places["latitude"].to_pylist()[1:]],
        longitude=places["longitude"],
    )
    flows = pv.read_csv(town / "flows.csv")
    weighted = write(
        tmp_path / "weighted.csv",
        origin=flows["origin"],
        destination=flows["destination"],
        workers=[0.5, *flows["workers"].to_pylist()[1:]],
    )
    idle = write(
        tmp_path / "idle.csv",
        origin=[*flows["origin"].to_pylist(), "H00001"],
        destination=[*flows["destination"].to_pylist(), "W99999"],
        workers=[*flows["workers"].to_pylist(), 0],
    )
    partition = write(tmp_path / "partition.csv", origin=["H00001"], region=["r"])
    zero = write(tmp_path / "rings.csv", miles=["5", "inf"], share=[0.9, 0.1], keep=[1.0, 0.0])
    trials = [
        ((town / "flows.csv", "--places", lost), "between -90 and 90"),
        ((town / "flows.csv", "--places", half), "has no latitude"),
        ((weighted, "--places", town / "places.csv"), "no whole numbers"),
        ((idle, "--places", town / "places.csv"), "has no workers"),
        ((town / "flows.csv", "--places", town / "places.csv", "--regions", partition), "misses the origin"),
        ((town / "flows.csv", "--places", town / "places.csv", "--rings", zero, "--shrink"), "f_d is 0"),
    ]
    for given, sentence in trials:
        said = run("commute", "synth", *given, "--count", "workers", *PROMISE, "-o", out)
        assert said.code == 2, said.err
        assert sentence in said.err.replace("\n", " ")
        assert not out.exists()


def test_other_releases_and_missing_coordinates(run, town, tmp_path):
    out = tmp_path / "bare"
    assert run("commute", "synth", town / "flows.csv", "--count", "workers", *PROMISE, "-o", out).code == 0
    assert run("commute", "map", out, "-o", tmp_path / "m.html").code == 0
    assert "drawn as a diagram" in (tmp_path / "m.html").read_text()
    placed = run("commute", "map", out, "-o", tmp_path / "m.html", "--places", town / "places.csv")
    assert placed.code == 0 and "drawn as a diagram" not in (tmp_path / "m.html").read_text()
    tiles = run("commute", "map", out, "-o", tmp_path / "t.html", "--places", town / "places.csv", "--tiles", "here")
    assert tiles.code == 2 and "{z}" in tiles.err
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "method": "pegs"}))
    other = run("commute", "map", out, "-o", tmp_path / "m2.html")
    assert other.code == 2 and "not of commutes" in other.err
    assert run("commute", "map", tmp_path / "nothing", "-o", tmp_path / "m3.html").code == 2


def test_tiles_are_the_only_address_in_a_page(run, town, tmp_path):
    out = tmp_path / "r"
    run("commute", "synth", *words(town), "-o", out)
    page = tmp_path / "tiles.html"
    address = "https://tiles.example.org/{z}/{x}/{y}.png"
    assert run("commute", "map", out, "-o", page, "--tiles", address).code == 0
    assert "img-src data: https://tiles.example.org" in page.read_text()


def test_an_example_never_overwrites(run, town, tmp_path):
    assert run("commute", "example", "-o", town).code == 2
    assert run("commute", "example", "-o", tmp_path / "a" / "b").code == 2
    assert run("commute", "example", "-o", tmp_path / "new", "--workers", "300", "--json").json["files"]


def opened(path):
    from understudy.privacy import Neighbours
    from understudy.privacy.account import Account

    return Account.create(path, dataset="c", epsilon=20.0, delta=1e-4, neighbours=Neighbours.ORIGIN)


def test_one_run_lays_its_plan_out_once(run, town, tmp_path, monkeypatch):
    """The price that is told, the one that is paid and the one that is written are one value."""
    from understudy.commute import plan

    made = []
    build = plan.build_domain
    monkeypatch.setattr(plan, "build_domain", lambda *given: made.append(1) or build(*given))
    account = opened(tmp_path / "c.account")
    assert run("commute", "synth", *words(town), "-o", tmp_path / "r", "--account", account.path).code == 0
    assert made == [1]
    assert run("commute", "quote", *words(town), "--account", account.path).code == 0
    assert made == [1, 1]


def test_an_account_knows_what_was_fixed_before_a_look(run, town, tmp_path):
    account = opened(tmp_path / "c.account")
    charge = ("--account", account.path)
    less = ("--epsilon", "4")
    assert run("commute", "quote", *words(town, *less), *charge).code == 0
    assert run("commute", "synth", *words(town), "-o", tmp_path / "1", *charge).code == 0
    assert not account.looks()
    flows = (town / "flows.csv", tmp_path / "1", "--count", "workers")
    assert run("commute", "evaluate", *flows).code == 0
    assert not account.looks(), "without an account nobody writes it down"
    assert run("commute", "evaluate", *flows, *charge).code == 0
    assert [what.partition(":")[0] for _, what in account.looks()] == ["evaluation of commutes"]
    late = run("commute", "synth", *words(town, "--epsilon", "4.1"), "-o", tmp_path / "2", *charge)
    assert "chosen or approved after a confidential look" in late.out.replace("\n", " ")
    early = run("commute", "synth", *words(town, *less), "-o", tmp_path / "3", *charge)
    assert early.code == 0 and "confidential look" not in early.out.replace("\n", " ")
    unknown = run("commute", "evaluate", *flows, "--account", tmp_path / "none.account")
    assert unknown.code != 0 and "none.account" in unknown.err.replace("\n", "")


@pytest.mark.parametrize("option", ["--places", "--origins", "--rings", "--regions", "--sizes"])
def test_a_seeded_release_is_not_public(run, town, tmp_path, option):
    assert run("commute", "synth", *words(town), "-o", tmp_path / "seeded", "--seed", "1").code == 0
    said = run(
        "commute", "synth", *words(town, option, tmp_path / "seeded" / "synthetic.parquet"), "-o", tmp_path / "r"
    )
    assert said.code == 2 and "which must be public, and it is not" in said.err.replace("\n", " ")
    assert not (tmp_path / "r").exists()


def test_the_confidential_table_is_not_public(run, town, tmp_path):
    said = run("commute", "synth", *words(town, "--sizes", town / "flows.csv"), "-o", tmp_path / "r")
    assert said.code == 2 and "the confidential table itself" in said.err.replace("\n", " ")
