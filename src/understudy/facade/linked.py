"""Codebooks of linked tables: draft a folder, split one table, start from a template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.confidential import Confidential
from understudy.errors import CodebookError, DataError, ParameterError
from understudy.facade.codebooks import load_codebook, new_codebook
from understudy.facade.documented import documented
from understudy.facade.reviews import attestation, today, write_book

if TYPE_CHECKING:
    from understudy.codebook import Codebook, LinkedCodebook
    from understudy.sources.base import Report
    from understudy.sources.check import Fault
    from understudy.sources.file_guesses import Guess
    from understudy.sources.linked_split import Repeated


@dataclass(frozen=True, kw_only=True, repr=False)
class DraftedTables(Confidential):
    """A codebook of linked tables that was drafted from data. Reasons and notes are for the holder's screen."""

    codebook: LinkedCodebook
    reasons: Mapping[str, str]
    """Why tables, and columns as ``table.column``, were left out."""
    notes: tuple[str, ...]
    """How the tables belong together."""
    guesses: tuple[tuple[str, Guess], ...] = ()
    """How files and values were read, by table."""


@documented
def draft_tables(
    data: Any, out: str | Path | None = None, *, cap: int | None = None, report: Report | None = None
) -> DraftedTables:
    """Draft a codebook of linked tables from a folder, a DuckDB file or a mapping: keys and parents are found.

    Parameters
    ----------
    out
        New codebook file.
    cap
        Rows of each parent row that take part, in every table below the persons: a public number.

    Returns
    -------
    DraftedTables
        ``.codebook``, and ``.notes`` and ``.reasons`` for the holder of the data.
    """
    from understudy.parameters import Whole
    from understudy.sources.linked_draft import CAP, draft_linked

    target = new_codebook(out)
    if cap is not None:
        Whole(tried=CAP).check("cap", cap)
    drafted = draft_linked(data, cap=CAP if cap is None else cap, report=report)
    if target is not None:
        save(drafted.codebook, target)
    return DraftedTables(
        codebook=drafted.codebook, reasons=drafted.reasons, notes=drafted.notes, guesses=drafted.guesses
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Split(Confidential):
    """One table as persons and records. The look at how records repeat each other is for the holder's screen."""

    looked: Repeated
    codebook: LinkedCodebook | None
    """None where nobody has said yet which columns are constant."""
    faults: tuple[Fault, ...] = ()
    """Contradictions that reading rules settle."""


Answers = Mapping[str, str | None] | Callable[["Repeated"], Mapping[str, str | None]]


@documented
def split(
    data: Any,
    out: str | Path | None = None,
    *,
    person: str | None = None,
    key: str | None = None,
    order: str | None = None,
    constants: Answers | Sequence[str] | None = None,
    cap: int | None = None,
    book: Codebook | str | Path | None = None,
    names: Sequence[str] = ("patients", "encounters"),
    by: str | None = None,
    source: str | None = None,
    table: str | None = None,
) -> Split:
    """Turn one table that repeats persons into a codebook of persons and their records.

    Parameters
    ----------
    out
        New codebook file.
    person
        The column that tells people apart; that of the codebook's ``[unit]`` by default.
    key, order
        The column that tells records apart, and the one by which they follow each other.
    constants
        Columns that stay the same within a person, each with the rule that reads it where records differ (``first``,
        ``latest``, ``most frequent``, or None: then differing records are refused); or a function that makes this of
        the look at the data. Without it nothing is written, and the look is returned.
    cap
        Records of one person that take part: a public number; that of ``[unit]`` by default.
    book
        The codebook of the table; drafted from the data if it is missing.
    names
        What to call the two tables.
    by, source
        Who says that these columns are constant, and where it is known from; without them no promise rests on it.

    Returns
    -------
    Split
        ``.looked`` and ``.codebook``.
    """
    from understudy.codebook.split import split_book
    from understudy.parameters import Whole
    from understudy.sources.linked_check import check_linked
    from understudy.sources.linked_split import look_at_persons

    target = new_codebook(out)
    if cap is not None:
        Whole(tried=5).check("cap", cap)
    upper, lower = _two(names)
    described = _described(data, book, [name for name in (person, key) if name], table)
    unit = described.unit
    person = person or (unit.id if unit else None)
    cap = unit.cap if cap is None and unit else cap
    if person is None:
        raise ParameterError("`person` is missing: name the column that tells people apart, such as patient_id.")
    looked = look_at_persons(data, described, person, table=table)
    chosen = constants(looked) if callable(constants) else constants
    if chosen is None:
        return Split(looked=looked, codebook=None)
    if cap is None:
        raise ParameterError("`cap` is missing: how many records of one person take part, a public number. Try 5.")
    codebook = split_book(
        described,
        person=person,
        constants=_rules(chosen),
        cap=cap,
        key=key,
        order=order,
        names=(upper, lower),
        data=_lies_in(data, table, lower),
        attestation=attestation(by, source),
    )
    faults = [
        fault
        for fault in check_linked(data if table is None else {lower: data}, codebook)
        if fault.kind in ("contradiction", "read by rule")
    ]
    if refused := [fault.sentence for fault in faults if fault.is_fatal]:
        raise DataError(f"the table does not fit what was said of it: {' '.join(refused)} Nothing was written.")
    if target is not None:
        save(codebook, target)
    return Split(looked=looked, codebook=codebook, faults=tuple(faults))


def declare_tables(
    path: str | Path,
    *,
    names: Sequence[str] | None = None,
    rules: Sequence[str] = (),
    everything: bool = False,
    by: str,
    source: str,
) -> LinkedCodebook:
    """Attest in a codebook file of linked tables what is public knowledge: who says so, and from where.

    ``names`` are columns as ``table.column``, places of tables as ``[table]``, and constants as ``table.column is
    constant``; ``everything`` attests all that was drafted, which nobody has gone through one by one.
    """
    from understudy.codebook import LinkedCodebook
    from understudy.codebook.book import read_text
    from understudy.codebook.linked_declare import declare_linked_text

    text = read_text(path)
    book = LinkedCodebook.load(path)
    if names is None and not rules and not everything:
        raise CodebookError(
            "name what you attest of linked tables (--column TABLE.COLUMN, --column '[TABLE]'), or attest everything "
            "(--all); `understudy codebook review` goes through their columns beside the data first. "
            f"Not attested yet: {', '.join(book.unattested) or 'nothing'}."
        )
    chosen = None if everything else names or ()
    write_book(path, declare_linked_text(text, names=chosen, rules=rules, by=by, source=source, on=today()))
    return LinkedCodebook.load(path)


def template(name: str, out: str | Path | None = None) -> LinkedCodebook:
    """A codebook of linked tables to start from: ``encounters`` or ``omop``; written to a new file if asked."""
    from understudy.codebook.templates import template as read
    from understudy.codebook.templates import template_text

    target = new_codebook(out)
    codebook = read(name)
    if target is not None:
        _write(target, template_text(name))
    return codebook


def templates() -> dict[str, str]:
    """The names of the templates, each with what it describes."""
    from understudy.codebook.templates import TEMPLATES

    return dict(TEMPLATES)


def save(codebook: LinkedCodebook, target: Path) -> None:
    """Write a codebook."""
    _write(target, codebook.to_toml())


def _write(target: Path, text: str) -> None:
    from understudy.files import write_file

    try:
        write_file(target, text, new=True)
    except OSError as reason:
        raise CodebookError(f"the codebook {str(target)!r} cannot be written ({reason.strerror}).") from None


def _two(names: Sequence[str]) -> tuple[str, str]:
    if isinstance(names, str) or len(names) != 2 or names[0] == names[1]:
        raise ParameterError(f"`names` is {names!r}; name the table of the persons and that of their records.")
    return names[0], names[1]


def _described(data: Any, book: Codebook | str | Path | None, ids: Sequence[str], table: str | None) -> Codebook:
    if book is not None:
        return load_codebook(book)
    from understudy.sources.draft import draft_in_full

    return draft_in_full(data, table=table, drop=list(dict.fromkeys(ids))).codebook


def _rules(constants: Mapping[str, str | None] | Sequence[str]) -> dict[str, Any]:
    from typing import get_args

    from understudy.codebook.linked import ReadingRule

    rules = dict(constants) if isinstance(constants, Mapping) else dict.fromkeys(constants)
    for name, rule in rules.items():
        if rule is not None and rule not in get_args(ReadingRule):
            raise ParameterError(
                f"the constant {name!r} has the rule {rule!r}; it must be one of {', '.join(get_args(ReadingRule))}."
            )
    return rules


def _lies_in(data: Any, table: str | None, name: str) -> str:
    """What the codebook must say about where the records lie."""
    if table is not None:
        return table if table != name else ""
    if not isinstance(data, str | Path) or "://" in str(data) or not Path(data).is_file():
        return ""
    return Path(data).name
