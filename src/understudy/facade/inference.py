"""What may be concluded from a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.infer.inference import Inference
    from understudy.release import Release

Words = str | Sequence[str]


@documented
def infer(
    release: Release | str | Path,
    *,
    share: Words = (),
    mean: Words = (),
    total: Words = (),
    quantile: Words = (),
    table: Words = (),
    correlation: Words = (),
    linear: Words = (),
    logistic: Words = (),
    poisson: Words = (),
    where: Words | Mapping[str, Any] = (),
    by: str | None = None,
    difference: bool = False,
    target: str = "population",
    level: float = 0.95,
    population_size: float | None = None,
    out: str | Path | None = None,
) -> Inference:
    """Estimate figures from a release, with standard errors and intervals that hold. Reads no confidential data.

    Each figure may be one word or a list of them.

    Parameters
    ----------
    release
        Folder of a release, or the release itself.
    share
        ``COLUMN=VALUE`` (several with commas between: those who have all), or ``COLUMN`` for all its levels.
    mean
        Column with an order.
    total
        ``COLUMN=VALUE``: how many have it; ``COLUMN``: the sum of its values.
    quantile
        ``COLUMN:SHARE``, for example ``age:0.5``.
    table
        ``COLUMN,COLUMN``: the shares of all cells.
    correlation
        ``COLUMN,COLUMN``.
    linear
        Formula of a linear regression, as ``charge ~ age + sex``.
    logistic
        Formula of a logistic regression, as ``charge > 25 ~ age + sex``.
    poisson
        Formula of a Poisson regression.
    where
        ``COLUMN=VALUE``: only this sub-population; several, or values by column.
    by
        Column: shares, means, totals and quantiles of each of its groups.
    difference
        Compare each group with the first.
    target
        ``population``: intervals cover sampling and noise; ``table``: noise only, for the confidential table.
    level
        Of the intervals.
    population_size
        People in the population, for totals of it.
    out
        HTML page; an earlier one is replaced.

    Returns
    -------
    Inference
        ``.figures``, each with ``.estimate``, ``.error``, ``.low``, ``.high``, ``.sampling`` and ``.privacy``.

    Examples
    --------
    >>> import understudy as us
    >>> book = us.datasets.discharges_codebook()
    >>> patients = us.datasets.discharges(rows=5000, seed=1)
    >>> release = us.synthesize(patients, book, rows=5000, epsilon=2, delta=1e-6)
    >>> (figure,) = us.infer(release, share="sex=Female")
    >>> figure.low < figure.estimate < figure.high
    True
    """
    from understudy.codebook.where import parse_where
    from understudy.infer.asked import Asked
    from understudy.infer.page import inference_page
    from understudy.pages.write import check_page_target, write_page

    if out is not None:
        check_page_target(Path(out))
    asked = Asked(
        share=_listed(share),
        mean=_listed(mean),
        total=_listed(total),
        quantile=_listed(quantile),
        table=_listed(table),
        correlation=_listed(correlation),
        linear=_listed(linear),
        logistic=_listed(logistic),
        poisson=_listed(poisson),
        where=where if isinstance(where, Mapping) else parse_where(_listed(where)),
        by=by,
        difference=difference,
        target=target,
        level=level,
        population_size=population_size,
    )
    inference = asked.answer(release)
    if out is not None:
        write_page(Path(out), inference_page(inference))
    return inference


def _listed(words: Words) -> Sequence[str]:
    return (words,) if isinstance(words, str) else tuple(words)


def listed_figures(inference: Inference) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The figures as a table: its header and its lines. Coefficients stand under the formula that they belong to."""
    from understudy.infer.page import HEADER, cells

    lines: list[tuple[str, ...]] = []
    for group, figures in groupby(inference, key=lambda figure: figure.group):
        if "~" in group:
            lines.append((group, *[""] * (len(HEADER) - 1)))
        lines += [cells(figure) for figure in figures]
    return HEADER, lines
