"""Codebooks of several linked tables: persons, their stays, the diagnoses of each stay.

Every table has an ordinary codebook of its columns, and a place in a tree: the top table holds the persons, who are the
unit of protection; each row of another table belongs to one row of its parent. How many it may have is a public cap.
"""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from understudy.codebook.attestation import Attestable, Attestation, as_attested
from understudy.codebook.book import FILE, Codebook, read_text, with_path
from understudy.codebook.columns import Column, Origin, Role, Text
from understudy.codebook.linked_rules import PREVIOUS, NothingAfter, is_previous, renamed, table_of
from understudy.codebook.publication import Publication
from understudy.codebook.rules import Rule
from understudy.errors import CodebookError
from understudy.files import write_file

Orphans = Literal["refuse", "drop"]
ReadingRule = Literal["first", "latest", "most frequent"]
"""Which of contradicting values counts; a tie of "most frequent" goes to the value that the codebook lists first."""


@dataclass(frozen=True, kw_only=True)
class Constant(Attestable):
    """A column of a table that is read from a child table, whose rows repeat it: the sex of a patient in each stay."""

    column: str
    """A column of the parent's codebook; the child's codebook does not have it."""
    child: str
    """The table that repeats it."""
    rule: ReadingRule | None = None
    """What counts where rows of one parent differ; without a rule such data are refused."""
    source: str = ""
    """Where it is publicly known from that the column does not change."""
    origin: Origin = Origin.DECLARED
    """Drafted where it was noticed in the data: no promise rests on it until a person attests a public source."""
    attestation: Attestation | None = None
    held: bool = False
    """Whether the table holds the column itself, as tables that we write do: then it is read there."""

    @property
    def content(self) -> str:
        """Digest of what it says."""
        return _digest("constant", self.column, self.child, self.rule)

    @property
    def is_public(self) -> bool:
        """Whether a promise may rest on it."""
        return self.origin is Origin.DECLARED or self.is_attested


@dataclass(frozen=True, kw_only=True)
class LinkedTable(Attestable):
    """One table and its place among the others."""

    name: str
    book: Codebook
    """Its ordinary columns: no keys, no unit, no weight. Constants that are read from a child are among them."""
    key: str | None = None
    """The column that tells its rows apart; None for a table without children that has none."""
    parent: str | None = None
    """The table above; None for the top table, whose rows are the persons."""
    parent_key: str | None = None
    """The column that holds the key of the parent's row."""
    cap: int | None = None
    """Public: at most so many rows for one row of the parent take part; None for the top table."""
    order: str | None = None
    """By which siblings follow each other: one of the codebook's, then released, or one that is only read."""
    data: str = ""
    """The file or table that holds it; its own name where empty."""
    made_of: str | None = None
    """The child table whose rows it is made of: it lies nowhere itself, has one row for each value of the child's
    ``parent_key``, and all its columns are constants of that child."""
    orphans: Orphans = "refuse"
    """What becomes of rows whose parent does not exist: such tables are refused, or the rows take no part."""
    constants: tuple[Constant, ...] = ()
    """Columns that do not change within a row of it, read from child tables that repeat them."""
    origin: Origin = Origin.DECLARED
    """Drafted where keys and parent were found in the data."""
    attestation: Attestation | None = None

    @property
    def lies_in(self) -> str:
        """The file or table that holds it."""
        return self.data or self.name

    @property
    def content(self) -> str:
        """Digest of its place among the tables, which is what a person attests."""
        return _digest(
            "table", self.name, self.key, self.parent, self.parent_key, self.cap, self.order, self.made_of, self.orphans
        )  # fmt: skip

    @property
    def is_public(self) -> bool:
        """Whether a promise may rest on its keys, parent and cap."""
        return self.origin is Origin.DECLARED or self.is_attested

    @property
    def plain(self) -> "LinkedTable":
        """The same for a table that we write ourselves, as attested as it is now."""
        constants = tuple(replace(one, held=True) for one in self.constants)
        return as_attested(replace(self, book=self.book.plain, data="", made_of=None, constants=constants), self)

    @property
    def read_constants(self) -> tuple[Constant, ...]:
        """The constants that lie in child tables."""
        return tuple(one for one in self.constants if not one.held)

    @property
    def as_file(self) -> Codebook:
        """A codebook of all columns that a file of it has, keys among them."""
        keys = dict.fromkeys(name for name in (self.key, self.parent_key, self.order) if name)
        known = {column.name for column in self.book.columns}
        identifiers = tuple(Text(name=name, role=Role.IDENTIFIER) for name in keys if name not in known)
        return replace(self.book, columns=(*identifiers, *self.book.columns))

    def spelled(self, column: str) -> str:
        """A column as rules across tables write it."""
        return f"{self.name}.{column}"


@dataclass(frozen=True, kw_only=True, repr=False)
class LinkedCodebook:
    """Public knowledge about linked tables. Parents stand before their children, the table of the persons first.

    >>> from understudy.codebook import Categorical, Codebook
    >>> patients = LinkedTable(
    ...     name="patients", key="patient_id", book=Codebook(columns=(Categorical(name="sex", levels=("F", "M")),))
    ... )
    >>> stays = LinkedTable(
    ...     name="stays", parent="patients", parent_key="patient_id", cap=5,
    ...     book=Codebook(columns=(Categorical(name="ward", levels=("A", "B")),)),
    ... )
    >>> book = LinkedCodebook(tables=(stays, patients))
    >>> [table.name for table in book.tables], book.most_rows("stays")
    (['patients', 'stays'], 5)
    """

    tables: tuple[LinkedTable, ...]
    rules: tuple[Rule, ...] = ()
    """Rules across tables (``linked_rules.py``); rules of one table are constraints of its codebook."""
    title: str = ""
    description: str = ""
    publication: Publication | None = None
    """What its publisher says of what is released."""

    def __post_init__(self) -> None:
        from understudy.codebook.linked_faults import linked_faults

        faults = linked_faults(self)
        if faults:
            plural = "fault" if len(faults) == 1 else "faults"
            raise CodebookError(f"the codebook has {len(faults)} {plural}:", faults)
        object.__setattr__(self, "tables", _parents_first(self.tables))

    def __repr__(self) -> str:
        title = f" {self.title!r}" if self.title else ""
        return f"<LinkedCodebook{title} of {', '.join(table.name for table in self.tables)}>"

    # Lookups

    @property
    def person(self) -> LinkedTable:
        """The top table: one row for each person, the unit of protection."""
        return self.tables[0]

    def table(self, name: str) -> LinkedTable:
        """The table called ``name``."""
        for table in self.tables:
            if table.name == name:
                return table
        known = ", ".join(table.name for table in self.tables)
        raise CodebookError(f"there is no table {name!r} in the codebook; it has {known}.")

    def children(self, name: str) -> tuple[LinkedTable, ...]:
        """The tables right below one, in the order of the codebook."""
        return tuple(table for table in self.tables if table.parent == self.table(name).name)

    def path(self, name: str) -> tuple[LinkedTable, ...]:
        """The table and those above it, from the top."""
        table = self.table(name)
        return (table,) if table.parent is None else (*self.path(table.parent), table)

    def deepest(self, names: Iterable[str]) -> LinkedTable:
        """The table of these that lies lowest; all others must lie above it."""
        wanted = set(names)
        lowest = max((self.table(name) for name in wanted), key=lambda table: len(self.path(table.name)))
        if beside := wanted - {table.name for table in self.path(lowest.name)}:
            raise CodebookError(
                f"the tables {lowest.name} and {', '.join(sorted(beside))} do not lie on one path from the persons; "
                "what speaks about both would pair unrelated rows. Name tables of one path."
            )
        return lowest

    def most_rows(self, name: str) -> int:
        """How many rows of a table one person has at most: the product of the caps on its path."""
        return math.prod(table.cap or 1 for table in self.path(name))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every modelled column, spelled ``table.column``."""
        return tuple(table.spelled(name) for table in self.tables for name in table.book.names)

    def column(self, spelled: str) -> Column:
        """The column spelled ``table.column``, under that name."""
        table, _, own = spelled.partition(".")
        return replace(self.table(table).book.column(own.removeprefix(f"{PREVIOUS}.")), name=spelled, parents=None)

    @cached_property
    def released(self) -> tuple[Column, ...]:
        """Every column of a release but keys, spelled ``table.column``."""
        return tuple(self.column(table.spelled(own.name)) for table in self.tables for own in table.book.released)

    @cached_property
    def plain(self) -> "LinkedCodebook":
        """The same for tables that we write ourselves: one file each, which holds its constants itself."""
        return replace(self, tables=tuple(table.plain for table in self.tables))

    # Rules

    def visible(self, name: str) -> dict[str, Column]:
        """The columns that a rule about a row of this table may name, by their spelling: those of the path and, where
        the table has an order, those of the previous sibling (``table.previous.column``)."""
        spelled = [table.spelled(own) for table in self.path(name) for own in table.book.names]
        table = self.table(name)
        if table.order is not None:
            spelled += [table.spelled(f"{PREVIOUS}.{own}") for own in table.book.names]
        return {column: self.column(column) for column in spelled}

    def rules_on(self, name: str) -> tuple[Rule, ...]:
        """Every rule that a row of this table must keep, together with its ancestors and its previous sibling, with
        columns spelled ``table.column``: those of the codebooks on its path and those across them.

        ``NothingAfter`` comes as orders. ``Last`` does not come: it is about the row that follows (:meth:`ends`).
        """
        path = {table.name for table in self.path(name)}
        own = [_spelled(table, rule) for table in self.path(name) for rule in table.book.constraints]
        single = [part for rule in self.rules for part in (rule.orders() if isinstance(rule, NothingAfter) else [rule])]
        across: list[Rule] = []
        for rule in single:
            if rule.kind == "last" or not {table_of(column) for column in rule.columns} <= path:
                continue
            if any(is_previous(column) and table_of(column) != name for column in rule.columns):
                continue  # about a previous sibling further up, which a row of this table does not see
            across.append(rule)
        return (*own, *across)

    def ends(self, name: str) -> tuple[Rule, ...]:
        """The rules by which a row of this table is the last of its siblings."""
        return tuple(rule for rule in self.rules if rule.kind == "last" and table_of(rule.columns[0]) == name)

    # What is public

    @property
    def unattested(self) -> tuple[str, ...]:
        """What was read from the data and nobody attested: columns as ``table.column``, places of tables as
        ``[table]``, how a table's file is read as ``[table.file]``, constants as ``table.column is constant``."""
        names: list[str] = []
        for table in self.tables:
            names += [] if table.is_public else [f"[{table.name}]"]
            names += [f"[{table.name}.file]" if own == FILE else table.spelled(own) for own in table.book.unattested]
            names += [constant_title(table, one) for one in table.constants if not one.is_public]
        return tuple(names)

    @property
    def unsourced_rules(self) -> tuple[str, ...]:
        """Rules that were noticed in the data and that nobody has declared from a public source."""
        own = [f"{table.name}: {title}" for table in self.tables for title in table.book.unsourced_rules]
        return (*own, *(r.title for r in self.rules if r.origin is not Origin.DECLARED and not r.is_attested))

    @property
    def is_public(self) -> bool:
        """Whether a formal guarantee may rest on this codebook."""
        return not self.unattested and not self.unsourced_rules

    @property
    def why_not_public(self) -> str:
        """Why no promise may rest on this codebook, in words; empty where one may."""
        sentences = [
            f"in table {table.name}, {table.book.why_not_public}" for table in self.tables if not table.book.is_public
        ]
        if places := [table.name for table in self.tables if not table.is_public]:
            sentences.append(
                f"keys, parents and caps of {', '.join(places)} were drafted from the data and nobody has attested "
                "them as they stand"
            )
        if constants := [constant_title(t, one) for t in self.tables for one in t.constants if not one.is_public]:
            sentences.append(f"that {', '.join(constants)} within its parent has no source besides the data")
        if rules := [r.title for r in self.rules if r.origin is not Origin.DECLARED and not r.is_attested]:
            sentences.append(f"rules across tables have no source besides the data ({'; '.join(rules)})")
        return "; ".join(sentences)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a reader must accept for a guarantee to be true."""
        sentences = [f"table {table.name}: {text}" for table in self.tables for text in table.book.assumptions]
        sentences += self.link_assumptions
        sentences += [
            f"the rule {rule.title!r} is public knowledge"
            + (f", attested by {rule.attestation}" if rule.attestation else rule.source and f", from {rule.source}")
            for rule in self.rules
            if rule.origin is Origin.DECLARED or rule.is_attested
        ]
        return tuple(sentences)

    @property
    def link_assumptions(self) -> tuple[str, ...]:
        """What of it is about keys, caps and constants."""
        caps = ", ".join(f"{t.cap} rows of {t.name} for each row of {t.parent}" for t in self.tables if t.parent)
        keys = f"all rows of one person, in every table, lead to one value of {self.person.name}.{self.person.key}"
        sentences = [f"{keys}; the caps ({caps}) were chosen without looking at the data" if caps else keys]
        for table in self.tables:
            if table.attestation is not None and table.is_attested:
                sentences.append(f"the keys and the cap of {table.name} are attested by {table.attestation}")
            sentences += [
                f"{constant_title(table, one)} within {table.name}, which is public knowledge"
                + (f", attested by {one.attestation}" if one.attestation else one.source and f", from {one.source}")
                for one in table.constants
                if one.is_public
            ]
        return tuple(sentences)

    # Files

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical text: two books with one digest say the same."""
        return "sha256:" + hashlib.sha256(self.to_toml().encode()).hexdigest()

    def to_toml(self) -> str:
        """The canonical text; reading it back and writing it again gives the same bytes."""
        from understudy.codebook.linked_toml import write_linked

        return write_linked(self)

    @staticmethod
    def from_toml(text: str, folder: Path | None = None) -> "LinkedCodebook":
        """Read a codebook of linked tables from TOML text, reporting every fault at once."""
        from understudy.codebook.linked_toml import read_linked

        return read_linked(text, folder)

    @staticmethod
    def load(path: str | Path) -> "LinkedCodebook":
        """Read a codebook file."""
        text = read_text(path)
        with with_path(path):
            return LinkedCodebook.from_toml(text, Path(path).parent)

    def save(self, path: str | Path) -> None:
        """Write the canonical text."""
        write_file(Path(path), self.to_toml())


def constant_title(table: LinkedTable, constant: Constant) -> str:
    """What a constant is called in messages, and where somebody is asked to attest it."""
    return f"{table.spelled(constant.column)} is constant"


def _spelled(table: LinkedTable, rule: Rule) -> Rule:
    """A rule of one table among those of several."""
    return replace(renamed(rule, table.spelled), name=rule.name and f"{table.name}: {rule.name}")


def _parents_first(tables: tuple[LinkedTable, ...]) -> tuple[LinkedTable, ...]:
    """As listed, each table after its parent; the faults are known to be none."""
    ordered: list[LinkedTable] = []
    while len(ordered) < len(tables):
        known = {None, *(table.name for table in ordered)}
        ordered.append(next(table for table in tables if table.parent in known and table not in ordered))
    return tuple(ordered)


def _digest(*parts: object) -> str:
    return "sha256:" + hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
