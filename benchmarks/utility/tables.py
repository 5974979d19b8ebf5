"""The tables of the comparison, as text: rows to learn from, rows kept back, public levels of every column."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import understudy as us
from understudy.sources.rows import read_rows

__all__ = ["Task", "adult", "census", "diabetes", "discharges", "fire", "nhds", "nltcs"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """What every method gets, and what it is judged by."""

    name: str
    train: pd.DataFrame
    test: pd.DataFrame | None
    """None where the file is too small to be divided."""
    levels: dict[str, list[str]]
    target: str
    positive: str

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Training rows and levels as files, for runners in other environments."""
        rows, levels = folder / f"{self.name}.csv", folder / f"{self.name}.json"
        self.train.to_csv(rows, index=False)
        levels.write_text(json.dumps(self.levels))
        return rows, levels


def _text(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _halves(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Four fifths to learn from and one fifth kept back, the same in every run."""
    order = np.random.default_rng(1).permutation(len(table))
    cut = len(table) * 4 // 5
    return table.iloc[order[:cut]].reset_index(drop=True), table.iloc[order[cut:]].reset_index(drop=True)


def adult(data: Path) -> Task:
    """Adult as prepared with the data: 39,074 rows, 13 columns."""
    folder = data / "adult_benchmark"
    return Task(
        name="adult",
        train=_text(folder / "train.csv.gz"),
        test=_text(folder / "test.csv.gz"),
        levels=json.loads((folder / "domain.json").read_text()),
        target="income",
        positive=">50K",
    )


def nltcs(data: Path) -> Task:
    """Sixteen binary indicators of disability, 21,574 persons."""
    return _with_facts(data / "nltcs")


def fire(data: Path) -> Task:
    """Fire calls of San Francisco: 244,095 rows, 30 columns of 2 to 742 levels."""
    return _with_facts(data / "fire")


def _with_facts(folder: Path) -> Task:
    """A table whose levels, target and positive level stand beside it."""
    facts = json.loads((folder / "domain.json").read_text())
    kept = folder / "test.csv.gz"
    return Task(
        name=folder.name,
        train=_text(folder / "train.csv.gz"),
        test=_text(kept) if kept.exists() else None,
        levels=facts["levels"],
        target=facts["target"],
        positive=facts["positive"],
    )


_CODES = 100
"""Levels of a detailed code that are kept; all others are one."""


def _coded(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Detailed codes cut to their commonest, and the levels of every column."""
    for name in table.columns:
        if table[name].nunique() > 2 * _CODES:
            kept = table[name].value_counts().index[:_CODES]
            table[name] = table[name].where(table[name].isin(kept), "other")
    return table, {name: sorted(table[name].unique()) for name in table.columns}


def diabetes(data: Path) -> Task:
    """Encounters of diabetic patients: 101,766 x 48, all columns as levels."""
    table = _text(data / "diabetes130" / "diabetic_data.csv.gz").drop(columns=["encounter_id", "patient_nbr"])
    table, levels = _coded(table)
    train, test = _halves(table)
    return Task(name="diabetes", train=train, test=test, levels=levels, target="readmitted", positive="<30")


def nhds(data: Path) -> Task:
    """National Hospital Discharge Survey 2010: the first 20 columns that vary, 151,551 rows."""
    table = pd.read_parquet(data / "nhds2010" / "nhds2010.parquet").drop(columns=["id", "weighting"]).astype(str)
    table = table[[name for name in table.columns if table[name].nunique() > 1][:20]]
    table, levels = _coded(table)
    train, test = _halves(table)
    return Task(name="nhds", train=train, test=test, levels=levels, target="newborn", positive=levels["newborn"][0])


_BINS = {
    "AGEP": [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90],
    "DENSITY": [0, 100, 500, 1000, 2000, 3000, 5000, 10000, 20000],
    "POVPIP": [0, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 501],
}
"""Lower edges, from the data dictionary; the last bin is open."""
_LEFT_OUT = ("INDP", "PINCP", "PWGTP", "WGTP")  # finer versions of kept columns, and weights


def census(data: Path) -> Task:
    """NIST's excerpt of the American Community Survey 2019: 27,253 persons, 20 columns on public bins."""
    folder = data / "nist_acs"
    table = _text(folder / "national2019.csv.gz").drop(columns=list(_LEFT_OUT))
    schema = json.loads((folder / "national2019.schema.json").read_text())["schema"]
    levels = {}
    for name in table.columns:
        if name in _BINS:
            edges = _BINS[name]
            number = pd.to_numeric(table[name], errors="coerce")
            place = np.clip(np.searchsorted(edges, number.fillna(0), side="right") - 1, 0, None)
            table[name] = np.where(number.isna(), "N", np.array([str(edge) for edge in edges])[place])
            levels[name] = [str(edge) for edge in edges] + ["N"] * bool(schema[name].get("has_null"))
        else:
            levels[name] = [str(value) for value in schema[name]["values"]]
    train, test = _halves(table)
    return Task(name="census", train=train, test=test, levels=levels, target="OWN_RENT", positive="1")


def discharges(rows: int = 50_000) -> Task:
    """Our simulated discharges, 13 columns, as codes."""
    book = us.datasets.discharges_codebook()
    codes = read_rows(us.datasets.discharges(rows=rows, seed=1), book).open().codes
    table = pd.DataFrame({name: column.astype(str) for name, column in zip(book.names, codes, strict=True)})
    levels = {name: [str(code) for code in range(size)] for name, size in zip(book.names, book.sizes, strict=True)}
    train, test = _halves(table)
    return Task(name="discharges", train=train, test=test, levels=levels, target="sev", positive="2")
