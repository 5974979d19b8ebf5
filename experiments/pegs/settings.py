"""The tables of the experiment: our simulated discharges, and the National Hospital Discharge Survey 2010.

NHDS lacks charges and ZIP codes: days of care stand in for the charge and the region for the ZIP code. Its MDC follows
from the DRG by the published ranges. Ordinal levels stand at their rank in models, so the paper's I(charge > 25K) is a
comparison of ranks.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import understudy as us
from understudy.codebook import Categorical, Codebook, Ordinal
from understudy.sources import open_source
from understudy.sources.base import Source

_MDC = (  # last DRG of each major diagnostic category, MS-DRG version 27
    (17, "Pre"), (103, "01"), (125, "02"), (159, "03"), (208, "04"), (316, "05"), (395, "06"), (446, "07"), (566, "08"),
    (607, "09"), (645, "10"), (700, "11"), (730, "12"), (761, "13"), (782, "14"), (795, "15"), (816, "16"), (849, "17"),
    (872, "18"), (887, "19"), (897, "20"), (923, "21"), (935, "22"), (951, "23"), (965, "24"), (977, "25"),
    (999, "Other"),
)  # fmt: skip
_DAYS = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10-29", "30-49", "50-69", "70-89", "90+")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A table, and which of its columns play which part in the paper."""

    title: str
    source: Source
    given: tuple[str, str]
    """Age and place (figures 7 and 9)."""
    formulas: tuple[str, str]
    """Logistic and linear (figures 10 and 11)."""
    category: tuple[str, tuple[str, ...]]
    """What the intruder guesses by its mode, and knows (figure 12 left)."""
    amount: tuple[str, tuple[str, ...]]
    """What the intruder guesses by its mean, and knows (figure 12 right)."""
    values: npt.NDArray[np.float64]
    """What the levels of the amount are worth; NaN for the missing level."""
    shown: tuple[str, str]
    """Columns of figure 5."""
    keys: Mapping[str, Any] = field(default_factory=dict)
    """How the two Gibbs samplers choose the parents of a column; as the codebook declares, if nothing is said."""


def discharges(*, quick: bool) -> Setting:
    """Our simulation with the columns of Table 2."""
    book = us.datasets.discharges_codebook()
    charge = book.column("charge").labels
    thousands = [float(label.rstrip("+").removesuffix("K")) for label in charge]
    above = charge.index("25K")
    right = "Q('age.yrs') + sev + cat + los"
    return Setting(
        title="simulated discharges",
        source=open_source(us.datasets.discharges(rows=1_500 if quick else 50_000, seed=2011), book),
        given=("age.yrs", "patzip"),
        formulas=(f"charge > {above} ~ {right}", f"charge ~ {right}"),
        category=("MDC", ("age.yrs", "sex", "patzip")),
        amount=("charge", ("age.yrs", "los", "patzip")),
        values=np.array(thousands),
        shown=("age.yrs", "patzip"),
    )


def nhds(*, quick: bool) -> Setting | None:
    """Thirteen columns of NHDS 2010, where ``UNDERSTUDY_DATA`` names its folder."""
    place = Path(os.environ.get("UNDERSTUDY_DATA", "nowhere")) / "nhds2010" / "nhds2010.parquet"
    if not place.is_file():
        return None
    table = pq.read_table(place)
    if quick:
        table = table.take(np.arange(0, table.num_rows, 50))
    columns = {
        "age": _ages(table),
        **{name: _texts(table, name) for name in ("sex", "race", "marital_status", "region", "n_beds")},
        **{name: _texts(table, name) for name in ("hospital_ownership", "dc_status", "payor_primary", "adm_type")},
        "MDC": [_mdc(drg) for drg in table["DRG"].to_pylist()],
        "cat": ["Surgical" if code else "Medical" for code in table["pc01"].to_pylist()],
        "care_days": [_days(days) for days in table["care_days"].to_pylist()],
    }
    ordered = {"age": tuple(str(age) for age in range(0, 85, 5)), "care_days": _DAYS}
    book = Codebook(
        columns=tuple(
            Ordinal(name=name, levels=ordered[name])
            if name in ordered
            else Categorical(name=name, levels=tuple(sorted(set(values))))
            for name, values in columns.items()
        ),
        title="NHDS 2010",
    )
    right = "age + sex + cat"
    days = [0.5 if d == "0" else 95.0 if d == "90+" else float(np.mean([int(x) for x in d.split("-")])) for d in _DAYS]
    return Setting(
        title="NHDS 2010",
        source=open_source(pa.table(columns), book),
        given=("age", "region"),
        formulas=(f"care_days > 5 ~ {right}", f"care_days ~ {right}"),
        category=("MDC", ("age", "sex", "region")),
        amount=("care_days", ("age", "cat", "region")),
        values=np.array(days),
        shown=("age", "region"),
        # as the paper does: the columns that say most, read from the data (a release made so would promise nothing)
        keys={"parents": "mutual-information", "parent_count": 3},
    )


SETTINGS: dict[str, Callable[..., Setting | None]] = {"discharges": discharges, "nhds": nhds}


def _texts(table: pa.Table, name: str) -> list[str]:
    return ["unknown" if value is None else str(value) for value in table[name].to_pylist()]


def _ages(table: pa.Table) -> list[str]:
    years = [
        age if unit == "years" else 0
        for age, unit in zip(table["age"].to_pylist(), table["age_unit"].to_pylist(), strict=True)
    ]
    return [str(min((age or 0) // 5 * 5, 80)) for age in years]


def _mdc(drg: str | None) -> str:
    number = int(drg) if drg and drg.isdecimal() else 999
    return next(name for last, name in _MDC if number <= last)


def _days(days: int) -> str:
    if days < 10:
        return str(days)
    return next((label for top, label in zip((30, 50, 70, 90), _DAYS[10:], strict=False) if days < top), "90+")
