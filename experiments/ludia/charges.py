"""Chapter 4 as it is written: charges are masked, the stay is known, and hospitals charge differently.

Two tables. The example discharges with hospitals and charges simulated by the chapter's equation, log HC = log
beta_hospital + alpha log LoS + unit + severity + error, drawn again for every repeat; and a sample of New York
discharges (``sparcs``), of which every repeat uses a random four fifths. Nothing of the data is written but errors.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.ludia.hospital import Floats, _intercepts
from understudy.datasets import discharges
from understudy.errors import DataError, RefusalError
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

LEVELS: dict[str, tuple[str, ...]] = {
    "county": ("county",),
    "hospital": ("hospital",),
    "zip": ("zip",),
    "county, hospital and zip": ("county", "hospital", "zip"),
}
MAIN = "hospital"
"""The level of the figures. The rank that its held-out averages advise is that of the stacked levels too."""
_HELD, _SLOPES = "LUDIA, held-out rank", "LUDIA, slopes of the stay"


def methods(rank: int | str) -> dict[str, Reconstructor]:
    """Table 4.3, multi-level terms, ours, and CUDIA with the clusters and the fallback it chooses itself."""
    return {
        "MP": MoorePenrose(),
        "ER": EcologicalRegression(weights="ols", correct=False),
        "WLS-ER, corrected": EcologicalRegression(),
        "LUDIA, full rank": LUDIA(rank="full", iterations=100),
        _HELD: LUDIA(rank=rank, iterations=100),
        _SLOPES: LUDIA(iterations=100, effects="slope", slope_columns=["stay"], ridge=1.0),
        "LUDIA-SVD, held-out rank": LUDIASingularValues(rank=rank, iterations=60),
        "PC-ER, held-out rank": PrincipalRegression(),
        "shrunken (ours)": ShrunkenRegression(),
        "CUDIA": CUDIA(iterations=8, sweeps=2, seed=1),
    }


def simulated(rows: int, seed: int) -> Any:
    """The example discharges; 80 hospitals in 16 counties, some of them surgical, that charge differently."""
    rng = np.random.default_rng([4, seed])
    table = discharges(rows, seed=seed).to_pandas().dropna(subset=["los", "age.yrs", "sex"]).reset_index(drop=True)
    counties = sorted(table["patzip"].unique())
    county = table["patzip"].map({name: k for k, name in enumerate(counties)}).to_numpy()
    surgical = (table["cat"] == "Surgical").to_numpy()
    away = rng.random(len(table)) < 0.1  # a tenth goes to a hospital elsewhere
    home = np.where(away, rng.integers(0, len(counties), len(table)), county)
    hospital = home * 5 + rng.integers(0, 5, len(table))
    hospital = np.where(surgical & (rng.random(len(table)) < 0.5), home * 5, hospital)  # the first one is surgical
    days = table["los"].str.extract(r"(\d+)")[0].astype(float).clip(lower=1).to_numpy()
    severity = table["sev"].astype(float).to_numpy()
    stay = np.log(days)
    rates = 0.35 * rng.standard_normal(5 * len(counties))
    y = 8.5 + rates[hospital] + 0.8 * stay + 0.6 * surgical + 0.2 * severity + 0.35 * rng.standard_normal(len(table))
    return table[["sex", "cat"]].assign(
        age=table["age.yrs"].astype(float),
        sev=severity,
        stay=stay,
        days=days,
        county=[f"c{k}" for k in home],
        hospital=[f"h{k}" for k in hospital],
        zip=[f"z{k}" for k in county * 10 + rng.integers(0, 10, len(table))],
        y=y,
    )


def sparcs() -> Any:
    """Discharges with a county, a hospital and a patient's ZIP area, or a sentence that says what is absent."""
    import pandas as pd

    root = os.environ.get("UNDERSTUDY_DATA")
    path = Path(root or "") / "sparcs" / "sparcs.csv"
    if not root or not path.is_file():
        return "UNDERSTUDY_DATA names no folder with sparcs/sparcs.csv"
    frame = pd.read_csv(path, dtype=str)

    def numbers(name: str) -> Any:
        return pd.to_numeric(frame[name].str.replace("[,+ ]", "", regex=True))

    days = numbers("Length of Stay").astype(float)
    found = pd.DataFrame(
        {
            "sex": frame["Gender"],
            "age": frame["Age Group"],
            "admission": frame["Type of Admission"],
            "cat": frame["APR Medical Surgical Description"],
            "sev": numbers("APR Severity of Illness Code").astype(float),
            "stay": np.log(days),
            "days": days,
            "county": frame["Hospital County"],
            "hospital": frame["Facility Id"],
            "zip": frame["Zip Code - 3 digits"],
            "y": np.log(numbers("Total Charges")),
        }
    )
    return found.dropna().reset_index(drop=True)


def charges(*, quick: bool) -> dict[str, Any]:
    """Errors of table 4.3 and figures 4.6 to 4.8 by table, level and method, one number per repeat."""
    repeats, rows = (1, 600) if quick else (5, 1000)
    found: dict[str, Any] = {"simulated": _study(lambda seed: simulated(rows, seed), repeats)}
    real = sparcs()
    if isinstance(real, str):
        return found | {"sparcs": {"skipped": real}}
    return found | {
        "sparcs": _study(lambda seed: real.sample(frac=0.8, random_state=seed).reset_index(drop=True), repeats)
    }


def _study(draw: Callable[[int], Any], repeats: int) -> dict[str, Any]:
    found: dict[str, Any] = {"repeats": repeats, "levels": {}}
    for seed in range(repeats):
        frame = draw(seed)
        rank: int | str = "held-out"
        for level, columns in LEVELS.items():
            part = found["levels"].setdefault(level, {"rows": [], "groups": [], "methods": {}})
            part["rows"].append(len(frame))
            part["groups"].append(int(sum(frame[name].nunique() for name in columns)))
            answers, chosen = _answers(frame, columns, "held-out" if len(columns) == 1 else rank)
            rank = chosen if level == MAIN else rank
            for name, measured in _measured(frame, answers, seed).items():
                row = part["methods"].setdefault(name, {})
                for key, value in measured.items():
                    row.setdefault(key, []).append(value)
            if level == MAIN and seed == 0:
                found["figures"] = _figures(frame, {name: guess for name, (guess, _) in answers.items()})
    return found


def _answers(
    frame: Any, columns: tuple[str, ...], rank: int | str
) -> tuple[dict[str, tuple[Floats, float]], int | str]:
    """What each method makes of the averages, whether it fell back to group means, and LUDIA's rank."""
    people = frame.drop(columns=["y", "days"])
    known = [name for name in people.columns if name not in LEVELS]
    aggregates = [Aggregate(by=name, target="y", values=frame.groupby(name)["y"].mean().to_dict()) for name in columns]
    found = {}
    for name, method in methods(rank).items():
        fresh: Reconstructor = method.set_params(columns=known) if method.uses_columns else method
        if name == _SLOPES:
            fresh = fresh.set_params(rank=rank)  # the terms come after the slopes, and leave the rank as it is
        try:
            fitted = fresh.fit(people, aggregates)
        except (DataError, RefusalError):  # more coefficients than groups, or CUDIA where levels are stacked
            continue
        if name == _HELD:
            rank = int(fitted.rank_)  # type: ignore[attr-defined]
        result = fitted.reconstruct()
        found[name] = (result.values["y"], float(any(held.fell_back for held in result.held_out)))
    return found, rank


def _measured(frame: Any, answers: dict[str, tuple[Floats, float]], seed: int) -> dict[str, dict[str, float]]:
    y, days, stay = (frame[name].to_numpy() for name in ("y", "days", "stay"))
    known = frame.drop(columns=["y", "days", *LEVELS["county, hospital and zip"]])
    hospitals = frame["hospital"].astype("category").cat.codes.to_numpy()
    daily = np.sort(np.exp(y) / days)
    original = np.array(_intercepts(y, stay, hospitals)["effects"])
    test = np.random.default_rng(seed).random(len(frame)) < 0.2
    found = {}
    for name, (guess, fell_back) in answers.items():
        effects = np.array(_intercepts(guess, stay, hospitals)["effects"])
        with np.errstate(over="ignore"):  # full rank: logs that no charge has
            ratio = np.sort(np.exp(np.minimum(guess, 30.0)) / days)
        found[name] = {
            "mae": float(np.abs(guess - y).mean()),
            "mse": float(((guess - y) ** 2).mean()),
            "daily": float(np.abs(ratio - daily).mean() / daily.mean()),
            "effects": float(((effects - original) ** 2).mean()),
            "lasso": float(_lasso(known, guess, y, test).mean()),
            "fell_back": fell_back,
        }
    found["original"] = {"lasso": float(_lasso(known, y, y, test).mean())}
    return found


def _figures(frame: Any, answers: dict[str, Floats]) -> dict[str, Any]:
    """What figures 4.6 to 4.8 draw, for the first repeat. Points are shown of simulated people only."""
    y, days, stay = (frame[name].to_numpy() for name in ("y", "days", "stay"))
    known = frame.drop(columns=["y", "days", *LEVELS["county, hospital and zip"]])
    hospitals = frame["hospital"].astype("category").cat.codes.to_numpy()
    test = np.random.default_rng(0).random(len(frame)) < 0.2
    original = _intercepts(y, stay, hospitals)
    logs = {name: guess - np.log(days) for name, guess in {"original": y, **answers}.items()}
    low, high = np.quantile(logs["original"], [0.001, 0.999])
    edges = np.linspace(low - 0.5, high + 0.5, 41)
    shares = {
        name: np.histogram(np.clip(value, edges[0], edges[-1]), edges)[0] / len(y) for name, value in logs.items()
    }
    truth = np.sort(logs["original"])
    return {
        "points": {"original": y.round(2).tolist(), "answers": {k: v.round(2).tolist() for k, v in answers.items()}},
        "daily": {
            "edges": edges.tolist(),
            "original": shares["original"].tolist(),
            "answers": {
                name: {
                    "shares": shares[name].tolist(),
                    "wasserstein": float(np.abs(np.sort(logs[name]) - truth).mean()),
                }
                for name in answers
            },
        },
        "lines": {
            "original": original,
            "answers": {name: _gap(_intercepts(guess, stay, hospitals), original) for name, guess in answers.items()},
        },
        "lasso": {
            name: {"quantiles": np.quantile(errors, [0.1, 0.25, 0.5, 0.75, 0.9]).tolist(), "mae": float(errors.mean())}
            for name, errors in (
                (name, _lasso(known, guess, y, test)) for name, guess in {"original": y, **answers}.items()
            )
        },
    }


def _gap(fitted: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    return {**fitted, "mse": float(((np.array(fitted["effects"]) - np.array(original["effects"])) ** 2).mean())}


def _lasso(known: Any, target: Floats, y: Floats, test: Any) -> Floats:
    """Figure 4.8: errors of a model of four fifths of the reconstructed values on the true ones of the last."""
    from sklearn.linear_model import LassoCV

    from understudy.reconstruct.design import Design

    _, x = Design.learn(known, list(known.columns), standardise=True, intercept=False)
    model = LassoCV(cv=3, alphas=10, random_state=0, max_iter=5000).fit(x[~test], target[~test])
    return np.asarray(np.abs(model.predict(x[test]) - y[test]))
