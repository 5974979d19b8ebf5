"""`rumap`: a tiny grid, an interrupt, and going on."""

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

GRID = ("--methods", "pegs,laplace,bayesian-bootstrap", "--epsilons", "1,100", "--rows", "60", "--repeat", "2")
QUESTIONS = ("--given", "age.yrs", "--target", "charge")
CELLS = 2 * (2 * 2 + 1)  # two repeats of two methods at two epsilons, and of one without an epsilon


def lines(folder):
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]


def test_a_grid_from_start_to_end(run, discharges, tmp_path):
    data, book = discharges
    out = tmp_path / "map"
    words = ("rumap", data, "-c", book, *GRID, "--repeat", 1, *QUESTIONS, "-o", out)
    said = run(*words, "--per-record", "--json")
    assert said.code == 0, said.err
    assert "not covered by the guarantee" in said.err.replace("\n", " ")
    doc = said.json
    assert doc["finished"] == doc["planned"] == CELLS // 2
    assert doc["meaning"] == {
        "pegs": "per synthetic record",
        "laplace": "whole file",
        "bayesian-bootstrap": "no promise",
    }
    table = pq.read_table(out / "runs.parquet")
    assert table.num_rows == CELLS // 2
    assert {"marginal_mae", "marginal_mse", "conditional_mae | age.yrs", "kendall_marginal"} <= set(table.column_names)
    assert any(name.startswith("coefficient_distance") for name in table.column_names)
    assert any(name.startswith("mode_attack") for name in table.column_names)
    pegs = {run["epsilon"]: run["total_epsilon"] for run in doc["runs"] if run["method"] == "pegs"}
    assert pegs == {
        1.0: pytest.approx(60, rel=1e-3),
        100.0: pytest.approx(6000, rel=1e-3),
    }  # 60 rows, basic composition
    page = (out / "map.html").read_text()
    assert "guarantee of the release does not cover" in page.replace("\n", " ") and "PeGS figure 6" in page
    before = (out / "runs.jsonl").read_text()
    assert run(*words, "--per-record").code == 0
    assert (out / "runs.jsonl").read_text() == before, "everything was finished already"


def test_an_interrupt_loses_one_run_at_most(discharges, run, tmp_path):
    data, book = discharges
    out = tmp_path / "map"
    script = (
        "import sys, time\n"
        "from understudy.evaluate.rumap import journal\n"
        "add = journal.Journal.add\n"
        "def slow(self, *a):\n"
        "    add(self, *a); print('added', flush=True); time.sleep(0.3)\n"
        "journal.Journal.add = slow\n"
        "from understudy.cli.app import main\n"
        "main(sys.argv[1:])\n"
    )
    words = ["rumap", str(data), "-c", str(book), *GRID, "--seed", "7", "-o", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "added\n"
    assert process.stdout.readline() == "added\n"
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130 and "kept in" in err.replace("\n", " ") and "Traceback" not in err
    first = lines(out)
    assert 2 <= len(first) < CELLS
    assert pq.read_table(out / "runs.parquet").num_rows == len(first)
    with (out / "runs.jsonl").open("a") as file:
        file.write('{"method": "pegs", "eps')  # and a crash in the middle of a line
    assert run(*words).code == 0
    kept = [json.loads(line) for line in (out / "runs.jsonl").read_text().splitlines() if line.endswith("}")]
    assert kept[: len(first)] == first and len(kept) == CELLS
    assert len({(run["method"], run["epsilon"], run["repeat"]) for run in kept}) == CELLS
    whole = tmp_path / "whole"
    assert run(*words[:-1], whole).code == 0
    again = {(r["method"], r["epsilon"], r["repeat"]): r["measures"] for r in lines(whole)}
    assert again == {(r["method"], r["epsilon"], r["repeat"]): r["measures"] for r in kept}, "a seed decides each run"


def test_a_stand_in_leaves_the_data_alone(run, discharges, tmp_path):
    public, book = discharges
    words = ("--methods", "laplace", "--epsilons", "1", "--rows", 30, "--repeat", 1, "-o", tmp_path / "map")
    said = run("rumap", tmp_path / "not-there.csv", "-c", book, "--stand-in", public, *words)
    assert said.code == 0, said.err
    assert "not covered" not in said.err
    assert "Public stand-in" in (tmp_path / "map" / "map.html").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--methods", "pegz"), ("no method 'pegz'",)),
        (("--methods", ""), ("--methods is empty",)),
        (("--methods", "pegs,pegs"), ("'pegs' twice",)),
        (("--methods", "pegs-rs"), ("needs --block-size",)),
        (("--methods", "sba"), ("needs --delta",)),
        (("--methods", "privbayes"), ("needs --public-rows",)),
        (("--epsilons", "1,x"), ("--epsilons is 'x'; it must be a finite number above 0",)),
        (("--epsilons", "0"), ("above 0",)),
        (("--epsilons", ""), ("--epsilons is empty",)),
        (("--sweeps", "many"), ("--sweeps is 'many'; it must be a whole number",)),
        (("--repeat", 0), ("--repeat is 0",)),
        (("--rows", 0), ("--rows is 0",)),
        (("--given", "income"), ("'income'",)),
        (("--target", "income"), ("'income'",)),
        (("--quasi", "income"), ("'income'",)),
    ],
)
def test_bad_grids(run, discharges, tmp_path, options, words):
    data, book = discharges
    said = run("rumap", data, "-c", book, *GRID, "-o", tmp_path / "map", *options)
    assert said.code == 2
    for word in words:
        assert word in said.err.replace("\n", " "), said.err
    assert not (tmp_path / "map").exists()


def test_a_recipe_file_holds_the_choices_and_flags_win(run, discharges, tmp_path):
    data, book = discharges
    path = tmp_path / "recipe.toml"
    path.write_text('methods = ["laplace"]\nepsilons = [1, 2]\nrepeat = 1\nsensitive = ["charge"]\n')
    words = ("rumap", data, "-c", book, "--rows", 30, "--recipe", path, "-o")
    said = run(*words, tmp_path / "map", "--epsilons", "4", "--json")
    assert said.code == 0, said.err
    assert [(run["method"], run["epsilon"]) for run in said.json["runs"]] == [("laplace", 4.0)]
    path.write_text("epsilons = [1, -2]\n")
    refused = run(*words, tmp_path / "other")
    assert refused.code == 2 and "recipe.toml': 'epsilons' is [1, -2]; it must be" in " ".join(refused.err.split())
    lacking = run(*words[:-3], "-o", tmp_path / "other")
    assert lacking.code == 2 and "rumap needs --epsilons" in lacking.err


def test_a_folder_holds_one_setting(run, discharges, tmp_path):
    data, book = discharges
    words = ("rumap", data, "-c", book, "--methods", "laplace", "--epsilons", "1", "--repeat", 1, "-o")
    assert run(*words, tmp_path / "map", "--rows", 30).code == 0
    assert "other settings (rows differ)" in run(*words, tmp_path / "map", "--rows", 31).err.replace("\n", " ")
    more = run(*words, tmp_path / "map", "--rows", 30, "--repeat", 2, "--epsilons", "1,2", "--json")
    assert more.code == 0 and more.json["finished"] == 4, "a grid may grow"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("x")
    assert "holds something else" in run(*words, tmp_path / "other", "--rows", 30).err.replace("\n", " ")


def test_a_table_with_the_same_shares_and_other_pairs_is_another_table(run, tmp_path):
    book, data, out = tmp_path / "b.toml", tmp_path / "d.csv", tmp_path / "map"
    book.write_text(
        "format = 1\n"
        + "".join(f'\n[[columns]]\nname = "{name}"\nkind = "categorical"\nlevels = ["0", "1"]\n' for name in "ab")
    )
    words = (
        "rumap",
        data,
        "-c",
        book,
        "--methods",
        "laplace",
        "--epsilons",
        "1",
        "--rows",
        30,
        "--repeat",
        1,
        "-o",
        out,
    )
    data.write_text("a,b\n" + "0,0\n1,1\n" * 50)
    assert run(*words).code == 0
    settings = json.loads((out / "settings.json").read_text())
    data.write_text("a,b\n" + "0,1\n1,0\n" * 50)
    assert "other settings (pairs differ)" in run(*words).err.replace("\n", " ")
    del settings["pairs"]
    (out / "settings.json").write_text(json.dumps(settings))
    assert run(*words).code == 0, "folders of earlier versions know no pairs"


def test_detailed_codes_are_paid_for_beside_every_epsilon(run, tmp_path):
    book, data = tmp_path / "b.toml", tmp_path / "d.csv"
    book.write_text(
        'format = 1\n\n[[columns]]\nname = "chapter"\nkind = "categorical"\nlevels = ["a", "b"]\n'
        '\n[[columns]]\nname = "code"\nkind = "detail"\ndetail_of = "chapter"\nother = "other"\n'
        'groups = { a = ["a1"], b = ["b1"] }\n'
    )
    data.write_text("chapter,code\n" + "a,a1\nb,b1\n" * 100)
    words = ("rumap", data, "-c", book, "--methods", "laplace", "--epsilons", "1", "-n", 50, "--repeat", 1)
    made = run(*words, "-o", tmp_path / "map")
    assert made.code == 2 and "--detail-epsilon" in made.err
    paid = run(*words, "--detail-epsilon", 1, "--detail-delta", 1e-6, "-o", tmp_path / "other", "--json")
    assert paid.code == 0, paid.err
    assert paid.json["runs"][0]["total_epsilon"] == pytest.approx(2.0, rel=1e-3)


def test_an_l_goes_to_methods_without_an_epsilon(run, discharges, tmp_path):
    """PeGS knows `l` too, and a map varies its epsilon."""
    data, book = discharges
    words = ("rumap", data, "-c", book, "--epsilons", "1", "--repeat", 1, "-n", 30, "--delta", 1e-6, "--l", 1.3)
    made = run(*words, "--methods", "pegs,lugs", "-o", tmp_path / "map", "--json")
    assert made.code == 0, made.err
    assert {one["method"]: one["epsilon"] for one in made.json["runs"]} == {"pegs": 1.0, "lugs": None}
    alone = run(*words, "--methods", "pegs", "-o", tmp_path / "other")
    assert alone.code == 2 and "--l is 1.3" in alone.err and "add lugs" in " ".join(alone.err.split())
