"""Where two rooms meet: what one of them writes and another reads must not gain a promise on the way."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.cli.app import main
from understudy.codebook import Categorical, Codebook, Role
from understudy.codebook.numbers import Integer
from understudy.errors import DataError
from understudy.mechanisms.stream import Stream
from understudy.privacy import Ledger, NoFormal
from understudy.privacy.provenance import InputRole, Made, Provenance
from understudy.privacy.statement import statement
from understudy.sources.inputs import find_provenance, provenance_of_manifest
from understudy.synth.counts import Counts
from understudy.synth.paid_draft import PaidPlan, paid_draft


class Ran:
    """What one command said."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(capsys) -> Callable[..., Ran]:
    def go(*words: object) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Ran(int(stop.value.code or 0), said.out, said.err)

    return go


def manifest_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


# Anonymised under a seed: the n-th row has the n-th noise, so that one record more shifts the noise of all rows after
# it. What is drawn from such a table can promise nothing to anybody.

NOISE = """
format = 1
quasi_identifiers = ["sex"]
[[steps]]
do = "noise"
column = "age"
scale = 10
"""
MANY_ROWS = "one person can change the rows of many"


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> tuple[Path, Path, Path]:
    """A confidential table, its codebook, and a recipe that adds noise."""
    folder = tmp_path_factory.mktemp("people")
    drawn = np.random.default_rng(3)
    rows = {
        "sex": drawn.choice(["F", "M"], 400),
        "age": drawn.integers(0, 100, 400),
        "sick": drawn.choice(["no", "yes"], 400),
    }
    pq.write_table(pa.table(rows), folder / "people.parquet")
    Codebook(
        columns=(
            Categorical(name="sex", levels=("F", "M"), role=Role.QUASI_IDENTIFIER),
            Integer(name="age", edges=tuple(range(0, 101, 5))),
            Categorical(name="sick", levels=("no", "yes")),
        )
    ).save(folder / "people.toml")
    (folder / "noise.toml").write_text(NOISE, encoding="utf-8")
    return folder / "people.parquet", folder / "people.toml", folder / "noise.toml"


@pytest.fixture
def anonymise(run, people, tmp_path) -> Callable[..., Path]:
    """``anonymize run`` with noise, under a seed or not."""

    def go(*words: object) -> Path:
        data, book, recipe = people
        said = run("anonymize", "run", data, "-c", book, "-r", recipe, "-o", tmp_path / "a", "--csv", *words)
        assert said.code == 0, said.err
        return tmp_path / "a"

    return go


def renamed(made: Path) -> Path:
    """The folder under another name, and the file in it too."""
    other = made.rename(made.with_name("b"))
    return (other / "anonymized.csv").rename(other / "people.csv")


def copied(made: Path) -> Path:
    """The Parquet file alone, somewhere else."""
    return shutil.copy(made / "anonymized.parquet", made.with_name("alone.parquet"))


FILES: dict[str, Callable[[Path], Path]] = {
    "Parquet": lambda made: made / "anonymized.parquet",
    "CSV beside its manifest": lambda made: made / "anonymized.csv",
    "renamed folder": renamed,
    "copy without manifest": copied,
}
COMMANDS: dict[str, Callable[[Path, Path], tuple[object, ...]]] = {
    "synth": lambda data, book: (
        *("synth", data, "-c", book, "-m", "marginals"),
        *("--epsilon", 1, "--delta", 1e-6, "-n", 50),
    ),
    "count": lambda data, book: ("count", data, "-c", book, "--by", "sex,sick", "--epsilon", 1),
    "train": lambda data, book: (
        *("train", data, "-c", book, "--target", "sick", "--method", "forest"),
        *("--epsilon", 1),
    ),
    "codebook draft": lambda data, book: ("codebook", "draft", data, "--epsilon", 2, "--delta", 1e-6),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("file", FILES)
def test_no_price_is_stated_for_rows_whose_noise_was_seeded(run, anonymise, people, tmp_path, command, file):
    """The run is refused, or says that nothing is promised."""
    data = FILES[file](anonymise("--seed", 1))
    said = run(*COMMANDS[command](data, people[1]), "-o", tmp_path / "out")
    if command != "synth":
        assert said.code != 0 and MANY_ROWS in said.err
        assert not (tmp_path / "out").exists()
        if command == "count":  # nor is a price named before
            assert MANY_ROWS in run(*COMMANDS[command](data, people[1]), "--quote").err
        return
    assert said.code == 0, said.err
    assert manifest_of(tmp_path / "out")["guarantee"]["kind"] == "NoFormal"
    assert "no formal privacy guarantee" in said.out and "under a fixed seed" in said.out
    assert run("verify", tmp_path / "out").code == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_noise_of_each_rows_own_keeps_the_price(run, anonymise, people, tmp_path, command):
    data = anonymise() / "anonymized.parquet"
    said = run(*COMMANDS[command](data, people[1]), "-o", tmp_path / "out")
    assert said.code == 0, said.err
    if command in ("synth", "count"):
        assert "differentially private" in said.out
        assert manifest_of(tmp_path / "out")["guarantee"]["kind"] in ("PureDP", "ApproxDP")
        # under a promise about records nothing that was counted in them goes along
        told = manifest_of(tmp_path / "out")["inputs"]["data"]
        assert told["made"] == "anonymized" and told["k"] is None and told["ledger"] == []
        assert not (tmp_path / "out" / "input-manifest.json").exists()
    if command != "codebook draft":
        assert run("verify", tmp_path / "out").code == 0


@pytest.mark.parametrize("kind", ["Arrow", "pandas", "pandas, changed"])
@pytest.mark.parametrize("seeded", [True, False])
def test_frames_in_memory_remember_a_seed(people, kind, seeded):
    from understudy.anonymize import anonymize, load_recipe

    data, codebook, recipe = people
    stream = Stream.seeded(1) if seeded else None
    release = anonymize(us.open(data, codebook), load_recipe(recipe), stream=stream).release
    frame = release.table if kind == "Arrow" else release.to_pandas()
    if kind == "pandas, changed":
        frame = frame[frame["sex"] == "F"].assign(sick="no")
    book = Codebook.load(codebook)
    assert us.open(frame, book).provenance.record_wise is not seeded
    total = us.Marginals(epsilon=1.0, delta=1e-6).fit(us.open(frame, book)).quote(10).total
    assert isinstance(total, NoFormal) is seeded
    counts, plan = Counts(book=book, by=("sex",), epsilon=1.0), PaidPlan(epsilon=2.0, delta=1e-6)
    if not seeded:
        assert counts.fit(counts.open(frame)).quote().total.is_formal
        assert paid_draft(frame, plan).paid is not None
        return
    with pytest.raises(DataError, match=MANY_ROWS):
        counts.fit(counts.open(frame))
    with pytest.raises(DataError, match=MANY_ROWS):
        paid_draft(frame, plan)


def claimed(manifest: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """The manifest of a release without a promise, edited until every figure in it speaks of one."""
    ledger = Ledger.from_list([one for one in manifest["ledger"] if one["stage"] != "input"])
    total = ledger.total(delta=manifest["delta_for_total"])
    said = statement(
        ledger,
        total,
        rows=manifest["rows"]["number"],
        route=manifest["route"],
        paper=None,
        inputs={InputRole.DATA: Provenance.from_dict(told)},
    )
    return {
        **manifest,
        "ledger": ledger.to_list(),
        "guarantee": total.to_dict(),
        "basic_composition": ledger.basic().to_dict(),
        "assumptions": list(ledger.assumptions),
        "statement": said,
        "inputs": {"data": told},
    }


@pytest.mark.parametrize("how", ["the promise alone", "and the input", "and the input is taken away"])
def test_a_manifest_that_claims_a_promise_on_such_an_input_is_found(run, anonymise, people, tmp_path, how):
    data = anonymise("--seed", 1) / "anonymized.parquet"
    assert run(*COMMANDS["synth"](data, people[1]), "-o", tmp_path / "out").code == 0
    manifest = manifest_of(tmp_path / "out")
    told = {
        "the promise alone": manifest["inputs"]["data"],
        "and the input": {**manifest["inputs"]["data"], "record_wise": True},
        "and the input is taken away": {"made": "declared"},
    }[how]
    lying = claimed(manifest, told)
    if how == "and the input is taken away":
        (tmp_path / "out" / "input-manifest.json").unlink()
        del lying["files"]["input-manifest.json"]
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(lying), encoding="utf-8")
    said = run("verify", tmp_path / "out")
    assert said.code == 1
    assert "the table says of itself another ledger" in said.out
    assert {
        "the promise alone": "the ledger claims a promise, and the rows were anonymised under a fixed seed",
        "and the input": "what the manifest says of the table that went in is not what input-manifest.json says",
        "and the input is taken away": "another ledger",
    }[how] in " ".join(said.out.split())


def test_an_anonymised_manifest_that_forgets_its_seed_is_found_and_not_believed(run, anonymise, people, tmp_path):
    made = anonymise("--seed", 1)
    lying = {**manifest_of(made), "record_wise": True}
    (made / "manifest.json").write_text(json.dumps(lying), encoding="utf-8")
    said = run("verify", made)
    assert said.code == 1 and "its noise was drawn under a seed" in " ".join(said.out.split())
    with pytest.raises(DataError, match="something else than the manifest beside it"):  # the mark says otherwise
        find_provenance(made / "anonymized.parquet")


def test_what_the_first_format_believed_is_asked_again(anonymise):
    """It took rows deleted by a rule, and bins read from the data, for records."""
    now = manifest_of(anonymise())
    first = {**now, "format": 1, "anonymity": {**now["anonymity"], "record_wise": True}}
    deleting = {"steps": [{"do": "suppress-rows", "column": "sick", "when": ["yes"]}]}
    seeded = {"randomness": "seeded: reproducible by whoever knows the seed, so this release is not private"}
    drafted = {"codebook": {**now["codebook"], "drafted_from_data": ["age"]}}
    assert provenance_of_manifest(first, "").record_wise
    for change in ({"parameters": deleting}, seeded, drafted):
        assert not provenance_of_manifest({**first, **change}, "").record_wise


# Tables that were made of many records, on their way through the other rooms.


def test_recoding_a_completed_table_does_not_make_its_rows_records(run, people, tmp_path):
    """Its gaps were filled in from all records: a public rule applied to them afterwards changes nothing about that."""
    data, book, recipe = people
    rows = pq.read_table(data)
    holed = rows.set_column(2, "sick", pa.array([None, *rows["sick"].to_pylist()[1:]]))
    pq.write_table(holed, tmp_path / "holed.parquet")
    text = book.read_text(encoding="utf-8")
    (tmp_path / "book.toml").write_text(text + 'missing = "NA"\n', encoding="utf-8")
    filled = tmp_path / "filled"
    words = ("-c", tmp_path / "book.toml", "--sweeps", 1, "--files", 1, "-o", filled)
    assert run("impute", tmp_path / "holed.parquet", *words).code == 0
    words = ("-c", tmp_path / "book.toml", "-r", recipe, "-o", tmp_path / "a")
    assert run("anonymize", "run", filled / "1" / "completed.parquet", *words).code == 0
    made = tmp_path / "a"
    assert manifest_of(made)["record_wise"] is False and run("verify", made).code == 0
    said = run(*COMMANDS["synth"](made / "anonymized.parquet", made / "codebook.toml"), "-o", tmp_path / "out")
    assert said.code == 0 and "no formal privacy guarantee" in said.out
    again = run("impute", made / "anonymized.parquet", "-c", made / "codebook.toml", "-o", tmp_path / "again")
    assert again.code != 0  # nothing is missing any more


def test_a_reconstructed_table_says_so_as_parquet_and_as_csv(run, people, tmp_path):
    averages = tmp_path / "averages.csv"
    pv.write_csv(pa.table({"sex": ["F", "M"], "cost": [10.0, 20.0]}), averages)
    words = ("-a", f"{averages}:sex:cost", "-m", "mp", "-o", tmp_path / "r", "--csv")
    assert run("reconstruct", people[0], *words).code == 0
    shutil.copy(tmp_path / "r" / "reconstructed.parquet", tmp_path / "alone.parquet")
    for path in (
        tmp_path / "r" / "reconstructed.csv",
        tmp_path / "r" / "reconstructed.parquet",
        tmp_path / "alone.parquet",
    ):
        found = find_provenance(path)
        assert found.made is Made.RECONSTRUCTED and not found.record_wise
        assert "rebuilt from group averages" in found.as_data[0].event.to_dict()["why"]
        with pytest.raises(DataError, match="records of real people"):
            found.as_public(InputRole.SEEDS)
    assert find_provenance(people[0]).as_data == ()


def test_a_rule_that_was_made_from_data_is_no_public_rule(run, people, tmp_path):
    """A hierarchy file may be neither the confidential table nor a release of ours."""
    data, book, _ = people
    confidential = tmp_path / "people.csv"
    pv.write_csv(pq.read_table(data), confidential)
    assert run(*COMMANDS["synth"](data, book), "-o", tmp_path / "s", "--csv").code == 0
    for file, why in (
        (confidential, "the confidential table itself"),
        (tmp_path / "s" / "synthetic.csv", "is the synthetic release"),
    ):
        words = ("--quasi", "sex", "--k", 2, "--mondrian", "--hierarchy", f"sex=arx:{file}", "-o", tmp_path / "a")
        said = run("anonymize", "run", confidential, "-c", book, *words)
        assert said.code == 2 and why in " ".join(said.err.split())
