"""What the combining rule of PeGS and PMI covers on files of these methods; filled values: `experiments combining`.

``python -m experiments.coverage.methods [--repeats 200]``: a sample of simulated discharges, five files by each method
at several prices, and three shares of the population by the `plug-in` rule, which knows nothing of noise.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

import understudy as us
from understudy.codebook import Codebook
from understudy.mechanisms.stream import Stream

RECORDS, FILES, EPSILONS = 500, 5, (0.1, 1.0, 10.0)
COLUMNS = ("sex", "sev", "cat")
SHARES = (("sex", "Female"), ("sev", "0"), ("cat", "Surgical"))


def coverage(method: str, epsilon: float, repeats: int) -> dict[str, float]:
    """By figure: how often the nominal 95 % interval holds the share of the population."""
    known = us.datasets.discharges_codebook().columns
    book = Codebook(columns=tuple(replace(column, parents=None) for column in known if column.name in COLUMNS))
    whole = us.datasets.discharges(rows=50_000, seed=1).select(list(COLUMNS))
    recipe = {"pegs": us.PeGS, "pmi": us.PMI}[method](epsilon_per_record=epsilon, delta=1e-6)
    true = {of: _share(whole, *of) for of in SHARES}
    hits = dict.fromkeys(SHARES, 0)
    for seed in range(repeats):
        rows = np.random.default_rng(seed).integers(0, whole.num_rows, RECORDS)
        source = us.open(whole.take(pa.array(rows)), book)
        files = [recipe.fit(source, stream=Stream.seeded(FILES * seed + file)) for file in range(FILES)]
        tables = [fitted.sample(RECORDS).table for fitted in files]
        for of in SHARES:
            shares = np.array([_share(table, *of) for table in tables])
            low, high = us.combine(shares, shares * (1 - shares) / RECORDS, kind="plug-in").interval()
            hits[of] += low <= true[of] <= high
    return {f"{column}={value}": hit / repeats for (column, value), hit in hits.items()}


def _share(table: pa.Table, column: str, value: str) -> float:
    return float(np.mean(np.array(table[column].cast(pa.string()).to_pylist()) == value))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=200)
    asked = parser.parse_args(words)
    for method in ("pegs", "pmi"):
        for epsilon in EPSILONS:
            found = coverage(method, epsilon, asked.repeats)
            told = ", ".join(f"{name} {share:.2f}" for name, share in found.items())
            print(f"{method}, epsilon per record {epsilon:g}, {asked.repeats} runs: {told}", flush=True)


if __name__ == "__main__":
    main()
