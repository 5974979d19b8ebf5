"""Populations to sample from, each with figures that an analyst might ask for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import understudy as us
from benchmarks.utility import tables
from understudy.codebook import Categorical, Column, Ordinal
from understudy.sources.rows import read_rows
from understudy.sources.tables import code_type

Codes = Sequence[npt.NDArray[np.unsignedinteger]]
CELLS, LEAST = 30, 0.01
"""Cells of two columns that are asked for, drawn at random among those of this share and more."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Means, differences of means between groups, and models."""

    means: Sequence[str]
    differences: Sequence[tuple[str, str, str, str]]
    """A column, and two levels of another."""
    linear: Sequence[str]
    logistic: Sequence[str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """A whole file: what it is in truth is known."""

    name: str
    book: us.Codebook
    codes: Codes
    asked: Asked

    def sample(self, rows: int, rng: np.random.Generator) -> Codes:
        """Records drawn with replacement."""
        chosen = rng.integers(0, len(self.codes[0]), rows)
        return [column[chosen] for column in self.codes]

    def cells(self) -> list[dict[str, str]]:
        """Cells of random pairs, the same in every run."""
        rng, names, cells = np.random.default_rng(5), self.book.names, []
        while len(cells) < CELLS:
            i, j = sorted(rng.choice(len(names), 2, replace=False))
            shape = self.book.sizes[i], self.book.sizes[j]
            shares = np.bincount(np.ravel_multi_index((self.codes[i], self.codes[j]), shape)) / len(self.codes[0])
            a, b = np.unravel_index(int(rng.choice(np.flatnonzero(shares >= LEAST))), shape)
            labels = self.book.column(names[i]).labels[a], self.book.column(names[j]).labels[b]
            cell = dict(zip((names[i], names[j]), labels, strict=True))
            cells += [cell] if cell not in cells else []
        return cells


def _coded(task: tables.Task, ordered: Mapping[str, str | None], asked: Asked) -> Population:
    """A table of the benchmarks; ``ordered`` names columns with an order, and their missing level."""
    whole = task.train if task.test is None else pd.concat([task.train, task.test])
    columns: list[Column] = []
    for name, labels in task.levels.items():
        levels = tuple(map(str, labels))
        if name in ordered:
            missing = ordered[name]
            columns.append(Ordinal(name=name, levels=tuple(x for x in levels if x != missing), missing=missing))
        else:
            columns.append(Categorical(name=name, levels=levels))
    book = us.Codebook(columns=tuple(columns))
    codes = [
        whole[column.name].map({label: code for code, label in enumerate(column.labels)}).to_numpy()
        for column in book.modelled
    ]
    narrow = [own.astype(code_type(size)) for own, size in zip(codes, book.sizes, strict=True)]
    return Population(name=task.name, book=book, codes=narrow, asked=asked)


def adult(data: Path) -> Population:
    """Adult, 48,842 persons."""
    return _coded(
        tables.adult(data),
        {"age": None, "hours": None},
        Asked(
            means=("age", "hours"),
            differences=(
                ("age", "sex", "Male", "Female"),
                ("hours", "sex", "Male", "Female"),
                ("hours", "income", ">50K", "<=50K"),
                ("age", "income", ">50K", "<=50K"),
                ("age", "marital", "Married-civ-spouse", "Never-married"),
            ),
            linear=("hours ~ age + sex + income", "age ~ hours + sex + I(marital == 'Never-married')"),
            logistic=(
                "income == '>50K' ~ age + sex + hours + I(marital == 'Married-civ-spouse')",
                "sex == 'Male' ~ hours + age + I(occupation == 'Exec-managerial')",
            ),
        ),
    )


def census(data: Path) -> Population:
    """NIST's excerpt of the American Community Survey 2019: 27,253 persons."""
    return _coded(
        tables.census(data),
        {"AGEP": None, "EDU": "N", "PINCP_DECILE": "N", "POVPIP": "N", "NOC": "N", "NPF": "N", "DENSITY": None},
        Asked(
            means=("AGEP", "EDU", "PINCP_DECILE"),
            differences=(
                ("PINCP_DECILE", "SEX", "1", "2"),
                ("EDU", "SEX", "1", "2"),
                ("AGEP", "OWN_RENT", "1", "2"),
                ("PINCP_DECILE", "OWN_RENT", "1", "2"),
                ("EDU", "RAC1P", "1", "2"),
            ),
            linear=("PINCP_DECILE ~ AGEP + SEX + EDU + OWN_RENT", "POVPIP ~ EDU + OWN_RENT"),
            logistic=(
                "OWN_RENT == '1' ~ AGEP + SEX + EDU + I(RAC1P == '1')",
                "DPHY == '1' ~ AGEP + SEX + I(OWN_RENT == '1')",
            ),
        ),
    )


def discharges(data: Path) -> Population:
    """50,000 simulated discharges."""
    book = us.datasets.discharges_codebook()
    rows = read_rows(us.datasets.discharges(rows=50_000, seed=1), book).open()
    asked = Asked(
        means=("los", "charge", "sev"),
        differences=(
            ("los", "cat", "Surgical", "Medical"),
            ("charge", "cat", "Surgical", "Medical"),
            ("charge", "sex", "Male", "Female"),
            ("sev", "pay", "Medicare", "Private"),
            ("los", "race", "White", "Black"),
        ),
        linear=("charge ~ los + cat + sev", "los ~ Q('age.yrs') + sex + sev"),
        logistic=("sev > 1 ~ Q('age.yrs') + sex + los", "cat == 'Surgical' ~ Q('age.yrs') + charge + sex"),
    )
    return Population(name="discharges", book=book, codes=rows.codes, asked=asked)


POPULATIONS: Mapping[str, Callable[[Path], Population]] = {"adult": adult, "census": census, "discharges": discharges}
