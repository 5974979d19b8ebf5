"""`codebook split` and `codebook template`: codebooks of linked tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import NOT_FOR_RELEASE, note, progress, tell
from understudy.cli.console import table as plain_table
from understudy.cli.shared import option
from understudy.errors import ParameterError
from understudy.facade import linked

if TYPE_CHECKING:
    from understudy.codebook import LinkedCodebook


_RULES = ("no", "yes", "first", "latest", "most frequent")


def split(
    data: o.Data,
    output: Annotated[Path | None, option("New codebook file.", "--out", "-o")] = None,
    person: Annotated[str | None, option("The column that tells people apart; that of [unit] by default.")] = None,
    key: Annotated[str | None, option("The column that tells records apart.")] = None,
    order: Annotated[str | None, option("The column by which records follow each other.")] = None,
    constant: Annotated[
        list[str] | None,
        option("COLUMN or COLUMN=RULE, between commas or repeated: constant within a person; rules are first, latest "
               "and most-frequent."),
    ] = None,
    cap: Annotated[int | None, option("Records of one person that take part; a public number.")] = None,
    codebook: Annotated[Path | None, option("Codebook of the table; drafted if left out.", "--codebook", "-c")] = None,
    names: Annotated[str, option("What to call the two tables.")] = "patients,encounters",
    by: Annotated[str | None, option("Who says that these columns are constant.", "--by")] = None,
    source: Annotated[str | None, option("Where that is publicly known from.", "--from")] = None,
    table: o.Table = None,
    json: o.Json = False,
) -> None:  # fmt: skip
    """Describe one table that repeats persons as two: persons, and their records. The look at it is confidential.

    Without --constant it counts, for each column, the people whose records differ, and asks; --json only prints this.
    """
    if output is None and constant:
        raise ParameterError("the codebook needs a place: give --out FILE.")
    chosen: Any = _constants(constant or ()) if constant else (None if json or output is None else _ask)
    with progress(quiet=json or chosen is _ask):
        made = linked.split(
            data, output, person=person, key=key, order=order, constants=chosen, cap=cap, book=codebook,
            names=[name.strip() for name in names.split(",")], by=by, source=source, table=table,
        )  # fmt: skip
    look = {"people": made.looked.people, "several": made.looked.several, "differing": made.looked.differing}
    if made.codebook is None:
        tell({"looked": look}, _look_lines(made.looked), json=json)
        return
    settled = [fault.sentence for fault in made.faults]
    waiting = made.codebook.unattested
    document = {
        "codebook": output,
        "tables": [entry.name for entry in made.codebook.tables],
        "constants": {one.column: one.rule for one in made.codebook.person.constants},
        "read_by_rule": [asdict(fault) for fault in made.faults],
        "drafted_from_data": list(waiting),
    }
    lines = [f"wrote {output}: {', '.join(entry.name for entry in made.codebook.tables)}.", *settled]
    if waiting:
        lines += [
            "Let somebody attest what is public knowledge, or releases have no formal guarantee:",
            f"  understudy codebook declare {output} --all --by NAME --from SOURCE",
        ]
    tell(document, lines, json=json)


def template(
    name: Annotated[str | None, typer.Argument(help="Which one; without it the templates are listed.")] = None,
    output: Annotated[Path | None, option("New codebook file; without it the text is printed.", "--out", "-o")] = None,
    json: o.Json = False,
) -> None:
    """Write a codebook of linked tables to start from: OMOP, or encounters with person ids."""
    if name is None:
        known = linked.templates()
        tell(known, [plain_table(("template", "describes"), list(known.items()))], json=json)
        return
    book = linked.template(name, output)
    document = {"codebook": output, "tables": [table.name for table in book.tables], "toml": book.to_toml()}
    lines = [book.to_toml()] if output is None else [f"wrote {output}: edit levels, dates and caps, then check it."]
    tell(document, lines, json=json)


def draft_folder(data: str, output: Path, cap: int | None, *, json: bool) -> None:
    """The `codebook draft` of a folder."""
    with progress(quiet=json) as report:
        drafted = linked.draft_tables(data, output, cap=cap, report=report)
    book = drafted.codebook
    document = {
        "codebook": output,
        "tables": {table.name: len(table.book.released) for table in book.tables},
        "left_out": dict(drafted.reasons),
        "notes": list(drafted.notes),
        "drafted_from_data": list(book.unattested),
        "guesses": [{"table": name, **asdict(guess)} for name, guess in drafted.guesses],
    }
    lines = [f"wrote {output}: {len(book.tables)} linked tables, drafted from the data.", *drafted.notes]
    lines += [f"left out, because {why}: {name}" for name, why in drafted.reasons.items()]
    lines += [
        "Look at keys, parents, caps and levels beside the data; then let somebody attest what is public knowledge:",
        f"  understudy codebook check {data} -c {output}",
        f"  understudy codebook declare {output} --all --by NAME --from SOURCE",
    ]
    tell(document, lines, json=json)


def show_linked(book: "LinkedCodebook") -> tuple[dict[str, Any], Iterator[Any]]:
    """A codebook of linked tables as a document and as lines."""
    document = {
        "title": book.title,
        "description": book.description,
        "digest": book.digest,
        "tables": [
            {
                "name": table.name, "key": table.key, "parent": table.parent, "parent_key": table.parent_key,
                "cap": table.cap, "order": table.order, "public": table.is_public,
                "columns": [{"name": c.name, "kind": c.kind, "public": c.is_public} for c in table.book.released],
            }
            for table in book.tables
        ],
        "rules": [{"kind": rule.kind, "words": rule.words(), "name": rule.name or None} for rule in book.rules],
    }  # fmt: skip
    return document, _shown(book)


def _shown(book: "LinkedCodebook") -> Iterator[Any]:
    if book.title:
        yield book.title
    rows = []
    for table in book.tables:
        place = f"{table.parent} by {table.parent_key}" if table.parent else "the persons"
        rows.append((table.name, table.key or "", place, f"{table.cap or ''}", table.order or ""))
    yield plain_table(("table", "key", "belongs to", "cap", "order"), rows, whole=("table", "cap"))
    for table in book.tables:
        yield f"columns of {table.name}: {', '.join(column.name for column in table.book.released)}"
    for rule in book.rules:
        yield f"rule: {rule.words()}" + (f" ({rule.name})" if rule.name else "")
    if book.unattested:
        yield f"still drafted from data: {', '.join(book.unattested)}"


def _constants(words: Sequence[str]) -> dict[str, str | None]:
    """``sex=first,race`` as columns and rules."""
    constants: dict[str, str | None] = {}
    for part in (part.strip() for word in words for part in word.split(",")):
        name, equals, rule = part.partition("=")
        if not name or (equals and not rule):
            raise ParameterError(f"--constant is {part!r}; write COLUMN or COLUMN=RULE, such as sex=first.")
        constants[name] = rule.replace("-", " ") if equals else None
    return constants


def _look_lines(looked: Any) -> Iterator[Any]:
    yield f"{looked.several:,} of {looked.people:,} people have several records {NOT_FOR_RELEASE}."
    rows = sorted(looked.differing.items(), key=lambda item: item[1])
    yield plain_table(("column", "people whose records differ"), [(n, f"{c:,}") for n, c in rows], right=[
        "people whose records differ"
    ])  # fmt: skip
    yield "Name those that do not change within a person: --constant sex=first,birth_year --out FILE"


def _ask(looked: Any) -> Mapping[str, str | None]:
    """Which columns are constant, and how each is read, asked at the terminal."""
    note([f"what follows quotes the data {NOT_FOR_RELEASE}"])
    tell(None, list(_look_lines(looked)), json=False)
    constants: dict[str, str | None] = {}
    for name, people in sorted(looked.differing.items(), key=lambda item: item[1]):
        if name not in looked.constant:
            continue
        question = f"{name}: constant within a person? ({people:,} people contradict)"
        answer = str(typer.prompt(f"{question} {' | '.join(_RULES)}", default="no", err=True)).strip().lower()
        if answer not in _RULES:
            raise ParameterError(f"the answer {answer!r} is none of {', '.join(_RULES)}.")
        if answer != "no":
            constants[name] = None if answer == "yes" else answer
    return constants
