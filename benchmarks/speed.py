"""`marginals`: processor time of opening, fitting and drawing, on every table of records in the data folder.

Bars: 20 s of processor time for each table, of which at most 50,000 rows are read and as many drawn; 500 columns of 4
levels in two minutes and 4 GiB; eight rules, one of them over 23 columns, at most 1.5 times the time without. Beside
each table stands a yardstick of the same run: what counting its one- and two-way tables once takes. Codebooks are
drafted with up to 1,000 levels a column; the levels of `fire` are those of its domain.
"""

import itertools
import json
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import understudy as us
from benchmarks.marginals import wide
from benchmarks.sbhg import verdict
from understudy.codebook import Categorical, Codebook, Implies
from understudy.sources.draft import draft_codebook
from understudy.synth import Marginals

ROWS, MOST_LEVELS, ROUNDS = 50_000, 1_000, 3
SECONDS, RATIO, MINUTES, GIB = 20.0, 1.5, 2.0, 4.0
RECORDS = {
    "acs_households/household_sample.csv": ("serialno",),
    "acs_households/person_sample.csv": ("serialno",),
    "adult/adult_full.parquet": (),
    "adult_benchmark/train.csv.gz": (),
    "arx_adult/adult.csv.gz": (),
    "diabetes130/diabetic_data.csv.gz": ("encounter_id", "patient_nbr"),
    "fire/train.csv.gz": (),
    "lodes_ri_2019/ri_od_main_2019_with_latlon.parquet": (),
    "mimic2_iaccd/full_cohort_data.csv": (),
    "nhds2010/nhds2010.parquet": ("id",),
    "nist_acs/national2019.csv.gz": (),
    "nltcs/train.csv.gz": (),
    "pima/pima.csv": (),
    "sparcs/sparcs.csv": (),
}
"""Every table of records, and its columns that only tell records apart."""


def read(place: Path) -> pd.DataFrame:
    if place.suffix == ".parquet":
        return pd.read_parquet(place).astype(str)
    return pd.read_csv(place, dtype=str, keep_default_na=False, sep=";" if "arx" in str(place) else ",")


def sampled(frame: pd.DataFrame, rows: int = ROWS) -> pd.DataFrame:
    return frame if len(frame) <= rows else frame.sample(rows, random_state=1)


def book_of(place: Path, frame: pd.DataFrame) -> Codebook:
    """Drafted from the rows themselves, so that every value is known; only time is measured here."""
    if place.parent.name == "fire":
        levels = json.loads((place.parent / "domain.json").read_text())["levels"]
        return Codebook(columns=tuple(Categorical(name=name, levels=tuple(map(str, levels[name]))) for name in frame))
    return draft_codebook(pa.Table.from_pandas(frame, preserve_index=False), max_levels=MOST_LEVELS)


def tables() -> Iterator[tuple[str, pd.DataFrame, Codebook]]:
    folder = os.environ.get("UNDERSTUDY_DATA")
    if not folder:
        print("left out: real tables (UNDERSTUDY_DATA is not set)")
        return
    for file, ids in RECORDS.items():
        frame = sampled(read(Path(folder) / file).drop(columns=list(ids), errors="ignore"))
        frame = frame.loc[:, [bool(name.strip()) for name in frame] & ~frame.columns.str.lower().duplicated()]
        yield file.split("/")[0], frame, book_of(Path(folder) / file, frame)


def fit_and_draw(data: Any, book: Codebook, rows: int) -> float:
    """Processor seconds from opened data to decoded rows."""
    start = time.process_time()
    Marginals(epsilon=1.0, delta=1e-6).fit(us.open(data, book)).sample(rows)
    return time.process_time() - start


def counted(data: Any, book: Codebook) -> float:
    """Processor seconds of opening the data and counting every one- and two-way table once."""
    start = time.process_time()
    us.open(data, book).count([*[(name,) for name in book.names], *itertools.combinations(book.names, 2)])
    return time.process_time() - start


def every_table() -> None:
    print("| table | rows | columns | levels | counting s | fit and draw s | |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, frame, book in tables():
        data = pa.Table.from_pandas(frame, preserve_index=False)
        spent = fit_and_draw(data, book, len(frame))
        print(
            f"| {name} | {len(frame):,} | {len(book.names)} | {sum(book.sizes):,} | {counted(data, book):.2f} | "
            f"{spent:.1f} | {verdict(spent, SECONDS)} |",
            flush=True,
        )


def eight_rules(book: Codebook) -> tuple[Implies, ...]:
    """Of diabetes130: no drug at all means no medication and no change, and a changed dose means a change."""
    drugs = [c.name for c in book.columns if c.name in book.names and {"No", "Steady"} <= set(c.labels)]
    none = Implies(
        name="no drug",
        when=tuple((name, ("No",)) for name in drugs),
        then=(("diabetesMed", ("No",)), ("change", ("No",))),
    )
    changed = [name for name in drugs if {"Up", "Down"} <= set(book.column(name).labels)]
    return none, *(
        Implies(name=f"{name} changed", when=((name, ("Up", "Down")),), then=(("change", ("Ch",)),))
        for name in changed[:7]
    )


def rules() -> None:
    folder = os.environ.get("UNDERSTUDY_DATA")
    if not folder:
        return
    place = Path(folder) / "diabetes130/diabetic_data.csv.gz"
    frame = read(place).drop(columns=["encounter_id", "patient_nbr"])
    data, plain = pa.Table.from_pandas(frame, preserve_index=False), book_of(place, frame)
    ruled = replace(plain, constraints=eight_rules(plain))
    pairs = [(fit_and_draw(data, plain, len(frame)), fit_and_draw(data, ruled, len(frame))) for _ in range(ROUNDS)]
    without, within = (float(np.median(column)) for column in zip(*pairs, strict=True))
    widest = max(len(rule.columns) for rule in ruled.constraints)
    print(
        f"{len(frame):,} x {len(plain.names)}: {without:.1f} s, with {len(ruled.constraints)} rules, one over {widest} "
        f"columns, {within:.1f} s; ratio {verdict(float(np.median([b / a for a, b in pairs])), RATIO)}"
    )


def many_columns() -> None:
    source = wide(ROWS, columns=500, levels=4)
    start = time.process_time()
    Marginals(epsilon=1.0, delta=1e-6).fit(source).sample(ROWS)
    minutes = (time.process_time() - start) / 60
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"500 columns of 4 levels, {ROWS:,} rows: minutes {verdict(minutes, MINUTES)}; GiB {verdict(peak, GIB)}")


def main() -> None:
    discharges = us.datasets.discharges(rows=1_000, seed=1)
    fit_and_draw(discharges, us.datasets.discharges_codebook(), 1_000)  # compiled code, once
    every_table()
    rules()
    many_columns()


if __name__ == "__main__":
    main()
