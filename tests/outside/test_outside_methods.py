"""A method of another package: found, listed, run from the command line, and believed no further than it can be."""

import datetime as dt
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from understudy.codebook import Attestation, Categorical, Codebook

HERE = Path(__file__).parent
ENTRY_POINTS = """[understudy.methods]
noisy-columns = noisy_columns:NoisyColumns
own-event = noisy_columns.unsound:OwnEvent
opener = noisy_columns.unsound:Opener
pegs = noisy_columns:NoisyColumns
broken = noisy_columns:Missing
terse = noisy_columns.unsound:Terse
half-done = noisy_columns.unsound:HalfDone
"""


def wheel(folder: Path) -> Path:
    """A wheel of the package beside this file: a zip archive with three more files."""
    path = folder / "noisy_columns-1.0-py3-none-any.whl"
    information = {
        "METADATA": "Metadata-Version: 2.1\nName: noisy-columns\nVersion: 1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": ENTRY_POINTS,
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for source in sorted((HERE / "noisy_columns").glob("*.py")):
            archive.write(source, f"noisy_columns/{source.name}")
        for name, text in information.items():
            archive.writestr(f"noisy_columns-1.0.dist-info/{name}", text)
    return path


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Environment variables under which the package is installed."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check",
         "--target", str(folder / "site"), str(wheel(folder))],
        check=True,
    )  # fmt: skip
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "site"), *sys.path])}


def understudy(environment, *words):
    done = subprocess.run(
        [sys.executable, "-m", "understudy", *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, " ".join(done.stderr.split())


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    (folder / "t.csv").write_text("a,b\n" + "x,u\ny,v\nx,v\n" * 200)
    form = Attestation(by="test", source="a form", on=dt.date(2026, 1, 1))
    columns = (("a", ("x", "y")), ("b", ("u", "v")))
    book = Codebook(columns=tuple(Categorical(name=n, levels=levels, attestation=form) for n, levels in columns))
    book.save(folder / "t.toml")
    return folder / "t.csv", folder / "t.toml"


PRICE = ("--epsilon", 1, "--delta", 1e-6, "-n", 50)


def test_it_is_listed_and_has_its_own_help(installed):
    code, out, _ = understudy(installed, "methods", "--json")
    assert code == 0
    listed = {method["name"]: method for method in json.loads(out)}
    assert "copies" in listed["noisy-columns"]["options"]
    assert listed["noisy-columns"]["package"] == "noisy_columns" and listed["marginals"]["package"] is None
    code, out, _ = understudy(installed, "methods")
    assert code == 0 and "(from the package noisy_columns)" in " ".join(out.split())
    code, out, _ = understudy(installed, "synth", "--method", "noisy-columns", "--help")
    assert code == 0 and "--copies" in out and "--alpha" not in out


def test_a_release_of_it_keeps_its_promise_and_says_where_it_comes_from(installed, table, tmp_path):
    data, book = table
    words = ("synth", data, "-c", book, "-m", "noisy-columns", "--copies", 3, *PRICE, "-o", tmp_path / "r", "--json")
    code, out, err = understudy(installed, *words)
    assert code == 0, err
    manifest = json.loads(out)["manifest"]
    assert manifest["guarantee"]["kind"] == "ApproxDP" and manifest["guarantee"]["epsilon"] <= 1
    assert manifest["parameters"]["copies"] == 3
    assert any("package 'noisy_columns'" in said for said in manifest["assumptions"])
    code, out, err = understudy(installed, "verify", tmp_path / "r")
    assert code == 0, out + err
    assert "cost what is stated" in out


def test_a_release_can_be_repeated_from_its_manifest(installed, table, tmp_path):
    data, book = table
    first = understudy(installed, "synth", data, "-c", book, "-m", "noisy-columns", *PRICE, "-o", tmp_path / "r")
    assert first[0] == 0, first[2]
    words = ("synth", data, "-c", book, "--recipe", tmp_path / "r" / "manifest.json", "-o", tmp_path / "s", "--json")
    code, out, err = understudy(installed, *words)
    assert code == 0, err
    before = json.loads((tmp_path / "r" / "manifest.json").read_text())
    again = json.loads(out)["manifest"]
    assert (again["parameters"], again["rows"]) == (before["parameters"], before["rows"])


@pytest.mark.parametrize(("method", "reason"), [("own-event", "Cheap itself"), ("opener", "opened counts itself")])
def test_what_nobody_has_checked_has_no_formal_guarantee(installed, table, tmp_path, method, reason):
    data, book = table
    code, out, err = understudy(
        installed, "synth", data, "-c", book, "-m", method, *PRICE, "-o", tmp_path / "r", "--json"
    )
    assert code == 0, err
    manifest = json.loads(out)["manifest"]
    assert manifest["guarantee"]["kind"] == "NoFormal" and reason in manifest["guarantee"]["why"]
    assert "no formal privacy guarantee" in manifest["statement"]


@pytest.mark.parametrize("method", ["own-event", "opener"])
def test_whoever_trusts_the_package_by_name_is_believed_and_named(installed, table, tmp_path, method):
    data, book = table
    trusting = ("--trust", "noisy_columns", "-o", tmp_path / "r", "--json")
    code, out, err = understudy(installed, "synth", data, "-c", book, "-m", method, *PRICE, *trusting)
    assert code == 0, err
    manifest = json.loads(out)["manifest"]
    assert manifest["guarantee"]["kind"] != "NoFormal"
    assert any("which the caller trusts by name" in said for said in manifest["assumptions"])
    assert "trusts by name" in manifest["statement"]


@pytest.mark.parametrize("method", ["own-event", "opener"])
def test_an_account_pays_for_nothing_that_nobody_has_checked(installed, table, tmp_path, method):
    data, book = table
    account = tmp_path / "a.account"
    made = understudy(installed, "account", "create", account, "--dataset", "t", "--epsilon", 5, "--delta", 1e-3)
    assert made[0] == 0, made[2]
    words = ("synth", data, "-c", book, "-m", method, *PRICE, "-o", tmp_path / "r", "--account", account)
    code, _, err = understudy(installed, *words)
    assert code != 0 and "no formal" in err.lower()
    assert not (tmp_path / "r").exists()


def test_a_taken_name_and_a_broken_entry_point_stop_nothing(installed):
    code, out, _ = understudy(installed, "methods", "--json")
    pegs = next(method for method in json.loads(out) if method["name"] == "pegs")
    assert code == 0 and "alpha" in pegs["options"]
    code, _, err = understudy(installed, "synth", "x", "-c", "y", "-m", "broken", "-n", 1, "-o", "z")
    assert code == 2 and "'broken' of another package cannot be used" in err


IN_THE_STUDIO = """
from pathlib import Path
from understudy.facade import methods
from understudy.studio import plans
import understudy as us

assert "noisy-columns" in {one["name"] for one in plans.offered_methods()}
book = us.datasets.discharges_codebook()
print([methods.method_reasons(name, book, rows_about=1000) for name in ("noisy-columns", "marginals")])
"""


def test_the_studio_offers_it_and_says_nothing_of_it_that_it_cannot_know(installed):
    """`tables` is the praise of `marginals`, which has an epsilon and a delta too."""
    done = subprocess.run(
        [sys.executable, "-c", IN_THE_STUDIO], env=installed, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[('outside',), ('tables',)]"


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_what_a_promise_rests_on_is_said_also_where_the_method_forgot_it(installed, table, relation):
    """The same quote as that of a method that names it, and once only."""
    data, book = table
    said = {}
    for method in ("terse", "noisy-columns"):
        words = ("quote", data, "-c", book, "-m", method, *PRICE, "--neighbours", relation, "--json")
        code, out, err = understudy(installed, *words)
        assert code == 0, err
        [entry] = json.loads(out)["entries"]
        said[method] = entry["assumptions"]
        assert sum("attested by test" in sentence for sentence in said[method]) == 1
        assert ("the number of confidential records is public" in said[method]) == (relation == "replace-one")
    assert said["terse"] == [sentence.replace("noisy-columns", "terse") for sentence in said["noisy-columns"]]


def test_methods_says_which_method_of_a_package_cannot_be_used_and_why(installed):
    """Its author asks there first; and one that forgot a part must not break the list for everybody else."""
    for words in (("methods",), ("methods", "--json"), ("methods", "--all")):
        code, out, err = understudy(installed, *words)
        assert code == 0 and "noisy-columns" in out
        for name, why in (
            ("broken", "has no attribute 'Missing'"),
            ("pegs", "its facts call it 'noisy-columns'"),
            ("half-done", "lacks `summary`, `example`, `perturb`, `price`"),
        ):
            assert f"the method '{name}' of another package cannot be used" in err and why in err
    code, _, err = understudy(installed, "synth", "x", "-c", "y", "-m", "half-done", "-n", 1, "-o", "z")
    assert code == 2 and "'half-done' of another package cannot be used" in err


def test_every_law_of_a_method_holds_for_it(installed):
    """The conformance tests find it like a method of ours, and run on it."""
    laws = HERE.parent / "unit" / "test_registry.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-k", "noisy-columns", str(laws)],
        env=installed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 10
