"""How often 95 % intervals hold the truth, for every combining rule, by simulation (PRIVACY section 9).

``python -m experiments combining`` takes several minutes on two cores.
"""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa

import understudy as us
from understudy.codebook import Categorical, Codebook, Continuous
from understudy.mechanisms.stream import Stream
from understudy.sources import EncodedSource
from understudy.synth.filling import Filling

N, FILES = 200, 5
REPEATS, REPEATS_LOGISTIC = 600, 200
GROUPS = np.array([0.5, 0.3, 0.2])
MEANS = np.array([0.0, 0.5, 1.5])
CHANCES = np.array([0.2, 0.5, 0.7])


def book_of(*, logistic: bool, missing: str | None = None) -> Codebook:
    g = Categorical(name="g", levels=("a", "b", "c"))
    if logistic:
        return Codebook(columns=(g, Categorical(name="y", levels=("0", "1"), missing=missing)))
    edges = tuple(Fraction(step, 10) for step in range(-60, 81))
    return Codebook(columns=(g, Continuous(name="y", edges=edges, precision=3, clip=True, missing=missing)))


def sample(draw: np.random.Generator, *, logistic: bool) -> tuple[np.ndarray, np.ndarray]:
    g = draw.choice(3, size=N, p=GROUPS)
    y = (draw.random(N) < CHANCES[g]).astype(float) if logistic else MEANS[g] + draw.normal(size=N)
    return g, y


def arrow(g: np.ndarray, y: np.ndarray, *, logistic: bool) -> pa.Table:
    values = y.astype(int).astype(str) if logistic else y
    return pa.table({"g": np.array(["a", "b", "c"])[g], "y": values})


def encoded(book: Codebook, g: np.ndarray, y: np.ndarray, *, logistic: bool) -> EncodedSource:
    """Straight to codes: opening an engine for every repeat would take most of the time."""
    edges = None if logistic else np.array(book.column("y").float_edges)
    codes = y if edges is None else np.clip(np.searchsorted(edges, y, side="right") - 1, 0, len(edges) - 2)
    return EncodedSource(codebook=book, columns=[g.astype(np.uint8), codes.astype(np.uint8)])


def estimates(table: pa.Table) -> dict[str, tuple[float, float]]:
    """Estimate and variance of the mean of y, and of its difference between the groups c and a."""
    y = np.array([float(value) for value in table["y"].to_pylist()])
    g = np.array(table["g"].to_pylist())
    found = {"mean": (float(y.mean()), float(y.var(ddof=1)) / len(y))}
    c, a = y[g == "c"], y[g == "a"]
    if min(len(a), len(c)) > 1:
        spread = c.var(ddof=1) / len(c) + a.var(ddof=1) / len(a)
        found["difference"] = (float(c.mean() - a.mean()), float(spread))
    return found


DESIGNS: dict[str, tuple[dict[str, object] | None, tuple[str, ...]]] = {
    "complete, parameters drawn": ({}, ("complete", "full", "partial")),
    "complete, plugged in": ({"proper": False}, ("plug-in", "complete", "full", "partial")),
    "full (y predicted)": ({"synthesis": "full", "columns": ("y",)}, ("full", "complete")),
    "partial (y replaced)": ({"synthesis": "partial", "columns": ("y",)}, ("partial",)),
    "missing (half of y filled)": (None, ("missing",)),
}


def files_of(options: dict[str, object] | None, number: int, *, logistic: bool) -> list[pa.Table]:
    draw = np.random.default_rng([number, logistic])
    g, y = sample(draw, logistic=logistic)
    stream = Stream.seeded(number)
    if options is None:
        gone = draw.random(N) < np.where(g == 2, 0.7, 0.4)
        table = arrow(g, y, logistic=logistic)
        holed = table.set_column(1, "y", pa.array(table["y"].to_pylist(), mask=gone))
        book = book_of(logistic=logistic, missing="NA")
        return [
            item.table for item in Filling(sweeps=1).fit(us.open(holed, book), stream=stream).sample_many(files=FILES)
        ]
    book = book_of(logistic=logistic)
    fitted = us.Imputation(**options).fit(encoded(book, g, y, logistic=logistic), stream=stream)
    return [item.table for item in fitted.sample_many(N, files=FILES)]


def coverage(*, logistic: bool, repeats: int) -> dict[tuple[str, str, str], tuple[int, int, int]]:
    """(design, rule, quantity) to (intervals that hold the truth, intervals, times T_s was not positive)."""
    levels = CHANCES if logistic else MEANS
    truth = {"mean": float(GROUPS @ levels), "difference": float(levels[2] - levels[0])}
    tally: dict[tuple[str, str, str], tuple[int, int, int]] = {}
    for design, (options, rules) in DESIGNS.items():
        for number in range(repeats):
            found = [estimates(table) for table in files_of(options, number, logistic=logistic)]
            for quantity, true in truth.items():
                if not all(quantity in item for item in found):
                    continue
                q, v = zip(*(item[quantity] for item in found), strict=True)
                for rule in rules:
                    combined = us.combine(q, v, kind=rule)
                    low, high = combined.interval()
                    held, all_, fixed = tally.get((design, rule, quantity), (0, 0, 0))
                    tally[design, rule, quantity] = (
                        held + (low <= true <= high),
                        all_ + 1,
                        fixed + combined.adjusted,
                    )
    return tally


def main() -> None:
    print(f"n = n_syn = {N}, m = {FILES}; 95 % intervals; +- is one standard error of the simulation")
    for logistic, repeats in ((False, REPEATS), (True, REPEATS_LOGISTIC)):
        print(f"-- y by {'logistic' if logistic else 'linear'} regression, {repeats} repeats")
        for (design, rule, quantity), (held, number, fixed) in coverage(logistic=logistic, repeats=repeats).items():
            share = held / number
            error = math.sqrt(share * (1 - share) / number)
            note = f", T_s not positive {fixed / number:.0%}" if rule == "full" else ""
            print(f"{design:28} {quantity:11} rule {rule:9} {share:.3f} +- {error:.3f}{note}")


if __name__ == "__main__":
    main()
