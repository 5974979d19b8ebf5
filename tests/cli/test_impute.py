"""`synth --files`, the options of imputation and pmi, and `impute`, as a person uses them."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Codebook
from understudy.privacy import Neighbours
from understudy.privacy.account import Account

COLUMNS = ["age.yrs", "sex", "sev", "disp"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A few columns of the discharges, and their codebook."""
    folder = tmp_path_factory.mktemp("small")
    whole = us.datasets.discharges_codebook()
    book = Codebook(columns=tuple(replace(whole.column(name), parents=None) for name in COLUMNS))
    book.save(folder / "book.toml")
    pv.write_csv(us.datasets.discharges(rows=600, seed=5).select(COLUMNS), folder / "data.csv")
    return folder / "data.csv", folder / "book.toml"


def test_imputation_with_mixed_engines_and_several_files(run, small, tmp_path):
    data, book = small
    said = run(
        *("synth", data, "-c", book, "-m", "imputation", "-n", 50, "-o", tmp_path / "out", "--files", 2),
        *("--engines", "blocks", "--engines", "disp=logistic", "--engines", "sev=cart", "--order", "sev,disp", "--csv"),
    )
    assert said.code == 0, said.err
    assert "no formal privacy guarantee" in said.out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["1", "2"]
    for number in ("1", "2"):
        assert run("verify", tmp_path / "out" / number).code == 0
        manifest = json.loads((tmp_path / "out" / number / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["parameters"]["engines"] == {"*": "blocks", "disp": "logistic", "sev": "cart"}
        assert f"file {number} of 2" in manifest["warnings"][-1]
    tables = [pq.read_table(tmp_path / "out" / number / "synthetic.parquet") for number in ("1", "2")]
    assert not tables[0].equals(tables[1])


def test_a_partial_file_by_roles_of_the_codebook(run, small, tmp_path):
    data, book = small
    words = ("synth", data, "-c", book, "-m", "imputation", "--synthesis", "partial", "--at-risk", 3, "--plug-in")
    assert run(*words, "-n", 600, "-o", tmp_path / "out").code == 0
    refused = run(*words, "-n", 10, "-o", tmp_path / "other")
    assert refused.code == 2 and "keeps each of the 600 records" in refused.err
    assert not (tmp_path / "other").exists()


def test_pmi_says_how_little_depends_on_the_data_and_all_files_pay_in_one_charge(run, small, tmp_path):
    data, book = small
    account = tmp_path / "a.account"
    Account.create(account, dataset="d", epsilon=1000, delta=1e-3, neighbours=Neighbours.ADD_REMOVE)
    words = ("-c", book, "-m", "pmi", "--epsilon", 1, "--delta", 1e-6, "-n", 20)
    quoted = run("quote", data, *words, "--json").json
    assert quoted["total"]["epsilon"] == pytest.approx(1, rel=1e-4)
    assert quoted["entries"][0]["proof"] == "perturbed_prediction.md"
    assert "practically independent of the data" in quoted["warnings"][0]
    assert "any two tables whatever" in quoted["statement"]
    said = run("synth", data, *words, "--engines", "cart", "-o", tmp_path / "out", "--files", 3, "--account", account)
    assert said.code == 0, said.err
    (charge,) = Account.open(account).history()
    assert charge.guarantee.epsilon > 1.5 * quoted["total"]["epsilon"]  # of 60 rows, not of 20
    manifest = json.loads((tmp_path / "out" / "3" / "manifest.json").read_text(encoding="utf-8"))
    assert "together cost up to 3 times as much" in manifest["warnings"][-1]


def test_several_files_that_the_account_cannot_pay_for_leave_nothing(run, small, tmp_path):
    data, book = small
    account = tmp_path / "a.account"
    Account.create(account, dataset="d", epsilon=1.5, delta=1e-3, neighbours=Neighbours.ADD_REMOVE)
    words = ("-c", book, "-m", "pmi", "--epsilon", 1, "--delta", 1e-6, "-n", 20, "--engines", "cart")
    said = run("synth", data, *words, "-o", tmp_path / "out", "--files", 3, "--account", account)
    assert said.code == 1
    assert not (tmp_path / "out").exists()
    assert Account.open(account).spent().epsilon == 0


def test_several_files_of_route_n_pay_once(run, small, tmp_path):
    data, book = small
    account = tmp_path / "a.account"
    Account.create(account, dataset="d", epsilon=1.5, delta=1e-3, neighbours=Neighbours.ADD_REMOVE)
    words = ("synth", data, "-c", book, "-m", "laplace", "--epsilon", 1, "-n", 20, "-o", tmp_path / "out", "--files", 3)
    assert run(*words, "--account", account).code == 0
    assert Account.open(account).spent().epsilon == pytest.approx(1)
    assert len(Account.open(account).history()) == 1


def test_several_files_have_no_model_to_save(run, small, tmp_path):
    data, book = small
    words = ("synth", data, "-c", book, "-m", "laplace", "--epsilon", 1, "-n", 5, "-o", tmp_path / "out")
    said = run(*words, "--files", 2, "--save-model", tmp_path / "model")
    assert said.code == 2 and "--save-model" in said.err


def test_impute_fills_a_table_and_calls_it_confidential(run, small, tmp_path):
    data, book = small
    holed = pv.read_csv(data)
    sex = holed["sex"].to_pylist()
    sex[:300:3] = [None] * 100
    pv.write_csv(holed.set_column(1, "sex", pa.array(sex)), tmp_path / "holed.csv")
    said = run("impute", tmp_path / "holed.csv", "-c", book, "--files", 2, "--sweeps", 1, "-o", tmp_path / "out")
    assert said.code == 0, said.err
    assert "real records" in said.out
    assert "may not leave the house" in said.err
    made = pq.read_table(tmp_path / "out" / "2" / "completed.parquet")
    assert made["sex"].null_count == 0
    assert all(b in (a, "") for a, b in zip(made["sex"].to_pylist()[300:], sex[300:], strict=True))
    assert run("verify", tmp_path / "out" / "1").code == 0
    manifests = [json.loads((tmp_path / "out" / n / "manifest.json").read_text(encoding="utf-8")) for n in "12"]
    assert manifests[0]["release"] != manifests[1]["release"]
    assert all(one["holds"] == "completed" and one["real_records"] and not one["record_wise"] for one in manifests)
    again = run("impute", tmp_path / "holed.csv", "-c", book, "-o", tmp_path / "out")
    assert again.code == 2 and "never overwrites" in again.err
    machine = run(
        *("impute", tmp_path / "holed.csv", "-c", book, "--files", 1, "--engines", "cart"),
        *("-o", tmp_path / "json", "--json"),
    )
    assert machine.json["manifests"][0]["confidential"] is True
