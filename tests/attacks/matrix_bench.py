"""Everything that makes a table, what is true of each, and the shelf on which the attack matrix finds them."""

import contextlib
import io
import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from registry_examples import EXAMPLES

from understudy.cli.app import main
from understudy.codebook import Categorical, Codebook, Continuous, Integer, LinkedCodebook, LinkedTable, Role
from understudy.codebook.linked_toml import load_book
from understudy.commute.recipe import METHODS as COMMUTE
from understudy.release.release import MANIFEST
from understudy.synth import METHODS
from understudy.synth.facts import FACTS

ROWS = 400
BOOK = Codebook(
    columns=(
        Categorical(name="a", levels=("x", "y", "z"), missing="NA", role=Role.QUASI_IDENTIFIER),
        Categorical(name="b", levels=("0", "1")),
        Integer(name="n", edges=(0, 10, 20, 30), role=Role.QUASI_IDENTIFIER),
    )
)
LINKED = LinkedCodebook(
    tables=(
        LinkedTable(
            name="patients",
            key="id",
            book=Codebook(columns=(Categorical(name="a", levels=("x", "y", "z"), missing="NA"),)),
        ),
        LinkedTable(
            name="stays",
            parent="patients",
            parent_key="id",
            cap=2,
            book=Codebook(columns=(Categorical(name="b", levels=("0", "1")),)),
        ),
    )
)
# of every step: whether it treats each record by itself, whether it draws, and how a recipe spells it
RECIPES = {
    "keep": (True, False, 'columns = ["a", "n"]'),
    "drop": (True, False, 'columns = ["b"]'),
    "top-code": (True, False, 'column = "n"\nat = 10'),
    "bottom-code": (True, False, 'column = "n"\nat = 20'),
    "bin": (True, False, 'column = "n"\nedges = [0, 20, 30]'),
    "round": (True, False, 'column = "n"\nto = 100'),
    "group": (True, False, 'column = "a"\nlevels = ["x", "y"]\ninto = "xy"'),
    "group-rare": (False, False, 'column = "a"\nbelow = 2'),
    "generalise": (True, False, 'column = "n"\nto = 1'),
    "suppress-cells": (True, False, 'columns = ["a"]\nwhen = ["x"]'),
    "suppress-rows": (False, False, "rarer_than = 2"),
    "rank-swap": (False, True, 'columns = ["n"]\nshare = 0.1'),
    "swap": (False, True, 'columns = ["a"]\nshare = 0.5\nwithin = ["b"]'),
    "noise": (True, True, 'column = "n"\nscale = 5'),
    "full-domain": (False, False, "k = 3\nsuppression = 0.2"),
    "mondrian": (False, False, "k = 3"),
}


@dataclass(frozen=True, kw_only=True)
class Producer:
    """Something that writes a table, and what is true of that table, whatever the software says."""

    name: str
    words: str
    """The command, without its seed and its output."""
    table: str = "synthetic.parquet"
    private: bool = False
    """Whether its rows are differentially private as long as nobody knows a seed."""
    record_wise: bool = False
    """Whether one record more is one row more, as long as nobody knows a seed."""
    draws: bool = True
    takes_seed: bool = True
    fits: bool = False
    """Whether its table has the columns of BOOK, so that it can serve as starts of chains."""


def _options(method: str) -> str:
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in EXAMPLES[method].items())


def producers() -> dict[str, Producer]:
    book, linked, price = "data.parquet -c book.toml", "linked -c linked.toml", "--epsilon 1 --delta 1e-6"
    found = [
        Producer(
            name=f"synth {method}",
            words=f"synth {book} -m {method} -n 60 {_options(method)}",
            private=bool(FACTS[method].neighbours),
            fits=True,
        )
        for method in METHODS
    ]
    found += [
        Producer(
            name=f"commute {method}",
            words=f"commute synth flows.csv --origins homes.csv --epsilon 4 --method {method}"
            + ("" if method == "levels" else " --certificate exact")
            + ("" if method == "laplace" else " --delta 1e-6"),
            private=True,
        )
        for method in COMMUTE
    ]
    found += [
        Producer(
            name=f"anonymize {step}",
            words=f"anonymize run {book} --recipe {step}.toml",
            table="anonymized.parquet",
            record_wise=alone,
            draws=draws,
        )
        for step, (alone, draws, _) in RECIPES.items()
    ]
    found += [
        Producer(name="count", words=f"count {book} --by a,b --epsilon 1", table="counts.parquet", private=True),
        Producer(name="answer", words=f"answer {book} count --epsilon 1", table="answer.parquet", private=True),
        Producer(name="impute", words=f"impute {book} --files 2", table="1/completed.parquet", fits=True),
        Producer(name="draw", words="draw model.us -n 60", private=True, takes_seed=False, fits=True),
        Producer(
            name="synth in parts",
            words=f"synth {book} -m laplace --epsilon 1 -n 60 --engine local --workers 1",
            table="synthetic/part-*.parquet",
            private=True,
            fits=True,
        ),
        Producer(
            name="synth one of several files",
            words=f"synth {book} -m marginals --epsilon 1 --delta 1e-6 -n 60 --files 2",
            table="2/synthetic.parquet",
            private=True,
            fits=True,
        ),
        Producer(
            name="synth certified",
            words=f"synth {book} -m laplace --epsilon 1 -n 60 --certify 'a within 0.9' --certify-epsilon 0.5",
            private=True,
            fits=True,
        ),
        Producer(
            name="synth all of several files",
            words=f"synth {book} -m marginals --epsilon 1 --delta 1e-6 -n 60 --files 2",
            table="*/synthetic.parquet",
            private=True,
            fits=True,
        ),
        Producer(
            name="synth one of several that paid each",
            words=f"synth {book} -m pegs --alpha 200 --delta 1e-6 -n 30 --files 2",
            table="2/synthetic.parquet",
            private=True,
            fits=True,
        ),
        Producer(
            name="impute all of several files", words=f"impute {book} --files 2", table="*/completed.parquet", fits=True
        ),
        Producer(
            name="count linked", words=f"count {linked} --by stays.b --epsilon 1", table="counts.parquet", private=True
        ),
        Producer(name="synth linked", words=f"synth {linked} {price} -n 40", table="patients.parquet", private=True),
        Producer(
            name="synth linked, the rows below",
            words=f"synth {linked} {price} -n 40",
            table="stays.parquet",
            private=True,
        ),
        Producer(
            name="synth linked in parts",
            words=f"synth {linked} {price} -n 40 --engine local --workers 1",
            table="stays/part-*.parquet",
            private=True,
        ),
        Producer(
            name="draw linked",
            words="draw linked.us -n 40",
            table="patients.parquet",
            private=True,
            takes_seed=False,
        ),
        Producer(
            name="draw in parts",
            words="draw model.us -n 60 --engine local --workers 1",
            table="synthetic/part-*.parquet",
            private=True,
            takes_seed=False,
            fits=True,
        ),
        Producer(
            name="reconstruct",
            words="reconstruct files people.csv -a groups.csv:g:y -m mp",
            table="reconstructed.parquet",
            takes_seed=False,
        ),
    ]
    return {one.name: one for one in found}


PRODUCERS = producers()
MADE = [
    pytest.param(name, seeded, id=f"{name}{', seeded' * seeded}")
    for name, one in PRODUCERS.items()
    for seeded in ((False, True) if one.takes_seed else (False,))
]


def call(folder: Path, words: str) -> tuple[int, str]:
    """A command in its folder: the exit code, and everything it said on one line."""
    said, warned = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(warned),
        pytest.raises(SystemExit) as stop,
    ):
        main(shlex.split(words))
    told = said.getvalue() if "--json" in words else said.getvalue() + warned.getvalue()
    return int(stop.value.code or 0), " ".join(told.split())


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Path:
    """A folder with the confidential tables, and everything that a producer may need."""
    folder = tmp_path_factory.mktemp("matrix")
    drawn = np.random.default_rng(11)
    a = [None if k % 9 == 0 else v for k, v in enumerate(drawn.choice(["x", "y", "z"], ROWS))]
    rows = {"a": a, "b": drawn.choice(["0", "1"], ROWS), "n": drawn.integers(0, 30, ROWS)}
    pq.write_table(pa.table(rows), folder / "data.parquet")
    BOOK.save(folder / "book.toml")
    for step, (_, _, words) in RECIPES.items():
        (folder / f"{step}.toml").write_text(f'format = 1\n[[steps]]\ndo = "{step}"\n{words}\n')
    homes = [f"h{k}" for k in range(12)]
    pa.csv.write_csv(pa.table({"origin": homes}), folder / "homes.csv")
    trips = {"origin": drawn.choice(homes, 300), "destination": drawn.choice(["w1", "w2"], 300)}
    pa.csv.write_csv(pa.table(trips), folder / "flows.csv")
    people = {"g": drawn.choice(["g1", "g2"], 60), "x": np.round(drawn.normal(size=60), 3)}
    pa.csv.write_csv(pa.table(people), folder / "people.csv")
    pa.csv.write_csv(pa.table({"g": ["g1", "g2"], "y": [1.0, 2.0]}), folder / "groups.csv")
    ids = [str(number) for number in range(80)]
    (folder / "linked").mkdir()
    pq.write_table(pa.table({"id": ids, "a": a[:80]}), folder / "linked" / "patients.parquet")
    stays = {"id": drawn.choice(ids, 120), "b": drawn.choice(["0", "1"], 120)}
    pq.write_table(pa.table(stays), folder / "linked" / "stays.parquet")
    LINKED.save(folder / "linked.toml")
    for first in (
        "synth data.parquet -c book.toml -m laplace --epsilon 1 -n 9 -o first --save-model model.us",
        "synth linked -c linked.toml --epsilon 1 --delta 1e-6 -n 9 -o second --save-model linked.us",
    ):
        assert call(folder, first)[0] == 0
    return folder


@pytest.fixture(scope="session")
def shelf(place):
    """Every product, made when it is first asked for; those of one run together."""
    made: dict[tuple[str, bool], Path] = {}

    def get(name: str, seeded: bool) -> Path:
        one = PRODUCERS[name]
        if (one.words, seeded) not in made:
            out = f"p{len(made)}"
            words = f"{one.words} -o {out}" + (" --seed 5" if seeded else "")
            code, said = call(place, words)
            assert code == 0, (words, said)
            made[one.words, seeded] = place / out
        return made[one.words, seeded] / one.table

    return get


def first_of(path: Path) -> Path:
    """The file, or the first of several."""
    return min(path.parent.parent.glob(f"{path.parent.name}/{path.name}"))


def folder_of(path: Path) -> Path:
    """Where the manifest of a product lies; of several releases, that of the first."""
    first = first_of(path)
    named = (first.parent / MANIFEST, first.parent.parent / MANIFEST, first.parent / "reconstruction.json")
    return next(found.parent for found in named if found.is_file())


def is_public(name: str, seeded: bool) -> bool:
    return PRODUCERS[name].private and not seeded


def keeps_records_apart(name: str, seeded: bool) -> bool:
    one = PRODUCERS[name]
    return one.record_wise and not (one.draws and seeded)


def codebook_for(path: Path, folder: Path) -> str:
    """The release's own, of linked tables that of the table; tables without one get what a person would write."""
    beside, first = folder_of(path) / "codebook.toml", first_of(path)
    if beside.is_file():
        book = load_book(beside)
        if isinstance(book, Codebook):
            return str(beside)
        name = next(table.name for table in book.tables if table.name in (first.stem, first.parent.name))
        written = folder / f"{name}.toml"
        if not written.exists():
            book.table(name).book.save(written)
        return str(written)
    written = folder / "reconstructed.toml"
    if not written.exists():
        number = Continuous(name="x", edges=(-10, 0, 10), precision=6)
        Codebook(columns=(Categorical(name="g", levels=("g1", "g2")), number)).save(written)
    return str(written)
