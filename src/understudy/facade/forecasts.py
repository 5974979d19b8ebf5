"""What to expect of a release before anything is paid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ParameterError
from understudy.facade.codebooks import load_codebook
from understudy.facade.documented import documented
from understudy.facade.tables import recipe_of

if TYPE_CHECKING:
    from understudy.codebook import Codebook
    from understudy.sources.base import Report
    from understudy.synth.choices import Choices
    from understudy.synth.forecast import Forecast
    from understudy.synth.recipe import Recipe


@documented
def forecast(
    book: Codebook | str | Path,
    rows_about: int,
    method: str | Recipe | Choices = "marginals",
    *,
    public: Any = None,
    error: float | None = None,
    wanted: str | None = None,
    report: Report | None = None,
    **options: Any,
) -> Forecast:
    """Say what a release will be worth before paying for it. Reads no confidential data.

    Parameters
    ----------
    rows_about
        About how many records the confidential table has: a public guess.
    public
        Public table of the same shape (another year, an earlier release): the method is run on samples of it.
    error
        Find the smallest epsilon whose expected error is at most this; ``epsilon`` is then left out.
    wanted
        A table of interest, such as ``"diag by age"``; without it ``error`` is about all tables of two columns.
    **options
        Options of the method, such as ``epsilon=1, delta=1e-6``.

    Returns
    -------
    Forecast
        ``.one_way``, ``.two_way``, ``.thresholds`` and more; ``.lines()`` in words.

    Examples
    --------
    >>> import understudy as us
    >>> book = us.datasets.discharges_codebook()
    >>> outlook = us.forecast(book, 10_000, epsilon=1, delta=1e-6)
    >>> print(outlook.lines()[2])
    - tables of two columns: expected error 0.024 to 0.12, on average.
    """
    from understudy.parameters import ROWS
    from understudy.synth import forecast as forecasts

    ROWS.check("rows_about", rows_about)
    if error is not None:
        options = _without_epsilon(method, options)
    book = load_codebook(book)
    recipe = recipe_of(method, options, book, rows_about)
    return forecasts.forecast(recipe, book, rows_about, public=public, error=error, wanted=wanted, report=report)


def _without_epsilon(method: str | Recipe | Choices, options: dict[str, Any]) -> dict[str, Any]:
    """Any epsilon stands in where it is to be found; one that was given contradicts the question."""
    from understudy.synth.recipe import Recipe

    if isinstance(method, Recipe):
        return options
    given = {**getattr(method, "options", {}), **options}
    if given.get("epsilon") is not None:
        raise ParameterError(
            "`error` asks for the smallest epsilon, and `epsilon` is given too; leave one of them out."
        )
    return {**options, "epsilon": 1.0}


def load_prices() -> None:
    """Load everything that a first price needs, for a program that will be asked for one."""
    from understudy.codebook import Categorical, Codebook
    from understudy.facade.methods import synthesis_methods

    synthesis_methods()
    book = Codebook(columns=tuple(Categorical(name=name, levels=("no", "yes")) for name in ("a", "b")))
    forecast(book, 100, epsilon=1.0, delta=1e-6)
