"""The codebook as one frozen value."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.codebook.card import codebook_card
from understudy.codebook.coded import Coded, CodeLevel, with_code_levels
from understudy.codebook.columns import Column, Origin, Role, repeated_in
from understudy.codebook.details import Detail, detail_faults
from understudy.codebook.file_reading import FileReading
from understudy.codebook.numbers import Number
from understudy.codebook.publication import Publication
from understudy.codebook.rules import Rule
from understudy.codebook.unit import PersonUnit, unit_faults
from understudy.codebook.weight import weight_faults
from understudy.errors import CodebookError
from understudy.files import write_file
from understudy.loading import loader, loading, not_text

if TYPE_CHECKING:
    from understudy.codebook.constraints import Allowed


IS_LINKED = (
    "the codebook describes several linked tables ([tables.NAME]), and what was asked for takes one of a single table; "
    "describe one table alone for it, or see docs/guide/histories.md for what linked tables can do."
)
FILE = "[file]"
"""What the rules of the file are called beside the names of columns, where somebody is asked to attest them."""


@dataclass(frozen=True, kw_only=True)
class PaidDraft:
    """What was paid for a codebook that was drafted from data; releases made with the codebook repeat it."""

    draft: str
    """The draft's name in its account."""
    entries: str
    """Its ledger, as JSON text."""
    found: str | None = None
    """Digests of the columns as they were found, as JSON text: one changed since was not paid for as it stands."""

    def covers(self, column: Column) -> bool:
        """Whether the column is as the draft found it."""
        return self.found is None or json.loads(self.found).get(column.name) == column.content

    def paid_for(self, rule: Rule) -> bool:
        """Whether the rule is as it was learned."""
        return rule.content in json.loads(self.found or "{}").values()

    def faults(self, table: str = "[paid]") -> list[str]:
        """Whether both texts are what a draft wrote."""
        if not isinstance(_json(self.found or "{}"), dict):
            return [f"{table} has a found that is no table of digests in JSON; take the codebook from its original."]
        ledger = _json(self.entries)
        if not isinstance(ledger, list) or not ledger or not all(isinstance(entry, dict) for entry in ledger):
            return [f"{table} has entries that are no ledger in JSON; take the codebook from its original."]
        return []


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


@dataclass(frozen=True, kw_only=True, repr=False)
class Codebook:
    """Public knowledge about a table: columns, levels, bins, roles. No data inside.

    >>> from understudy.codebook import Categorical, Codebook
    >>> book = Codebook(columns=(Categorical(name="sex", levels=("F", "M")),))
    >>> book.column("sex").size
    2
    """

    columns: tuple[Column, ...]
    title: str = ""
    description: str = ""
    constraints: tuple[Rule, ...] = ()
    """Which combinations cannot occur; public like the levels."""
    unit: PersonUnit | None = None
    """Whom a release protects: one record, unless an id column and a cap say that it is one person."""
    weight: str | None = None
    """The column that says how many people of the population a record stands for."""
    paid: PaidDraft | None = None
    """The price of the columns that a priced draft found."""
    file: FileReading | None = None
    """How the file is read, where the file itself does not say it."""
    learned: tuple[PaidDraft, ...] = ()
    """The prices of rules that were learned from the data at a price."""
    publication: Publication | None = None
    """What the publisher declares about the data set as a whole."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", with_code_levels(self.columns))
        faults = self.faults()
        if faults:
            plural = "fault" if len(faults) == 1 else "faults"
            raise CodebookError(f"the codebook has {len(faults)} {plural}:", faults)

    def faults(self) -> list[str]:
        """Everything wrong, collected before anybody raises."""
        faults = [fault for column in self.columns for fault in column.faults()]
        faults += [] if self.publication is None else self.publication.faults()
        for name in repeated_in([column.name for column in self.columns]):
            faults.append(f"column {name!r} is described twice; keep one description.")
        if not any(column.is_modelled for column in self.columns):
            faults.append("no column is left to synthesize; describe at least one that is not an identifier.")
        if faults:
            return faults
        modelled = set(self.names)
        for column in self.columns:
            for parent in column.parents or ():
                if parent not in modelled:
                    faults.append(
                        f"column {column.name!r} has the parent {parent!r}, which is not a column to be synthesized; "
                        f"choose among {', '.join(sorted(modelled - {column.name})) or 'no other column'}."
                    )
        named = self._by_name
        faults += [fault for detail in self.details for fault in detail_faults(detail, named)]
        faults += [
            f"column {fine!r} has the name that the pieces of another column go by; call it something else."
            for fine in self._pieces
            if fine in named
        ]
        faults += [] if self.unit is None else unit_faults(self.unit, named)
        faults += [] if self.weight is None else weight_faults(self.weight, named)
        faults += [] if self.paid is None else self.paid.faults()
        faults += [] if self.file is None else self.file.faults()
        faults += [fault for purchase in self.learned for fault in purchase.faults("[[learned]]")]
        if self.paid is None and (bought := [c.name for c in self.columns if c.origin is Origin.PAID]):
            faults.append(
                f'{", ".join(bought)} have origin = "paid", and the codebook has no [paid] table that says what was '
                'paid; keep the one that the draft wrote, or set origin = "drafted".'
            )
        if self.constraints and not faults:
            from understudy.codebook.constraints import rule_faults

            faults += rule_faults(self.modelled, self.constraints)
        return faults

    def __repr__(self) -> str:
        title = f" {self.title!r}" if self.title else ""
        waiting = f", {len(self.unattested)} not attested" if self.unattested else ""
        return f"<Codebook{title} of {len(self.columns)} columns{waiting}>"

    def _repr_html_(self) -> str:
        return codebook_card(self.title, self.columns, self.unattested)

    @cached_property
    def allowed(self) -> "Allowed":
        """The rules, compiled."""
        from understudy.codebook.constraints import Allowed

        return Allowed(self.modelled, self.constraints)

    @cached_property
    def modelled(self) -> tuple[Column, ...]:
        """The columns that take part: all but the identifiers."""
        return tuple(column for column in self.columns if column.is_modelled)

    @cached_property
    def written(self) -> tuple[Column, ...]:
        """The columns that a file of this codebook describes; levels of codes follow from those."""
        return tuple(column for column in self.columns if not isinstance(column, CodeLevel))

    @cached_property
    def details(self) -> tuple[Detail, ...]:
        """Detailed codes: outside the model, drawn after it."""
        return tuple(c for c in self.columns if isinstance(c, Detail) and c.role is not Role.IDENTIFIER)

    @cached_property
    def coded(self) -> tuple[Coded, ...]:
        """The details whose codes come from a pack."""
        return tuple(detail for detail in self.details if isinstance(detail, Coded))

    @cached_property
    def code_levels(self) -> tuple[CodeLevel, ...]:
        """Parents of codes that a release tells beside the codes: all but the coarsest, which is modelled."""
        return tuple(c for c in self.columns if isinstance(c, CodeLevel) and not c.is_modelled)

    @cached_property
    def measured(self) -> tuple[Number, ...]:
        """Numbers whose values inside a bin follow a priced count of its pieces."""
        return tuple(c for c in self.modelled if isinstance(c, Number) and c.shape == "measured")

    @cached_property
    def smooth(self) -> tuple[Number, ...]:
        """Numbers whose values inside a bin follow the bins around it, or what a method measures of them."""
        return tuple(c for c in self.modelled if isinstance(c, Number) and c.shape == "smooth" and c.is_cut)

    @cached_property
    def described(self) -> tuple[Column, ...]:
        """The columns that a table must have: those of the model, then the details."""
        return (*self.modelled, *self.details)

    @cached_property
    def counted(self) -> tuple[Column, ...]:
        """The columns that a source encodes: those that a table has, then the pieces of measured and smooth numbers."""
        return (*self.described, *self._pieces.values())

    @property
    def without_smooth_pieces(self) -> tuple[Column, ...]:
        """The columns that a source encodes at once: all but pieces of smooth numbers, which few methods ask for."""
        return self.counted[: len(self.counted) - len(self.smooth)]

    def count_position(self, name: str) -> int:
        """Index of a column among those that a source encodes."""
        return [column.name for column in self.counted].index(self.column(name).name)

    @cached_property
    def released(self) -> tuple[Column, ...]:
        """The columns of a release, in the order of the codebook."""
        told = (*self.details, *self.code_levels)
        return tuple(column for column in self.columns if column.is_modelled or column in told)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the modelled columns."""
        return tuple(column.name for column in self.modelled)

    def with_role(self, role: Role) -> tuple[str, ...]:
        """Names of the modelled columns of one role."""
        return tuple(column.name for column in self.modelled if column.role is role)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each modelled column."""
        return tuple(column.size for column in self.modelled)

    @property
    def cells(self) -> int:
        """Number of possible records, exactly."""
        return math.prod(self.sizes)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def _pieces(self) -> Mapping[str, Column]:
        return {number.fine.name: number.fine for number in (*self.measured, *self.smooth)}

    def column(self, name: str) -> Column:
        """The column called ``name``."""
        if name in self._pieces:
            return self._pieces[name]
        if name not in self._by_name:
            known = ", ".join(column.name for column in self.released) or ", ".join(self._by_name) or "none"
            raise CodebookError(f"there is no column {name!r} in the codebook; it has {known}.")
        return self._by_name[name]

    def position(self, name: str) -> int:
        """Index of a modelled column."""
        self.column(name)
        return self.names.index(name)

    @cached_property
    def plain(self) -> "Codebook":
        """The same for a table that we write ourselves: no [file], and every column by the plain convention."""
        columns = [column.as_published for column in self.columns]
        if self.file is None and tuple(columns) == self.columns:
            return self
        for place, column in enumerate(self.columns):  # a rule added to what was paid for stays unpaid
            if column.origin is Origin.PAID and not self._is_public(column):
                columns[place] = replace(columns[place], origin=Origin.DRAFTED)
        return replace(self, columns=tuple(columns), file=None if self.file is None else self.file.as_published)

    @property
    def unattested(self) -> tuple[str, ...]:
        """Columns whose levels were read from data and that nobody has paid for, or attested as they stand now.

        The rules of the file are listed as ``[file]`` where they were guessed.
        """
        file = () if self.file is None or self.file.is_public else (FILE,)
        return (*(column.name for column in self.released if not self._is_public(column)), *file)

    def content_of(self, name: str) -> str:
        """Digest of what a person attests about a column, or about ``[file]``."""
        return self.file.content if name == FILE and self.file is not None else self.column(name).content

    def _is_public(self, column: Column) -> bool:
        if column.origin is Origin.PAID and self.paid is not None and not self.paid.covers(column):
            return column.is_attested
        return column.is_public

    @property
    def purchases(self) -> tuple[PaidDraft, ...]:
        """What was paid for columns and rules."""
        return (*(() if self.paid is None else (self.paid,)), *self.learned)

    @property
    def unsourced_rules(self) -> tuple[str, ...]:
        """Rules that were noticed in the data and that nobody has paid for, or declared from a public source."""
        return tuple(rule.title for rule in self.constraints if not self._is_public_rule(rule))

    def _is_public_rule(self, rule: Rule) -> bool:
        if rule.origin is Origin.PAID:
            return rule.is_attested or any(purchase.paid_for(rule) for purchase in self.learned)
        return rule.origin is Origin.DECLARED or rule.is_attested

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """Drafted columns of a release that no person looked at one by one, as they stand now."""
        return tuple(c.name for c in self.released if c.origin is Origin.DRAFTED and not c.is_reviewed)

    @property
    def why_not_public(self) -> str:
        """Why no promise may rest on this codebook, in words; empty where one may."""
        columns = [name for name in self.unattested if name != FILE]
        drafted = [name for name in columns if self.column(name).attestation is None]
        bought = [name for name in drafted if self.column(name).origin is Origin.PAID]
        plain = [name for name in drafted if name not in bought]
        stale = [name for name in columns if name not in drafted]
        reasons = (
            (plain, "were drafted from the data and nobody has attested that they are public"),
            (stale, "were changed after a person attested what stood there before"),
            (bought, "were changed after the draft that paid for them"),
        )
        sentences = [f"levels of {', '.join(names)} {reason}" for names, reason in reasons if names]
        if FILE in self.unattested:
            sentences.append(
                f"the rules of {FILE} were guessed from the data and nobody has attested them as they stand"
            )
        if rules := self.unsourced_rules:
            sentences.append(f"rules have no source besides the data ({'; '.join(rules)})")
        return "; ".join(sentences)

    @property
    def is_public(self) -> bool:
        """Whether a formal guarantee may rest on this codebook."""
        return not self.unattested and not self.unsourced_rules

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a reader must accept about the columns for a guarantee to be true, grouped by who says so."""
        grounds: dict[str, list[str]] = {}
        for column in self.released:
            if column.attestation is not None and column.is_attested:
                how = "; attested together, nobody reviewed them one by one" if column.name in self.unreviewed else ""
                grounds.setdefault(f"attested by {column.attestation}{how}", []).append(column.name)
            elif column.origin is Origin.DECLARED:
                grounds.setdefault("declared in the codebook", []).append(column.name)
        sentences = [
            f"the levels of {', '.join(names)} are public knowledge ({ground})" for ground, names in grounds.items()
        ]
        sentences += self._rule_assumptions
        if self.unit is not None:
            sentences.append(self.unit.assumption)
        return tuple(sentences)

    @property
    def _rule_assumptions(self) -> list[str]:
        """Whose word each rule is; what was paid for is nobody's word."""
        grounds: dict[str, list[str]] = {}
        for rule in self.constraints:
            if rule.attestation is not None and rule.is_attested:
                noticed = "were noticed in the data and " if rule.origin is Origin.DRAFTED else ""
                ground = f"{noticed}are public knowledge, attested by {rule.attestation}"
            elif rule.origin is Origin.DECLARED:
                ground = "are public knowledge and were not read off the data" + (
                    rule.source and f", from {rule.source}"
                )
            else:
                continue
            grounds.setdefault(ground, []).append(rule.title)
        return [f"the rules of the codebook {ground} ({'; '.join(titles)})" for ground, titles in grounds.items()]

    def with_parents(self, parents: Mapping[str, Sequence[str]]) -> "Codebook":
        """The same book with other declared parents for some columns."""
        for name in parents:
            self.column(name)
        columns = (replace(c, parents=tuple(parents[c.name])) if c.name in parents else c for c in self.columns)
        return replace(self, columns=tuple(columns))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text: two books with one digest say the same."""
        return "sha256:" + hashlib.sha256(self.to_toml().encode()).hexdigest()

    def to_toml(self) -> str:
        """The canonical text; reading it back and writing it again gives the same bytes."""
        from understudy.codebook.toml import write_codebook

        return write_codebook(self)

    @staticmethod
    def from_toml(text: str, folder: Path | None = None) -> "Codebook":
        """Read a codebook from TOML text, reporting every fault at once; own packs are looked for in ``folder``."""
        from understudy.codebook.toml import read_codebook

        return read_codebook(text, folder)

    @staticmethod
    def load(path: str | Path) -> "Codebook":
        """Read a codebook file."""
        text = read_text(path)
        with with_path(path):
            return Codebook.from_toml(text, Path(path).parent)

    def save(self, path: str | Path) -> None:
        """Write the canonical text."""
        write_file(Path(path), self.to_toml())


@loader("the codebook", remedy="save it as TOML text in UTF-8.", error=CodebookError)
def read_text(path: str | Path) -> str:
    """The text of a codebook file, with the line ends that it has: whoever edits it keeps them."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:  # some editors add a mark
            return file.read()
    except FileNotFoundError:
        raise CodebookError(
            f"there is no codebook at {str(path)!r}; draft one with `understudy codebook draft DATA -o {path}`."
        ) from None
    except UnicodeDecodeError:
        why = not_text(Path(path), "give the TOML file that `understudy codebook draft` writes")
        raise CodebookError(f"the codebook {str(path)!r} {why}.") from None
    except OSError as reason:
        fault = "it is a folder; name the file" if Path(path).is_dir() else reason.strerror
        raise CodebookError(f"the codebook {str(path)!r} cannot be read ({fault}).") from None


@contextmanager
def with_path(path: str | Path) -> Iterator[None]:
    """Faults of a codebook name its file."""
    try:
        with loading(path, "the codebook", remedy="mend it, or copy it again from its source.", error=CodebookError):
            yield
    except CodebookError as reason:
        message = str(reason).partition("\n")[0]
        if str(path) in message:
            raise
        raise CodebookError(message.replace("the codebook", f"the codebook {str(path)!r}", 1), reason.faults) from None
