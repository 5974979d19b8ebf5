"""What a PeGS file of 1,000 rows and 13 columns really costs, against the paper's figure per record.

The paper quotes epsilon per synthetic record (pegs.txt Eq 8 and section 4.3). This prints the whole-file price by basic
composition and by level-aware Renyi composition, under both neighbour relations, at the paper's Table 2 level counts.
"""

import understudy as us

ROWS, DELTA = 1_000, 1e-6
PER_RECORD = (0.01, 0.1, 1.0, 10.0)


def main() -> None:
    book = us.datasets.discharges_codebook()
    print(f"{len(book.names)} columns, {ROWS:,} rows, delta {DELTA:g}; whole-file epsilon")
    print(f"{'per record':>10} {'alpha':>10} {'basic':>8} {'add-remove':>11} {'replace-one':>12} {'reset, B=10':>12}")
    for epsilon in PER_RECORD:
        recipe = us.PeGS(epsilon_per_record=epsilon, delta=DELTA)
        replaced = us.PeGS(epsilon_per_record=epsilon, delta=DELTA, neighbours=us.Neighbours.REPLACE)
        reset = us.PeGSReset(alpha=float(recipe.alpha_used(book)), delta=DELTA, block_size=10)
        totals = [item.quote(book, ROWS).total.epsilon for item in (recipe, replaced, reset)]
        basic = recipe.quote(book, ROWS).pure.epsilon
        print(
            f"{epsilon:>10g} {float(recipe.alpha_used(book)):>10.4f} {basic:>8.0f} "
            f"{totals[0]:>11.3f} {totals[1]:>12.3f} {totals[2]:>12.3f}"
        )


if __name__ == "__main__":
    main()
