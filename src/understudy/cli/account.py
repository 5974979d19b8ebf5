"""`account`: a budget per data set, across releases."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import table, tell
from understudy.cli.shared import App, number_option, option
from understudy.facade import editions, releases

app = App(help="A durable privacy budget for one data set.")

File = Annotated[Path, typer.Argument(help="The account's file.")]


@app.command()
def create(
    file: File,
    dataset: Annotated[str, option("Name of the data set.")],
    epsilon: Annotated[float, number_option("Cap on the total epsilon of all releases.")],
    delta: Annotated[float, number_option("Cap on delta; 0 allows pure differential privacy only.")],
    neighbours: Annotated[
        str,
        option("add-remove, replace-one, add-remove-person, replace-person, or origin-in-destination (commutes)."),
    ] = "add-remove",
    composition: Annotated[
        str, option("How releases add up: basic, or renyi for many small ones (needs a delta above 0).")
    ] = "basic",
    json: o.Json = False,
) -> None:
    """Open an account with a cap that never changes."""
    account = releases.create_account(
        file, dataset=dataset, epsilon=epsilon, delta=delta, neighbours=neighbours, composition=composition
    )
    opened = (
        f"opened {file}: all releases of {account.dataset!r} together may cost epsilon {account.epsilon:g}, "
        f"delta {account.delta:g} ({account.neighbours.value}, {account.composition.value} composition)."
    )
    tell(account.summary(), [opened], json=json)


@app.command()
def show(file: File, json: o.Json = False) -> None:
    """Cap, spending and what is left."""
    summary = releases.open_account(file).summary()
    tell(summary, _summary_lines(summary), json=json)


def _summary_lines(summary: dict[str, Any]) -> Iterator[str]:
    cap, spent, renyi = summary["cap"], summary["spent"], summary["renyi_order"]
    yield f"{summary['dataset']} ({cap['neighbours']})"
    yield f"cap    epsilon {cap['epsilon']:g}, delta {cap['delta']:g}"
    order = "" if renyi is None else f", order {renyi:.4g}"
    yield f"rule   {summary['composition']} composition{order}, fixed when the account was opened"
    releases_made = f"{summary['releases']} release{'' if summary['releases'] == 1 else 's'}"
    yield f"spent  epsilon {spent['epsilon']:g}, delta {spent['delta']:g}, in {releases_made}"
    more = "" if renyi is None else "; one with a Renyi curve may cost more"
    left = f"epsilon {summary['remaining_epsilon']:g}, delta {summary['remaining_delta']:g}"
    yield f"left   {left} for one further release{more}"
    for look in summary["looks"]:
        yield f"looked {look['what']}, {look['when']} (not in the price of what was chosen later)"
    for held in summary["held"]:
        yield f"held   {held['label']} since {held['when']} (running, or died before it finished: stays charged)"


@app.command()
def history(file: File, json: o.Json = False) -> None:
    """Every charge, oldest first."""
    charges = [charge.to_dict() for charge in releases.open_account(file).history()]
    headings = ("when", "what", "state", "epsilon", "delta", "total after it")
    tell(charges, [table(headings, map(_cells, charges), whole=("when",))], json=json)


def _cells(charge: dict[str, Any]) -> tuple[str, ...]:
    price, running = map(releases.spelled_price, (charge["guarantee"], charge["running"]))
    state = "; ".join([charge["state"], *charge["notices"]])
    spender = f" ({charge['allowance']})" if charge["allowance"] else ""
    return (charge["when"][:19].replace("T", " "), f"{charge['label']}{spender}", state, *price, ", ".join(running))


@app.command()
def forecast(
    file: File,
    like: Annotated[
        str | None, option("Number of a charge, or folder of a release, of which more are planned; the last charge.")
    ] = None,
    per_year: Annotated[float, number_option("Editions a year.")] = 1.0,
    json: o.Json = False,
) -> None:
    """How many more editions the cap lasts for, added up as the account adds up."""
    outlook = editions.forecast_editions(file, like, per_year=per_year)
    tell(outlook.to_dict(), outlook.lines(), json=json)
