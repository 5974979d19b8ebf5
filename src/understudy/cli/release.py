"""`release`: what becomes of a release after it is out."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import tell
from understudy.cli.shared import App, option
from understudy.facade import editions

app = App(help="Editions: say that a release is superseded or withdrawn.")

Account = Annotated[
    Path | None,
    option("Account that paid for the old release: it remembers the notice. Nothing is charged or given back."),
]


@app.command()
def supersede(
    old: Annotated[Path, typer.Argument(help="Folder of the release that is replaced.")],
    new: Annotated[Path, typer.Argument(help="Folder of the release that takes its place.")],
    why: Annotated[str, option("A sentence for its readers.")] = "",
    account: Account = None,
    json: o.Json = False,
) -> None:
    """Write into an old release that a later one takes its place. Page and verify say so; nothing else changes."""
    notices = editions.supersede(old, new, why=why, account=account)
    lines = [f"{place}: {notice.sentence}" for place, notice in zip((old, new), notices, strict=False)]
    tell([vars(notice) | {"sentence": notice.sentence} for notice in notices], lines, json=json)


@app.command()
def withdraw(
    folder: Annotated[Path, typer.Argument(help="Folder of the release.")],
    why: Annotated[str, option("Why it is withdrawn, in a sentence.")],
    account: Account = None,
    json: o.Json = False,
) -> None:
    """Write into a release that it should not be used any more. Its price stays charged."""
    notice = editions.withdraw(folder, why=why, account=account)
    tell(vars(notice) | {"sentence": notice.sentence}, [f"{folder}: {notice.sentence}"], json=json)
