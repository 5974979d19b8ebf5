"""Tables 2.1 to 2.3: a summary, and ordinary least squares with one indicator per level."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from experiments.chapter2.study import COLUMNS, number

__all__ = ["Fit", "fit", "regression_table", "summary_table"]


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Coefficients, their errors, and fitted values."""

    names: tuple[str, ...]
    estimates: np.ndarray
    errors: np.ndarray
    p_values: np.ndarray
    fitted: np.ndarray
    observed: np.ndarray
    residual: float
    """Standard deviation of what the model leaves over."""
    explained: float
    """R squared."""


def fit(table: pa.Table, *, target: str, other: str) -> Fit:
    """``target ~ sex + pay + patzip + other``; the suppressed value ``*`` is the baseline, as in the dissertation."""
    from scipy import stats

    y = np.array([number(value) for value in table.column(target).to_pylist()])
    names, columns = ["(intercept)"], [np.ones(len(y))]
    for name in ("sex", "pay", "patzip"):
        values = ["missing" if value is None else str(value) for value in table.column(name).to_pylist()]
        levels = sorted(set(values), key=lambda level: (level != "*", level))
        for level in levels[1:]:
            names.append(f"{name} {level}")
            columns.append(np.array([value == level for value in values], dtype=float))
    names.append(other)
    columns.append(np.array([number(value) for value in table.column(other).to_pylist()]))
    names, columns = _independent(names, columns)
    x = np.stack(columns, axis=1)
    estimates = np.linalg.lstsq(x, y, rcond=None)[0]
    fitted = x @ estimates
    free = len(y) - len(names)
    variance = float(((y - fitted) ** 2).sum() / free)
    errors = np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * stats.t.sf(np.abs(estimates / errors), free)
    return Fit(
        names=tuple(names),
        estimates=estimates,
        errors=errors,
        p_values=p_values,
        fitted=fitted,
        observed=y,
        residual=variance**0.5,
        explained=1 - float(((y - fitted) ** 2).sum() / ((y - y.mean()) ** 2).sum()),
    )


def _independent(names: list[str], columns: list[np.ndarray]) -> tuple[list[str], list[np.ndarray]]:
    """Leave out what the columns before it determine: suppressed rows are stars in all three columns at once."""
    kept: list[tuple[str, np.ndarray]] = []
    basis: list[np.ndarray] = []
    for name, column in zip(names, columns, strict=True):
        rest = column - sum((direction * (direction @ column) for direction in basis), np.zeros(len(column)))
        size = float(np.linalg.norm(rest))
        if size > 1e-8 * float(np.linalg.norm(column)):
            basis.append(rest / size)
            kept.append((name, column))
    return [name for name, _ in kept], [column for _, column in kept]


def regression_table(title: str, found: Fit) -> str:
    """As the dissertation prints it, in Markdown."""
    lines = [f"**{title}** (residual deviation {found.residual:.4g}, R² {found.explained:.3f})", ""]
    lines += ["| | estimate | standard error | t | Pr(>abs t) |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, estimate, error, p in zip(found.names, found.estimates, found.errors, found.p_values, strict=True):
        lines.append(f"| {name} | {estimate:.4g} | {error:.4g} | {estimate / error:.2f} | {p:.4f} |")
    return "\n".join(lines)


def summary_table(table: pa.Table) -> str:
    """Levels by how common they are, numbers by their quartiles."""
    lines = [
        f"**Table 2.1**: {table.num_rows:,} newborns after preparation",
        "",
        "| column | summary |",
        "| --- | --- |",
    ]
    for name in COLUMNS:
        values = table.column(name).to_pylist()
        if name in ("los", "charge"):
            numbers = np.array([number(value) for value in values])
            low, first, middle, third, high = np.quantile(numbers, [0, 0.25, 0.5, 0.75, 1], method="lower")
            said = f"min {low:g}, quartiles {first:g}, {middle:g}, {third:g}, max {high:g}, mean {numbers.mean():.4g}"
        else:
            counts = Counter("missing" if value is None else value for value in values).most_common()
            shown = [f"{level}: {count}" for level, count in counts[:6]]
            rest = sum(count for _, count in counts[6:])
            said = ", ".join(shown + ([f"(other): {rest}"] if rest else []))
        lines.append(f"| {name} | {said} |")
    return "\n".join(lines)
