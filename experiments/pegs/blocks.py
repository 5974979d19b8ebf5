"""Figure 5: first and last rows of long blocks. Table 3: one sweep, step by step."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.pegs.settings import Setting
from understudy.evaluate.utility.distances import total_variation
from understudy.evaluate.utility.references import expected_gap
from understudy.mechanisms.stream import Stream
from understudy.synth import PeGS, PeGSReset
from understudy.synth.seeds import PublicSeeds

SEEDS, LENGTH = 350, 500


def blocks(setting: Setting) -> dict[str, Any]:
    """Shares of two columns in the first and in the last row of 350 blocks of 500, at epsilon 1 per block."""
    length = LENGTH
    recipe = PeGSReset(epsilon_per_record=1.0 / length, block_size=length, **setting.keys)
    fitted = recipe.fit(setting.source, stream=Stream.seeded(5))
    table = fitted.sample(SEEDS * length).table
    book = setting.source.codebook
    found: dict[str, Any] = {"length": length, "columns": {}}
    for name in setting.shown:
        labels = book.column(name).labels
        at = {label: code for code, label in enumerate(labels)}
        missing = book.column(name).missing
        values = [at[missing if value is None else str(value)] for value in table.column(name).to_pylist()]
        codes = np.array(values).reshape(SEEDS, length)
        real = setting.source.count([[name]])[0].open().to_grid()
        uniform = np.full(len(labels), 1 / len(labels))
        first, last = (np.bincount(codes[:, place], minlength=len(labels)) for place in (0, length - 1))
        found["columns"][name] = {
            "labels": list(labels),
            "real": (real / real.sum()).tolist(),
            "first": (first / SEEDS).tolist(),
            "last": (last / SEEDS).tolist(),
            "distance": [total_variation(real, first), total_variation(real, last)],
            "chance": float(expected_gap(uniform, uniform, SEEDS).sum() / 2),
            "to_uniform": [total_variation(np.ones_like(real), counts) for counts in (first, last)],
        }
    return found


def sweep(setting: Setting, *, epsilon: float = 10.0) -> list[list[str]]:
    """A seed and what each step of one sweep makes of it (table 3).

    The seed comes from a public file of one row, so it is known; a sweep draws every column once, in order, so that the
    row after step i holds i drawn columns and the seed's values behind them.
    """
    book = setting.source.codebook
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "seed.parquet"
        stream = Stream.seeded(17)
        start = [stream.below(column.proper_levels) for column in book.modelled]
        first = {column.name: [column.labels[code]] for column, code in zip(book.modelled, start, strict=True)}
        pq.write_table(pa.table(first), place)
        recipe = PeGS(epsilon_per_record=epsilon, seeds=PublicSeeds(path=str(place)), **setting.keys)
        drawn = _codes_of(recipe.fit(setting.source, stream=Stream.seeded(3)).sample(1).table, book)
    now = list(start)
    rows = [["seed", *_labels(book, now)]]
    for step, name in enumerate(book.names):
        now[step] = drawn[step]
        rows.append([name, *_labels(book, now)])
    return rows


def _codes_of(table: Any, book: Any) -> list[int]:
    found = []
    for name in book.names:
        column = book.column(name)
        value = table.column(name)[0].as_py()
        found.append(column.labels.index(column.missing if value is None else str(value)))
    return found


def _labels(book: Any, codes: list[int]) -> list[str]:
    return [book.column(name).labels[code] for name, code in zip(book.names, codes, strict=True)]
