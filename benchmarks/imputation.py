"""Regressions on 50,000 x 13 discharges: fit of PMI and one more file of imputation. Bar: the fit under 20 minutes."""

import time
from itertools import pairwise

import understudy as us

ROWS = 50_000
BAR_SECONDS = 20 * 60


def main() -> None:
    book = us.datasets.discharges_codebook()
    source = us.open(us.datasets.discharges(rows=ROWS, seed=1), book)
    source.count([["sex"]])  # reading and encoding is another benchmark
    steps: list[tuple[float, int, int]] = []
    start = time.perf_counter()
    fitted = us.PMI(epsilon_per_record=1.0, delta=1e-6).fit(
        source, report=lambda step, done, of: steps.append((time.perf_counter() - start, done, of))
    )
    fit = time.perf_counter() - start
    longest = max(after[0] - before[0] for before, after in pairwise(steps))
    start = time.perf_counter()
    fitted.sample(ROWS)
    draw = time.perf_counter() - start
    print(
        f"pmi, {ROWS:,} x {len(book.names)}, cross-validated: fit {fit:.0f} s ({fit / BAR_SECONDS:.1%} of 20 minutes), "
        f"{len(steps)} reports, at most {longest:.0f} s apart; {ROWS:,} rows drawn in {draw:.1f} s"
    )
    for engine in ("cart", "blocks"):
        start = time.perf_counter()
        imputed = us.Imputation(engines=engine).fit(source)
        middle = time.perf_counter()
        imputed.sample(ROWS)
        print(f"imputation by {engine}: fit {middle - start:.1f} s, a file {time.perf_counter() - middle:.1f} s")


if __name__ == "__main__":
    main()
