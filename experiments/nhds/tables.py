"""NHDS 2010 with full diagnosis, procedure and DRG codes, months, weights and rules.

The file comes from the folder named by ``UNDERSTUDY_DATA``; nothing is written there. Coarse columns are derived from
the codes by published rules: the chapter of an ICD-9-CM diagnosis, the two-digit group of a procedure, blocks of fifty
DRGs. The lists of codes are those that occur in the file, which is public; the owner of a private table would copy them
from the manual.
"""

import os
from bisect import bisect_right
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from understudy.codebook import Categorical, Codebook, Column, Detail, Implies, Impossible, Integer, Ordinal, Role

__all__ = ["Absent", "load"]

_CHAPTERS = (1, 140, 240, 280, 290, 320, 390, 460, 520, 580, 630, 680, 710, 740, 760, 780, 800)
_NAMES = (
    "infections", "neoplasms", "endocrine", "blood", "mental", "nervous", "circulation", "breathing", "digestion",
    "urinary", "pregnancy", "skin", "bones", "congenital", "perinatal", "symptoms", "injuries",
)  # fmt: skip
_PLAIN = (
    "newborn", "sex", "race", "marital_status", "dc_status", "region", "n_beds", "hospital_ownership", "payor_primary",
    "adm_type", "adm_origin",
)  # fmt: skip
_AGES = (0, 1, 5, 15, 18, 25, 35, 45, 55, 65, 75, 85, 121)
_DAYS = (1, 2, 3, 4, 5, 7, 10, 15, 30, 101)
_WEIGHTS = (1, 60, 100, 150, 250, 500, 1000, 3001)


class Absent(Exception):
    """There is no such file here."""


def chapter(code: str) -> str:
    """The chapter of an ICD-9-CM diagnosis."""
    if code[0] in "VE":
        return "supplementary"
    return _NAMES[bisect_right(_CHAPTERS, int(code[:3])) - 1]


def load() -> tuple[pa.Table, Codebook]:
    """Eighteen columns of the model and three details, and what they may hold."""
    root = os.environ.get("UNDERSTUDY_DATA")
    path = Path(root or "") / "nhds2010" / "nhds2010.parquet"
    if not root or not path.is_file():
        raise Absent("UNDERSTUDY_DATA names no folder with nhds2010/nhds2010.parquet")
    frame = pq.read_table(path).to_pandas()
    made = {name: frame[name].astype(str).str.lower() for name in _PLAIN}
    made["age"] = np.where(frame["age_unit"] == "years", frame["age"], 0)
    made["month"] = frame["dc_month"].map(lambda month: f"{month:02d}")
    made["days"] = frame["care_days"]
    made["weight"] = frame["weighting"].round().astype(int)
    made["dx"] = frame["dx01"].astype(str)
    made["dx_chapter"] = made["dx"].map(chapter)
    made["pc"] = frame["pc01"].fillna("none").astype(str)
    made["pc_group"] = made["pc"].map(lambda code: code if code == "none" else f"group {code[:2]}")
    made["drg"] = frame["DRG"].astype(str)
    made["drg_block"] = made["drg"].map(lambda code: f"block {int(code) // 50:02d}")
    table = pa.table({name: pa.array(list(values)) for name, values in made.items()})
    return table, _book(table)


def _book(table: pa.Table) -> Codebook:
    columns: list[Column] = [
        Categorical(name=name, levels=_levels(table, name), role=Role.QUASI_IDENTIFIER) for name in _PLAIN
    ]
    columns += [
        Integer(name="age", edges=_edges(_AGES), role=Role.QUASI_IDENTIFIER),
        Ordinal(name="month", levels=tuple(f"{month:02d}" for month in range(1, 13))),
        Integer(name="days", edges=_edges(_DAYS), shape="log", units="days", clip=True),
        Integer(name="weight", edges=_edges(_WEIGHTS), shape="log", units="discharges", clip=True),
    ]
    for coarse, detail in (("dx_chapter", "dx"), ("pc_group", "pc"), ("drg_block", "drg")):
        columns.append(Categorical(name=coarse, levels=_levels(table, coarse)))
        columns.append(Detail(name=detail, detail_of=coarse, other="other", groups=_groups(table, coarse, detail)))
    rules = (
        Implies(name="newborns are of age 0", when=(("newborn", ("true",)),), then=(("age", ("0",)),)),
        Implies(
            name="newborns are admitted as such",
            when=(("newborn", ("true",)),),
            then=(("adm_type", ("newborn",)), ("marital_status", ("single",))),
        ),
        Implies(name="only newborns are", when=(("adm_type", ("newborn",)),), then=(("newborn", ("true",)),)),
        Impossible(name="no pregnant men", cells=(("sex", ("male",)), ("dx_chapter", ("pregnancy",)))),
        Impossible(
            name="the newborn have no pregnancies", cells=(("newborn", ("true",)), ("dx_chapter", ("pregnancy",)))
        ),
    )
    return Codebook(columns=tuple(columns), constraints=rules, weight="weight", title="NHDS 2010")


def _levels(table: pa.Table, name: str) -> tuple[str, ...]:
    return tuple(sorted(set(table[name].to_pylist())))


def _edges(numbers: tuple[int, ...]) -> tuple[Fraction, ...]:
    return tuple(Fraction(number) for number in numbers)


def _groups(table: pa.Table, coarse: str, detail: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, set[str]] = {}
    for group, code in zip(table[coarse].to_pylist(), table[detail].to_pylist(), strict=True):
        found.setdefault(group, set()).add(code)
    return tuple((group, tuple(sorted(codes))) for group, codes in sorted(found.items()))
