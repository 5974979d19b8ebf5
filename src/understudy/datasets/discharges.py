"""A simulated hospital-discharge table with the columns of the PeGS paper's Table 2.

It is a simulation with no real patient in it. The paper's file (California, 2011) cannot be shipped, so we
made up numbers that give a table of the same columns, level counts and rough shape; nothing in it is evidence
about hospitals, places or people.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.datasets.discharge_model import Conditional, network
from understudy.parameters import Whole

Codes = npt.NDArray[np.int8]

_CHUNK = 1 << 18  # rows drawn at once: bounds the temporaries, and keeps Arrow's 32-bit string offsets far from full
_HIDDEN = {"age.yrs": 0.02, "sex": 0.01, "los": 0.004}  # share of rows where the value went missing
_REVEALING = ("Pregnancy", "Newborn")


def discharges(rows: int, seed: int) -> pa.Table:
    """Simulate ``rows`` hospital discharges: 13 string columns, null where a value is missing.

    A simulation with no real patient in it: every number behind it was made up by us, for shape only. The
    same rows and seed give the same table (with one version of NumPy and of Understudy).

    >>> table = discharges(1000, seed=1)
    >>> table.num_rows, table.column_names[:4]
    (1000, ['typ', 'age.yrs', 'sex', 'ethncty'])
    """
    Whole(tried=1000).check("rows", rows)
    Whole(least=0, tried=1).check("seed", seed)
    # A simulation, never a privacy mechanism: nothing secret goes in, so a fast seeded generator is right.
    rng = np.random.default_rng(int(seed))
    sizes = [min(_CHUNK, int(rows) - start) for start in range(0, int(rows), _CHUNK)]
    return pa.concat_tables([_chunk(rng, size) for size in sizes])


def discharges_codebook_text() -> str:
    """The codebook of the simulated table, as TOML."""
    return resources.files("understudy.datasets").joinpath("discharges.toml").read_text(encoding="utf-8")


@cache
def _levels() -> Mapping[str, tuple[str, ...]]:
    """Level names in the codebook's order; the codebook is the only place that spells them out as lists."""
    columns = tomllib.loads(discharges_codebook_text())["columns"]
    return {column["name"]: tuple(column["levels"]) for column in columns}


@cache
def _network() -> tuple[Conditional, ...]:
    return network(_levels())


@cache
def _thresholds() -> tuple[npt.NDArray[np.int64], ...]:
    """Each conditional as one sorted list: row k of its table, cumulated, scaled to 32 bits, shifted by k."""
    return tuple(_flatten(conditional.table) for conditional in _network())


def _flatten(table: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    cumulated = np.cumsum(table.reshape(-1, table.shape[-1]), axis=1)
    # Dividing by the last makes it exactly 1, so that a draw can never fall off the end of its row.
    scaled = np.rint(cumulated / cumulated[:, -1:] * 2.0**32).astype(np.int64)
    return (scaled + (np.arange(len(scaled), dtype=np.int64)[:, None] << 32)).ravel()


def _draw(rng: np.random.Generator, rows: int) -> dict[str, Codes]:
    """Ancestral sampling: level codes of every column, the hidden group included, nothing missing yet."""
    codes: dict[str, Codes] = {}
    for conditional, thresholds in zip(_network(), _thresholds(), strict=True):
        key = np.zeros(rows, dtype=np.int64)
        for name, size in zip(conditional.given, conditional.table.shape, strict=False):
            key = key * size + codes[name]
        uniform = rng.integers(0, 1 << 32, size=rows, dtype=np.uint32)
        # Integers, so that "level of probability 0" stays impossible: equal thresholds enclose no draw.
        position = np.searchsorted(thresholds, (key << 32) + uniform, side="right")
        codes[conditional.target] = (position - key * conditional.table.shape[-1]).astype(np.int8)
    return codes


def _missing(rng: np.random.Generator, codes: dict[str, Codes]) -> dict[str, npt.NDArray[np.bool_]]:
    """Where each column that can lose values lost them.

    Mothers and newborns keep age and sex: the diagnosis gives away what a blank there would hide.
    """
    revealing = np.isin(codes["MDC"], [_levels()["MDC"].index(name) for name in _REVEALING])
    missing = {name: rng.random(len(revealing)) < share for name, share in _HIDDEN.items()}
    for name in ("age.yrs", "sex"):
        missing[name] &= ~revealing
    return missing


def _chunk(rng: np.random.Generator, rows: int) -> pa.Table:
    codes = _draw(rng, rows)
    missing = _missing(rng, codes)
    columns = {
        name: pa.DictionaryArray.from_arrays(pa.array(codes[name], mask=missing.get(name)), pa.array(levels))
        for name, levels in _levels().items()
    }
    return pa.table({name: column.dictionary_decode() for name, column in columns.items()})
