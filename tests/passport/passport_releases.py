"""Small releases of every kind, each with what its publisher declares."""

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import understudy as us
from understudy.codebook import Categorical, Codebook, Continuous, Dates, Grain, Integer, Publication, Role
from understudy.datasets import commutes
from understudy.release.folders import digest_of
from understudy.release.passport.description import Description, TableBook, describe_release

PUBLICATION = Publication(
    title='Stays & "wards", 2010',
    description="One row per stay.\nMade up for tests.",
    publisher="Institut für Beispiele",
    contact="data@example.org",
    licence="CC-BY-4.0",
    version="1.0.0",
    keywords=("hospital", "ward"),
    spatial="Norway",
    temporal="2009/2010-06",
    url="https://example.org/stays",
    intended_use="Tests of programs",
    health_categories=("https://example.org/categories/EHRS",),
)
COLUMNS = (
    Categorical(
        name="sex",
        levels=("F", "M"),
        description="Sex | as <registered>",
        value_labels=(("F", "female"), ("M", "male")),
        role=Role.QUASI_IDENTIFIER,
    ),
    Integer(name="age", edges=(Fraction(0), Fraction(40), Fraction(120)), missing="NA", units="years"),
    Continuous(name="weight & <kg>", edges=(Fraction(0), Fraction(50), Fraction(200)), precision=1),
    Dates(name="day", start=dt.date(2010, 1, 1), end=dt.date(2010, 12, 31), grain=Grain.MONTH),
    Categorical(name="ward", levels=("A\u0007", "=B", '"C"'), role=Role.SENSITIVE),
)
BOOK = Codebook(columns=COLUMNS, title="Stays", publication=PUBLICATION)
N = 60
STAYS = pa.table(
    {
        "sex": ["F", "M"] * (N // 2),
        "age": [None if i % 9 == 0 else i * 7 % 100 for i in range(N)],
        "weight & <kg>": [50.5 + i for i in range(N)],
        "day": [dt.date(2010, 1 + i % 12, 1) for i in range(N)],
        "ward": [("A\u0007", "=B", '"C"')[i % 3] for i in range(N)],
    }
)


def synthetic(place: Path) -> Path:
    us.synthesize(STAYS, BOOK, 40, epsilon=1.0, delta=1e-6, csv=True, out=place)
    return place


def parquet_only(place: Path) -> Path:
    us.synthesize(STAYS, BOOK, 40, epsilon=1.0, delta=1e-6, out=place)
    return place


def parts(place: Path) -> Path:
    us.synthesize_parts(STAYS, BOOK, 40, epsilon=1.0, delta=1e-6, out=place, part_rows=20, workers=1)
    return place


def seeded(place: Path) -> Path:
    us.synthesize(STAYS, BOOK, 40, epsilon=1.0, delta=1e-6, csv=True, seed=1, out=place)
    return place


def counts(place: Path) -> Path:
    us.count(STAYS, BOOK, ["sex", "age", "ward"], 1.0, csv=True, out=place)
    return place


def anonymised(place: Path) -> Path:
    us.anonymize(STAYS, BOOK, 2, suppression=1.0, csv=True, out=place)
    return place


def imputed(place: Path) -> Path:
    us.impute(STAYS, BOOK, files=1, csv=True, out=place)
    return place / "1"


def commuted(place: Path) -> Path:
    town = commutes(400, seed=2, homes=30, workplaces=6)
    us.commute(town.flows, 4.6, "exact", delta=1e-6, count="workers", places=town.places, csv=True, out=place)
    return place


def score(place: Path) -> Path:
    place.mkdir()
    us.train(STAYS, BOOK, "sex", "forest", epsilon=1.0, positive="M", out=place / "model.us")
    return place / "model.us"


TABLES: dict[str, Callable[[Path], Path]] = {
    make.__name__: make for make in (synthetic, parquet_only, parts, seeded, counts, anonymised, imputed, commuted)
}
"""Every kind of release that is a table."""
DP_TABLES = ("synthetic", "parquet_only", "parts", "counts", "commuted")
"""Those that promise differential privacy."""


def linked(place: Path, *, orphan: bool = False) -> Description:
    """Two linked tables in a folder made by hand; with ``orphan`` a stay belongs to nobody."""
    synthetic(place)
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    for file in ("synthetic.parquet", "synthetic.csv", "measurements.parquet"):
        (place / file).unlink()
    people = pa.table({"person id": [1, 2, 3], "sex": ["F", "M", "F"]})
    stays = pa.table({"stay": [1, 2, 3], "person id": [1, 1, 9 if orphan else 3], "ward": ["=B", '"C"', "=B"]})
    for name, table in (("people", people), ("stays", stays)):
        pyarrow.parquet.write_table(table, place / f"{name}.parquet")
        pyarrow.csv.write_csv(table, place / f"{name}.csv")
    names = ("codebook.toml", "people.parquet", "people.csv", "stays.parquet", "stays.csv")
    manifest["files"] = {name: digest_of(place / name) for name in names}
    (place / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    columns = {column.name: column for column in COLUMNS}
    described = (
        TableBook(name="people", stem="people", columns=columns, rows=3, key=("person id",)),
        TableBook(
            name="stays",
            stem="stays",
            columns={**columns, "ward": replace(COLUMNS[4], levels=("=B", '"C"'))},
            rows=3,
            key=("stay",),
            parent="people",
            parent_key=("person id",),
        ),
    )
    return describe_release(place, manifest, BOOK, described)
