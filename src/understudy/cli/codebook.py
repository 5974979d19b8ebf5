"""`codebook`: what the table may hold."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import note, progress, tell
from understudy.cli.console import table as plain_table
from understudy.cli.shared import App, number_option, option, whole_option
from understudy.facade import codebooks

if TYPE_CHECKING:
    from understudy.codebook import Codebook
    from understudy.sources.file_guesses import Guess

app = App(help="Draft, check, declare and show codebooks.")

Book = Annotated[Path, typer.Argument(help="Codebook in TOML.")]

_TO_REVIEW = (
    "Read it line by line: remove levels that only one person could have caused, round edges, name missing values, "
    "set roles (what an intruder may know is a quasi-identifier, what must stay secret is sensitive). Then let "
    "somebody attest that it is public knowledge:"
)
_DOCUMENT = (
    "Its levels and ranges are declared: they are public if the document is. Hold the data against it with "
    "`understudy codebook check`."
)
_PAID = (
    "Releases made with it include its price; an account that paid for it is not charged for it again.",
    "Values that it does not list need --unknown other-or-missing.",
)


@app.command()
def draft(
    data: o.Data,
    output: Annotated[Path, option("New codebook file.", "--out", "-o")],
    epsilon: Annotated[
        float | None, number_option("Find levels and edges at this price: a release may then keep its promise.")
    ] = None,
    delta: Annotated[float | None, number_option("Slack of a priced draft, far below 1/records.")] = None,
    account: o.Account = None,
    bins: Annotated[int, whole_option("Bins of a number in a priced draft: 2, 4, 8, 16 or 32.")] = 8,
    keep: Annotated[
        list[str] | None, option("Columns to draft, between commas or repeated; all others are left out.")
    ] = None,
    drop: Annotated[list[str] | None, option("Columns to leave out, such as ids, between commas or repeated.")] = None,
    levels: Annotated[list[str] | None, option("Priced draft: a column whose numbers are names, not amounts.")] = None,
    kind: Annotated[
        list[str] | None,
        option("COLUMN=PACK, repeated: codes of a classification, such as diag_1=icd9, or the CSV of an own pack."),
    ] = None,
    person: Annotated[
        str | None, option("Priced draft: the id column that tells people apart; the price is a person's.")
    ] = None,
    cap: Annotated[int | None, option("Priced draft: records of one person that take part.")] = None,
    table: o.Table = None,
    from_document: Annotated[
        bool, option("Take the labels of an SPSS, Stata or SAS file alone; none of its rows is read.")
    ] = False,
    json: o.Json = False,
) -> None:
    """Draft a codebook from data, to review or at a price, or from a document (DDI, Frictionless, CSVW, NIST)."""
    outlook: list[str] = []
    if epsilon is not None and delta is not None and not kind:
        outlook = codebooks.draft_outlook(
            data, epsilon=epsilon, delta=delta, keep=keep or (), drop=drop or (), person=person, cap=cap, table=table
        )
        if not json:
            note(f"at this price {sentence}" for sentence in outlook)
    with progress(quiet=json) as report:
        drafted = codebooks.draft(
            data,
            output,
            keep=keep or (),
            drop=drop or (),
            epsilon=epsilon,
            delta=delta,
            bins=bins,
            levels=levels or (),
            kind=kind or (),
            person=person,
            cap=cap,
            account=account,
            table=table,
            from_document=from_document,
            report=report,
        )
    book, left_out = drafted.codebook, drafted.left_out
    document = {
        "codebook": output,
        "columns": len(book.columns),
        "left_out": list(left_out) if drafted.is_paid else left_out,
        "drafted_from_data": [] if drafted.is_paid else list(book.unattested),
        "guesses": [asdict(guess) for guess in drafted.guesses],
        **({"outlook": outlook} if outlook else {}),
    }
    count = f"wrote {output}: {len(book.released)} columns"
    if drafted.is_paid:
        out_line = [f"left out: {', '.join(left_out)}"] if left_out else []
        tell(document, [f"{count}, paid for.", *out_line, *_PAID], json=json)
        return
    if drafted.source:
        document["source"] = drafted.source
        told = [
            f"{count}, from the document {drafted.source}; no data were read.",
            *_left_out_lines(left_out, drafted.reasons),
        ]
        tell(document, [*told, _DOCUMENT], json=json)
        return
    command = f"  understudy codebook declare {output} --by NAME --from SOURCE"
    reasons = _left_out_lines(left_out, drafted.reasons)
    lines = [f"{count}, drafted from the data.", *_guess_lines(drafted.guesses), *reasons, _TO_REVIEW, command]
    tell(document, lines, json=json)


def _guess_lines(guesses: Sequence["Guess"]) -> Iterator[str]:
    """How the file and its values were read; with examples, for the person who holds the data alone."""
    if guesses:
        yield "read like this (kept in the codebook as [file] and [columns.reading]; correct there what is wrong):"
    for guess in guesses:
        shown = "; ".join(f"{written!r} is {read}" for written, read in guess.examples)
        yield f"- {guess.column or 'the file'}: {guess.sentence}" + (f" {shown}." if shown else "")


def _left_out_lines(names: Mapping[str, str], reasons: Mapping[str, str]) -> list[str]:
    """Many columns are left out for one reason; the screen says it once."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        why = f"because {reasons[name]}" if name in reasons else "as you asked"
        by_reason.setdefault(why, []).append(name)
    return [f"left out, {why}: {', '.join(columns)}" for why, columns in by_reason.items()]


@app.command()
def check(data: o.Data, codebook: o.CodebookPath, table: o.Table = None, json: o.Json = False) -> None:
    """List every fault of the data against the codebook, with row numbers. The output is confidential."""
    with progress(quiet=json):
        faults = codebooks.check(data, codebook, table=table).faults
    lines = [f"- {fault.sentence}" for fault in faults] or ["the data fit the codebook."]
    tell(list(faults), lines, json=json)
    if faults:
        raise typer.Exit(1)


@app.command()
def declare(
    codebook: Book,
    by: Annotated[str, option("Who attests.", "--by")],
    source: Annotated[str, option("Where the levels are publicly known from.", "--from")],
    column: Annotated[list[str] | None, option("Column to attest; may be repeated. Default: all drafted ones.")] = None,
    json: o.Json = False,
) -> None:
    """Record that a column's levels are public knowledge: who says so, and from where."""
    book = codebooks.declare(codebook, columns=column or None, by=by, source=source)
    attested = [item.name for item in book.released if item.is_attested]
    document = {"codebook": codebook, "attested": attested, "still_drafted": list(book.unattested)}
    still = [f"still drafted from data: {', '.join(book.unattested)}"] if book.unattested else []
    tell(document, [f"{len(attested)} columns are attested in {codebook}.", *still], json=json)


@app.command()
def show(codebook: Book, json: o.Json = False) -> None:
    """Show columns, levels, roles, parents and rules."""
    book = codebooks.load_codebook(codebook)
    tell(_document(book), _lines(book), json=json)


@app.command()
def cells(
    codebook: Book,
    public_rows: Annotated[int, whole_option("Publicly known number of records.")],
    per_cell: Annotated[float, number_option("Wanted records per key; PeGS suggests 30.")] = 30,
    parents: Annotated[
        list[str] | None, option("COLUMN=PARENT,PARENT, repeated: overrides the codebook.", "--parents")
    ] = None,
    json: o.Json = False,
) -> None:
    """Say how many records each key of a conditional table would have, and which parents leave enough.

    Reads the codebook alone.
    """
    sizes = codebooks.records_per_cell(codebook, public_rows, parents=parents, per_cell=per_cell)
    tell({**vars(sizes), "thin": sizes.thin}, _cell_lines(sizes), json=json)


def _cell_lines(sizes: codebooks.CellSizes) -> Iterator[Any]:
    rows = (
        (name, ", ".join(parents) or "none", f"{sizes.records[name]:,.1f}", ", ".join(sizes.kept[name]) or "none")
        for name, parents in sizes.parents.items()
    )
    yield plain_table(("column", "parents", "records per key", "parents to keep"), rows, right=("records per key",))
    wanted = f"{sizes.per_cell:g} records per key"
    yield f"below {wanted}: {', '.join(sizes.thin)}" if sizes.thin else f"every table has {wanted} or more on average."
    yield f"hashed keys: a key space of at most {sizes.most_keys:,} leaves {wanted}."


def _document(book: "Codebook") -> dict[str, Any]:
    return {
        "title": book.title,
        "description": book.description,
        "digest": book.digest,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "role": column.role,
                "levels": list(column.labels) if column in book.released else None,
                "missing": column.missing,
                "parents": column.parents,
                "public": column.is_public,
            }
            for column in book.columns
        ],
        "constraints": [
            {"kind": rule.kind, "name": rule.name or None, "columns": rule.columns, "words": rule.words()}
            for rule in book.constraints
        ],
    }


def _lines(book: "Codebook") -> Iterator[Any]:
    from rich.text import Text

    if book.title:
        yield Text(book.title, style="bold")
    parents = any(column.parents for column in book.columns)
    rows = []
    for column in book.released:
        labels = f"{column.size}: {', '.join(column.labels)}"
        shown = labels if len(labels) <= 70 else labels[:67] + "..."
        cells = [column.name, column.kind, column.role.value]
        cells += [", ".join(column.parents or ())] if parents else []
        rows.append([*cells, "yes" if column.is_public else "drafted", shown.replace("\n", "\\n")])
    headings = ("column", "kind", "role", *(["parents"] if parents else []), "public", "levels")
    # words that are one term stay on one line; the list of levels is what gives way on a narrow screen
    yield plain_table(headings, rows, whole=("kind", "role", "public"))
    if left_out := [column.name for column in book.columns if column not in book.released]:
        yield f"left out: {', '.join(left_out)}"
    for rule in book.constraints:
        yield f"rule: {rule.words()}" + (f" ({rule.name})" if rule.name else "")
    yield f"{book.cells:,} possible records" + (", rules aside" if book.constraints else "")
