"""Pima and the MIMIC-II cohort, from the folder named by ``UNDERSTUDY_DATA``; nothing is written there.

Thresholds are round clinical numbers, written down here and not read from the data. ``fine`` has all of them;
``coarse`` one for each feature, the binary features that the chapter's own algorithms need: neighbouring thresholds of
one feature gain nearly the same, so that no choice among them is ever "admissible".
"""

import csv
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from understudy.codebook import Categorical, Codebook, Column, Continuous
from understudy.mechanisms.labelled import Cells, pooled
from understudy.privacy import Secret
from understudy.trees.features import Feature, features_of

__all__ = ["DATASETS", "Absent", "Task", "load"]


class Absent(Exception):
    """A file that an experiment needs is not on this machine."""


Cuts = dict[str, tuple[float, list[float], float, float]]
"""For each feature: lowest value, thresholds, highest value, and the one threshold of the coarse codebook."""

PIMA: Cuts = {
    "pregnant": (0, [1, 2, 3, 4, 6, 8, 11], 20, 6),
    "glucose": (20, [80, 90, 100, 110, 120, 130, 140, 155, 170], 250, 127),
    "pressure": (10, [60, 65, 70, 75, 80, 90], 150, 80),
    "triceps": (1, [15, 20, 25, 30, 35, 40], 110, 30),
    "insulin": (1, [50, 100, 150, 200, 300], 900, 150),
    "mass": (10, [22, 25, 28, 30, 33, 36, 40], 80, 30),
    "pedigree": (0, [0.2, 0.3, 0.4, 0.5, 0.7, 1], 3, 0.5),
    "age": (18, [25, 30, 35, 40, 45, 50, 60], 100, 30),
}
MIMIC: Cuts = {
    "age": (15, [30, 40, 50, 60, 70, 80, 88], 100, 65),
    "map_1st": (5, [60, 70, 80, 90, 100, 110], 200, 75),
    "hr_1st": (20, [60, 70, 80, 90, 100, 110, 125], 220, 100),
    "temp_1st": (25, [95, 96.5, 97.5, 98.5, 99.5, 101], 110, 97),
    "spo2_1st": (1, [90, 94, 96, 98, 99.5], 100, 96),
    "wbc_first": (0, [5, 8, 10, 12, 15, 20], 250, 12),
    "hgb_first": (1, [8, 9.5, 11, 12.5, 14, 15], 25, 11),
    "platelet_first": (1, [100, 150, 200, 250, 300, 400], 2000, 150),
    "sodium_first": (90, [130, 135, 138, 141, 144, 148], 190, 136),
    "potassium_first": (1, [3.3, 3.7, 4, 4.4, 5, 5.5], 12, 4.5),
    "tco2_first": (1, [17, 20, 23, 26, 29, 33], 80, 22),
    "chloride_first": (60, [95, 99, 102, 105, 109, 114], 160, 105),
    "bun_first": (0, [8, 12, 16, 22, 32, 50], 300, 25),
    "creatinine_first": (0, [0.6, 0.8, 1, 1.3, 1.8, 3], 40, 1.3),
    "po2_first": (10, [60, 90, 130, 200, 300, 400], 800, 100),
    "pco2_first": (5, [30, 35, 40, 45, 52, 65], 200, 45),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """One table, coded twice."""

    name: str
    title: str
    label: npt.NDArray[np.intp]
    raw: npt.NDArray[np.float64]
    """Values as measured, missing as NaN; for peers that take numbers."""
    fine: tuple[Feature, ...]
    coarse: tuple[Feature, ...]
    codes: npt.NDArray[np.uint8]
    coarse_codes: npt.NDArray[np.uint8]

    def cells(self, rows: npt.NDArray[np.intp], *, coarse: bool = False) -> Secret[Cells]:
        """Some records in a box."""
        held = (self.coarse_codes if coarse else self.codes)[rows]
        return Secret(pooled(held, np.eye(2, dtype=np.int64)[self.label[rows]]))

    def halves(self, repeats: int) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        """Random halves for training and testing."""
        generator = np.random.default_rng(5)
        found = []
        for _ in range(repeats):
            order = generator.permutation(len(self.label))
            found.append((order[: len(order) // 2], order[len(order) // 2 :]))
        return found


def _features(cuts: Cuts, target: str, *, coarse: bool) -> tuple[Feature, ...]:
    columns: list[Column] = []
    for name, (low, inner, high, middle) in cuts.items():
        edges = [low, *([middle] if coarse else inner), high]
        exact = tuple(Fraction(str(edge)) for edge in edges)
        columns.append(Continuous(name=name, edges=exact, precision=3, missing="NA"))
    columns.append(Categorical(name=target, levels=("0", "1")))
    return features_of(Codebook(columns=tuple(columns)), target)


def _coded(features: tuple[Feature, ...], raw: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    codes = np.empty(raw.shape, dtype=np.uint8)
    for place, feature in enumerate(features):
        codes[:, place] = [feature.code(None if math.isnan(value) else value) for value in raw[:, place].tolist()]
    return codes


def _task(name: str, title: str, file: str, cuts: Cuts, target: str, zero_is_missing: set[str]) -> Task:
    folder = os.environ.get("UNDERSTUDY_DATA")
    path = None if folder is None else Path(folder) / file
    if path is None or not path.is_file():
        raise Absent(f"{file} is not in the folder named by UNDERSTUDY_DATA")
    with path.open(newline="", encoding="utf-8") as source:
        rows = list(csv.DictReader(source))
    raw = np.array([[float(row[column] or "nan") for column in cuts] for row in rows])
    for place, column in enumerate(cuts):
        low, _, high, _ = cuts[column]
        if column in zero_is_missing:
            raw[raw[:, place] == 0, place] = np.nan
        raw[:, place] = np.clip(raw[:, place], low, high)
    label = np.array([int(float(row[target])) for row in rows], dtype=np.intp)
    fine, coarse = _features(cuts, target, coarse=False), _features(cuts, target, coarse=True)
    return Task(
        name=name,
        title=title,
        label=label,
        raw=raw,
        fine=fine,
        coarse=coarse,
        codes=_coded(fine, raw),
        coarse_codes=_coded(coarse, raw),
    )


@lru_cache(maxsize=2)
def load(name: str) -> Task:
    """A table by name."""
    return DATASETS[name]()


DATASETS = {
    "pima": lambda: _task(
        "pima",
        "Pima Indians: diabetes",
        "pima/pima.csv",
        PIMA,
        "diabetes",
        {"glucose", "pressure", "triceps", "insulin", "mass"},
    ),
    "mimic": lambda: _task(
        "mimic",
        "MIMIC-II cohort: death within 28 days",
        "mimic2_iaccd/full_cohort_data.csv",
        MIMIC,
        "day_28_flg",
        {"map_1st", "temp_1st", "spo2_1st"},
    ),
}
