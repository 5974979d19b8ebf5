"""Linked tables from quote to verify: in Python, by command, from a model file."""

import json
from fractions import Fraction

import pyarrow.parquet as pq
import pytest
from linked_examples import hospital, hospital_data
from typer.testing import CliRunner

import understudy as us
from understudy.cli.app import app
from understudy.codebook import Categorical, Codebook, Integer, LinkedCodebook, LinkedTable
from understudy.errors import ParameterError, ReleaseError
from understudy.histories.recipe import Histories
from understudy.privacy.account import Account
from understudy.privacy.guarantees import Neighbours


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the data, the codebook, a release, its model and an account that paid."""
    place = tmp_path_factory.mktemp("histories")
    (place / "data").mkdir()
    for name, table in hospital_data(150, seed=1).items():
        pq.write_table(table, place / "data" / f"{name}.parquet")
    hospital().save(place / "book.toml")
    Account.create(
        place / "account.json", dataset="hospital", epsilon=5, delta=1e-5, neighbours=Neighbours.ADD_REMOVE_PERSON
    )
    words = ["synth", place / "data", "-c", place / "book.toml", "-o", place / "out", "--rows", 120, "--epsilon", 3]
    words += ["--delta", 1e-6, "--csv", "--save-model", place / "model.zip", "--account", place / "account.json"]
    answer = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert answer.exit_code == 0, answer.output
    return place


def test_a_release_verifies_and_its_price_is_charged_once(made):
    verdict = us.verify(made / "out")
    assert verdict.is_valid, verdict.problems
    assert verdict.total.neighbours is Neighbours.ADD_REMOVE_PERSON
    assert pq.read_table(made / "out" / "patients.parquet").num_rows == 120
    assert (made / "out" / "stays.csv").is_file()
    assert len(Account.open(made / "account.json").history()) == 1
    manifest = json.loads((made / "out" / "manifest.json").read_text())
    assert set(manifest["tables"]) == {"patients", "stays", "diagnoses"}


def test_more_people_of_a_part_come_free_from_the_model(made, tmp_path):
    words = ["draw", made / "model.zip", "--rows", 40, "-o", tmp_path / "men", "--where", "patients.sex=M", "--json"]
    answer = CliRunner().invoke(app, list(map(str, words)))
    assert answer.exit_code == 0, answer.output
    assert us.verify(tmp_path / "men").is_valid
    assert pq.read_table(tmp_path / "men" / "patients.parquet").column("sex").unique().to_pylist() == ["M"]
    wrong = CliRunner().invoke(app, [*map(str, words[:5]), str(tmp_path / "b"), "--where", "stays.ward=A"])
    assert wrong.exit_code != 0
    assert not (tmp_path / "b").exists()


def test_an_edited_table_is_found_out(made, tmp_path):
    import shutil

    shutil.copytree(made / "out", tmp_path / "out")
    stays = pq.read_table(tmp_path / "out" / "stays.parquet")
    pq.write_table(stays.slice(1), tmp_path / "out" / "stays.parquet")
    problems = us.verify(tmp_path / "out").problems
    assert any("digest" in problem for problem in problems)
    assert any("rows" in problem for problem in problems)


def test_a_quote_reads_no_row_and_other_methods_are_refused():
    quote = us.quote(hospital(), 100, epsilon=2, delta=1e-6)
    assert quote.method == "histories"
    assert quote.total.epsilon <= 2
    with pytest.raises(ParameterError, match="one table"):
        us.quote(hospital(), 100, method="pegs", epsilon=2, delta=1e-6)


def test_the_same_seed_gives_the_same_people():
    data = hospital_data(60, seed=2)
    first, second = (
        Histories(epsilon=4.0, delta=1e-6).fit(data, hospital(), stream=us.mechanisms.Stream.seeded(5)).sample(30)
        for _ in range(2)
    )
    assert first.digest == second.digest


def test_a_broken_model_file_is_refused(made, tmp_path):
    content = (made / "model.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(content[: len(content) // 2])
    with pytest.raises(ReleaseError):
        us.draw(tmp_path / "cut.zip", 10)


def test_measured_shapes_are_refused_with_a_remedy():
    age = Integer(name="age", edges=tuple(map(Fraction, (0, 18, 45, 65, 100))), shape="measured", pieces=10)
    people = LinkedTable(name="people", key="id", book=Codebook(columns=(age,)))
    ward = Categorical(name="ward", levels=("a", "b"))
    stays = LinkedTable(name="stays", parent="people", parent_key="id", cap=2, book=Codebook(columns=(ward,)))
    with pytest.raises(ParameterError, match=r"people.age \(measured pieces\); drop `shape` and `pieces`"):
        Histories(epsilon=1.0, delta=1e-6).quote(LinkedCodebook(tables=(people, stays)), 10)
