"""`codebook`: what the table may hold."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import linked_codebooks
from understudy.cli import options as o
from understudy.cli.console import NOT_FOR_RELEASE, note, progress, tell
from understudy.cli.console import table as plain_table
from understudy.cli.shared import App, number_option, option, whole_option
from understudy.errors import ParameterError
from understudy.facade import codebooks, reviews
from understudy.parameters import Whole

if TYPE_CHECKING:
    from understudy.codebook import Codebook
    from understudy.sources.file_guesses import Guess

app = App(help="Draft, review, check, declare and show codebooks, and their rules.")

app.command()(linked_codebooks.split)
app.command()(linked_codebooks.template)

Book = Annotated[Path, typer.Argument(help="Codebook in TOML.")]

_TO_REVIEW = (
    "Go through it beside the data: levels that only one person could have caused, codes stored as numbers, missing "
    "values, ids, roles (what an intruder may know is a quasi-identifier, what must stay secret is sensitive). Then "
    "let somebody attest that it is public knowledge:"
)
_DOCUMENT = (
    "Its levels and ranges are declared: they are public if the document is. Hold the data against it with "
    "`understudy codebook check`."
)
_WIDEST = 150
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
    """Draft a codebook from data, to review or at a price, or from a document (DDI, Frictionless, CSVW, NIST).

    A folder of files is drafted as linked tables: keys and parents are found, and --cap is the rows of each parent row.
    """
    if Path(data).is_dir():
        if any((epsilon, delta, account, keep, drop, levels, kind, person, table, from_document)):
            raise ParameterError(
                f"{data!r} is a folder, drafted as linked tables; it takes --out, --cap and --json only."
            )
        linked_codebooks.draft_folder(data, output, cap, json=json)
        return
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
    document: dict[str, Any] = {
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
    commands = [
        f"  understudy codebook review {output} --data {data} --by NAME",
        f"  understudy codebook rules {output} --data {data}",
        f"  understudy codebook declare {output} --by NAME --from SOURCE",
    ]
    reasons = _left_out_lines(left_out, drafted.reasons)
    lines = [f"{count}, drafted from the data.", *_guess_lines(drafted.guesses), *reasons, _TO_REVIEW, *commands]
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
        if (pack := re.search(r"`--kind .*=([a-z0-9_]+)`$", why)) is not None:
            why = f"nearly all codes of the pack {pack[1]}; draft what you need with `--kind COLUMN={pack[1]}`"
        by_reason.setdefault(why, []).append(name)
    return [f"left out, {why}: {', '.join(columns)}" for why, columns in by_reason.items()]


@app.command()
def check(data: o.Data, codebook: o.CodebookPath, table: o.Table = None, json: o.Json = False) -> None:
    """List every fault of the data against the codebook, with row numbers. The output is confidential."""
    with progress(quiet=json):
        faults = codebooks.check(data, codebook, table=table).faults
    lines = [f"- {fault.sentence}" for fault in faults] or ["the data fit the codebook."]
    tell(list(faults), lines, json=json)
    if not all(fault.is_declared for fault in faults):
        raise typer.Exit(1)


@app.command()
def review(
    codebook: Book,
    data: Annotated[str, option("The confidential table that the codebook describes.", "--data")],
    by: Annotated[str | None, option("Who answers.", "--by")] = None,
    answers: Annotated[
        Path | None, option("TOML or JSON file with the answers: person, [panels] and [columns].", "--answers")
    ] = None,
    table: o.Table = None,
    json: o.Json = False,
) -> None:
    """Go through every column beside the data, in panels of one kind. The questions are confidential.

    Answers are written into the codebook, what was seen is not. --json prints the questions, --answers gives answers.
    """
    if answers is None and json:
        tell(reviews.review(codebook, data, table=table).to_dict(), [], json=True)
        return
    by = by or (None if answers is not None else str(typer.prompt("Who answers?", err=True)))
    with progress(quiet=json) as report:
        reviewed = reviews.review(codebook, data, answers=answers or _asked, by=by, table=table, report=report)
    left = reviewed.unreviewed
    document = {"codebook": codebook, "reviewed": len(reviewed.reviewed), "unreviewed": left}
    lines = [f"{document['reviewed']} columns are reviewed in {codebook}."]
    lines += [f"nobody has reviewed: {', '.join(left)}"] if left else []
    lines.append(f"  understudy codebook declare {codebook} --by NAME --from SOURCE")
    tell(document, lines, json=json)


def _asked(questions: Sequence[Any]) -> dict[str, Any]:
    """Ask at the terminal; an empty answer takes what is proposed."""
    panels: dict[str, str] = {}
    columns: dict[str, str] = {}
    person = None
    note([f"what follows quotes the data {NOT_FOR_RELEASE}"])
    for question in questions:
        lines = [f"{name}: {'; '.join(sees)}" for name, sees in question.sees.items()]
        tell(None, ["", f"[{question.id}] {question.asks}", *lines], json=False)
        hint = f"{' | '.join(question.answers)}, others after a bar as NAME: ANSWER" if question.columns else ""
        default = question.proposed if "CAP" not in question.proposed else "no"
        answer = typer.prompt(hint or "no, or COLUMN CAP", default=default, err=True)
        if not question.columns:
            person = answer
            continue
        first, *others = [part.strip() for part in answer.split("|")]
        panels[question.id] = first
        for other in others:
            name, colon, own = other.rpartition(": ")
            if not colon:
                raise ParameterError(f"the answer {other!r} names no column; write NAME: ANSWER, such as weight: drop.")
            columns[name.strip()] = own.strip()
    return {"panels": panels, "columns": columns, **({} if person is None else {"person": person})}


@app.command()
def rules(
    codebook: Book,
    data: Annotated[str | None, option("The confidential table, to propose rules from.", "--data")] = None,
    accept: Annotated[list[str] | None, option("Ids of proposals to write, between commas or repeated.")] = None,
    map: Annotated[  # noqa: A002 - the name of the flag
        list[str] | None,
        option("COLUMN=FIXED=FILE.csv: a public table of two columns that says what COLUMN fixes.", "--map"),
    ] = None,
    pack: Annotated[
        list[str] | None, option("Public rules: deaths, newborns, pregnancy, sex_and_diagnoses. May be repeated.")
    ] = None,
    column: Annotated[
        list[str] | None, option("MEANING=COLUMN of a pack, such as sex=gender. May be repeated.")
    ] = None,
    level: Annotated[
        list[str] | None, option("VALUE=LEVEL,LEVEL of a pack, such as died=11,19. May be repeated.")
    ] = None,
    by: Annotated[str | None, option("Who declares the rules.", "--by")] = None,
    source: Annotated[str | None, option("Where the rules are publicly known from.", "--from")] = None,
    learn: Annotated[
        list[str] | None, option("COLUMN,COLUMN: learn rules about this pair at a price. May be repeated.")
    ] = None,
    epsilon: Annotated[float | None, number_option("Price of --learn.")] = None,
    delta: Annotated[float | None, number_option("Slack of --learn, far below 1/records.")] = None,
    rest: Annotated[str, option("--learn: levels of a map whose value does not show: never or free.")] = "never",
    output: Annotated[Path | None, option("--learn: new codebook file.", "--out", "-o")] = None,
    account: o.Account = None,
    most: Annotated[int, whole_option("Proposals to show.")] = 30,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    json: o.Json = False,
) -> None:
    """Propose rules that the data seem to keep, and write those that a person declares. Proposals are confidential."""
    opening: dict[str, Any] = {"table": table, "unknown": unknown}
    Whole(tried=30).check("most", most)
    if learn or epsilon is not None or delta is not None:
        _refuse_beside("--learn", accept=accept, map=map, pack=pack, column=column, level=level, by=by, source=source)
        price = {"epsilon": epsilon, "delta": delta, "rest": rest, "account": account}
        _learn(codebook, data, learn or (), output, json=json, **price, **opening)
        return
    if output is not None or account is not None:
        raise ParameterError(
            "--out and --account belong to --learn; without it nothing is paid, and the codebook itself gets the "
            "rules. Leave them out."
        )
    with progress(quiet=json) as report:
        found = reviews.rules(
            codebook,
            data,
            accept=[part.strip() for word in accept or () for part in word.split(",") if part.strip()],
            maps=dict(_map(word) for word in map or ()),
            packs=pack or (),
            columns=_named_lists(column or (), "--column sex=gender", split=False),
            levels=_named_lists(level or (), "--level died=11,19", split=True),
            by=by,
            source=source,
            report=report,
            **opening,
        )
    if not json:
        note(found.notes)
    tell(found.to_dict(), _rule_lines(found, most, codebook), json=json)


def _learn(
    codebook: Path, data: str | None, pairs: Sequence[str], output: Path | None, *, json: bool, **how: Any
) -> None:
    """The rules of some pairs, at a price."""
    if data is None or output is None:
        raise ParameterError("--learn needs --data and --out, a new codebook file that appears when it is paid for.")
    with progress(quiet=json):
        learned = reviews.learn_rules(codebook, data, [_pair(word) for word in pairs], out=output, **how)
    titles = [rule.title for rule in learned.added]
    lines = [*(f"learned: {title}" for title in titles), f"wrote {output}"]
    tell({"codebook": output, "added": titles}, lines, json=json)


def _refuse_beside(flag: str, **given: Any) -> None:
    for name, value in given.items():
        if value:
            raise ParameterError(f"`{name}` cannot be had with {flag}; give it to a command of its own.")


def _pair(word: str) -> tuple[str, str]:
    first, comma, second = word.partition(",")
    if not comma or not first.strip() or not second.strip():
        raise ParameterError(f"--learn is {word!r}; name two columns, such as facility,county.")
    return first.strip(), second.strip()


def _map(word: str) -> tuple[tuple[str, str], str]:
    parts = word.split("=", 2)
    if len(parts) != 3 or not all(parts):
        raise ParameterError(f"--map is {word!r}; write COLUMN=FIXED=FILE.csv, such as facility=county=facilities.csv.")
    return (parts[0], parts[1]), parts[2]


def _named_lists(words: Sequence[str], example: str, *, split: bool) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not value:
            raise ParameterError(f"{word!r} names nothing; write it as in {example}.")
        lists.setdefault(name, []).extend(part.strip() for part in value.split(",")) if split else lists.setdefault(
            name, []
        ).append(value)
    return lists


def _short(words: str) -> str:
    return words if len(words) <= _WIDEST else words[: _WIDEST - 3] + "..."


def _figures(proposal: Any) -> tuple[float, ...]:
    return proposal.support, proposal.exceptions, proposal.expected


def _rule_lines(found: reviews.Rules, most: int, codebook: Path) -> Iterator[Any]:
    if found.added:
        for rule in found.added:
            yield (
                f"declared: {rule.title}"
                if rule.title not in found.codebook.unsourced_rules
                else f"drafted: {rule.title}"
            )
        yield f"wrote {codebook}"
        return
    if found.proposals:
        yield f"The data seem to keep these rules {NOT_FOR_RELEASE}. Declare those that everybody may know:"
        rows = [
            (proposal.id, _short(proposal.words), *(f"{figure:,.0f}" for figure in _figures(proposal)))
            for proposal in found.proposals[:most]
        ]
        headings = ("id", "rule", "rows it is about", "that break it", "by chance")
        yield plain_table(headings, rows, right=headings[2:], whole=("id",))
        if len(found.proposals) > most:
            yield f"and {len(found.proposals) - most} more (--most)"
        yield (
            "A rule that is no law keeps such rows out of every release, and tells readers that the data have none. A "
            "rule with a map ('determines') needs a public table (--map) or a price (--learn)."
        )
        yield f"  understudy codebook rules {codebook} --data DATA --accept ID,ID --by NAME --from SOURCE"
    for match in found.packs:
        yield f"public rules that fit by name: {match.pack.title} ({'; '.join(rule.words() for rule in match.rules)})"
        yield f"  understudy codebook rules {codebook} {match.words}"
    if not found.proposals and not found.packs:
        yield "no rule is proposed."


@app.command()
def declare(
    codebook: Book,
    by: Annotated[str, option("Who attests.", "--by")],
    source: Annotated[str, option("Where the levels are publicly known from.", "--from")],
    column: Annotated[
        list[str] | None, option("Column to attest; may be repeated. Default: all drafted ones, once reviewed.")
    ] = None,
    rule: Annotated[list[str] | None, option("Title of a drafted rule to attest; may be repeated.")] = None,
    everything: Annotated[
        bool, option("Attest all drafted columns without a review; statements say so.", "--all")
    ] = False,
    json: o.Json = False,
) -> None:
    """Record that reviewed columns are public knowledge: who says so, and from where.

    Of linked tables name columns as TABLE.COLUMN, keys and caps as [TABLE], constants as 'TABLE.COLUMN is constant'.
    """
    book = codebooks.declare(
        codebook, columns=column or None, rules=rule or (), everything=everything, by=by, source=source
    )
    waiting = [*book.unattested, *book.unsourced_rules]
    still = f"still drafted from data: {', '.join(waiting)}" if waiting else ""
    document = {
        "codebook": codebook,
        "still_drafted": list(book.unattested),
        "rules_without_source": list(book.unsourced_rules),
    }
    if codebooks.load_linked(book) is not None:
        tell(document, [f"wrote {codebook}; {still or 'everything in it is public knowledge.'}"], json=json)
        return
    described = codebooks.load_codebook(book)
    attested = [item.name for item in described.released if item.is_attested]
    document |= {"attested": attested, "unreviewed": list(described.unreviewed)}
    tell(document, [f"{len(attested)} columns are attested in {codebook}.", *([still] if still else [])], json=json)


@app.command()
def show(codebook: Book, json: o.Json = False) -> None:
    """Show columns, levels, roles, parents and rules."""
    if (tables := codebooks.load_linked(codebook)) is not None:
        document, lines = linked_codebooks.show_linked(tables)
        tell(document, lines, json=json)
        return
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
            {
                "kind": rule.kind,
                "name": rule.name or None,
                "columns": rule.columns,
                "words": rule.words(),
                "source": rule.attestation.source if rule.attestation else rule.source or None,
                "public": rule.title not in book.unsourced_rules,
            }
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
