"""`codebook draft` at a price, as a newcomer would call it."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def test_a_draft_at_a_price_and_its_mistakes(run, tmp_path):
    drawn = np.random.default_rng(1)
    data, book = tmp_path / "d.parquet", tmp_path / "b.toml"
    pq.write_table(pa.table({"id": np.arange(3000).astype(str), "sex": drawn.choice(["F", "M"], 3000)}), data)
    for words, said in (
        (["--epsilon", 1], "needs --epsilon and --delta"),
        (["--delta", 1e-6], "needs --epsilon and --delta"),
        (["--levels", "id"], "belong to a priced draft"),
        (["--drop", "id", "--keep", "sex"], "give one of them"),
        (["--keep", "who"], "no column 'who' (--keep)"),
        (["--drop", "id,sex"], "every column is dropped"),
        (["--epsilon", 1, "--delta", 1e-6, "--bins", 3], "bins"),
        (["--epsilon", 1, "--delta", 1e-6, "--drop", "who"], "no column 'who'"),
        (["--epsilon", 1, "--delta", 1e-6, "--person", "id"], "--person and --cap go together"),
        (["--epsilon", 1, "--delta", 1e-6, "--person", "id", "--cap", 0], "cap = 0"),
        (["--person", "id", "--cap", 2], "belong to a priced draft"),
    ):
        found = run("codebook", "draft", data, *words, "-o", book)
        assert found.code != 0 and said in " ".join(found.err.split()), found.err
        assert not book.exists()
    found = run("codebook", "draft", data, "--epsilon", 2, "--delta", 1e-6, "--drop", "id", "-o", book, "--json")
    assert found.code == 0 and found.json["left_out"] == ["id"]
    again = run("codebook", "draft", data, "--epsilon", 2, "--delta", 1e-6, "-o", book)
    assert again.code != 0 and "never overwrites" in " ".join(again.err.split())
    options = ["--method", "laplace", "--epsilon", 1, "--rows", 10, "--unknown", "other-or-missing", "--json"]
    made = run("synth", data, "--codebook", book, *options, "-o", tmp_path / "out")
    assert made.code == 0, made.err
    assert made.json["manifest"]["guarantee"]["epsilon"] == 3.0
    people = run(
        "codebook",
        "draft",
        data,
        "--epsilon",
        4,
        "--delta",
        1e-6,
        "--person",
        "id",
        "--cap",
        2,
        "-o",
        tmp_path / "p.toml",
    )
    assert people.code == 0 and 'id = "id"\ncap = 2' in (tmp_path / "p.toml").read_text()
    made = run("synth", data, "--codebook", tmp_path / "p.toml", *options, "-o", tmp_path / "people")
    assert made.json["manifest"]["guarantee"]["neighbours"] == "add-remove-person"


def test_a_plain_draft_takes_the_columns_that_are_asked_for(run, tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("id,sex,ward,fixed\n" + "".join(f"p{k},{'FM'[k % 2]},{k % 3},x\n" for k in range(300)))
    for words, dropped in (
        (["--keep", "sex,fixed"], {"id", "ward"}),
        (["--drop", "id", "--drop", "ward"], {"id", "ward"}),
    ):
        book = tmp_path / f"{words[0]}.toml"
        found = run("codebook", "draft", data, *words, "-o", book, "--json")
        assert found.json["drafted_from_data"] == ["sex", "fixed"]
        assert {name for name, why in found.json["left_out"].items() if why == "dropped"} == dropped
        assert "fixed" not in found.json["left_out"], "a column of one level is a column"
        assert run("codebook", "check", data, "-c", book).code == 0
    said = run("codebook", "draft", data, "--keep", "sex,fixed", "-o", tmp_path / "said.toml").out
    assert "2 columns, drafted" in said and "as you asked: id, ward" in said
    shown = run("codebook", "show", tmp_path / "said.toml").out
    assert "left out: id, ward" in shown and "fixed" in shown
    paid = ["--epsilon", 4, "--delta", 1e-6, "--keep", "sex", "--json"]
    assert run("codebook", "draft", data, *paid, "-o", tmp_path / "p.toml").json["left_out"] == ["id", "ward", "fixed"]
