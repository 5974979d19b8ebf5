"""Simulated patients, their hospital stays and the diagnoses of each stay, with histories that are known.

Nobody in it is real, and every number was written down by hand. What makes a history is stated here, so that a test can
hold a synthetic table against it: how severity carries on (:data:`CARRIES_ON`), how soon the next stay comes
(:data:`GAPS`), whether there is one (:data:`COMES_AGAIN`), and how a stay ends (:data:`DIES`).
"""

import datetime as dt
from collections.abc import Mapping
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from understudy.codebook import Codebook
from understudy.codebook.linked import LinkedCodebook
from understudy.parameters import Whole

Whole64 = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]

SEVERITIES = ("mild", "moderate", "severe", "extreme")
CARRIES_ON = np.array(
    [[0.72, 0.20, 0.06, 0.02], [0.20, 0.58, 0.17, 0.05], [0.06, 0.20, 0.58, 0.16], [0.02, 0.10, 0.28, 0.60]]
)
"""Severity of the next stay (columns) given that of this one (rows)."""
GAP_DAYS = ((1, 30), (31, 90), (91, 365))
GAPS = np.array([[0.10, 0.25, 0.65], [0.18, 0.32, 0.50], [0.32, 0.36, 0.32], [0.48, 0.34, 0.18]])
"""Chance that the next stay begins within 30 days, 90 days or a year of this one, given the severity of this one."""
COMES_AGAIN = np.array([[0.28, 0.38], [0.38, 0.50], [0.50, 0.62], [0.58, 0.70]])
"""Chance of another stay given severity (rows) and whether the illness is chronic; nobody comes again after death."""
DIES = np.array([0.002, 0.010, 0.040, 0.120])
"""Chance that a stay ends with death, given its severity."""
MOST_STAYS, MOST_DIAGNOSES, MOST_DAYS = 6, 4, 20

_FIRST_SEVERITY = np.array(
    [[0.58, 0.28, 0.11, 0.03], [0.42, 0.34, 0.18, 0.06], [0.30, 0.34, 0.25, 0.11], [0.20, 0.32, 0.31, 0.17]]
)  # young, young and chronic, old, old and chronic
_MEAN_DAYS = np.array([1.8, 3.2, 5.5, 9.0])
_REGIONS = ("north", "east", "south", "west")
_WARDS = ("medicine", "surgery", "psychiatry", "obstetrics")
_USUAL_WARD = np.array([0.58, 0.32, 0.10])  # obstetrics is for deliveries
_WARD_STAYS = 0.7  # share of stays on the ward of the stay before
_DIAGNOSES: Mapping[str, tuple[tuple[str, ...], tuple[float, ...]]] = {
    "medicine": (("I50", "J44", "J18", "E11", "N17", "I21", "A41", "K92"), (20, 16, 18, 14, 10, 10, 7, 5)),
    "surgery": (("S72", "K80", "M17", "K35", "C18", "I70"), (22, 22, 20, 16, 10, 10)),
    "psychiatry": (("F32", "F20", "F10", "F41"), (36, 24, 26, 14)),
    "obstetrics": (("O80", "O34", "O14"), (70, 20, 10)),
}
_ALSO = ("I10", "E78", "N18", "I48", "D64", "E87", "Z95", "M81", "F05", "J96", "K21", "E66", "G47", "R26")
_FIRST_DAY, _DAYS_TO_BEGIN = dt.date(2014, 1, 1), 365  # the last possible day is 2019-12-31
_DELIVERS = 0.22  # share of the stays of women aged 16 to 45 that are deliveries


class LinkedTables(NamedTuple):
    """Three tables of one hospital, linked by their keys."""

    patients: pa.Table
    """``patient_id``, ``sex``, ``birth_year``, ``region``, ``chronic``: one row for each person."""
    stays: pa.Table
    """``stay_id``, ``patient_id``, ``admitted``, ``days``, ``ward``, ``severity``, ``outcome``, by date."""
    diagnoses: pa.Table
    """``stay_id``, ``position``, ``code``: up to four codes of a stay."""


def histories(patients: int, seed: int, *, comes_again: Shares = COMES_AGAIN, first: int = 0) -> LinkedTables:
    """Simulate people with histories. The same number and seed give the same tables.

    Larger chances in ``comes_again`` make a busier hospital. ``first`` is the number of the first person, so that
    others can be simulated who have ids of their own.

    >>> tables = histories(1000, seed=1)
    >>> tables.patients.num_rows, tables.stays.column_names[:3]
    (1000, ['stay_id', 'patient_id', 'admitted'])
    """
    Whole(tried=1000).check("patients", patients)
    Whole(least=0, tried=1).check("seed", seed)
    Whole(least=0, tried=0).check("first", first)
    rng = np.random.default_rng(int(seed))  # a simulation: nothing secret goes in
    people = _people(rng, int(patients))
    stays = _stays(rng, people, comes_again)
    order = np.lexsort((stays["person"], stays["admitted"]))
    stays = {name: values[order] for name, values in stays.items()}
    stay_ids = _names("S", np.arange(len(order)), 8)
    person_ids = _names("P", int(first) + np.arange(int(patients)), 7)
    return LinkedTables(
        patients=pa.table(
            {
                "patient_id": person_ids,
                "sex": _words(("F", "M"), people["male"]),
                "birth_year": pa.array(people["born"]),
                "region": _words(_REGIONS, people["region"]),
                "chronic": _words(("no", "yes"), people["chronic"]),
            }
        ),
        stays=pa.table(
            {
                "stay_id": stay_ids,
                "patient_id": person_ids.take(pa.array(stays["person"])),
                "admitted": _dates(stays["admitted"]),
                "days": pa.array(stays["days"]),
                "ward": _words(_WARDS, stays["ward"]),
                "severity": _words(SEVERITIES, stays["severity"]),
                "outcome": _words(("home", "care", "died"), stays["outcome"]),
            }
        ),
        diagnoses=_diagnoses(rng, stays, stay_ids),
    )


def encounters(patients: int, seed: int, *, first: int = 0) -> pa.Table:
    """The same people in one table of stays, which repeats in every row what is known of a person.

    >>> encounters(1000, seed=1).column_names[:6]
    ['stay_id', 'patient_id', 'sex', 'birth_year', 'region', 'chronic']
    """
    tables = histories(patients, seed, first=first)
    stays, people = tables.stays, tables.patients
    place = pc.index_in(stays["patient_id"], people["patient_id"])
    who = people.take(place)
    main = tables.diagnoses.filter(pc.equal(tables.diagnoses["position"], 1))
    columns: dict[str, Any] = {
        "stay_id": stays["stay_id"],
        "patient_id": stays["patient_id"],
        **{name: who[name] for name in who.column_names[1:]},
        **{name: stays[name] for name in stays.column_names[2:]},
        "diagnosis": main["code"].take(pc.index_in(stays["stay_id"], main["stay_id"])),
    }
    return pa.table(columns)


def histories_codebook_text() -> str:
    """The codebook of the three tables, as TOML."""
    return _text("histories.toml")


def histories_codebook() -> LinkedCodebook:
    """The codebook of :func:`histories`: three tables, their keys, caps and orders, and two rules across them."""
    return LinkedCodebook.from_toml(histories_codebook_text())


def encounters_codebook_text() -> str:
    """The codebook of the one table, as TOML."""
    return _text("encounters.toml")


def encounters_codebook() -> Codebook:
    """The codebook of :func:`encounters`, in which a person is the unit."""
    return Codebook.from_toml(encounters_codebook_text())


def _text(name: str) -> str:
    return resources.files("understudy.datasets").joinpath(name).read_text(encoding="utf-8")


def _drawn(rng: np.random.Generator, shares: Shares) -> Whole64:
    """One level for each row of shares."""
    edges = np.cumsum(shares, axis=-1)
    uniform = rng.random(len(shares))[:, None] * edges[:, -1:]
    return np.asarray((uniform >= edges[:, :-1]).sum(axis=1), dtype=np.int64)


def _drawn_alike(rng: np.random.Generator, shares: Shares, rows: int) -> Whole64:
    """So many levels, all from the same shares."""
    edges = np.cumsum(shares)
    return np.asarray(np.searchsorted(edges[:-1], rng.random(rows) * edges[-1], side="right"), dtype=np.int64)


def _people(rng: np.random.Generator, patients: int) -> dict[str, Whole64]:
    born = 1926 + _drawn_alike(rng, np.linspace(1.6, 0.7, 85), patients)
    old = born < 1955
    return {
        "male": (rng.random(patients) < 0.47).astype(np.int64),
        "born": born,
        "region": _drawn_alike(rng, np.array([0.34, 0.28, 0.22, 0.16]), patients),
        "chronic": (rng.random(patients) < np.where(old, 0.46, 0.18)).astype(np.int64),
    }


def _stays(rng: np.random.Generator, people: Mapping[str, Whole64], comes_again: Shares) -> dict[str, Whole64]:
    """All stays, the first ones of everybody, then the second ones of those who come again, and so on."""
    here = np.arange(len(people["born"]))
    start = _FIRST_DAY.toordinal() + rng.integers(0, _DAYS_TO_BEGIN, len(here))
    severity = _drawn(rng, _FIRST_SEVERITY[2 * (people["born"] < 1955) + people["chronic"]])
    usual = _drawn_alike(rng, _USUAL_WARD, len(here))
    gathered: list[dict[str, Whole64]] = []
    for _ in range(MOST_STAYS):
        who = {name: values[here] for name, values in people.items()}
        age = _years(start) - who["born"]
        delivers = (who["male"] == 0) & (age >= 16) & (age <= 45) & (rng.random(len(here)) < _DELIVERS)
        days = np.minimum(rng.geometric(1 / (1 + _MEAN_DAYS[severity])) - 1, MOST_DAYS)
        leaving = rng.random(len(here))
        care = leaving < DIES[severity] + 0.04 + 0.05 * severity
        outcome = np.where(leaving < DIES[severity], 2, np.where(care, 1, 0))
        stay = {
            "person": here,
            "admitted": start,
            "days": days,
            "ward": np.where(delivers, 3, usual),
            "severity": severity,
            "outcome": outcome,
            "chronic": who["chronic"],
        }
        gathered.append({name: np.asarray(values, dtype=np.int64) for name, values in stay.items()})
        again = (outcome != 2) & (rng.random(len(here)) < comes_again[severity, who["chronic"]])
        here, severity, usual, before = here[again], severity[again], usual[again], start[again]
        bounds = np.array(GAP_DAYS)[_drawn(rng, GAPS[severity])]
        start = before + rng.integers(np.maximum(bounds[:, 0], days[again] + 1), bounds[:, 1] + 1)
        severity = _drawn(rng, CARRIES_ON[severity])
        moved = _drawn_alike(rng, _USUAL_WARD, len(here))
        usual = np.where(rng.random(len(here)) < _WARD_STAYS, usual, moved)
    return {name: np.concatenate([stay[name] for stay in gathered]) for name in gathered[0]}


def _diagnoses(rng: np.random.Generator, stays: Mapping[str, Whole64], stay_ids: pa.Array) -> pa.Table:
    """The first code fits the ward, the second of the chronically ill is often I10; no code comes twice in a stay."""
    number = 1 + rng.binomial(MOST_DIAGNOSES - 1, 0.25 + 0.18 * stays["severity"])
    codes = [*(code for names, _ in _DIAGNOSES.values() for code in names), *_ALSO]
    rows = len(number)
    drawn = np.full((rows, MOST_DIAGNOSES), -1)
    offset = 0
    for ward, (names, weights) in enumerate(_DIAGNOSES.values()):
        there = np.flatnonzero(stays["ward"] == ward)
        drawn[there, 0] = offset + _drawn_alike(rng, np.array(weights), len(there))
        offset += len(names)
    first = rng.integers(0, len(_ALSO), rows)
    first = np.where((stays["chronic"] == 1) & (rng.random(rows) < 0.6), 0, first)
    step = rng.integers(1, 5, rows)  # three steps of up to four never come round
    for position in range(1, MOST_DIAGNOSES):
        drawn[:, position] = offset + (first + (position - 1) * step) % len(_ALSO)
    kept = np.arange(MOST_DIAGNOSES) < number[:, None]
    stay, place = np.nonzero(kept)
    return pa.table(
        {
            "stay_id": stay_ids.take(pa.array(stay)),
            "position": pa.array(place + 1),
            "code": _words(codes, drawn[kept]),
        }
    )


def _years(days: Whole64) -> Whole64:
    return np.asarray(_since_1970(days).astype("datetime64[Y]").astype(np.int64) + 1970)


def _since_1970(days: Whole64) -> Any:
    return (days - dt.date(1970, 1, 1).toordinal()).astype("datetime64[D]")


def _dates(days: Whole64) -> pa.Array:
    return pa.array(_since_1970(days), pa.date32())


def _words(levels: Any, codes: Whole64) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(levels)).dictionary_decode()


def _names(letter: str, numbers: Whole64, width: int) -> pa.Array:
    padded = pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), width, "0")
    return pc.binary_join_element_wise(letter, padded, "")
