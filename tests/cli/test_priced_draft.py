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
        (["--drop", "id"], "belong to a priced draft"),
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
