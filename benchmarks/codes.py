"""How codes of packs come out: the estimator against simpler ones, at the noise that epsilon 1 leaves.

Tables: discharges with three ICD-9 columns (diabetes130, nhds2010), DRGs of a small table (sparcs, its own pairs taken
as if they were a public pack), and a simulated table whose codes are as rare as 1/k. Every estimator sees the same
noisy counts, at the noise that a release of these columns at epsilon 1, delta 1e-6 pays for (people with three records
each for diabetes130). Compared are: codes that show and do occur, rows under codes that do not occur, rows that name a
parent, and the distance of the shares of codes (a parent counts as wrong). Noise differs from run to run.
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from understudy.blocks.code_estimates import CodeEstimate, NoisyCounts, estimated, with_fallback
from understudy.codebook import Codebook, Coded, Pack, PersonUnit, Text
from understudy.codebook.columns import Role
from understudy.codebook.packs import shipped_pack
from understudy.synth import Marginals
from understudy.synth.detail_tables import code_noise
from understudy.synth.people import of_people

DATA = Path(os.environ.get("UNDERSTUDY_DATA", "../shared/data"))
RUNS, CAP = 3, 3
Values = np.ndarray[Any, np.dtype[np.float64]]


def tables() -> Iterator[tuple[str, Pack, list[pd.Series], bool]]:
    """Name, pack, columns of codes, and whether people have several records."""
    rng, pack = np.random.default_rng(1), shipped_pack("icd9")
    used = np.random.default_rng(7).permutation(list(pack.codes))[:500]
    shares = 1 / np.arange(1, 501)
    yield "simulated", pack, [pd.Series(rng.choice(used, 50_000, p=shares / shares.sum())) for _ in range(3)], False
    for name, file, columns, people in (
        ("diabetes130", "diabetes130/diabetic_data.csv.gz", ["diag_1", "diag_2", "diag_3"], True),
        ("nhds2010", "nhds2010/nhds2010.parquet", ["dx01", "dx02", "dx03"], False),
        ("sparcs", "sparcs/sparcs.csv", ["APR DRG Code"], False),
    ):
        if not (DATA / file).exists():
            print(f"left out: {name} (UNDERSTUDY_DATA names no folder with {file})")
            continue
        frame = pd.read_parquet(DATA / file) if file.endswith("parquet") else pd.read_csv(DATA / file, dtype=str)
        if name == "sparcs":
            pairs = frame[["APR DRG Code", "APR MDC Code"]].drop_duplicates("APR DRG Code").dropna()
            lines = [f"{code},MDC {parent}" for code, parent in pairs.itertuples(index=False)]
            pack = Pack(name="drg", text="\n".join(["code,mdc", *lines]))
        if people:
            frame = frame.groupby("patient_nbr").head(CAP)
        yield name, pack, [frame[column] for column in columns], people


def thresholded(times: float) -> Callable[[NoisyCounts, Sequence[NoisyCounts]], CodeEstimate]:
    """What is larger than so many deviations of noise is shown as it was measured."""

    def estimate(own: NoisyCounts, others: Sequence[NoisyCounts]) -> CodeEstimate:
        shown = own.values > times * own.deviation
        return CodeEstimate(expected=own.values, occurs=shown.astype(float))

    return estimate


WAYS: dict[str, tuple[Callable[..., CodeEstimate], float]] = {
    "threshold 2": (thresholded(2), 1e-9),
    "threshold 3": (thresholded(3), 1e-9),
    "own column": (lambda own, others: estimated(own), 0.01),
    "shared": (estimated, 0.01),
    "shared, no fallback": (estimated, 1.0),
}


def main() -> None:
    for name, pack, columns, people in tables():
        coded = [Coded(name=f"d{number}", pack=pack, missing="NA") for number in range(len(columns))]
        unit = PersonUnit(id="id", cap=CAP) if people else None
        book = Codebook(columns=(Text(name="id", role=Role.IDENTIFIER), *coded), unit=unit)
        deviation = code_noise(of_people(Marginals(epsilon=1.0, delta=1e-6, split={"details": 0.2}), book), book)
        assert deviation is not None
        places = {code: place for place, code in enumerate(pack.codes)}
        nodes = {node: len(places) + place for place, node in enumerate(pack.nodes)}
        chains = [
            list(dict.fromkeys([places[code], *(nodes[parent] for parent in reversed(chain))]))
            for code, chain in pack.codes.items()
        ]
        exact = [_counts(column, pack, places) for column in columns]
        print(f"{name}: {len(exact[0]):,} codes, noise {deviation:.1f}, {int(exact[0].sum()):,} records")
        for way, (estimate, doubt) in WAYS.items():
            figures = [
                _figures(own, estimate(noisy[place], [*noisy[:place], *noisy[place + 1 :]]), chains, len(nodes), doubt)
                for run in range(RUNS)
                for noisy in [_noisy(exact, deviation, run)]
                for place, own in enumerate(exact)
            ]
            shown, wrong, parents, distance = np.mean(figures, axis=0)
            print(
                f"  {way:20s} codes {shown:5.0f}  not occurring {wrong:6.2%}  parents {parents:6.1%}  "
                f"distance {distance:.3f}"
            )


def _counts(column: pd.Series, pack: Pack, places: dict[str, int]) -> Values:
    found = column.dropna().map(lambda text: places.get(pack.find(str(text)) or "", -1)).to_numpy()
    return np.bincount(found[found >= 0], minlength=len(places)).astype(np.float64)


def _noisy(exact: Sequence[Values], deviation: float, run: int) -> list[NoisyCounts]:
    rng = np.random.default_rng(run)
    return [NoisyCounts(values=own + rng.normal(0, deviation, len(own)), variance=deviation**2) for own in exact]


def _figures(
    exact: Values, estimate: CodeEstimate, chains: list[list[int]], nodes: int, doubt: float
) -> tuple[float, ...]:
    """Shares as a model with exact chapters would draw them: every coarsest parent as often as it is."""
    weights = np.maximum(with_fallback(estimate, chains, size=len(exact) + nodes, doubt=doubt), 0)
    top = np.zeros(len(weights), dtype=np.int64)
    for chain in chains:
        top[chain] = chain[-1]
    wanted = np.bincount(top[: len(exact)], exact, len(weights))
    held = np.bincount(top, weights, len(weights))
    rows = weights * np.where(held > 0, wanted / np.maximum(held, 1e-9), 0)[top]
    lost = float(wanted[(held <= 0) & (wanted > 0)].sum())
    total, own = float(exact.sum()), rows[: len(exact)]
    shown = float(((1 - np.exp(-own)) * (exact > 0)).sum())
    parents = float(rows[len(exact) :].sum()) + lost
    distance = (np.abs(own - exact).sum() + parents) / 2
    assert math.isclose(rows.sum() + lost, total, rel_tol=1e-6)
    return shown, float(own[exact == 0].sum()) / total, parents / total, float(distance) / total


if __name__ == "__main__":
    main()
