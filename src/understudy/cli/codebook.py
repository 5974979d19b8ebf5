"""`codebook`: what the table may hold."""

import datetime as dt
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import out, print_json, progress
from understudy.codebook import Codebook, PersonUnit
from understudy.errors import ParameterError

app = typer.Typer(help="Draft, check, declare and show codebooks.", no_args_is_help=True)

Book = Annotated[Path, typer.Argument(help="Codebook in TOML.")]


@app.command()
def draft(
    data: o.Data,
    output: Annotated[Path, typer.Option("--out", "-o", help="New codebook file.")],
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Find levels and edges at this price: a release may then keep its promise.",
            parser=o.number,
            metavar="NUMBER",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Slack of a priced draft, far below 1/records.", parser=o.number, metavar="NUMBER"),
    ] = None,
    account: o.Account = None,
    bins: Annotated[
        int,
        typer.Option(
            help="Bins of a number in a priced draft: 2, 4, 8, 16 or 32.", parser=o.whole_number, metavar="NUMBER"
        ),
    ] = 8,
    keep: Annotated[
        list[str] | None, typer.Option(help="Columns to draft, between commas or repeated; all others are left out.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out, such as ids, between commas or repeated.")
    ] = None,
    levels: Annotated[
        list[str] | None, typer.Option(help="Priced draft: a column whose numbers are names, not amounts.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="Priced draft: the id column that tells people apart; the price is a person's.")
    ] = None,
    cap: Annotated[int | None, typer.Option(help="Priced draft: records of one person that take part.")] = None,
    table: o.Table = None,
    json: o.Json = False,
) -> None:
    """Draft a codebook from data: for a person to review, or at a price, for releases with a formal total."""
    from understudy import jobs

    if keep and drop:
        raise ParameterError("--keep and --drop say the same thing in two ways; give one of them.")
    if epsilon is not None or delta is not None or account is not None:
        if epsilon is None or delta is None:
            raise ParameterError("a priced draft needs --epsilon and --delta; there is no default for privacy.")
        if (person is None) != (cap is None):
            raise ParameterError(
                "--person and --cap go together: the id column, and how many records of each take part."
            )
        dropped = jobs.columns_to_drop(data, table=table, keep=keep or (), drop=drop or ())
        plan = jobs.PaidPlan(
            epsilon=epsilon,
            delta=delta,
            bins=bins,
            drop=dropped,
            named=tuple(levels or ()),
            unit=None if person is None or cap is None else PersonUnit(id=person, cap=cap),
        )
        with progress(quiet=json) as report:
            book = jobs.draft_at_a_price(data, output, plan, table=table, account=account, report=report)
        _tell_paid(book, output, json=json)
        return
    if levels or person or cap:
        raise ParameterError("--levels, --person and --cap belong to a priced draft; give --epsilon and --delta too.")
    dropped = jobs.columns_to_drop(data, table=table, keep=keep or (), drop=drop or ())
    with progress(quiet=json):
        book, reasons = jobs.draft(data, output, table=table, drop=dropped)
    if json:
        print_json(
            {
                "codebook": str(output),
                "columns": len(book.columns),
                "drafted_from_data": list(book.unattested),
                "left_out": {name: reasons.get(name, "dropped") for name in _left_out(book)},
            }
        )
        return
    out.print(f"wrote {output}: {len(book.released)} columns, drafted from the data.", markup=False)
    for why, names in _by_reason(_left_out(book), reasons).items():
        out.print(f"left out, {why}: {', '.join(names)}", markup=False)
    out.print(
        "Read it line by line: remove levels that only one person could have caused, round edges, name missing values, "
        "set roles (what an intruder may know is a quasi-identifier, what must stay secret is sensitive). Then let "
        "somebody attest that it is public knowledge:"
    )
    out.print(f"  understudy codebook declare {output} --by NAME --from SOURCE", markup=False)


def _left_out(book: Codebook) -> list[str]:
    return [column.name for column in book.columns if column not in book.released]


def _by_reason(names: list[str], reasons: dict[str, str]) -> dict[str, list[str]]:
    """Many columns are left out for one reason; the screen says it once."""
    found: dict[str, list[str]] = {}
    for name in names:
        why = f"because {reasons[name]}" if name in reasons else "as you asked"
        found.setdefault(why, []).append(name)
    return found


def _tell_paid(book: Codebook, output: Path, *, json: bool) -> None:
    left_out = _left_out(book)
    if json:
        print_json(
            {"codebook": str(output), "columns": len(book.columns), "left_out": left_out, "drafted_from_data": []}
        )
        return
    out.print(f"wrote {output}: {len(book.released)} columns, paid for.", markup=False)
    if left_out:
        out.print(f"left out: {', '.join(left_out)}", markup=False)
    out.print("Releases made with it include its price; an account that paid for it is not charged for it again.")
    out.print("Values that it does not list need --unknown other-or-missing.")


@app.command()
def check(
    data: o.Data,
    codebook: o.CodebookPath,
    table: o.Table = None,
    json: o.Json = False,
) -> None:
    """List every fault of the data against the codebook, with row numbers. The output is confidential."""
    from understudy import jobs

    faults = jobs.check(data, codebook, table=table)
    if json:
        print_json(
            [
                {
                    "kind": fault.kind,
                    "column": fault.column,
                    "count": fault.count,
                    "rows": list(fault.rows),
                    "values": list(fault.values),
                    "sentence": fault.sentence,
                }
                for fault in faults
            ]
        )
    elif not faults:
        out.print("the data fit the codebook.")
    else:
        for fault in faults:
            out.print(f"- {fault.sentence}", markup=False)
    if faults:
        raise typer.Exit(1)


@app.command()
def declare(
    codebook: Book,
    by: Annotated[str, typer.Option("--by", help="Who attests.")],
    source: Annotated[str, typer.Option("--from", help="Where the levels are publicly known from.")],
    column: Annotated[
        list[str] | None, typer.Option(help="Column to attest; may be repeated. Default: all drafted ones.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Record that a column's levels are public knowledge: who says so, and from where."""
    from understudy import jobs

    book = jobs.declare(codebook, columns=column or None, by=by, source=source, on=dt.datetime.now(dt.UTC).date())
    attested = [item.name for item in book.released if item.is_attested]
    if json:
        print_json({"codebook": str(codebook), "attested": attested, "still_drafted": list(book.unattested)})
        return
    out.print(f"{len(attested)} columns are attested in {codebook}.", markup=False)
    if book.unattested:
        out.print(f"still drafted from data: {', '.join(book.unattested)}", markup=False)


@app.command()
def show(codebook: Book, json: o.Json = False) -> None:
    """Show columns, levels, roles, parents and rules."""
    from understudy import jobs

    book = jobs.load_codebook(codebook)
    if json:
        print_json(
            {
                "title": book.title,
                "description": book.description,
                "digest": book.digest,
                "columns": [
                    {
                        "name": column.name,
                        "kind": column.kind,
                        "role": column.role.value,
                        "levels": list(column.labels) if column in book.released else None,
                        "missing": column.missing,
                        "parents": None if column.parents is None else list(column.parents),
                        "public": column.is_public,
                    }
                    for column in book.columns
                ],
                "constraints": [
                    {"kind": rule.kind, "name": rule.name or None, "columns": list(rule.columns), "words": rule.words()}
                    for rule in book.constraints
                ],
            }
        )
        return
    _show_table(book)


def _show_table(book: Codebook) -> None:
    from rich.markup import escape
    from rich.table import Table

    if book.title:
        out.print(f"[bold]{escape(book.title)}[/]")
    table = Table(box=None, pad_edge=False)
    parents = any(column.parents for column in book.columns)
    for heading in ("column", "kind", "role", *(["parents"] if parents else []), "public", "levels"):
        # words that are one term stay on one line; the list of levels is what gives way on a narrow screen
        table.add_column(heading, overflow="fold", no_wrap=heading in ("kind", "role", "public"))
    for column in book.released:
        labels = f"{column.size}: {', '.join(column.labels)}"
        shown = labels if len(labels) <= 70 else labels[:67] + "..."
        cells = [column.name, column.kind, column.role.value]
        cells += [", ".join(column.parents or ())] if parents else []
        cells += ["yes" if column.is_public else "drafted", shown.replace("\n", "\\n")]
        table.add_row(*map(escape, cells))
    out.print(table)
    if left_out := _left_out(book):
        out.print(f"left out: {', '.join(left_out)}", markup=False)
    for rule in book.constraints:
        out.print(f"rule: {rule.words()}" + (f" ({rule.name})" if rule.name else ""), markup=False)
    out.print(f"{book.cells:,} possible records" + (", rules aside" if book.constraints else ""))
