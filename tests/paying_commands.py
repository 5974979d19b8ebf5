"""Every command that pays, and a folder in which all of them run: for tests that strike them down."""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from understudy.codebook import Categorical, Codebook, LinkedCodebook, LinkedTable
from understudy.privacy import Neighbours
from understudy.privacy.account import Account

CAP = 1e6

COMMANDS = {
    "synth, noise once": "synth data.parquet -c book.toml -m laplace --epsilon 1 -n 50 -o out --account a.account",
    "synth, every draw": "synth data.parquet -c book.toml -m pegs --alpha 50 -n 40 -o out --account a.account",
    "synth, three files": "synth data.parquet -c book.toml -m pegs --alpha 50 -n 9 --files 3 -o out "
    "--account a.account",
    "synth and its model": "synth data.parquet -c book.toml -m laplace --epsilon 1 -n 9 -o out --save-model m.us "
    "--account a.account",
    "synth, certified": "synth data.parquet -c book.toml --recipe wishes.toml -o out --account a.account",
    "synth, in parts": "synth data.parquet -c book.toml -m pegs --alpha 500 -n 40 --engine local --workers 1 "
    "--part-rows 10 -o out --account a.account",
    "count": "count data.parquet -c book.toml --by a,b --epsilon 1 -o out --account a.account",
    "answer": "answer data.parquet count -c book.toml --epsilon 1 -o out --account a.account",
    "linked tables": "synth linked -c linked.toml --epsilon 1 --delta 1e-6 -n 20 -o out --account p.account",
    "linked tables, in parts": "synth linked -c linked.toml --epsilon 1 --delta 1e-6 -n 20 --engine local --workers 1 "
    "--part-rows 5 -o out --account p.account",
    "linked counts": "count linked -c linked.toml --by people.sex,stays.ward --epsilon 1 -o out --account p.account",
    "commute": "commute synth flows.csv --origins origins.csv --epsilon 4 --delta 1e-5 --certificate exact -o out "
    "--account o.account",
    "train": "train data.parquet -c book.toml --target b --method tree --epsilon 1 -o out --account a.account",
    "priced rules": "codebook rules book.toml --data data.parquet --learn a,c --epsilon 2 --delta 1e-6 -o out "
    "--account a.account",
    "priced draft": "codebook draft data.parquet -o out --epsilon 2 --delta 1e-6 --account a.account",
}

WISHES = """
method = "laplace"
epsilon = 1
rows = 50
certify = ["a x b within 0.9"]
certify_epsilon = 5
certify_tries = 3
"""


def prepare(place: Path) -> Path:
    """A folder with everything that the commands need."""
    drawn = np.random.default_rng(3)
    levels = {"a": ("x", "y", "z"), "b": ("0", "1"), "c": ("p", "q")}
    book = Codebook(columns=tuple(Categorical(name=name, levels=known) for name, known in levels.items()))
    book.save(place / "book.toml")
    (place / "wishes.toml").write_text(WISHES, encoding="utf-8")
    rows = {"a": drawn.choice(["x", "y", "z"], 2000), "b": drawn.choice(["0", "1"], 2000)}
    rows["c"] = np.where(rows["a"] == "z", "q", "p")  # fixed by a
    pa.parquet.write_table(pa.table(rows), place / "data.parquet")
    homes = [f"h{number}" for number in range(20)]
    pa.csv.write_csv(pa.table({"origin": homes}), place / "origins.csv")
    trips = {"origin": drawn.choice(homes, 500), "destination": drawn.choice(["w1", "w2"], 500)}
    pa.csv.write_csv(pa.table(trips), place / "flows.csv")
    _linked(place, drawn)
    relations = {"a": Neighbours.ADD_REMOVE, "o": Neighbours.ORIGIN, "p": Neighbours.ADD_REMOVE_PERSON}
    for name, relation in relations.items():
        Account.create(place / f"{name}.account", dataset="d", epsilon=CAP, delta=0.9, neighbours=relation)
    return place


def _linked(place: Path, drawn: np.random.Generator) -> None:
    """People and their stays."""
    sex, ward = Categorical(name="sex", levels=("F", "M")), Categorical(name="ward", levels=("A", "B"))
    people = LinkedTable(name="people", key="id", book=Codebook(columns=(sex,)))
    stays = LinkedTable(name="stays", parent="people", parent_key="id", cap=2, book=Codebook(columns=(ward,)))
    LinkedCodebook(tables=(people, stays)).save(place / "linked.toml")
    (place / "linked").mkdir()
    ids = np.arange(200)
    pa.csv.write_csv(pa.table({"id": ids, "sex": drawn.choice(["F", "M"], 200)}), place / "linked" / "people.csv")
    below = {"id": drawn.choice(ids, 300), "ward": drawn.choice(["A", "B"], 300)}
    pa.csv.write_csv(pa.table(below), place / "linked" / "stays.csv")


def digest_of(path: Path) -> str:
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def spoken_for(out: Path) -> str:
    """The digest that an account keeps of what was written: of its manifest, of all of them, or of the file."""
    if out.is_file():
        return digest_of(out)
    if (out / "manifest.json").is_file():
        return digest_of(out / "manifest.json")
    together = "\n".join(digest_of(out / name / "manifest.json") for name in sorted(p.name for p in out.iterdir()))
    return "sha256:" + hashlib.sha256(together.encode()).hexdigest()


def account_of(words: str, folder: Path) -> Account:
    return Account.open(folder / words.split("--account ")[1].split(maxsplit=1)[0])
