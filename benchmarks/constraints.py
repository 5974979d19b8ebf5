"""What rules and detailed codes cost in time, as ratios within one run (medians of interleaved rounds).

Bars: rules at most 1.5 times the same draw without them, for every method; a detail column of 10,000 codes at most 2
times its coarse version, from opening the data to the decoded rows.
"""

import statistics
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa

import understudy as us
from understudy.codebook import Categorical, Codebook, Detail, Implies, Impossible
from understudy.synth import METHODS, make_recipe

DATA_ROWS, ROUNDS, RULE_BAR, DETAIL_BAR = 50_000, 5, 1.5, 2.0
ROWS = {"marginals": 50_000, "pmi": 20_000, "imputation": 20_000, "lugs": 50_000, "plugs": 50_000}
RECIPES = {
    "marginals": {"epsilon": 1.0, "delta": 1e-6},
    "pegs": {"epsilon_per_record": 1.0},
    "pegs-rs": {"epsilon_per_record": 1.0, "block_size": 10},
    "marginal-bootstrap": {"alpha": 5.0},
    "laplace": {"epsilon": 1.0},
    "sba": {"epsilon": 5.0, "delta": 1e-6},
    "sbhg": {"epsilon": 10.0, "delta": 1e-6, "parents": "declared"},
    "sbhg-gauss": {"epsilon": 10.0, "delta": 1e-6, "parents": "declared"},
    "privbayes": {"epsilon": 5.0, "public_rows": DATA_ROWS},
    "pmi": {"epsilon_per_record": 1.0, "engines": "blocks"},
    "imputation": {"engines": "blocks"},
    "lugs": {"l": 1.2},
    "plugs": {"l": 1.2, "processes": 1},
    "contingency": {},
    "gibbs": {"parents": "declared"},
    "bayesian-bootstrap": {},
}
ADULT = tuple(str(age) for age in range(20, 90, 5))
RULES = (
    Implies(name="newborns are aged 0", when=(("MDC", ("Newborn",)),), then=(("age.yrs", ("0",)),)),
    Impossible(name="no pregnant men", cells=(("sex", ("Male",)), ("MDC", ("Pregnancy",)))),
    Impossible(name="no addicted infants", cells=(("age.yrs", ("0",)), ("typ", ("Chemical Dependency",)))),
    Implies(name="Medicare is for adults", when=(("pay", ("Medicare",)),), then=(("age.yrs", ADULT),)),
    Impossible(name="a severe case is no day case", cells=(("sev", ("2",)), ("los", ("0",)))),
)


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ratio(plain, other) -> tuple[float, float, float]:
    """Medians of both, and of the ratios of neighbouring runs."""
    plain(), other()
    times = [(seconds(plain), seconds(other)) for _ in range(ROUNDS)]
    first, second = (statistics.median(column) for column in zip(*times, strict=True))
    return first, second, statistics.median(b / a for a, b in times)


def rules() -> None:
    book = us.datasets.discharges_codebook()
    levels = book.column("age.yrs").labels
    adult = (("age.yrs", tuple(age for age in ADULT if age in levels)),)
    kept = tuple(replace(rule, then=adult) if rule.name.startswith("Medicare") else rule for rule in RULES)
    table = us.datasets.discharges(rows=DATA_ROWS, seed=1)
    for method in METHODS:
        used = book.names if method not in ("laplace", "sba") else ("sex", "age.yrs", "MDC", "typ")
        small = Codebook(columns=tuple(replace(book.column(n), parents=None) for n in used)) if len(used) < 5 else book
        rows = ROWS.get(method, 200_000)
        recipe = make_recipe(method, **RECIPES[method])
        both = small, replace(small, constraints=tuple(r for r in kept if set(r.columns) <= set(used)))
        fits = [recipe.fit(us.open(table.select(list(used)), b)) for b in both]
        first, second, times = ratio(*(lambda fit=fit, rows=rows: fit.sample(rows) for fit in fits))
        verdict = "ok" if times <= RULE_BAR else "above the bar"
        print(f"{method:20} {rows:>8,} rows  {first:6.2f} s  with {len(both[1].constraints)} rules {second:6.2f} s  "
              f"{times:5.2f} times ({verdict})")  # fmt: skip


def details() -> None:
    generator = np.random.default_rng(3)
    rows, chapters, codes = 500_000, 20, 500
    groups = tuple((f"ch{c}", tuple(f"{c}.{k:03}" for k in range(codes))) for c in range(chapters))
    base = us.datasets.discharges_codebook()
    chapter_column = Categorical(name="chapter", levels=tuple(group for group, _ in groups))
    people_columns = (replace(base.column(name), parents=None) for name in ("sex", "sev", "typ"))
    coarse = Codebook(columns=(*people_columns, chapter_column))
    full = Codebook(columns=(*coarse.columns, Detail(name="icd", detail_of="chapter", groups=groups, other="other")))
    chapter = generator.integers(0, chapters, rows)
    code = np.minimum(generator.geometric(0.02, rows) - 1, codes - 1)
    people = us.datasets.discharges(rows=rows, seed=1).select(["sex", "sev", "typ"])
    table = people.append_column("chapter", pa.array([f"ch{c}" for c in chapter]))
    table = table.append_column("icd", pa.array([f"{c}.{k:03}" for c, k in zip(chapter, code, strict=True)]))
    paying = {"detail_epsilon": 1.0, "detail_delta": 1e-7}
    for method in ("marginals", "pegs", "sbhg", "privbayes", "lugs"):
        options = {**RECIPES[method], **({"public_rows": rows} if method == "privbayes" else {})}

        def work(book, options, method=method):
            make_recipe(method, **options).fit(us.open(table, book)).sample(ROWS.get(method, 200_000))

        first, second, times = ratio(lambda o=options: work(coarse, o), lambda o=options: work(full, {**o, **paying}))
        verdict = "ok" if times <= DETAIL_BAR else "above the bar"
        print(f"{method:12} coarse {first:6.2f} s  with 10,000 details {second:6.2f} s  {times:5.2f} times ({verdict})")


def main() -> None:
    rules()
    details()


if __name__ == "__main__":
    main()
