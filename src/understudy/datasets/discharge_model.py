"""The made-up numbers behind :func:`understudy.datasets.discharges`, as a Bayesian network.

No number here was estimated from anything. Each was written down by hand so that the table has the *shape*
of a discharge file (newborns stay two days, old people pay with Medicare, surgery is expensive); none says anything
about real patients, places or groups of people.

Each builder returns unnormalised weights with one axis per given column, then the axis of the column drawn. A
level's name that the codebook does not know is a ``KeyError`` when the network is built.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Levels = Mapping[str, Sequence[str]]

GROUP = "group"  # hidden: why the patient came at all; drawn, used, never shown
_GROUPS = ("newborn", "child", "mother", "adult", "elderly")


@dataclass(frozen=True, kw_only=True)
class Conditional:
    """Pr(target | given): ``table`` has one axis per given column, then the target's, which sums to 1."""

    target: str
    given: tuple[str, ...]
    table: Array


# Per ZIP area: discharges, Hispanic share, Black and Asian share of the rest, how well off (-1 to 1), how old
_AREAS = {
    "900xx": (0.20, 0.52, 0.30, 0.20, -0.7, 0.9),
    "902xx": (0.10, 0.50, 0.35, 0.12, -0.2, 0.9),
    "903xx": (0.04, 0.40, 0.75, 0.04, -0.5, 0.9),
    "904xx": (0.03, 0.12, 0.05, 0.12, 0.9, 1.5),
    "905xx": (0.05, 0.15, 0.06, 0.42, 0.8, 1.4),
    "906xx": (0.08, 0.70, 0.05, 0.25, 0.0, 1.0),
    "907xx": (0.07, 0.38, 0.18, 0.30, 0.1, 1.0),
    "908xx": (0.06, 0.38, 0.27, 0.20, -0.2, 1.0),
    "910xx": (0.05, 0.20, 0.08, 0.28, 0.8, 1.4),
    "911xx": (0.03, 0.30, 0.20, 0.20, 0.5, 1.2),
    "912xx": (0.03, 0.14, 0.02, 0.18, 0.2, 1.6),
    "913xx": (0.11, 0.38, 0.07, 0.16, 0.4, 1.0),
    "914xx": (0.04, 0.42, 0.08, 0.12, 0.1, 1.1),
    "916xx": (0.03, 0.48, 0.10, 0.10, -0.1, 1.0),
    "917xx": (0.13, 0.52, 0.06, 0.45, 0.2, 1.0),
    "935xx": (0.06, 0.36, 0.32, 0.06, -0.3, 0.8),
}

_AGES_OF_GROUP: dict[str, dict[str, float]] = {
    "newborn": {"0": 1},
    "child": {"0": 5, "5": 2.5, "10": 2.5},
    "mother": {"10": 0.1, "15": 8, "20": 21, "25": 27, "30": 26, "35": 14, "40": 4, "45": 0.4, "50": 0.1},
    "adult": {"15": 4, "20": 6, "25": 6, "30": 6, "35": 7, "40": 9, "45": 12, "50": 16, "55": 17, "60": 17},
    "elderly": {"65": 18, "70": 19, "75": 21, "80": 42},
}
_MALE_OF_GROUP = {"newborn": 0.51, "child": 0.56, "mother": 0.0, "adult": 0.54, "elderly": 0.44}

# Per diagnostic category: weight for a child, a youth, a middle-aged and an old patient, then the chance of
# surgery, log-odds towards severity, median days of an easy medical stay, and dearness per day.
_DIAGNOSES = {
    "Nervous": (6, 5, 8, 9, 0.22, 0.3, 3.2, 1.3),
    "Eye": (0.6, 0.3, 0.3, 0.2, 0.45, -1.0, 2.0, 0.8),
    "ENMT": (5, 2, 1.2, 0.9, 0.35, -0.9, 1.8, 0.9),
    "Respiratory": (26, 4, 9, 14, 0.10, 0.7, 3.6, 0.9),
    "Circulatory": (2, 4, 19, 25, 0.30, 0.4, 2.6, 1.6),
    "Digestive": (11, 11, 12, 10, 0.38, -0.1, 2.9, 1.0),
    "Hepatobiliary": (1, 5, 6, 3, 0.48, 0.3, 3.3, 1.1),
    "Musculoskeletal": (5, 7, 12, 11, 0.74, -0.6, 2.8, 1.7),
    "Skin": (5, 5, 4, 3, 0.20, -0.6, 3.1, 0.7),
    "Endocrine": (5, 4, 5, 3, 0.25, -0.1, 2.6, 0.9),
    "Kidney": (5, 4, 6, 8, 0.20, 0.3, 3.3, 0.9),
    "Male Reproductive": (0.6, 0.8, 1.6, 1.5, 0.70, -0.9, 1.9, 1.0),
    "Female Reproductive": (0.2, 3, 5, 1.4, 0.85, -0.9, 1.9, 1.1),
    "Pregnancy": (0, 0, 0, 0, 0.33, -1.4, 2.1, 0.6),
    "Newborn": (0, 0, 0, 0, 0.02, -1.5, 2.2, 0.25),
    "Blood": (4, 2, 1.5, 1.6, 0.08, 0.1, 3.2, 0.9),
    "Myeloproliferative": (4, 1.5, 1.6, 0.9, 0.15, 0.5, 4.8, 1.4),
    "Infectious": (6, 3, 5, 8, 0.22, 1.3, 5.0, 1.1),
    "Mental": (4, 26, 9, 2, 0.02, -1.2, 6.0, 0.35),
    "Substance Use": (0.1, 6, 4, 0.5, 0.02, -0.8, 4.2, 0.35),
    "Injury": (3, 4, 2, 1.2, 0.28, 0.0, 2.4, 1.1),
    "Burns": (0.5, 0.3, 0.2, 0.1, 0.45, 0.2, 5.5, 1.4),
    "Health Status": (0.6, 0.4, 1.2, 2.6, 0.06, 0.0, 8.5, 0.45),
    "Multiple Trauma": (0.7, 1.2, 0.4, 0.2, 0.65, 1.1, 5.5, 1.8),
    "HIV": (0.05, 0.7, 0.8, 0.1, 0.12, 1.3, 6.0, 0.9),
}
_STEADY = ("Pregnancy", "Newborn")  # stays that hardly vary

_PAY: dict[str, tuple[float, float, float, float, float]] = {  # child, youth, middle-aged, old, pull of wealth
    "Medicare": (0.3, 3, 17, 84, 0.1),
    "Medi-Cal": (58, 42, 26, 6, -0.9),
    "Private": (36, 38, 40, 7, 0.9),
    "Workers' Compensation": (0.02, 1.0, 1.5, 0.1, 0.0),
    "County Indigent": (0.3, 4, 5, 0.2, -1.2),
    "Other Government": (3, 2.5, 2, 1.0, -0.1),
    "Other Indigent": (0.2, 0.9, 0.9, 0.1, -0.9),
    "Self-Pay": (2, 7, 6, 1.0, -0.5),
    "Other Payer": (0.6, 0.8, 0.7, 0.4, 0.0),
}

_DISPOSITION: dict[str, tuple[float, float, float, float]] = {  # log-weight, then pull of age, severity, days
    "Routine": (4.5, 0.0, 0.0, 0.0),
    "Acute Care, Same Hospital": (-1.6, 0.6, 0.4, 0.2),
    "Other Care, Same Hospital": (-1.4, 0.9, 0.3, 0.5),
    "Skilled Nursing, Same Hospital": (-2.2, 1.7, 0.4, 0.9),
    "Acute Care Elsewhere": (0.2, 0.4, 0.7, 0.0),
    "Other Care Elsewhere": (-0.6, 0.8, 0.5, 0.5),
    "Skilled Nursing Elsewhere": (-0.6, 2.4, 0.7, 0.8),
    "Residential Care": (-1.3, 1.2, 0.1, 0.4),
    "Prison or Jail": (-1.6, -0.1, 0.0, 0.1),
    "Against Medical Advice": (0.5, 0.0, -0.1, -0.3),
    "Died": (-1.5, 1.4, 1.6, 0.1),
    "Home Health": (0.6, 1.3, 0.5, 0.5),
    "Other": (-1.0, 0.3, 0.1, 0.1),
}


def network(levels: Levels) -> tuple[Conditional, ...]:
    """Every conditional distribution, parents before children, for columns with these levels."""
    stay = ("age.yrs", "MDC", "sev", "cat")
    weights = [
        ("patzip", (), _area_column(levels, 0)),
        ("ethncty", ("patzip",), _ethnicity(levels)),
        ("race", ("ethncty", "patzip"), _race(levels)),
        (GROUP, ("ethncty", "patzip"), _group(levels)),
        ("age.yrs", (GROUP,), np.stack([_named(levels["age.yrs"], _AGES_OF_GROUP[g]) for g in _GROUPS])),
        ("sex", (GROUP,), np.stack([_named(levels["sex"], _sexes(_MALE_OF_GROUP[g])) for g in _GROUPS])),
        ("MDC", (GROUP, "age.yrs", "sex"), _diagnosis(levels)),
        ("cat", ("MDC",), _category(levels)),
        ("sev", ("age.yrs", "MDC"), _severity(levels)),
        ("los", stay, _stay(levels)),
        ("charge", ("los", "MDC", "sev", "cat"), _charge(levels)),
        ("typ", ("los", "MDC", "age.yrs"), _care(levels)),
        ("disp", ("age.yrs", "sev", "los", "typ"), _disposition(levels)),
        ("pay", ("age.yrs", "race", "patzip"), _pay(levels)),
    ]
    return tuple(
        Conditional(target=target, given=given, table=table / table.sum(axis=-1, keepdims=True))
        for target, given, table in weights
    )


def _named(levels: Sequence[str], values: Mapping[str, float], otherwise: float = 0.0) -> Array:
    """``values`` in the order of ``levels``."""
    unknown = set(values) - set(levels)
    if unknown:
        raise KeyError(f"{sorted(unknown)} are not among the levels {list(levels)}")
    return np.array([values.get(level, otherwise) for level in levels], dtype=np.float64)


def _area_column(levels: Levels, position: int) -> Array:
    return np.array([_AREAS[area][position] for area in levels["patzip"]], dtype=np.float64)


def _diagnosis_column(levels: Levels, position: int) -> Array:
    return np.array([_DIAGNOSES[name][position] for name in levels["MDC"]], dtype=np.float64)


def _sexes(male: float) -> dict[str, float]:
    return {"Male": male, "Female": 1 - male}


def _age_band(levels: Levels) -> npt.NDArray[np.int64]:
    """0 child, 1 youth, 2 middle-aged, 3 old: the columns of the tables above."""
    years = np.array([int(level) for level in levels["age.yrs"]])
    return np.asarray(np.digitize(years, [15, 35, 65]), dtype=np.int64)


def _days(levels: Levels) -> tuple[Array, Array]:
    """A typical day count and the upper edge (half a day above the last) of each stay."""
    typical, upper = [], []
    for level in levels["los"]:
        first, _, last = level.rstrip("+").partition("-")
        # A long band is mostly its short end.
        typical.append(float(first) + (int(last) - int(first)) / 4 if last else float(first))
        upper.append(np.inf if level.endswith("+") else float(last or first) + 0.5)
    return np.array(typical), np.array(upper)


def _charge_edges(levels: Levels) -> Array:
    """Upper edge of each band in thousands: where the next one begins."""
    lower = [float(level.rstrip("+").rstrip("K")) for level in levels["charge"]]
    return np.array([*lower[1:], np.inf])


def _bands(median: Array, shape: Array, upper: Array) -> Array:
    """Log-logistic mass between edges: positive, skewed, with a tail heavy enough to fill the last band."""
    with np.errstate(divide="ignore"):
        below = 1 / (1 + (median[..., None] / upper) ** shape[..., None])
    return np.diff(below, axis=-1, prepend=0.0)


def _ethnicity(levels: Levels) -> Array:
    hispanic = _area_column(levels, 1)
    silent = {"Declined": 0.01, "Unknown": 0.025}
    rows = [_named(levels["ethncty"], {"Hispanic": share, "Non-Hispanic": 1 - share, **silent}) for share in hispanic]
    return np.stack(rows)


def _race(levels: Levels) -> Array:
    hispanic = {"White": 0.62, "Other": 0.32, "Black": 0.012, "Native American": 0.006, "Asian": 0.008}
    rare = {"Native American": 0.006, "Pacific Islander": 0.01, "Other": 0.03, "Unknown": 0.01}
    rows = []
    for black, asian in zip(_area_column(levels, 2), _area_column(levels, 3), strict=True):
        others = _named(levels["race"], {"White": 1 - black - asian, "Black": black, "Asian": asian, **rare})
        silent = 0.35 * others + _named(levels["race"], {"Unknown": 0.5, "Other": 0.15})
        latin = _named(levels["race"], {**hispanic, "Pacific Islander": 0.004, "Unknown": 0.02})
        by_ethnicity = {"Hispanic": latin, "Non-Hispanic": others, "Declined": silent, "Unknown": silent}
        rows.append(np.stack([by_ethnicity[level] for level in levels["ethncty"]]))
    return np.stack(rows, axis=1)


def _group(levels: Levels) -> Array:
    base = _named(_GROUPS, {"newborn": 0.12, "child": 0.05, "mother": 0.13, "adult": 0.39, "elderly": 0.31})
    by_ethnicity = np.ones((len(levels["ethncty"]), 1, len(_GROUPS)))
    by_ethnicity[list(levels["ethncty"]).index("Hispanic")] = _named(
        _GROUPS, {"newborn": 1.5, "child": 1.5, "mother": 1.5, "elderly": 0.6}, otherwise=1.0
    )
    by_area = np.ones((len(levels["patzip"]), len(_GROUPS)))
    by_area[:, _GROUPS.index("elderly")] = _area_column(levels, 5)
    return base * by_ethnicity * by_area


def _diagnosis(levels: Levels) -> Array:
    names = levels["MDC"]
    by_band = np.stack([_diagnosis_column(levels, band) for band in range(4)])
    tilt = {
        "Male": {"Female Reproductive": 0.0, "Injury": 1.3, "Substance Use": 1.7, "HIV": 1.7},
        "Female": {"Male Reproductive": 0.0, "Injury": 0.7, "Substance Use": 0.5, "HIV": 0.5},
    }
    by_sex = np.stack([_named(names, tilt[sex], otherwise=1.0) for sex in levels["sex"]])
    illness = by_band[_age_band(levels)][:, None, :] * by_sex[None, :, :]
    illness /= illness.sum(axis=-1, keepdims=True)
    birth = 0.96 * _named(names, {"Newborn": 1.0}) + 0.04 * illness
    delivery = np.broadcast_to(_named(names, {"Pregnancy": 1.0}), illness.shape)
    return np.stack([{"newborn": birth, "mother": delivery}.get(group, illness) for group in _GROUPS])


def _category(levels: Levels) -> Array:
    surgery = _diagnosis_column(levels, 4)
    return np.stack([_named(levels["cat"], {"Medical": 1 - share, "Surgical": share}) for share in surgery])


def _severity(levels: Levels) -> Array:
    by_age = np.array([-0.5, -0.6, 0.0, 0.7])[_age_band(levels)]
    pull = by_age[:, None] + _diagnosis_column(levels, 5)
    steps = np.array([float(level) for level in levels["sev"]])
    return np.asarray(np.exp(steps * pull[..., None] - 0.3 * steps - 0.2 * steps**2))


def _stay(levels: Levels) -> Array:
    by_age = np.array([0.85, 0.9, 1.0, 1.15])[_age_band(levels)]
    by_severity = _named(levels["sev"], {"0": 1.0, "1": 1.5, "2": 2.7})
    by_category = _named(levels["cat"], {"Medical": 1.0, "Surgical": 1.35})
    median = (
        by_age[:, None, None, None] * _diagnosis_column(levels, 6)[:, None, None] * by_severity[:, None] * by_category
    )
    shape = _named(levels["MDC"], dict.fromkeys(_STEADY, 4.5), otherwise=2.4)[:, None, None]
    return _bands(median, np.broadcast_to(shape, median.shape), _days(levels)[1])


def _charge(levels: Levels) -> Array:
    days = _days(levels)[0][:, None, None, None]
    dearness = _diagnosis_column(levels, 7)[:, None, None]
    by_severity = _named(levels["sev"], {"0": 1.0, "1": 1.15, "2": 1.4})[:, None]
    fixed = _named(levels["cat"], {"Medical": 3.0, "Surgical": 13.0})
    daily = _named(levels["cat"], {"Medical": 5.0, "Surgical": 7.5})
    median = dearness * by_severity * (fixed + daily * days)
    return _bands(median, np.full(median.shape, 4.0), _charge_edges(levels))


def _care(levels: Levels) -> Array:
    """Weights against 1 for acute care; nursing and rehabilitation come in with long stays of the old."""
    names, kinds = list(levels["MDC"]), list(levels["typ"])
    days = _days(levels)[0][:, None, None]
    long_stay = np.clip(np.log(np.maximum(days, 1.0) / 4), 0.0, 3.0)
    old = (_age_band(levels) == 3) * 1.0
    grown = (_age_band(levels) >= 1) * 1.0
    weights = np.zeros((len(days), len(names), len(old), len(kinds)))
    weights[..., kinds.index("Acute Care")] = 1.0
    weights[..., kinds.index("Other Care")] = 0.003
    weights[..., kinds.index("Skilled Nursing")] = 0.003 + 0.16 * long_stay * (0.2 + old)
    weights[..., kinds.index("Physical Rehabilitation")] = 0.001 + 0.04 * long_stay * grown
    for name, kind, weight in (
        ("Mental", "Psychiatric Care", 8.0),
        ("Substance Use", "Chemical Dependency", 1.2),
        ("Health Status", "Physical Rehabilitation", 4.0),
        ("Musculoskeletal", "Physical Rehabilitation", 0.25),
    ):
        cell = weights[:, names.index(name), :, kinds.index(kind)]
        cell += weight * (0.1 + grown) * (0.3 + np.minimum(days[:, 0] / 6, 1.0))
    return weights


def _disposition(levels: Levels) -> Array:
    base, age, severity, days = np.array([_DISPOSITION[level] for level in levels["disp"]]).T
    oldness = np.array([0.0, 0.2, 0.6, 1.5])[_age_band(levels)][:, None, None, None, None]
    code = np.array([float(level) for level in levels["sev"]])[:, None, None, None]
    length = np.log1p(_days(levels)[0])[:, None, None]
    kind = np.zeros((len(levels["typ"]), len(levels["disp"])))
    kind[list(levels["typ"]).index("Skilled Nursing")] = _named(
        levels["disp"], {"Skilled Nursing Elsewhere": 1.0, "Acute Care Elsewhere": 1.5, "Died": 0.8}
    )
    kind[list(levels["typ"]).index("Psychiatric Care")] = _named(
        levels["disp"], {"Residential Care": 2.0, "Prison or Jail": 0.8}
    )
    kind[list(levels["typ"]).index("Physical Rehabilitation")] = _named(levels["disp"], {"Home Health": 1.5})
    return np.asarray(np.exp(base + age * oldness + severity * code + days * (length - 1.2) + kind))


def _pay(levels: Levels) -> Array:
    rows = np.array([_PAY[level] for level in levels["pay"]])
    by_age = rows[:, :4].T[_age_band(levels)]
    wealth = _area_column(levels, 4)
    offset = _named(levels["race"], {"White": 0.1, "Asian": 0.2, "Black": -0.3, "Other": -0.3}, otherwise=-0.1)
    return by_age[:, None, None, :] * np.exp(rows[:, 4] * (offset[:, None] + wealth)[..., None])
