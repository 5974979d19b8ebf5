"""NHDS 2010 reduced to the paper's six columns, and the generated discharges cut to six like them.

The NHDS file comes from the folder named by ``UNDERSTUDY_DATA``; nothing is written there. NHDS has no payment, so the
length of stay takes the place of the paper's amount as the variable to be predicted.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

import understudy as us
from understudy.codebook import Categorical, Codebook, Ordinal
from understudy.sources import EncodedSource
from understudy.sources.tables import code_type

AGES = (
    ("under 18", 18),
    ("18-34", 35),
    ("35-49", 50),
    ("50-64", 65),
    ("65-74", 75),
    ("75-84", 85),
    ("85 and over", 999),
)
STAYS = (("1", 2), ("2", 3), ("3", 4), ("4-5", 6), ("6-9", 10), ("10 and more", 9999))


class Absent(Exception):
    """A file that an experiment needs is not on this machine."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """One table and the roles of its columns in the paper's figures."""

    title: str
    source: EncodedSource
    many: tuple[str, str]
    """Columns whose histograms are shown: procedure and DRG in the paper."""
    three: tuple[str, str, str]
    """Columns of the three-way chi-square."""
    target: str
    """What the Lasso predicts, and whether it is above its middle."""


def nhds(*, rows: int | None = None) -> Study:
    """151,551 discharges; 38 per cent have no procedure, which is the missing level."""
    table = pq.read_table(_file(), columns=["sex", "age_unit", "age", "DRG", "pc01", "care_days", "payor_primary"])
    table = table.slice(0, rows)
    whole = {name: np.array(table[name].to_pylist(), dtype=object) for name in table.column_names}
    years = np.where(whole["age_unit"] == "years", whole["age"], 0).astype(int)
    procedure = np.array([None if code is None else code[:2] for code in whole["pc01"]], dtype=object)
    sex, payer = _levels(whole["sex"]), _levels(whole["payor_primary"])
    drg, icd = _levels(whole["DRG"]), _levels(procedure)
    columns = [
        (Categorical(name="sex", levels=sex), _codes(whole["sex"], sex)),
        (Ordinal(name="age", levels=tuple(label for label, _ in AGES)), _bands(years, AGES)),
        (Categorical(name="drg", levels=drg), _codes(whole["DRG"], drg)),
        (Categorical(name="procedure", levels=icd, missing="none"), _codes(procedure, icd)),
        (
            Ordinal(name="stay", levels=tuple(label for label, _ in STAYS)),
            _bands(whole["care_days"].astype(int), STAYS),
        ),
        (Categorical(name="payer", levels=payer), _codes(whole["payor_primary"], payer)),
    ]
    book = Codebook(columns=tuple(column for column, _ in columns), title="NHDS 2010, six columns")
    source = EncodedSource(codebook=book, columns=[codes for _, codes in columns])
    return Study(
        title="NHDS 2010",
        source=source,
        many=("procedure", "drg"),
        three=("age", "sex", "stay"),
        target="stay",
    )


def discharges(*, rows: int = 50_000) -> Study:
    """The generated discharges: age, sex, MDC, disposition, charge and length of stay."""
    names = ("sex", "age.yrs", "MDC", "disp", "los", "charge")
    whole = us.datasets.discharges_codebook()
    book = Codebook(columns=tuple(replace(whole.column(name), parents=None) for name in names))
    source = us.open(us.datasets.discharges(rows=rows, seed=2011).select(list(names)), book)
    source.count([names[:1]])
    return Study(
        title="generated discharges",
        source=source._local,
        many=("disp", "MDC"),
        three=("age.yrs", "sex", "charge"),
        target="charge",
    )


def sampled(study: Study, rows: int, seed: int) -> Study:
    """So many random records of it."""
    columns = study.source._columns
    chosen = np.random.default_rng([seed, rows]).permutation(len(columns[0]))[:rows]
    some = EncodedSource(codebook=study.source.codebook, columns=[column[chosen] for column in columns])
    return replace(study, source=some)


def _file() -> Path:
    root = os.environ.get("UNDERSTUDY_DATA")
    path = Path(root or ".") / "nhds2010" / "nhds2010.parquet"
    if not root or not path.is_file():
        raise Absent("UNDERSTUDY_DATA names no folder with nhds2010/nhds2010.parquet")
    return path


def _levels(values: npt.NDArray[np.object_]) -> tuple[str, ...]:
    return tuple(sorted({str(value) for value in values if value is not None}))


def _codes(values: npt.NDArray[np.object_], levels: tuple[str, ...]) -> npt.NDArray[np.unsignedinteger]:
    places = {level: code for code, level in enumerate(levels)} | {None: len(levels)}
    return np.array([places[value] for value in values], dtype=code_type(len(levels) + 1))


def _bands(values: npt.NDArray[np.int64], bands: Sequence[tuple[str, int]]) -> npt.NDArray[np.unsignedinteger]:
    return np.searchsorted([end for _, end in bands], values, side="right").astype(np.uint8)
