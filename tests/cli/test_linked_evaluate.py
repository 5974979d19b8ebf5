"""`example --linked` and `evaluate` on linked tables: what a newcomer types."""

import json

import pyarrow.csv
import pytest

import understudy as us
from understudy.errors import ParameterError


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    from understudy.facade.demo import example_histories

    folder = tmp_path_factory.mktemp("linked")
    example_histories(folder / "hospital", patients=300, seed=1)
    example_histories(folder / "other", patients=300, seed=9)
    return folder


def test_the_linked_example_has_tables_others_and_a_codebook(run, tmp_path):
    folder = tmp_path / "hospital"
    files = run("example", "--linked", "-o", folder, "-n", "40", "--json").json["files"]
    names = [f"{place}{name}.csv" for place in ("", "held-out/") for name in ("patients", "stays", "diagnoses")]
    assert files == [str(folder / name) for name in (*names, "hospital.toml")]
    assert run("example", "--linked", "-o", folder).code == 2
    one = tmp_path / "one"
    files = run("example", "--linked", "--one-file", "-o", one, "-n", "40", "--json").json["files"]
    assert files == [str(one / name) for name in ("stays.csv", "held-out.csv", "stays.toml")]
    assert run("codebook", "check", one / "stays.csv", "-c", one / "stays.toml").code == 0
    refused = run("example", "--one-file", "-o", tmp_path / "none")
    assert refused.code == 2 and "--linked" in refused.err and not (tmp_path / "none").exists()


def test_folders_of_linked_tables_are_compared(run, hospital, tmp_path):
    book, page = hospital / "hospital" / "hospital.toml", tmp_path / "page.html"
    real, made = hospital / "hospital", hospital / "other"
    shown = run("evaluate", real, made, "-c", book, "-o", page, "--holdout", real / "held-out")
    assert shown.code == 0, shown.err
    assert "Orphans: 0" in shown.out and "Predict the next event" in shown.out
    text = page.read_text(encoding="utf-8")
    assert "What must hold" in text and "does not hold" not in text and "<svg" in text
    document = run("evaluate", real, made, "-c", book, "-o", page, "--json").json
    assert document["wrong"] == [] and document["rows"]["real"]["patients"] == 300
    assert {score["metric"] for score in document["scores"]} >= {"orphans", "constants", "broken_rules", "gaps"}


def test_faults_are_shown_on_the_page(run, hospital, tmp_path):
    faulty = tmp_path / "faulty"
    faulty.mkdir()
    for path in (hospital / "other").glob("*.csv"):
        table = pyarrow.csv.read_csv(path)
        if path.stem == "stays":
            table = table.set_column(1, "patient_id", [["nobody"] * table.num_rows])
        pyarrow.csv.write_csv(table, faulty / path.name)
    book, page = hospital / "hospital" / "hospital.toml", tmp_path / "page.html"
    document = run("evaluate", hospital / "hospital", faulty, "-c", book, "-o", page, "--json").json
    assert document["wrong"] == ["orphans"]
    assert "does not hold" in page.read_text(encoding="utf-8")


def test_options_of_one_table_and_wrong_labels_are_refused(run, hospital, tmp_path):
    book, page = hospital / "hospital" / "hospital.toml", tmp_path / "page.html"
    sides = (hospital / "hospital", hospital / "other", "-c", book, "-o", page)
    for words, said in (
        (("--given", "sex"), "--given"),
        (("--shadow-runs", "3"), "--shadow-runs"),
        (("--holdout", hospital / "other", "--target", "stays.ward=moon"), "moon"),
    ):
        refused = run("evaluate", *sides, *words)
        assert refused.code == 2 and said in refused.err and "Traceback" not in refused.err
    assert run("evaluate", hospital / "nowhere", hospital / "other", "-c", book, "-o", page).code == 2
    assert not page.exists()


def test_a_release_is_no_hold_out(run, hospital, tmp_path):
    """Nobody of it was set aside; the account hears of no look."""
    book, real, account = hospital / "hospital" / "hospital.toml", hospital / "hospital", tmp_path / "a.account"
    made = tmp_path / "made"
    assert run("synth", real, "-c", book, "-n", "50", "--epsilon", "1", "--delta", "1e-6", "-o", made).code == 0
    cap = ("--dataset", "d", "--epsilon", "5", "--delta", "1e-5", "--neighbours", "add-remove")
    assert run("account", "create", account, *cap).code == 0
    before = account.read_bytes()
    page = tmp_path / "page.html"
    asked = ("evaluate", real, hospital / "other", "-c", book, "-o", page, "--holdout", made, "--account", account)
    refused = run(*asked)
    assert refused.code == 2 and "the synthetic release" in refused.err and "set aside" in refused.err, refused.err
    assert account.read_bytes() == before and not page.exists()


def test_python_takes_mappings_and_refuses_books_of_one_table(hospital):
    tables = us.datasets.histories(200, seed=3)._asdict()
    found = us.evaluate_linked(tables, tables, us.datasets.histories_codebook())
    assert found.findings.wrong == () and "not for release" in repr(found)
    assert json.dumps(found.to_dict())
    with pytest.raises(ParameterError, match="linked"):
        us.evaluate_linked(tables, tables, us.datasets.encounters_codebook())


def test_limits_of_a_board_are_held_against_linked_tables(run, hospital, tmp_path):
    book, page, board = hospital / "hospital" / "hospital.toml", tmp_path / "page.html", tmp_path / "board.toml"
    sides = (hospital / "hospital", hospital / "other", "-c", book, "-o", page)
    shown = run("evaluate", *sides)
    assert shown.code == 0 and "At these limits: do not publish." in shown.out and "Worst: " in shown.out
    board.write_text('decided_by = "Access board"\nshare_error = 0.9\nassociation_error = 0.9\nimpossible_rows = 1\n')
    document = run("evaluate", *sides, "--board", board, "--json").json
    assert document["board"]["decided_by"] == "Access board"
    allowed = {use["title"] for use in document["judgement"]["uses"] if use["allowed"]}
    assert {"Shares of single columns", "Tables of two columns", "What follows what"} <= allowed
    assert "set by Access board" in page.read_text(encoding="utf-8")
    board.write_text("share_eror = 0.9\n")
    page.unlink()
    refused = run("evaluate", *sides, "--board", board)
    assert refused.code == 2 and "share_eror" in refused.err and not page.exists()
