"""`account`: a budget per data set, across releases."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import out, print_json

app = typer.Typer(help="A durable privacy budget for one data set.", no_args_is_help=True)

AccountToTell = Annotated[
    Path | None,
    typer.Option(
        "--account",
        help="Account of the data: it remembers this confidential look, and later releases say so. Nothing is charged.",
        show_default=False,
    ),
]
AccountToFix = Annotated[
    Path | None,
    typer.Option(
        "--account",
        help="Account of the data: these choices are written down there, so that no later look can have made them. "
        "Nothing is charged.",
        show_default=False,
    ),
]
File = Annotated[Path, typer.Argument(help="The account's file.")]


@app.command()
def create(
    file: File,
    dataset: Annotated[str, typer.Option(help="Name of the data set.")],
    epsilon: Annotated[
        float, typer.Option(help="Cap on the total epsilon of all releases.", parser=o.number, metavar="NUMBER")
    ],
    delta: Annotated[
        float,
        typer.Option(help="Cap on delta; 0 allows pure differential privacy only.", parser=o.number, metavar="NUMBER"),
    ],
    neighbours: Annotated[
        str,
        typer.Option(
            help="add-remove, replace-one, add-remove-person, replace-person, or origin-in-destination (commutes)."
        ),
    ] = "add-remove",
    composition: Annotated[
        str, typer.Option(help="How releases add up: basic, or renyi for many small ones (needs a delta above 0).")
    ] = "basic",
    json: o.Json = False,
) -> None:
    """Open an account with a cap that never changes."""
    from understudy.jobs import create_account

    account = create_account(
        file, dataset=dataset, epsilon=epsilon, delta=delta, neighbours=neighbours, composition=composition
    )
    if json:
        print_json(account.summary())
        return
    out.print(
        f"opened {file}: all releases of {account.dataset!r} together may cost epsilon {account.epsilon:g}, "
        f"delta {account.delta:g} ({account.neighbours.value}, {account.composition.value} composition).",
        markup=False,
    )


@app.command()
def show(file: File, json: o.Json = False) -> None:
    """Cap, spending and what is left."""
    from understudy.jobs import open_account

    summary = open_account(file).summary()
    if json:
        print_json(summary)
        return
    cap, spent = summary["cap"], summary["spent"]
    out.print(f"{summary['dataset']} ({cap['neighbours']})", markup=False)
    order = "" if summary["renyi_order"] is None else f", order {summary['renyi_order']:.4g}"
    out.print(f"cap    epsilon {cap['epsilon']:g}, delta {cap['delta']:g}")
    out.print(f"rule   {summary['composition']} composition{order}, fixed when the account was opened")
    out.print(f"spent  epsilon {spent['epsilon']:g}, delta {spent['delta']:g}, in {summary['releases']} releases")
    more = "" if summary["renyi_order"] is None else "; one with a Renyi curve may cost more"
    out.print(
        f"left   epsilon {summary['remaining_epsilon']:g}, delta {summary['remaining_delta']:g} "
        f"for one further release{more}"
    )
    for look in summary["looks"]:
        out.print(f"looked {look['what']}, {look['when']} (not in the price of what was chosen later)", markup=False)
    for held in summary["held"]:
        out.print(
            f"held   {held['label']} since {held['when']} (running, or died before it finished: stays charged)",
            markup=False,
        )


@app.command()
def history(file: File, json: o.Json = False) -> None:
    """Every charge, oldest first."""
    from rich.table import Table

    from understudy.jobs import open_account
    from understudy.privacy.spelling import at_most

    charges = [charge.to_dict() for charge in open_account(file).history()]
    if json:
        print_json(charges)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("when", "what", "state", "epsilon", "delta", "total after it"):
        table.add_column(heading, overflow="fold")
    for charge in charges:
        price, running = charge["guarantee"], charge["running"]
        table.add_row(
            charge["when"],
            charge["label"],
            charge["state"],
            at_most(price["epsilon"], 6),
            at_most(price["delta"], 3),
            f"{at_most(running['epsilon'], 6)}, {at_most(running['delta'], 3)}",
        )
    out.print(table)
