"""Answers on the real data: coverage of their intervals, and their error beside other libraries in the same run.

Bars: nominal 95 % intervals cover 93 to 97 % in 1,000 tables of five kinds of question; means and linear regressions
are no worse than the best peer at epsilon .1, 1 and 10. Peers run by interpreters of their own (``make peers``; another
folder of them is named by ``UNDERSTUDY_PEERS``); peers get the number of records as public, we do not.
"""

import json
import os
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from understudy.answers import parse_question, plan_answer
from understudy.answers.plan import Plan
from understudy.codebook import Categorical, Codebook, Continuous, Integer, Number
from understudy.mechanisms.stream import Stream
from understudy.sources import EncodedSource

RUNS, ROWS, EPSILON = 1000, 1000, 1.0
LEAST, MOST = 0.93, 0.97
COMPARED_RUNS, COMPARED_ROWS, EPSILONS = 200, 2000, (0.1, 1.0, 10.0)
BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M")),
        Integer(name="age", edges=tuple(map(Fraction, (0, 18, 40, 65, 101)))),
        Continuous(name="charge", edges=tuple(map(Fraction, (0, 10, 20, 40, 100))), precision=2),
        Categorical(name="died", levels=("no", "yes")),
    )
)
QUESTIONS = (
    "mean of charge by sex",
    "share of died=yes by sex",
    "difference of mean of charge by sex",
    "median of charge",
    "linear charge ~ age + sex",
    "logistic died == 'yes' ~ age + sex",
)
PEERS = {
    "mean of charge": ("diffprivlib", "opendp", "smartnoise-sql"),
    "linear charge ~ age + sex": ("diffprivlib",),
}
Table = dict[str, Any]


def simulated(seed: int, rows: int) -> Table:
    """People whose charge and death depend on age and sex."""
    draws = np.random.default_rng(seed)
    sex = (draws.random(rows) < 0.45).astype(np.int64)
    age = np.clip(np.round(draws.normal(50, 18, rows)), 0, 100)
    charge = np.round(np.clip(draws.gamma(4, 5, rows) + 0.2 * age + 6 * sex, 0, 100), 2)
    chance = 1 / (1 + np.exp(3 - 0.04 * age - 0.6 * sex))
    return {"sex": sex, "age": age, "charge": charge, "died": (draws.random(rows) < chance).astype(np.int64)}


def source_of(plan: Plan, table: Table) -> EncodedSource:
    """The table on the grid of a plan."""
    book = plan.grid.counted
    codes = [
        (column.bins_of(table[column.name]) if isinstance(column, Number) else table[column.name]).astype(np.uint16)
        for column in book.described
    ]
    return EncodedSource(codebook=book, columns=codes)


def truth() -> dict[str, list[float]]:
    """Of the population, from very many people; coefficients of the logistic model are those that drew it."""
    people = simulated(0, 2_000_000)
    sex, charge = people["sex"], people["charge"]
    means = [float(charge[sex == code].mean()) for code in (0, 1)]
    design = np.column_stack([np.ones(len(sex)), people["age"], sex])
    constant, age, men = np.linalg.lstsq(design, charge, rcond=None)[0]
    return {
        "mean of charge by sex": means,
        "share of died=yes by sex": [float(people["died"][sex == code].mean()) for code in (0, 1)],
        "difference of mean of charge by sex": [means[1] - means[0]],
        "median of charge": [float(np.median(charge))],
        "linear charge ~ age + sex": [constant, men, age],
        "logistic died == 'yes' ~ age + sex": [-3.0, 0.6, 0.04],
    }


def covered(plan: Plan, true: list[float], *, runs: int, rows: int, first: int = 1) -> list[float]:
    """For every figure the share of tables whose interval holds the truth; what is not told holds nothing."""
    hits = np.zeros(len(true))
    for run in range(first, first + runs):
        figures = plan.draw(source_of(plan, simulated(run, rows)), Stream.seeded(run))
        hits += [
            figure.low is not None and figure.high is not None and figure.low <= value <= figure.high
            for figure, value in zip(figures, true, strict=True)
        ]
    return list(hits / runs)


def coverage() -> bool:
    """The first bar."""
    met, true = True, truth()
    for question in QUESTIONS:
        plan = plan_answer(parse_question(question, BOOK), BOOK, epsilon=EPSILON)
        shares = covered(plan, true[question], runs=RUNS, rows=ROWS)
        good = LEAST <= float(np.mean(shares)) <= MOST
        met &= good
        told = ", ".join(f"{share:.3f}" for share in shares)
        print(
            f"{question}: {RUNS:,} tables of {ROWS:,} records, epsilon {EPSILON:g}: covers {np.mean(shares):.3f} "
            f"({told}): {'met' if good else 'MISSED'}",
            flush=True,
        )
    return met


def ours(question: str, epsilon: float) -> list[list[float]]:
    """Estimates in every run."""
    plan = plan_answer(parse_question(question, BOOK), BOOK, epsilon=epsilon)
    return [
        [
            float(figure.estimate if figure.estimate is not None else np.nan)
            for figure in plan.draw(source_of(plan, simulated(run, COMPARED_ROWS)), Stream.seeded(run))
        ]
        for run in range(1, COMPARED_RUNS + 1)
    ]


def exact(question: str) -> list[list[float]]:
    """Without noise."""
    found = []
    for run in range(1, COMPARED_RUNS + 1):
        table = simulated(run, COMPARED_ROWS)
        if question.startswith("mean"):
            found.append([float(table["charge"].mean())])
        else:
            design = np.column_stack([np.ones(COMPARED_ROWS), table["sex"], table["age"]])
            found.append(list(np.linalg.lstsq(design, table["charge"], rcond=None)[0]))
    return found


def peer(name: str, question: str, epsilon: float, folder: Path) -> list[list[float]] | str:
    """Estimates of a peer in every run, or why there are none."""
    python = folder / f"{name}-env" / "bin" / "python"
    if not python.exists():
        return "not installed"
    script = Path(__file__).with_name("answer_peers.py")
    with tempfile.TemporaryDirectory() as place:
        given, told = Path(place) / "given.npz", Path(place) / "told.json"
        tables = [simulated(run, COMPARED_ROWS) for run in range(1, COMPARED_RUNS + 1)]
        np.savez(given, **{column: np.stack([table[column] for table in tables]) for column in tables[0]})
        kind = "mean" if question.startswith("mean") else "linear"
        done = subprocess.run(
            [str(python), "-I", str(script), name, kind, repr(epsilon), str(given), str(told)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["failed"])[-1]
        found: list[list[float]] = json.loads(told.read_text())
        return found


def compared(folder: Path) -> bool:
    """The second bar: root mean square error of predictions (of the mean) against the exact figures of each table."""
    met = True
    for question, names in PEERS.items():
        aimed = np.array(exact(question))
        for epsilon in EPSILONS:
            own = _errors(question, np.array(ours(question, epsilon)), aimed)
            told, best = [f"understudy {_shown(own)}"], [np.inf, np.inf]
            for name in names:
                other = peer(name, question, epsilon, folder)
                if isinstance(other, str):
                    told.append(f"{name}: {other}")
                    continue
                errors = _errors(question, np.array(other), aimed)
                best = [min(pair) for pair in zip(best, errors, strict=True)]
                told.append(f"{name} {_shown(errors)}")
            good = all(mine <= least < np.inf for mine, least in zip(own, best, strict=True))
            met &= good
            print(f"{question}, epsilon {epsilon:g}: {', '.join(told)}: {'met' if good else 'MISSED'}", flush=True)
    return met


def _errors(question: str, found: Any, aimed: Any) -> tuple[float, float]:
    """Root mean square and median over all tables; of a model, of its predictions for the people of the first one."""
    off = np.abs(found - aimed)[:, 0]
    if not question.startswith("mean"):
        people = simulated(1, COMPARED_ROWS)
        design = np.column_stack([np.ones(COMPARED_ROWS), people["sex"], people["age"]])
        off = np.sqrt((((found - aimed) @ design.T) ** 2).mean(axis=1))
    return float(np.sqrt(np.mean(off**2))), float(np.median(off))


def _shown(errors: tuple[float, float]) -> str:
    return f"{errors[0]:.4g} (median {errors[1]:.4g})"


def main() -> None:
    """Both."""
    print(
        f"error in {COMPARED_RUNS} tables of {COMPARED_ROWS:,} records against their exact figures, of a model that of "
        "its predictions: root mean square (median)",
        flush=True,
    )
    compared(Path(os.environ.get("UNDERSTUDY_PEERS", ".venv-peers")))
    coverage()


if __name__ == "__main__":
    main()
