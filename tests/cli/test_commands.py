"""The commands as a person uses them, once right."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

import understudy as us


def test_methods_lists_every_registered_method(run):
    said = run("methods")
    assert said.code == 0
    for name in us.METHODS:
        assert name in said.out
    assert [item["name"] for item in run("methods", "--json").json] == list(us.METHODS)


def test_quote_prints_the_documented_json(run, discharges):
    data, book = discharges
    said = run(
        *("quote", data, "--codebook", book, "--method", "pegs", "--epsilon-per-record", 1),
        *("--rows", 1000, "--delta", 1e-6, "--json"),
    )
    assert said.code == 0
    price = said.json
    assert {"paper", "total", "pure", "entries"} <= set(price)
    assert price["total"]["kind"] == "ApproxDP"
    assert price["total"]["epsilon"] == pytest.approx(20.1, abs=0.05)  # PRIVACY section 1, level-aware
    assert price["total"]["delta"] == 1e-6
    assert price["total"]["neighbours"] == "add-remove"
    assert price["pure"]["epsilon"] == pytest.approx(1000, rel=1e-6)
    assert price["paper"]["epsilon_per_record"] == pytest.approx(1, rel=1e-6)
    assert len(price["entries"]) == 1 and price["entries"][0]["proof"] == "dirichlet_draw.md"


def test_quote_reads_no_row(run, discharges, tmp_path):
    _, book = discharges
    nothing = tmp_path / "not-there.csv"
    assert run("quote", nothing, "-c", book, "-m", "sba", "--epsilon", 1, "--delta", 1e-6, "-n", 10).code == 0


def test_whole_file_target_is_met(run, discharges):
    data, book = discharges
    words = ("quote", data, "-c", book, "-m", "pegs-rs", "--block-size", 10, "-n", 500, "--json")
    total = run(*words, "--epsilon", 2, "--delta", 1e-6).json["total"]
    assert total["epsilon"] == pytest.approx(2, rel=1e-4) and total["epsilon"] <= 2


@pytest.mark.parametrize(
    "options",
    [
        ("pegs", "--epsilon-per-record", 5, "--delta", 1e-6),
        ("pegs", "--epsilon", 100, "--sweeps", 2, "--prior", "ordinal"),
        ("pegs", "--alpha", 1, "--key", "minhash", "--key-space", 64),
        ("pegs", "--alpha", 1, "--key", "feature-hash", "--neighbours", "replace-one"),
        ("pegs", "--alpha", 1, "--parents", "charge=los,sev", "--parents", "sex="),
        ("pegs-rs", "--alpha", 1, "--block-size", 7),
        ("marginal-bootstrap", "--epsilon", 1, "--delta", 1e-6),
        ("laplace", "--epsilon", 3),
        ("sba", "--epsilon", 50, "--delta", 1e-3),  # at 3 the threshold may leave nothing: rows hardly repeat
    ],
)
def test_synth_then_verify(run, discharges, tmp_path, options):
    data, book = discharges
    release = tmp_path / "release"
    method, *rest = options
    made = run("synth", data, "-c", book, "-m", method, *rest, "-n", 200, "-o", release, "--csv")
    assert made.code == 0, made.err
    assert "differentially private" in made.out
    assert sorted(p.name for p in release.iterdir()) == [
        "codebook.toml",
        "index.html",
        "manifest.json",
        "synthetic.csv",
        "synthetic.parquet",
    ]
    assert pq.read_table(release / "synthetic.parquet").num_rows == 200
    checked = run("verify", release, "--json")
    assert checked.code == 0 and checked.json["valid"], checked.out
    manifest = json.loads((release / "manifest.json").read_text())
    assert manifest["guarantee"]["kind"] in ("PureDP", "ApproxDP")
    assert manifest["account"].startswith("none")
    assert "seed" not in json.dumps(
        {k: v for k, v in manifest.items() if k not in ("parameters", "ledger", "statement", "assumptions")}
    )


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        (("contingency",), "exact counts"),
        (("bayesian-bootstrap",), "exact counts"),
        (("pegs", "--alpha", 1, "--parents", "mutual-information"), "mutual information"),
        (("pegs", "--alpha", 1, "--seeds", "data"), "real rows"),
        (("pegs", "--alpha", 1, "--seed", 3), "seeded"),
    ],
)
def test_unpriced_reads_end_in_no_formal(run, discharges, tmp_path, options, culprit):
    data, book = discharges
    method, *rest = options
    made = run("synth", data, "-c", book, "-m", method, *rest, "-n", 50, "-o", tmp_path / "r", "--json")
    assert made.code == 0, made.err
    guarantee = made.json["manifest"]["guarantee"]
    assert guarantee["kind"] == "NoFormal" and culprit in guarantee["why"]
    assert "no formal privacy guarantee" in made.json["manifest"]["statement"]
    assert run("verify", tmp_path / "r").code == 0


def test_a_public_table_may_shape_prior_and_seeds(run, discharges, tmp_path):
    data, book = discharges
    first = tmp_path / "first"
    assert run("synth", data, "-c", book, "-m", "pegs", "--alpha", 1, "-n", 300, "-o", first).code == 0
    public = first / "synthetic.parquet"
    words = ("synth", data, "-c", book, "-m", "pegs", "--alpha", 1, "--prior", public, "--seeds", public)
    made = run(*words, "-n", 50, "-o", tmp_path / "second", "--json")
    assert made.code == 0, made.err
    said = " ".join(made.json["manifest"]["assumptions"])
    assert "the prior's shape comes from" in said and "chains start from rows of the public file" in said


def test_draft_check_declare_show_synth(run, discharges, tmp_path):
    data, _ = discharges
    book = tmp_path / "drafted.toml"
    assert run("codebook", "draft", data, "-o", book).code == 0
    assert run("codebook", "check", data, "-c", book).code == 0
    words = ("quote", data, "-c", book, "-m", "pegs", "--alpha", 1, "-n", 10, "--json")
    drafted = run(*words).json["total"]
    assert drafted["kind"] == "NoFormal" and "drafted from the data" in drafted["why"]
    declared = run("codebook", "declare", book, "--all", "--by", "A. Steward", "--from", "the public manual", "--json")
    assert declared.code == 0 and declared.json["still_drafted"] == []
    priced = run(*words).json
    assert priced["total"]["kind"] == "PureDP"
    assert any("A. Steward" in item and "the public manual" in item for item in priced["assumptions"])
    shown = run("codebook", "show", book)
    assert shown.code == 0 and "charge" in shown.out


def test_an_account_is_charged_and_refuses(run, discharges, tmp_path):
    data, book = discharges
    account = tmp_path / "d.account"
    assert run("account", "create", account, "--dataset", "d", "--epsilon", 3, "--delta", 0).code == 0
    words = ("synth", data, "-c", book, "-m", "laplace", "--epsilon", 2, "-n", 10, "--account", account)
    first = run(*words, "-o", tmp_path / "one", "--json")
    assert first.code == 0 and "account of 'd'" in first.json["manifest"]["account"]
    second = run(*words, "-o", tmp_path / "two")
    assert second.code == 1 and "cap" in second.err
    assert not (tmp_path / "two").exists()
    summary = run("account", "show", account, "--json").json
    assert summary["spent"]["epsilon"] == pytest.approx(2) and summary["releases"] == 1
    assert [item["state"] for item in run("account", "history", account, "--json").json] == ["committed"]
    assert run("account", "show", account).code == 0 and run("account", "history", account).code == 0


def test_demo_shows_errors_promise_and_files(run, tmp_path):
    said = run("demo", "--out", tmp_path / "demo")
    assert said.code == 0, said.err
    assert "independent columns" in said.out and "differentially private" in said.out
    assert str(tmp_path / "demo" / "synthetic.parquet") in said.out
    assert run("verify", tmp_path / "demo").code == 0
    picture = (tmp_path / "demo-picture.svg").read_text()
    assert picture.startswith("<svg") and "MDC" in picture


@pytest.mark.parametrize(
    "options",
    [
        ("lugs", "--l", 1.5, "--sweeps", 3, "--hashes", 2, "--bands", 4, "--key-space", 512, "--floor", 0.01),
        ("lugs", "--l", 3, "--cap"),
        ("plugs", "--l", 1.2, "--partitions", 2, "--processes", 1),
        ("pegs", "--l", 1.5),
        ("pegs", "--l", 1.5, "--parents", "mutual-information"),
        ("pegs", "--l", 1.5, "--parents", "private", "--selection-epsilon", 1, "--public-rows", 100_000),
        ("marginal-bootstrap", "--l", 2),
    ],
)
def test_diverse_synthesis_says_what_it_is_not(run, discharges, tmp_path, options):
    data, book = discharges
    method, *rest = options
    quoted = run("quote", data, "-c", book, "-m", method, *rest, "-n", 200)
    assert quoted.code == 0, quoted.err
    assert "not DP" in " ".join(quoted.out.split()) and "l_diversity" in quoted.out
    made = run("synth", data, "-c", book, "-m", method, *rest, "-n", 200, "-o", tmp_path / "release")
    assert made.code == 0, made.err
    assert "This is not differential privacy" in " ".join(made.out.split())
    checked = run("verify", tmp_path / "release", "--json")
    assert checked.code == 0 and checked.json["valid"], checked.out
    assert json.loads((tmp_path / "release" / "manifest.json").read_text())["guarantee"]["kind"] == "LDiverse"


def test_an_l_for_every_column(run, discharges):
    data, book = discharges
    words = [word for name in us.datasets.discharges_codebook().names for word in ("--l", f"{name}=1.5")]
    said = run("quote", data, "-c", book, "-m", "lugs", *words, "-n", 10, "--json")
    assert said.code == 0, said.err
    assert said.json["total"] == {"kind": "LDiverse", "l": 1.5}


def test_python_m_understudy_is_the_command():
    said = subprocess.run(
        [sys.executable, "-m", "understudy", "--version"], capture_output=True, text=True, check=True, timeout=120
    )
    assert said.stdout == f"understudy {us.__version__}\n"


def test_the_example_gives_every_newcomer_a_table(run, tmp_path):
    folder = tmp_path / "try it"
    assert run("example", "-o", folder, "-n", "200", "--json").json["files"] == [
        str(folder / name) for name in ("patients.csv", "held-out.csv", "patients.toml")
    ]
    assert run("codebook", "check", folder / "patients.csv", "-c", folder / "patients.toml").code == 0
    assert run("codebook", "check", folder / "held-out.csv", "-c", folder / "patients.toml").code == 0
    assert run("example", "-o", folder).code == 2
    assert run("example", "-o", tmp_path / "a" / "b").code == 2
    assert run("example", "-o", tmp_path / "none", "-n", "0").code == 2
    assert not (tmp_path / "none").exists()
