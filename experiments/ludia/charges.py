"""Chapter 4 as it is written: charges are masked, the stay is known, and hospitals charge differently.

Two tables. The example discharges with hospitals and charges simulated by the chapter's equation, log HC = log
beta_hospital + alpha log LoS + unit + severity + error, drawn again for every repeat; and a sample of New York
discharges (``sparcs``), of which every repeat leaves out another fifth. Points and hospitals are kept of simulated
people only; of New York errors, and means of tenths of the people.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.ludia.hospital import Floats, _intercepts, _limit
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
MAIN, STACKED = "hospital", "county, hospital and zip"
"""The levels of the figures. The rank that held-out averages of hospitals advise is that of the stacked levels too."""
_HELD, _SLOPES, _OURS = "LUDIA, held-out rank", "LUDIA, slopes of the stay", "shrunken (ours)"
_PARTS = 5
"""Repeats, and parts of the real table of which each repeat leaves out one."""


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
        _OURS: ShrunkenRegression(),
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
    repeats, rows = (1, 600) if quick else (_PARTS, 1000)
    found: dict[str, Any] = {"simulated": _study(lambda seed: simulated(rows, seed), repeats, invented=True)}
    real = sparcs()
    if isinstance(real, str):
        return found | {"sparcs": {"skipped": real}}
    part = np.random.default_rng(4).permutation(len(real)) % _PARTS
    return found | {"sparcs": _study(lambda left: real[part != left].reset_index(drop=True), repeats, invented=False)}


def spread(study: dict[str, Any], values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error: of independent draws, or the jackknife's where every repeat leaves out one part."""
    variance = float(np.var(values, ddof=1)) if len(values) > 1 else math.nan
    return float(np.mean(values)), math.sqrt(
        variance * (1 / len(values) if study["invented"] else (_PARTS - 1) ** 2 / _PARTS)
    )


def _study(draw: Callable[[int], Any], repeats: int, *, invented: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"repeats": repeats, "invented": invented, "levels": {}, "lasso": {}}
    for seed in range(repeats):
        frame = draw(seed)
        by_level: dict[str, Answers] = {}
        for level, answers in _by_level(frame, LEVELS):
            by_level[level] = answers
            part = found["levels"].setdefault(level, {"rows": [], "groups": [], "fixed": [], "methods": {}})
            part["rows"].append(len(frame))
            part["groups"].append(int(sum(frame[name].nunique() for name in LEVELS[level])))
            part["fixed"].append(answers["MP"].fixed)
            _gather(part["methods"], _measured(frame, level, answers))
        errors = _lasso(frame, np.random.default_rng(seed).random(len(frame)) < 0.2)
        _gather(found["lasso"], {name: {"mae": float(gap.mean())} for name, gap in errors.items()})
        if seed == 0:
            found["figures"] = _figures(frame, _pictured(by_level), invented=invented) | {"lasso": _boxes(errors)}
    return found


def _gather(lists: dict[str, Any], row: dict[str, dict[str, float]]) -> None:
    for name, measured in row.items():
        for key, value in measured.items():
            lists.setdefault(name, {}).setdefault(key, []).append(value)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a method makes of the averages."""

    values: Floats
    fell_back: bool
    """To group means, because it predicts held-out averages worse than they do."""
    fixed: int
    """People whose value the averages give away, whatever the method."""


Answers = dict[str, Answer]


def _by_level(frame: Any, levels: Iterable[str]) -> Iterator[tuple[str, Answers]]:
    """Every method at every level; the rank of LUDIA by hospital serves the stacked levels."""
    rank: int | str = "held-out"
    for level in levels:
        answers, chosen = _answers(frame, LEVELS[level], rank if level == STACKED else "held-out")
        rank = chosen if level == MAIN else rank
        yield level, answers


def _answers(frame: Any, columns: tuple[str, ...], rank: int | str) -> tuple[Answers, int | str]:
    people = frame.drop(columns=["y", "days"])
    aggregates = [Aggregate(by=name, target="y", values=frame.groupby(name)["y"].mean().to_dict()) for name in columns]
    answers: Answers = {}
    for name, method in methods(rank).items():
        fresh: Reconstructor = method.set_params(columns=_known(frame)) if method.uses_columns else method
        if name == _SLOPES:
            fresh = fresh.set_params(rank=rank)  # the terms come after the slopes, and leave the rank as it is
        try:
            fitted = fresh.fit(people, aggregates)
        except (DataError, RefusalError):  # more coefficients than groups, or CUDIA where levels are stacked
            continue
        if name == _HELD:
            rank = int(fitted.rank_)  # type: ignore[attr-defined]
        result = fitted.reconstruct()
        answers[name] = Answer(
            values=result.values["y"],
            fell_back=any(held.fell_back for held in result.held_out),
            fixed=int(result.disclosed["y"].sum()),
        )
    return answers, rank


def _known(frame: Any) -> list[str]:
    return [name for name in frame.columns if name not in ("y", "days", *LEVELS[STACKED])]


def _measured(frame: Any, level: str, answers: Answers) -> dict[str, dict[str, float]]:
    y, stay = frame["y"].to_numpy(), frame["stay"].to_numpy()
    hospitals = frame["hospital"].astype("category").cat.codes.to_numpy()
    original = _intercepts(y, stay, hospitals)
    found = {
        name: {
            "mae": float(np.abs(answer.values - y).mean()),
            "mse": float(((answer.values - y) ** 2).mean()),
            "daily": _distance(answer.values - stay, y - stay),
            "effects": _gap(_intercepts(answer.values, stay, hospitals), original)["mse"],
            "fell_back": float(answer.fell_back),
        }
        for name, answer in answers.items()
    }
    return found if level == STACKED else found | {"limit of one slope": _limit(frame, frame[level], y, _known(frame))}


def _distance(one: Floats, other: Floats) -> float:
    """Wasserstein-1: how far apart the sorted values are."""
    return float(np.abs(np.sort(one) - np.sort(other)).mean())


def _gap(fitted: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    return {**fitted, "mse": float(((np.array(fitted["effects"]) - np.array(original["effects"])) ** 2).mean())}


def _pictured(by_level: dict[str, Answers]) -> dict[str, Floats]:
    """All methods by hospital, and some with the averages of all levels."""
    found = {name: answer.values for name, answer in by_level[MAIN].items()}
    return found | {f"{name}, stacked": by_level[STACKED][name].values for name in (_HELD, _SLOPES, _OURS)}


def _figures(frame: Any, answers: dict[str, Floats], *, invented: bool) -> dict[str, Any]:
    """What figures 4.6 and 4.7 draw, for the first repeat."""
    y, stay = frame["y"].to_numpy(), frame["stay"].to_numpy()
    if not invented:  # real people: means of tenths, of at least 50 each
        tenth = np.argsort(np.argsort(y, kind="stable")) * 10 // len(y)
        means = {
            name: [float(values[tenth == k].mean()) for k in range(10)]
            for name, values in {"original": y, **answers}.items()
        }
        return {"scatter": {"original": means.pop("original"), "answers": means}}
    hospitals = frame["hospital"].astype("category").cat.codes.to_numpy()
    original = _intercepts(y, stay, hospitals)
    low, high = np.quantile(y - stay, [0.001, 0.999])
    edges = np.linspace(low - 0.5, high + 0.5, 25)

    def shares(values: Floats) -> list[float]:
        counts = np.histogram(np.clip(values - stay, edges[0], edges[-1]), edges)[0]
        return list(map(float, counts / len(values)))

    return {
        "points": {"original": y.round(2).tolist(), "answers": {k: v.round(2).tolist() for k, v in answers.items()}},
        "daily": {
            "edges": edges.tolist(),
            "original": shares(y),
            "answers": {
                name: {"shares": shares(values), "wasserstein": _distance(values - stay, y - stay)}
                for name, values in answers.items()
            },
        },
        "lines": {
            "stay": np.quantile(stay, [0.02, 0.98]).tolist(),
            "original": original,
            "answers": {name: _gap(_intercepts(values, stay, hospitals), original) for name, values in answers.items()},
        },
    }


def _lasso(frame: Any, test: Any) -> dict[str, Floats]:
    """Figure 4.8: errors, on a fifth that no average saw, of models of the values rebuilt for the others."""
    from sklearn.linear_model import LassoCV

    from understudy.reconstruct.design import Design

    train, rest = frame[~test].reset_index(drop=True), frame[test].reset_index(drop=True)
    design, x = Design.learn(train, _known(frame), standardise=True, intercept=False)
    unseen = design.matrix(rest)
    targets = {"original": train["y"].to_numpy(), **_pictured(dict(_by_level(train, (MAIN, STACKED))))}
    found = {}
    for name, target in targets.items():
        model = LassoCV(cv=3, alphas=10, random_state=0, max_iter=5000).fit(x, target)
        found[name] = np.asarray(np.abs(model.predict(unseen) - rest["y"].to_numpy()))
    return found


def _boxes(errors: dict[str, Floats]) -> dict[str, Any]:
    return {
        name: {"quantiles": np.quantile(gap, [0.1, 0.25, 0.5, 0.75, 0.9]).tolist(), "mae": float(gap.mean())}
        for name, gap in errors.items()
    }
