"""Codebooks: draft them from data, hold data against them, attest what is public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.confidential import Confidential
from understudy.errors import CodebookError, ParameterError, ReleaseError, listed
from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.codebook import Codebook, FileReading, LinkedCodebook
    from understudy.privacy.account import Account
    from understudy.sources.base import Report
    from understudy.sources.check import Fault
    from understudy.sources.file_guesses import Guess


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """A codebook that was drafted from data, and why it leaves columns out."""

    codebook: Codebook
    is_paid: bool
    """Whether levels and edges were found at a price; otherwise a person must attest that they are public."""
    reasons: Mapping[str, str]
    """Why columns could not be drafted; for the screen of whoever holds the data."""
    source: str = ""
    """The document that it was drafted from, where no data were read: it is as public as that."""
    guesses: tuple[Guess, ...] = ()
    """How the file and its values were read, with examples; for the same screen."""

    @property
    def left_out(self) -> dict[str, str]:
        """Columns that no release will have, each with its reason."""
        released = self.codebook.released
        return {
            column.name: self.reasons.get(column.name, "dropped")
            for column in self.codebook.columns
            if column not in released
        }

    def __repr__(self) -> str:
        made = "paid" if self.is_paid else "from a document" if self.source else "to review"
        return f"<Drafted codebook of {len(self.codebook.released)} columns, {made}>"


@documented
def draft(
    data: Any,
    out: str | Path | None = None,
    *,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    epsilon: float | None = None,
    delta: float | None = None,
    bins: int = 8,
    levels: Sequence[str] = (),
    kind: Sequence[str] | Mapping[str, Any] = (),
    person: str | None = None,
    cap: int | None = None,
    account: Account | str | Path | None = None,
    table: str | None = None,
    from_document: bool = False,
    report: Report | None = None,
) -> Drafted:
    """Draft a codebook from data, for a person to review or at a price, or from a document that describes the data.

    A document is DDI-Codebook XML, Frictionless, CSVW or NIST JSON: it is recognised, no data are read, and what it
    declares is public if it is.

    Parameters
    ----------
    out
        New codebook file; required for a priced draft, whose price is committed just before the file appears.
    keep, drop
        Columns to draft (all others are left out), or columns to leave out.
    epsilon, delta
        Price of a draft whose levels and edges are found privately.
    bins
        Bins of a number in a priced draft: 2, 4, 8, 16 or 32.
    levels
        Priced draft: columns whose numbers are names, not amounts.
    kind
        Columns that hold codes of a public classification: ``COLUMN=PACK``, such as ``diag_1=icd9``, or the CSV file of
        an own pack.
    person, cap
        Priced draft: the id column that tells people apart, and how many records of each take part.
    account
        Charged for a priced draft.
    from_document
        Take the labels of a file of SPSS, Stata or SAS alone, and read none of its rows.

    Returns
    -------
    Drafted
        ``.codebook``, and ``.left_out`` with reasons.
    """
    if isinstance(data, Mapping) or (isinstance(data, str | Path) and Path(data).is_dir()):
        raise ParameterError("several tables are drafted together, as linked ones, by us.draft_tables.")
    if keep and drop:
        raise ParameterError("`keep` and `drop` say the same thing in two ways; give one of them.")
    if from_document or _is_document(data):
        if any(given is not None for given in (epsilon, delta, account, person, cap)) or levels:
            raise ParameterError(f"{str(data)!r} is a document: nothing of it is paid for. Leave the price out.")
        return _draft_from_document(data, out, keep=keep, drop=drop, table=table)
    if epsilon is None and delta is None and account is None:
        return _draft_to_review(
            data, out, keep=keep, drop=drop, kind=kind, table=table, priced_only=(levels, person, cap)
        )
    from understudy.codebook import PersonUnit
    from understudy.privacy.account import account_at
    from understudy.synth.paid_draft import PaidPlan, paid_draft

    if epsilon is None or delta is None:
        raise ParameterError("a priced draft needs `epsilon` and `delta`; there is no default for privacy.")
    if kind:
        raise ParameterError(
            "`kind` belongs to a draft for review; a priced draft finds levels at a price, and codes of a pack are "
            'public. Drop those columns here (`drop`), and write them into the codebook: kind = "icd9".'
        )
    if (person is None) != (cap is None):
        raise ParameterError("`person` and `cap` go together: the id column, and how many records of each take part.")
    if out is None:
        raise ParameterError("a priced draft is paid for when its file appears, so it needs `out`, a new file.")
    plan = PaidPlan(
        epsilon=epsilon,
        delta=delta,
        bins=bins,
        drop=_columns_to_drop(data, table=table, keep=keep, drop=drop),
        named=tuple(levels),
        unit=None if person is None or cap is None else PersonUnit(id=person, cap=cap),
    )
    new_codebook(out)
    book = paid_draft(data, plan, table=table, account=account_at(account), out=Path(out), report=report)
    return Drafted(codebook=book, is_paid=True, reasons={})


def draft_outlook(
    data: Any,
    *,
    epsilon: float,
    delta: float,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    person: str | None = None,
    cap: int | None = None,
    table: str | None = None,
) -> list[str]:
    """What the thresholds of a priced draft will do, in sentences; reads the header of the data only."""
    from understudy.codebook import PersonUnit
    from understudy.sources.files import open_table
    from understudy.synth.paid_draft import PaidPlan

    unit = None if person is None or cap is None else PersonUnit(id=person, cap=cap)
    dropped = _columns_to_drop(data, table=table, keep=keep, drop=drop)
    plan = PaidPlan(epsilon=epsilon, delta=delta, drop=dropped, unit=unit)
    header = [name for name in open_table(data, table).header if name and name not in plan.left_out]
    return plan.outlook(max(len(header), 1))


def _draft_to_review(
    data: Any,
    out: str | Path | None,
    *,
    keep: Sequence[str],
    drop: Sequence[str],
    kind: Sequence[str] | Mapping[str, Any],
    table: str | None,
    priced_only: tuple[Any, ...],
) -> Drafted:
    from understudy.sources.draft import draft_in_full, guessed_file
    from understudy.sources.draft_codes import kinds_of, proposed, with_codes

    kinds = kinds_of(kind)

    if any(priced_only):
        raise ParameterError("`levels`, `person` and `cap` belong to a priced draft; give `epsilon` and `delta` too.")
    file, about_file = guessed_file(data)
    dropped = _columns_to_drop(data, table=table, keep=keep, drop=drop, file=file)
    new_codebook(out)
    drafted = draft_in_full(data, table=table, drop=dropped, guessed=(file, about_file))
    book, reasons = drafted.codebook, {name: why for name, why in drafted.reasons.items() if name not in kinds}
    if kinds:
        book = with_codes(book, data, kinds, table=table)
    for name, pack in proposed(data, list(reasons), table=table, file=file).items():
        reasons[name] += f"; nearly all are codes of the pack {pack}: draft it with `--kind {name}={pack}`"
    _save_draft(book, out)
    guesses = tuple(guess for guess in drafted.guesses if guess.column not in kinds)
    return Drafted(codebook=book, is_paid=False, reasons=reasons, guesses=guesses)


def _is_document(data: Any) -> bool:
    from understudy.sources.documents import is_document

    return is_document(data)


def _draft_from_document(
    data: Any, out: str | Path | None, *, keep: Sequence[str], drop: Sequence[str], table: str | None
) -> Drafted:
    from understudy.sources.documents import draft_from_document

    if not isinstance(data, str | Path):
        raise ParameterError(f"a {type(data).__name__} is no document; give the path of one.")
    new_codebook(out)
    book, reasons, source = draft_from_document(data, table=table, keep=keep, drop=drop)
    _save_draft(book, out)
    return Drafted(codebook=book, is_paid=False, reasons=reasons, source=source)


def _save_draft(book: Codebook, out: str | Path | None) -> None:
    if out is None:
        return
    try:
        book.save(out)
    except OSError as reason:
        raise CodebookError(f"the codebook {str(out)!r} cannot be written ({reason.strerror}).") from None


def _columns_to_drop(
    data: Any, *, table: str | None, keep: Sequence[str], drop: Sequence[str], file: FileReading | None = None
) -> tuple[str, ...]:
    """The columns of ``drop``, or all but those of ``keep``. Reads the header only."""
    from understudy.sources.draft import named_columns
    from understudy.sources.files import open_table

    header = list(open_table(data, table, file=file).header)
    if keep:
        kept = named_columns(header, keep, "`keep`")
        return tuple(name for name in header if name not in kept)
    return named_columns(header, drop, "`drop`")


def new_codebook(out: str | Path | None) -> Path | None:
    """A file that can be made, checked before the data are read."""
    if out is None:
        return None
    target = Path(out)
    if target.exists():
        raise CodebookError(f"{str(out)!r} exists already; a draft never overwrites. Choose another name.")
    if not target.parent.is_dir():
        raise CodebookError(f"there is no folder {str(target.parent)!r} to write the codebook to; make it first.")
    return target


@dataclass(frozen=True, kw_only=True, repr=False)
class Checked(Confidential):
    """How a table fits its codebook; the faults quote private values."""

    faults: tuple[Fault, ...]

    @property
    def fits(self) -> bool:
        """Whether there is no fault."""
        return not self.faults


@dataclass(frozen=True, kw_only=True)
class CellSizes:
    """How many records each key of a conditional table has on average, from public sizes alone."""

    parents: Mapping[str, tuple[str, ...]]
    """What every column would be drawn given."""
    records: Mapping[str, float]
    """Average records per key of each column's table."""
    per_cell: float
    """The wanted average."""
    kept: Mapping[str, tuple[str, ...]]
    """Those of the parents, in their order, that leave so many."""
    most_keys: int
    """Largest key space of a hashed key that leaves so many."""

    @property
    def thin(self) -> tuple[str, ...]:
        """Columns whose tables have fewer records per key."""
        return tuple(name for name, records in self.records.items() if records < self.per_cell)


@documented
def records_per_cell(
    book: Codebook | str | Path, public_rows: int, *, parents: Any = None, per_cell: float = 30
) -> CellSizes:
    """Hold the parents of conditional tables against the rule of thumb of 30 records per cell. Reads no data.

    Parameters
    ----------
    public_rows
        Publicly known number of records.
    parents
        Parents by column, or words such as ``charge=los,sev``, which override the codebook.
    per_cell
        Wanted average number of records per key.

    Returns
    -------
    CellSizes
        ``.records``, ``.thin``, ``.kept`` and ``.most_keys``.
    """
    from understudy.blocks import parents as rules
    from understudy.parameters import Number, Whole
    from understudy.synth.options import ParentsRule

    book = load_codebook(book)
    Whole().check("public_rows", public_rows)
    Number(above=0, tried=30).check("per_cell", per_cell)
    given = ParentsRule().read("parents", parents) if parents else {}
    if not isinstance(given, Mapping):
        raise ParameterError(f"`parents` is {given!r}; write COLUMN=PARENT,PARENT, for example charge=los,sev.")
    chosen = rules.declared_parents(book, given)
    return CellSizes(
        parents=chosen,
        records=rules.records_per_cell(book, chosen, public_rows),
        per_cell=per_cell,
        kept=rules.parents_within(book, public_rows=public_rows, order=chosen, per_cell=per_cell),
        most_keys=int(public_rows / per_cell),
    )


@documented
def check(data: Any, book: Codebook | LinkedCodebook | str | Path, *, table: str | None = None) -> Checked:
    """Hold data against a codebook and list every fault, with row numbers. The outcome is confidential.

    Parameters
    ----------
    data
        A table; for a codebook of linked tables the folder, database or mapping that holds them.
    table
        Table in a database.

    Returns
    -------
    Checked
        ``.fits``, and ``.faults`` with a sentence each.
    """
    from understudy.codebook import LinkedCodebook
    from understudy.sources.check import check_table

    held = load_any(book)
    if not isinstance(held, LinkedCodebook):
        return Checked(faults=tuple(check_table(data, held, table=table)))
    from understudy.sources.linked_check import check_linked

    if table is not None:
        raise ParameterError(f"`table` is {table!r}, and linked tables are all checked together; leave it out.")
    return Checked(faults=tuple(check_linked(data, held)))


def load_codebook(book: Codebook | LinkedCodebook | str | Path) -> Codebook:
    """A codebook, read from its file where only that is named."""
    from understudy.codebook import Codebook, LinkedCodebook
    from understudy.codebook.book import IS_LINKED

    if isinstance(book, LinkedCodebook):
        raise CodebookError(IS_LINKED)
    return book if isinstance(book, Codebook) else Codebook.load(book)


def load_any(book: Codebook | LinkedCodebook | str | Path) -> Codebook | LinkedCodebook:
    """A codebook of one table or of several linked ones."""
    from understudy.codebook import Codebook, LinkedCodebook
    from understudy.codebook.linked_toml import load_book

    return book if isinstance(book, Codebook | LinkedCodebook) else load_book(book)


def load_linked(book: Codebook | LinkedCodebook | str | Path) -> LinkedCodebook | None:
    """A codebook of linked tables; None where it describes one table."""
    from understudy.codebook import LinkedCodebook

    loaded = load_any(book)
    return loaded if isinstance(loaded, LinkedCodebook) else None


def book_about(data: Any, book: Codebook | str | Path | None) -> Codebook:
    """The codebook of a table: the given one, or its own where the table is a release."""
    from understudy.release import Release
    from understudy.release.release import CODEBOOK, MANIFEST

    if book is not None:
        return load_codebook(book)
    if isinstance(data, Release):
        return data.codebook
    if isinstance(data, str | Path) and "://" not in str(data):
        if (Path(data) / MANIFEST).is_file():
            return load_codebook(Path(data) / CODEBOOK)
        if not Path(data).exists():
            raise ReleaseError(f"there is no table and no release folder {str(data)!r}; check the path.")
    raise ParameterError("`book` is missing: it says what the columns are; only a release has its own.")


def declare(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    rules: Sequence[str] = (),
    everything: bool = False,
    by: str,
    source: str,
) -> Codebook | LinkedCodebook:
    """Attest in a codebook file that columns are public knowledge: who says so, and from where. Comments are kept.

    Without ``columns`` all drafted ones are attested, and each must have been reviewed (:func:`us.review`). With
    ``everything`` they need not, and statements of releases then say so. ``rules`` are titles of drafted rules.

    Of linked tables ``columns`` are spelled ``table.column``; see :func:`declare_tables`.
    """
    if load_linked(path) is None:
        return declare_columns(path, columns=columns, rules=rules, everything=everything, by=by, source=source)
    from understudy.facade.linked import declare_tables

    return declare_tables(path, names=columns, rules=rules, everything=everything, by=by, source=source)


def declare_columns(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    rules: Sequence[str] = (),
    everything: bool = False,
    by: str,
    source: str,
) -> Codebook:
    """The same for a codebook of one table."""
    from understudy.codebook.declare import declare_text
    from understudy.facade.reviews import read_book, today, write_book

    text, book = read_book(path)
    waiting = [name for name in book.unreviewed if name in book.unattested]
    if columns is None and rules and not everything:
        columns = ()
    elif columns is None and waiting and not everything:
        raise CodebookError(
            f"nobody has reviewed {listed(waiting)}. Go through them beside the data with `understudy codebook review "
            f"{path} --data FILE --by NAME`; or attest all columns at once (--all, everything=True), which every "
            "statement will then say."
        )
    text = declare_text(text, columns=columns, by=by, source=source, on=today(), rules=rules)
    write_book(path, text)
    return load_codebook(path)
