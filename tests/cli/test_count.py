"""`count`: noisy counts, weighted or not, with their price, intervals and manifest."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

BOOK = """format = 1
weight = "w"

[[columns]]
name = "sex"
kind = "categorical"
levels = ["F", "M"]
missing = "NA"

[[columns]]
name = "area"
kind = "categorical"
levels = ["n", "s", "e"]

[[columns]]
name = "w"
kind = "continuous"
precision = 1
edges = [0.5, 10, 100]

[[columns]]
name = "other"
kind = "integer"
edges = [0, 10, 20]
shape = "measured"
pieces = 5

[[constraints]]
kind = "impossible"
cells = { area = "e", w = "[10, 100]" }
"""


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    folder = tmp_path_factory.mktemp("survey")
    drawn = np.random.default_rng(5)
    rows = 3000
    table = pa.table(
        {
            "sex": drawn.choice(["F", "M", "NA"], rows),
            "area": drawn.choice(["n", "s"], rows),
            "w": np.round(np.exp(drawn.uniform(0, 4.6, rows)), 1),
            "other": np.full(rows, 3),
        }
    )
    pv.write_csv(table, folder / "survey.csv")
    (folder / "book.toml").write_text(BOOK)
    return folder, table


def sums(table, weighted):
    w = table["w"].to_numpy() if weighted else np.ones(table.num_rows)
    sex, area = (table[name].to_numpy(zero_copy_only=False) for name in ("sex", "area"))
    return {(s, a): w[(sex == s) & (area == a)].sum() for s in ("F", "M", "NA") for a in ("n", "s", "e")}


@pytest.mark.parametrize("weighted", [True, False])
def test_counts_from_start_to_end(run, survey, tmp_path, weighted):
    """Weights of one digit up to 100 are 1,000 steps: they are counted exactly, but for the noise."""
    folder, table = survey
    words = ("-c", folder / "book.toml", "--by", "sex,area", "--epsilon", 2, *(["--weighted"] if weighted else []))
    account = tmp_path / "a.account"
    made = run("account", "create", account, "--dataset", "s", "--epsilon", 3, "--delta", 0)
    assert made.code == 0, made.err
    quoted = run("count", folder / "survey.csv", *words, "--quote", "--json").json
    assert quoted["cells"] == 9 and quoted["total"]["epsilon"] <= 2
    out = tmp_path / "r"
    said = run("count", folder / "survey.csv", *words, "-o", out, "--csv", "--account", account, "--json")
    assert said.code == 0, said.err
    found = {(row["sex"], row["area"]): row for row in said.json["counts"]}
    expected = sums(table, weighted)
    assert set(found) == set(expected)
    largest = 100 if weighted else 1
    for key, row in found.items():
        # noise of scale largest / 2: beyond 15 times the largest weight with probability 2 e^-30
        assert abs(row["count"] - expected[key]) < 15 * largest + 1
        assert row["low"] <= row["count"] <= row["high"]
        assert row["high"] - row["count"] == pytest.approx(quoted["half_width"])
    assert said.json["manifest"]["holds"] == "counts" and said.json["manifest"]["parameters"]["columns"] == [
        "sex",
        "area",
    ]
    assert {path.name for path in out.iterdir()} == {
        "counts.parquet",
        "counts.csv",
        "manifest.json",
        "codebook.toml",
        "index.html",
    }
    assert "other" not in (out / "codebook.toml").read_text()  # nothing was read of it
    assert run("verify", out).code == 0
    spent = run("account", "show", account, "--json").json
    assert spent["spent"]["epsilon"] == pytest.approx(2)
    again = run("count", folder / "survey.csv", *words, "-o", tmp_path / "q", "--account", account)
    assert (
        again.code == 1 and "bring the total of 's'" in again.err.replace("\n", " ") and not (tmp_path / "q").exists()
    )


def test_a_table_that_was_changed_does_not_verify(run, survey, tmp_path):
    folder, _ = survey
    out = tmp_path / "r"
    assert (
        run("count", folder / "survey.csv", "-c", folder / "book.toml", "--by", "sex", "--epsilon", 1, "-o", out).code
        == 0
    )
    table = pq.read_table(out / "counts.parquet")
    pq.write_table(table.slice(0, 2), out / "counts.parquet")
    manifest = json.loads((out / "manifest.json").read_text())
    from understudy.release.folders import digest_of

    manifest["files"]["counts.parquet"] = digest_of(out / "counts.parquet")
    (out / "manifest.json").write_text(json.dumps(manifest))
    said = run("verify", out)
    assert said.code == 1 and "every combination" in said.out + said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--by", "w", "--weighted"), "not the weight itself"),
        (("--by", "nothing"), "cannot be counted by"),
        (("--by", ""), "name one or more, each once"),
        (("--by", "sex,sex"), "each once"),
        (("--by", "sex", "--confidence", 1), "--confidence is 1.0"),
        (("--by", "sex", "--epsilon", 0), "--epsilon is 0.0"),
        (("--by", "sex", "--neighbours", "origin"), "neighbours"),
    ],
)
def test_bad_requests_cost_nothing(run, survey, tmp_path, words, said):
    folder, _ = survey
    answer = run(
        "count", folder / "survey.csv", "-c", folder / "book.toml", "--epsilon", 1, *words, "-o", tmp_path / "r"
    )
    assert answer.code == 2 and said in answer.err.replace("\n", " ")
    assert not list(tmp_path.iterdir())


def test_a_recipe_file_holds_the_choices_and_flags_win(run, survey, tmp_path):
    folder, _ = survey
    path = tmp_path / "recipe.toml"
    path.write_text('by = ["sex", "area"]\nepsilon = 2.0\nconfidence = 0.5\n')
    words = ("count", folder / "survey.csv", "-c", folder / "book.toml", "--recipe", path, "--quote")
    price = run(*words, "--by", "sex", "--json").json
    assert price["cells"] == 3 and price["confidence"] == 0.5 and price["total"]["epsilon"] <= 2
    path.write_text("rows = 5\n")
    said = run(*words, "--by", "sex", "--epsilon", 1)
    assert said.code == 2 and "recipe.toml': count does not take 'rows'" in " ".join(said.err.split())
    lacking = run(*words[:4], "--quote")
    assert lacking.code == 2 and "count needs --by, --epsilon; there is no default" in lacking.err
    path = tmp_path / "manifest.json"
    path.write_text('{"parameters": {}}')
    said = run(*words[:4], "--recipe", path, "--quote")
    assert said.code == 2 and "is the manifest of a release" in said.err.replace("\n", " ")


def test_a_folder_is_needed_and_a_weight_too(run, survey, tmp_path):
    folder, _ = survey
    words = ("count", folder / "survey.csv", "--by", "sex", "--epsilon", 1)
    assert "--out FOLDER" in run(*words, "-c", folder / "book.toml").err
    plain = tmp_path / "plain.toml"
    plain.write_text(BOOK.replace('weight = "w"\n', ""))
    assert "names no weight column" in run(*words, "-c", plain, "--weighted", "-o", tmp_path / "r").err.replace(
        "\n", " "
    )
    seeded = run(*words, "-c", folder / "book.toml", "-o", tmp_path / "r", "--seed", 1)
    assert seeded.code == 0 and "no formal privacy guarantee" in seeded.out.replace("\n", " ")
