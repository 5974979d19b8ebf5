"""`diagnose`: how the chains of `lugs` mix."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import NOT_FOR_RELEASE, progress, tell, warn
from understudy.cli.console import table as plain_table
from understudy.cli.declared import chosen_options, declared_command
from understudy.cli.shared import whole_option
from understudy.errors import ParameterError
from understudy.facade import looks, tables

METHOD = "lugs"
DiagnoseCommand = declared_command(
    lambda _method: {  # nothing is released here, so nothing is certified
        name: each for name, each in tables.declared_options(METHOD).items() if not name.startswith("certify")
    }
)


def diagnose(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    method: Annotated[str, typer.Option("--method", "-m", help="Only lugs has such chains.", hidden=True)] = METHOD,
    chains: Annotated[int, whole_option("Chains to run.")] = 256,
    after: Annotated[int, whole_option("Sweeps of each chain after the burn-in (--sweeps).")] = 200,
    lags: Annotated[int, whole_option("Autocorrelation up to so many sweeps apart.")] = 20,
    recipe: o.OptionsFile = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: o.AccountToTell = None,
    seed: o.RunSeed = None,
    json: o.Json = False,
) -> None:
    """Run fresh chains of lugs and say how they mix. Reads DATA, releases nothing: the outcome is confidential."""
    words = chosen_options(context, recipe)
    for written, where in ((method, "`method`"), (words.pop("method", METHOD), f"the method of {str(recipe)!r}")):
        if written != METHOD:
            raise ParameterError(
                f"{where} is {written!r}; only the chains of {METHOD} are diagnosed. Leave it out, and give the "
                f"options of {METHOD}: understudy diagnose data.csv --codebook data.toml --l 2."
            )
    words.pop("rows", None)
    with progress(quiet=json) as report:
        chain_report = looks.diagnose(
            data,
            codebook,
            chains=chains,
            after=after,
            lags=lags,
            unknown=unknown,
            table=table,
            account=account,
            seed=seed,
            report=report,
            **words,
        )
    tell(chain_report.to_dict(), _lines(chain_report), json=json)
    if not json:
        warn(chain_report.warnings())


def _lines(chain_report: Any) -> Iterator[Any]:
    yield f"diagnosis of the chains {NOT_FOR_RELEASE}"
    rows = (
        (name, f"{rho[min(5, len(rho) - 1)]:.3f}", f"{chain_report.effective_share[name]:.1%}", f"{holes:,}")
        for (name, rho), holes in zip(
            chain_report.autocorrelation.items(), chain_report.zero_blocks.values(), strict=True
        )
    )
    headings = ("column", "autocorrelation", "effective sample", "blocks with impossible levels")
    yield plain_table(headings, rows, right=headings[1:])
    yield "Autocorrelation is that of states 5 sweeps apart, or of the last lag if there are fewer."
    yield (
        f"{chain_report.unseen_share:.1%} of the draws had a key that no record has; {chain_report.lost_share:.1%} had "
        "no block near."
    )
    yield (
        "Every state can be reached from every other."
        if chain_report.irreducible
        else "The smallest mixing weight is 0: not every state need be reachable."
    )
