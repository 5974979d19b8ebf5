"""One good specimen of everything that a command reads."""

import hashlib
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv

import understudy as us
from understudy.codebook import Categorical, Codebook, Continuous, Integer
from understudy.codebook.columns import Role


def fractions(*values: int) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, values))


BOOK = Codebook(
    title="invented people",
    columns=(
        Categorical(name="sex", levels=("F", "M"), role=Role.QUASI_IDENTIFIER),
        Integer(name="age", edges=fractions(0, 18, 40, 65, 120), role=Role.QUASI_IDENTIFIER),
        Categorical(name="region", levels=("north", "south", "east", "west"), role=Role.QUASI_IDENTIFIER),
        Continuous(name="charge", edges=fractions(0, 100, 500, 1000, 5000), precision=1),
        Categorical(name="readmitted", levels=("no", "yes"), role=Role.SENSITIVE),
    ),
)


def people(rows: int) -> pa.Table:
    rng = np.random.default_rng(11)
    age = rng.integers(0, 120, rows)
    return pa.table(
        {
            "sex": rng.choice(["F", "M"], rows),
            "age": age,
            "region": rng.choice(["north", "south", "east", "west"], rows),
            "charge": np.round(np.minimum(4999, 20 * age + rng.exponential(200, rows)), 1),
            "readmitted": np.where(rng.random(rows) < 0.1 + age / 300, "yes", "no"),
        }
    )


@dataclass(frozen=True)
class Bench:
    """Where the specimens are; ``@name`` in a case is the path of one."""

    folder: Path
    places: dict[str, str]

    def fill(self, word: str) -> str:
        for name in sorted(self.places, key=len, reverse=True):
            word = word.replace(f"@{name}", self.places[name])
        return word

    def digest(self) -> str:
        return snapshot(self.folder)


def snapshot(folder: Path) -> str:
    """Names and contents of everything below."""
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        seen.update(str(path.relative_to(folder)).encode("utf-8", "surrogateescape"))
        if path.is_file():
            seen.update(path.read_bytes())
    return seen.hexdigest()


def make_bench(folder: Path) -> Bench:
    data, book = folder / "data.csv", folder / "book.toml"
    pv.write_csv(people(400), data)
    BOOK.save(book)
    from understudy.anonymize import FullDomain, Recipe
    from understudy.commute import CommuteRecipe
    from understudy.commute.jobs import open_commutes, synthesize_commutes, write_example
    from understudy.trees.examples import diabetes_example, septic_shock_example
    from understudy.trees.model import save_model

    us.synthesize(
        data, BOOK, 60, "sba", out=folder / "release", save_model=folder / "model.us", epsilon=2.0, delta=1e-6
    )
    us.synthesize(data, BOOK, 300, out=folder / "measured", epsilon=5.0, delta=1e-6)
    us.anonymize(
        str(data), book, recipe=Recipe(steps=(FullDomain(k=3, suppression=0.1, loss="entropy"),), hierarchies={}),
        out=folder / "anonymous",
    )  # fmt: skip
    write_example(folder / "town", workers=400, seed=4)
    flows, places = folder / "town" / "flows.csv", folder / "town" / "places.csv"
    opened = open_commutes(
        str(flows), origin="origin", destination="destination", count="workers", table=None, places=str(places),
        origins=None, regions=None,
    )  # fmt: skip
    synthesize_commutes(CommuteRecipe(epsilon=4.0, delta=1e-6, certificate="exact"), opened, out=folder / "trips")
    (folder / "people.csv").write_text("county,age\n" + "".join(f"c{i % 5},{20 + i % 50}\n" for i in range(200)))
    (folder / "counties.csv").write_text("county,charge\n" + "".join(f"c{i},{100 + i}\n" for i in range(5)))
    os.environ["UNDERSTUDY_MODEL_KEY"], before = "cd" * 32, os.environ.get("UNDERSTUDY_MODEL_KEY")
    try:
        save_model(diabetes_example(), folder / "free.us")
        save_model(septic_shock_example(epsilon=0.5), folder / "paid.us")
    finally:
        if before is None:
            del os.environ["UNDERSTUDY_MODEL_KEY"]
        else:
            os.environ["UNDERSTUDY_MODEL_KEY"] = before
    names = {
        "data": data, "book": book, "release": folder / "release", "measured": folder / "measured",
        "model": folder / "model.us", "flows": flows,
        "anonymous": folder / "anonymous", "places": places, "trips": folder / "trips", "free": folder / "free.us",
        "paid": folder / "paid.us", "people": folder / "people.csv", "counties": folder / "counties.csv",
    }  # fmt: skip
    return Bench(folder, {name: str(path) for name, path in names.items()})
