"""`forecast`: what a release will be worth, before anything is paid."""

from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import progress, tell
from understudy.cli.shared import number_option, option, whole_option
from understudy.cli.synth import choices_of
from understudy.errors import ParameterError
from understudy.facade import forecasts
from understudy.parameters import ROWS

_ABOUT = whole_option("About how many records the confidential table has: a public guess.", "--rows-about")
RowsAbout = Annotated[int | None, _ABOUT]
Public = Annotated[
    str | None,
    option("Public table of the same shape (another year, an earlier release): the method is run on samples of it."),
]


def forecast(
    context: typer.Context,
    codebook: o.CodebookPath,
    rows_about: RowsAbout = None,
    method: o.Method = None,
    recipe: o.Recipe = None,
    public: Public = None,
    error: Annotated[
        float | None,
        number_option("Find the smallest epsilon whose expected error is at most this; leave --epsilon out."),
    ] = None,
    wanted: Annotated[
        str | None, option("A table of interest: 'diag by age'. Without it, all tables of two columns.", "--for")
    ] = None,
    json: o.Json = False,
) -> None:
    """Say what a release will be worth before paying for it. Reads no confidential data."""
    if rows_about is None:
        raise ParameterError("`rows_about` is not given; say about how many records there are. Try 10000.")
    ROWS.check("rows_about", rows_about)
    choices, _ = choices_of(context, method, recipe, rows_about)
    with progress(quiet=json) as report:
        outlook = forecasts.forecast(
            codebook, rows_about, choices, public=public, error=error, wanted=wanted, report=report
        )
    tell(outlook, outlook.lines(), json=json)
