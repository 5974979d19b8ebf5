"""The National Hospital Discharge Survey 2010 in place of the Texas inpatient file.

Masked: days of care (log scale, as the dissertation has it for charges). Known: age, sex, payer, admission type, DRG
family. Averages by region, bed size and ownership in several combinations. Nothing of the data is written but
averages and errors.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.reconstruct import (
    CUDIA,
    LUDIA,
    Aggregate,
    EcologicalRegression,
    LUDIASingularValues,
    MoorePenrose,
    PrincipalRegression,
    Reconstructor,
    ShrunkenRegression,
)

Floats = npt.NDArray[np.float64]
LEVELS = {
    "region": ("region",),
    "region x beds": ("region", "n_beds"),
    "region x beds x ownership": ("region", "n_beds", "hospital_ownership"),
    "region x beds x ownership x month": ("region", "n_beds", "hospital_ownership", "dc_month"),
    "DRG (first two digits)": ("drg2",),
}
MAIN = "region x beds x ownership"
KNOWN = ["age", "sex", "payor_primary", "adm_type", "drg1"]
BANDS = (2, 3, 4, 5, 6, 8, 11, 15, 22)
"""Days of care at which a band of figure 4.6a begins."""


def methods() -> dict[str, Reconstructor]:
    """What table 4.3 compares, and ours."""
    return {
        "MP": MoorePenrose(),
        "ER": EcologicalRegression(weights="ols", correct=False),
        "WLS-ER, corrected": EcologicalRegression(),
        "LUDIA, full rank, 100 it.": LUDIA(rank="full", iterations=100),
        "LUDIA, held-out rank": LUDIA(rank="held-out", iterations=100),
        "LUDIA-SVD, held-out rank": LUDIASingularValues(iterations=60),
        "PC-ER, held-out rank": PrincipalRegression(),
        "shrunken (ours)": ShrunkenRegression(),
        "CUDIA, 4 clusters": CUDIA(clusters=4, ridge=1e-3, iterations=15, sweeps=2, seed=1, fallback=False),
    }


def load(quick: bool) -> Any:
    """Discharges of people aged 1 or more, or a sentence that says what is absent."""
    root = os.environ.get("UNDERSTUDY_DATA")
    if not root:
        return "UNDERSTUDY_DATA names no folder"
    path = Path(root) / "nhds2010" / "nhds2010.parquet"
    if not path.is_file():
        return "the folder of UNDERSTUDY_DATA lacks nhds2010/nhds2010.parquet"
    import pyarrow.parquet as pq

    frame = pq.read_table(path).to_pandas()
    frame = frame[frame["age_unit"] == "years"].reset_index(drop=True)
    drg = frame["DRG"].astype(str).str.zfill(3)
    frame["drg1"], frame["drg2"] = drg.str[0], drg.str[:2]
    frame["diagnoses"] = frame[[f"dx{k:02d}" for k in range(1, 16)]].notna().sum(axis=1)
    chosen = np.random.default_rng(2010).permutation(len(frame))[: 3000 if quick else 20_000]
    return frame.iloc[np.sort(chosen)].reset_index(drop=True)


def hospital(*, quick: bool) -> dict[str, Any]:
    """Table 4.3, and the data of figures 4.6 to 4.8."""
    frame = load(quick)
    if isinstance(frame, str):
        return {"skipped": frame}
    levels = {MAIN: LEVELS[MAIN]} if quick else LEVELS
    table, answers = {}, {}
    for name, columns in levels.items():
        table[name], found = _level(frame, columns)
        answers = found if name == MAIN else answers
    return {
        "rows": len(frame),
        "table": table,
        "scatter": _scatter(frame, answers),
        "daily": _daily(frame),
        "lines": _lines(frame, answers),
        "lasso": _lasso(frame),
    }


def _grouped(frame: Any, columns: tuple[str, ...]) -> Any:
    labels = frame[columns[0]].astype(str)
    for name in columns[1:]:
        labels = labels + "+" + frame[name].astype(str)
    return labels


def _aggregate(labels: Any, values: Floats) -> Aggregate:
    import pandas as pd

    means = pd.Series(values).groupby(labels.to_numpy()).mean()
    return Aggregate(by="group", target="y", values={str(k): float(v) for k, v in means.items()})


def _answers(frame: Any, labels: Any, y: Floats, known: list[str]) -> dict[str, tuple[Floats, Reconstructor]]:
    people = frame[known].assign(group=labels)
    found = {}
    for name, method in methods().items():
        try:
            fitted = method.fit(people, _aggregate(labels, y))
        except ValueError:  # more coefficients than groups
            continue
        found[name] = fitted.reconstruct().values["y"], fitted
    return found


Answers = dict[str, tuple[Floats, Reconstructor]]


def _level(frame: Any, columns: tuple[str, ...]) -> tuple[dict[str, Any], Answers]:
    y = np.log(frame["care_days"].to_numpy(dtype=float))
    labels = _grouped(frame, columns)
    known = [name for name in KNOWN if not (name == "drg1" and columns == ("drg2",))]
    rows = {}
    answers = _answers(frame, labels, y, known)
    for name, (guess, _) in answers.items():
        gap = guess - y
        rows[name] = {
            "mae": float(np.abs(gap).mean()),
            "mae_sd": float(np.abs(gap).std()),
            "mse": float((gap**2).mean()),
            "mse_sd": float((gap**2).std()),
        }
    limit = _limit(frame, labels, y, known)
    return {"groups": int(labels.nunique()), "methods": rows, "limit": limit}, answers


def _limit(frame: Any, labels: Any, y: Floats, known: list[str]) -> dict[str, float]:
    """The best common slope, learned from the masked values themselves: no corrected method beats its squares."""
    from understudy.reconstruct.design import Design

    _, x = Design.learn(frame, known, standardise=True, intercept=False)
    codes = labels.astype("category").cat.codes.to_numpy()
    sizes = np.bincount(codes)

    def within(values: Floats) -> Floats:
        found: Floats = values - (np.bincount(codes, values) / sizes)[codes]
        return found

    inner = np.stack([within(column) for column in x.T], axis=1)
    gap = within(y) - inner @ np.linalg.lstsq(inner, within(y), rcond=1e-10)[0]
    return {"mae": float(np.abs(gap).mean()), "mse": float((gap**2).mean())}


def _scatter(frame: Any, answers: Answers) -> dict[str, Any]:
    """Figure 4.6a without showing anybody: the mean reconstructed value of people with similar originals."""
    days = frame["care_days"].to_numpy(dtype=float)
    bands = np.digitize(days, BANDS)
    kept = [band for band in np.unique(bands) if (bands == band).sum() >= 50]

    def by_band(values: Floats) -> list[float]:
        return [float(values[bands == band].mean()) for band in kept]

    return {
        "original": by_band(np.log(days)),
        "answers": {name: by_band(guess) for name, (guess, _) in answers.items()},
    }


def _daily(frame: Any) -> dict[str, Any]:
    """Figure 4.6b: a ratio, diagnoses per day of care; the number of diagnoses is masked, days are known."""
    y = frame["diagnoses"].to_numpy(dtype=float)
    days = frame["care_days"].to_numpy(dtype=float)
    people = frame.assign(log_days=np.log(days))
    labels = _grouped(frame, LEVELS[MAIN])
    edges = np.linspace(0, 12, 49)
    truth = y / days
    held = np.histogram(truth, edges)[0] / len(truth)
    found: dict[str, Any] = {
        "edges": edges.tolist(),
        "original": held.tolist(),
        "mean": float(truth.mean()),
        "answers": {},
    }
    for name, (guess, _) in _answers(people, labels, y, [*KNOWN, "care_days", "log_days"]).items():
        ratio = guess / days
        shares = np.histogram(ratio, edges)[0] / len(ratio)
        distance = float(np.abs(np.sort(ratio) - np.sort(truth)).mean())
        found["answers"][name] = {"mean": float(ratio.mean()), "wasserstein": distance, "shares": shares.tolist()}
    return found


def _lines(frame: Any, answers: Answers) -> dict[str, Any]:
    """Figure 4.7: a random-intercept model fitted to the original and to the reconstructed values."""
    y = np.log(frame["care_days"].to_numpy(dtype=float))
    labels = _grouped(frame, LEVELS[MAIN])
    codes = labels.astype("category").cat.codes.to_numpy()
    age = frame["age"].to_numpy(dtype=float)
    original = _intercepts(y, age, codes)
    found: dict[str, Any] = {"original": original, "answers": {}}
    for name, (guess, _) in answers.items():
        fitted = _intercepts(guess, age, codes)
        gap = np.array(fitted["effects"]) - np.array(original["effects"])
        found["answers"][name] = {**fitted, "mse": float((gap**2).mean())}
    return found


def _intercepts(y: Floats, x: Floats, codes: npt.NDArray[np.integer[Any]]) -> dict[str, Any]:
    sizes = np.bincount(codes)
    y_mean, x_mean = (np.bincount(codes, v) / sizes for v in (y, x))
    inner = x - x_mean[codes]
    slope = float((inner * (y - y_mean[codes])).sum() / (inner**2).sum())
    level = y_mean - slope * x_mean
    return {"slope": slope, "effects": (level - level.mean()).tolist(), "level": float(level.mean())}


def _lasso(frame: Any) -> dict[str, Any]:
    """Figure 4.8: a Lasso trained on reconstructed values, tested on a fifth that was held out."""
    from sklearn.linear_model import LassoCV

    from understudy.reconstruct.design import Design

    y = np.log(frame["care_days"].to_numpy(dtype=float))
    test = np.random.default_rng(8).random(len(frame)) < 0.2
    labels = _grouped(frame, LEVELS[MAIN])
    train = frame[~test].reset_index(drop=True)
    design, x = Design.learn(train, KNOWN, standardise=True, intercept=False)
    unseen = design.matrix(frame[test].reset_index(drop=True))
    answers = {
        name: guess
        for name, (guess, _) in _answers(train, labels[~test].reset_index(drop=True), y[~test], KNOWN).items()
    }
    found = {}
    for name, target in {"original": y[~test], **answers}.items():
        if float(np.std(target)) == 0:
            continue
        model = LassoCV(cv=5, alphas=20, random_state=0).fit(x, target)
        gap = np.abs(model.predict(unseen) - y[test])
        quartiles = np.quantile(gap, [0.1, 0.25, 0.5, 0.75, 0.9])
        found[name] = {"mae": float(gap.mean()), "sd": float(gap.std()), "quantiles": quartiles.tolist()}
    return found
