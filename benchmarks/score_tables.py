"""Tables for private risk scores: four real ones of numbers alone, two with categories, and simulated ones.

The simulated ones are of kinds that could break a score: few rows, many levels, a rare outcome, many features, steps
and hollows, long tails within wide bounds, and an effect that only two features together have.
"""

import csv
import gzip
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["REAL", "SIMULATED", "TABLES", "Task"]

Bounds = dict[str, tuple[float, float]]
Values = npt.NDArray[np.float64]

PIMA: Bounds = {
    "pregnant": (0, 20),
    "glucose": (0, 250),
    "pressure": (0, 150),
    "triceps": (0, 110),
    "insulin": (0, 900),
    "mass": (0, 80),
    "pedigree": (0, 3),
    "age": (18, 100),
}
MIMIC: Bounds = {
    "age": (15, 100),
    "map_1st": (5, 200),
    "hr_1st": (20, 220),
    "temp_1st": (25, 110),
    "spo2_1st": (1, 100),
    "wbc_first": (0, 250),
    "hgb_first": (1, 25),
    "platelet_first": (1, 2000),
    "sodium_first": (90, 190),
    "potassium_first": (1, 12),
    "tco2_first": (1, 80),
    "chloride_first": (60, 160),
    "bun_first": (0, 300),
    "creatinine_first": (0, 40),
    "po2_first": (10, 800),
    "pco2_first": (5, 200),
}
ADULT: Bounds = {
    "age": (17, 90),
    "education_num": (1, 16),
    "capital_gain": (0, 100_000),
    "capital_loss": (0, 5_000),
    "hours_per_week": (1, 99),
}
ADULT_WORDS = ("workclass", "marital_status", "occupation", "relationship", "race", "sex", "native_country")
DIABETES: Bounds = {
    "age": (0, 100),
    "time_in_hospital": (1, 14),
    "num_lab_procedures": (0, 150),
    "num_procedures": (0, 10),
    "num_medications": (0, 100),
    "number_outpatient": (0, 50),
    "number_emergency": (0, 100),
    "number_inpatient": (0, 25),
    "number_diagnoses": (0, 20),
}
DIABETES_WORDS = (
    "race",
    "gender",
    "admission_type_id",
    "discharge_disposition_id",
    "admission_source_id",
    "payer_code",
)
DIABETES_WORDS += ("medical_specialty", "max_glu_serum", "A1Cresult", "metformin", "insulin", "change", "diabetesMed")


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """Numbers with their bounds, then categories as codes, and a yes-or-no label."""

    name: str
    values: Values
    label: npt.NDArray[np.intp]
    bounds: Bounds
    levels: tuple[int, ...] = ()
    """How many each of the last columns has."""

    @property
    def features(self) -> str:
        """In words."""
        words = f"{len(self.bounds)} numbers"
        return words if not self.levels else f"{words} and {len(self.levels)} categories of {sum(self.levels)} levels"

    def halves(self, repeats: int) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        """Random halves for training and testing."""
        generator = np.random.default_rng(5)
        orders = [generator.permutation(len(self.label)) for _ in range(repeats)]
        half = len(self.label) // 2
        return [(order[:half], order[half : 2 * half]) for order in orders]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        for row in pq.read_table(path).to_pylist():
            yield {name.replace("-", "_").replace(".", "_"): value for name, value in row.items()}
        return
    plain = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    yield from csv.DictReader(plain.decode("utf-8").splitlines())


def _number(word: Any) -> float:
    """A number; of an age band such as [70-80) its middle; NaN where there is none."""
    text = str(word)
    if text.startswith("["):
        low, high = text.strip("[)").split("-")
        return (float(low) + float(high)) / 2
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _task(
    name: str, file: str, bounds: Bounds, label: Callable[[dict[str, Any]], bool], words: tuple[str, ...] = ()
) -> Task:
    """Missing numbers are filled with their column's median; a missing word is a level. For all alike."""
    rows = list(_rows(Path(os.environ["UNDERSTUDY_DATA"]) / file))
    values = np.array([[_number(row[column]) for column in bounds] for row in rows])
    middle = np.nanmedian(values, axis=0)
    low, high = np.array(list(bounds.values())).T
    columns = [np.clip(np.where(np.isnan(values), middle, values), low, high)]
    levels = []
    for word in words:
        names, codes = np.unique([str(row[word]) for row in rows], return_inverse=True)
        columns.append(codes[:, None].astype(np.float64))
        levels.append(len(names))
    labels = np.array([label(row) for row in rows], dtype=np.intp)
    return Task(name=name, values=np.hstack(columns), label=labels, bounds=bounds, levels=tuple(levels))


def _income(row: dict[str, Any]) -> bool:
    return ">" in str(row["income"] if "income" in row else row["class"])


def _soon(row: dict[str, Any]) -> bool:
    return bool(row["readmitted"] == "<30")


def _died(row: dict[str, Any]) -> bool:
    return float(row["day_28_flg"]) == 1


_ADULT, _DIABETES = "adult/adult_full.parquet", "diabetes130/diabetic_data.csv.gz"
REAL: dict[str, Callable[[], Task]] = {
    "pima": lambda: _task("pima", "pima/pima.csv", PIMA, lambda row: row["diabetes"] == "1"),
    "mimic": lambda: _task("mimic", "mimic2_iaccd/full_cohort_data.csv", MIMIC, _died),
    "adult": lambda: _task("adult", _ADULT, ADULT, _income),
    "diabetes": lambda: _task("diabetes", _DIABETES, DIABETES, _soon),
    "adult-all": lambda: _task("adult-all", _ADULT, ADULT, _income, ADULT_WORDS),
    "diabetes-all": lambda: _task("diabetes-all", _DIABETES, DIABETES, _soon, DIABETES_WORDS),
}


def _simulated(
    name: str,
    rows: int,
    numbers: Callable[[np.random.Generator, int], Values],
    odds: Callable[[Values], Values],
    bounds: tuple[float, float] = (0.0, 1.0),
    levels: tuple[int, ...] = (),
) -> Task:
    """Log-odds are a function of all columns."""
    generator = np.random.default_rng(sum(map(ord, name)))
    given = np.clip(numbers(generator, rows), *bounds)
    words = [np.minimum(generator.geometric(4.0 / size, rows) - 1, size - 1)[:, None] for size in levels]
    values = np.hstack([given, *words]).astype(np.float64)
    label = (generator.random(rows) < 1 / (1 + np.exp(-odds(values)))).astype(np.intp)
    return Task(
        name=name, values=values, label=label, bounds={f"x{k}": bounds for k in range(given.shape[1])}, levels=levels
    )


def _uniform(columns: int) -> Callable[[np.random.Generator, int], Values]:
    return lambda generator, rows: generator.random((rows, columns))


def _bells(columns: int) -> Callable[[np.random.Generator, int], Values]:
    """Half of the variance is common to all, as with vital signs of the same people."""

    def drawn(generator: np.random.Generator, rows: int) -> Values:
        return 0.5 + 0.11 * (generator.standard_normal((rows, 1)) + generator.standard_normal((rows, columns)))

    return drawn


def _tails(generator: np.random.Generator, rows: int) -> Values:
    return np.exp(generator.standard_normal((rows, 6)))


def _effects(size: int, seed: int) -> Values:
    """Of levels without an order."""
    return np.random.default_rng(seed).normal(0.0, 1.0, size)


def _steps(x: Values) -> Values:
    hollow = 2.0 * (np.abs(x[:, 0] - 0.5) > 0.35) + 2.0 * (np.abs(x[:, 1] - 0.4) < 0.1)
    return np.asarray(hollow + 1.5 * (x[:, 2] > 0.9) - 1.5 * np.cos(9 * x[:, 3]) - 2.0)


SIMULATED: dict[str, Callable[[], Task]] = {
    "few rows": lambda: _simulated(
        "few rows", 240, _bells(6), lambda x: 8 * (x[:, 0] - 0.5) + 6 * (x[:, 1] - 0.5) - 5 * (x[:, 2] - 0.5)
    ),
    "many levels": lambda: _simulated(
        "many levels",
        12_000,
        _uniform(3),
        lambda x: 2 * x[:, 0] - 1 + sum(_effects(60, k)[x[:, 3 + k].astype(int)] for k in range(3)),
        levels=(60, 60, 60),
    ),
    "rare": lambda: _simulated(
        "rare", 20_000, _bells(8), lambda x: 10 * (x[:, 0] - 0.5) + 8 * (x[:, 1] - 0.5) + 6 * x[:, 2] ** 2 - 7.0
    ),
    "many features": lambda: _simulated(
        "many features", 5_000, _bells(40), lambda x: 6 * (x[:, :8] - 0.5) @ np.array([1, -1, 1, -1, 0.5, 0.5, 1, -0.5])
    ),
    "steps": lambda: _simulated("steps", 20_000, _uniform(8), _steps),
    "long tails": lambda: _simulated(
        "long tails",
        8_000,
        _tails,
        lambda x: np.log(x[:, 0]) - 0.8 * np.log(x[:, 1]) + (x[:, 2] > 3) - 0.5,
        (0.0, 60.0),
    ),
    "interaction": lambda: _simulated(
        "interaction", 20_000, _uniform(6), lambda x: 12 * (x[:, 0] - 0.5) * (x[:, 1] - 0.5) + 2 * (x[:, 2] - 0.5)
    ),
}
TABLES = REAL | SIMULATED
