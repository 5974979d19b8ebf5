"""The collected numbers as line charts."""

import math
from collections.abc import Sequence
from typing import Any

from experiments.chart import Line, Panel, chart
from experiments.pegs.maps import AMOUNT, EPSILONS, UNIQUE

METHODS = ("pegs", "pegs-rs", "pmi")
X = "epsilon per synthetic record"
NOTE = (
    "1000 rows each; bars: one standard deviation over the repeats. "
    "Level lines: a bootstrap, and independent columns, of 1000 rows."
)


def _panel(found: dict[str, Any], measure: str, title: str, y: str, *, low: float = 0.0) -> Panel:
    lines = []
    for style, method in enumerate(METHODS):
        series = found["series"].get(method, {})
        points = [(e, *series[str(e)][measure]) for e in EPSILONS if measure in series.get(str(e), {})]
        if points:
            lines.append(
                Line(
                    label=method,
                    style=style,
                    points=[(e, mean) for e, mean, _ in points],
                    spread=[spread for *_, spread in points],
                )
            )
    level = found["references"].get(measure, {}).get("bootstrap")
    if level is None:  # no formula for it: 1000 rows of independent columns were drawn instead
        level = found["series"].get("pegs", {}).get(str(EPSILONS[0]), {}).get(f"{measure} (bootstrap)", (None,))[0]
    if level is not None:
        lines.append(Line(label="bootstrap", style=6, points=[(EPSILONS[0], level), (EPSILONS[-1], level)]))
    drawn = found["series"].get("bayesian-bootstrap", {}).get("None", {}).get(measure)
    if drawn is not None:
        lines.append(
            Line(label="independent columns", style=7, points=[(EPSILONS[0], drawn[0]), (EPSILONS[-1], drawn[0])])
        )
    lowest = min([low, *(y for line in lines for _, y in line.points)])
    return Panel(title=title, x=X, y=y, lines=lines, log_x=True, low=lowest)


def maps(found: dict[str, Any]) -> dict[str, str]:
    """Figures 6 to 10 and 12 of one table."""
    age, place = found["given"]
    mode = f"mode_attack: {found['category']}"
    return {
        "6-marginal": chart(
            "Figure 6: distance of marginal distributions",
            [
                _panel(found, "marginal_mse", "marginal MSE", "MSE"),
                _panel(found, "marginal_mae", "marginal MAE", "MAE"),
            ],
            note=NOTE,
        ),
        "7-conditional": chart(
            "Figure 7: distance of conditional distributions",
            [
                _panel(found, f"conditional_{m} | {given}", f"conditional {m.upper()} given {given}", m.upper())
                for given in (age, place)
                for m in ("mse", "mae")
            ],
            note=NOTE,
        ),
        "8-ranks": chart(
            "Figure 8: rank correlation of marginal distributions",
            [_panel(found, f"{r}_marginal", r, r) for r in ("kendall", "spearman")],
            note=NOTE,
        ),
        "9-conditional-ranks": chart(
            "Figure 9: rank correlation of conditional distributions",
            [
                _panel(found, f"{r}_conditional | {given}", f"{r} given {given}", r)
                for given in (age, place)
                for r in ("kendall", "spearman")
            ],
            note=NOTE,
        ),
        "10-regression": chart(
            "Figure 10: distance of regression coefficients",
            [_panel(found, f"coefficient_distance: {f}", f, "relative distance") for f in found["formulas"]],
            note=NOTE,
        ),
        "11-coefficients": chart(
            "Figure 11: coefficients, as multiples of those of the table itself",
            [_coefficients(found, found["formulas"][0], epsilon) for epsilon in (0.1, 10.0)],
            note="1: as in the table itself; 0: the effect is lost.",
        ),
        "12-intruder": chart(
            "Figure 12: simulated intruder",
            [
                _panel(found, mode, f"misclassification of {found['category']}", "share of wrong guesses"),
                _panel(found, AMOUNT, f"absolute error of {found['amount']}", "mean absolute error"),
                _panel(found, UNIQUE, f"alone with {', '.join(found['known'])}", "share of rows"),
            ],
            across=3,
            note=NOTE,
        ),
    }


def _coefficients(found: dict[str, Any], formula: str, epsilon: float) -> Panel:
    names = [name for name in found["coefficients"] if name.startswith(f"coefficient: {formula}: ")]
    lines = []
    for style, method in enumerate(METHODS):
        at = found["series"].get(method, {}).get(str(epsilon), {})
        points = [(k, at[n][0] / found["coefficients"][n]) for k, n in enumerate(names, start=1) if n in at]
        if points:
            lines.append(Line(label=method, style=style, points=points))
    terms = ", ".join(f"{k} {name.rsplit(': ', 1)[1]}" for k, name in enumerate(names, start=1))
    low = min((y for line in lines for _, y in line.points), default=0.0)
    low = min(math.floor(2 * low) / 2, 0.0)  # a round number: the axis starts there
    return Panel(title=f"epsilon {epsilon:g}", x=terms, y="multiple", lines=lines, low=low, from_zero=False)


def blocks(found: dict[str, Any]) -> str:
    """Figure 5."""
    return chart(
        f"Figure 5: first and {found['length']}th rows of 350 blocks, epsilon 1 per block",
        [_shares(name, column, found["length"]) for name, column in found["columns"].items()],
    )


def _shares(name: str, column: dict[str, Any], length: int) -> Panel:
    def line(label: str, style: int, values: Sequence[float]) -> Line:
        return Line(label=label, style=style, points=list(enumerate(values)))

    return Panel(
        title=name,
        x="level",
        y="share",
        lines=[
            line("original", 6, column["real"]),
            line("first row", 0, column["first"]),
            line("last row", 1, column["last"]),
        ],
    )
