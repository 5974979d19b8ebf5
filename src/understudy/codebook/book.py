"""The codebook: what a table may hold, as one frozen value."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.codebook.columns import Column, Origin, Role
from understudy.codebook.details import Detail, detail_faults
from understudy.codebook.numbers import Number
from understudy.codebook.paid import PaidDraft
from understudy.codebook.rules import Rule
from understudy.codebook.unit import PersonUnit, unit_faults
from understudy.codebook.weight import weight_faults
from understudy.errors import CodebookError

if TYPE_CHECKING:
    from understudy.codebook.constraints import Allowed


@dataclass(frozen=True, kw_only=True)
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

    def __post_init__(self) -> None:
        faults = self.faults()
        if faults:
            plural = "fault" if len(faults) == 1 else "faults"
            raise CodebookError(f"the codebook has {len(faults)} {plural}:", faults)

    def faults(self) -> list[str]:
        """Everything wrong, collected before anybody raises."""
        found = [fault for column in self.columns for fault in column.faults()]
        names = [column.name for column in self.columns]
        for name in sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []:
            found.append(f"column {name!r} is described twice; keep one description.")
        if not any(column.is_modelled for column in self.columns):
            found.append("no column is left to synthesize; describe at least one that is not an identifier.")
        if found:
            return found
        modelled = {column.name for column in self.columns if column.is_modelled}
        for column in self.columns:
            if column.is_modelled and column.size < 2:
                found.append(
                    f"column {column.name!r} has one level ({column.labels[0]!r}); a constant needs no synthesis. "
                    'Declare its other levels, or drop it with role = "identifier" and kind = "text".'
                )
            for parent in column.parents or ():
                if parent not in modelled:
                    found.append(
                        f"column {column.name!r} has the parent {parent!r}, which is not a column to be synthesized; "
                        f"choose among {', '.join(sorted(modelled - {column.name})) or 'no other column'}."
                    )
        named = {column.name: column for column in self.columns}
        found += [fault for detail in self.details for fault in detail_faults(detail, named)]
        found += [
            f"column {fine!r} has the name that the pieces of another column go by; call it something else."
            for fine in self._pieces
            if fine in named
        ]
        found += [] if self.unit is None else unit_faults(self.unit, named)
        found += [] if self.weight is None else weight_faults(self.weight, named)
        if self.paid is None and (bought := [c.name for c in self.columns if c.origin is Origin.PAID]):
            found.append(
                f'{", ".join(bought)} have origin = "paid", and the codebook has no [paid] table that says what was '
                'paid; keep the one that the draft wrote, or set origin = "drafted".'
            )
        if self.constraints and not found:
            from understudy.codebook.constraints import rule_faults

            found += rule_faults(self.modelled, self.constraints)
        return found

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
    def details(self) -> tuple[Detail, ...]:
        """Detailed codes: outside the model, drawn after it."""
        return tuple(c for c in self.columns if isinstance(c, Detail) and c.role is not Role.IDENTIFIER)

    @cached_property
    def measured(self) -> tuple[Number, ...]:
        """Numbers whose values inside a bin follow a priced count of its pieces."""
        return tuple(c for c in self.modelled if isinstance(c, Number) and c.shape == "measured")

    @cached_property
    def described(self) -> tuple[Column, ...]:
        """The columns that a table must have: those of the model, then the details."""
        return (*self.modelled, *self.details)

    @cached_property
    def counted(self) -> tuple[Column, ...]:
        """The columns that a source encodes: those that a table has, then the pieces of measured numbers."""
        return (*self.described, *(number.fine for number in self.measured))

    def count_position(self, name: str) -> int:
        """Index of a column among those that a source encodes."""
        return [column.name for column in self.counted].index(self.column(name).name)

    @cached_property
    def released(self) -> tuple[Column, ...]:
        """The columns of a release, in the order of the codebook."""
        return tuple(column for column in self.columns if column.is_modelled or column in self.details)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the modelled columns."""
        return tuple(column.name for column in self.modelled)

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
        return {number.fine.name: number.fine for number in self.measured}

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

    @property
    def unattested(self) -> tuple[str, ...]:
        """Columns whose levels were read from data and that nobody has paid for, or attested as they stand now."""
        return tuple(column.name for column in self.released if not self._is_public(column))

    def _is_public(self, column: Column) -> bool:
        bought = column.origin is Origin.PAID and self.paid is not None
        if bought and self.paid is not None and not self.paid.covers(column):
            return column.is_attested
        return column.is_public

    @property
    def why_not_public(self) -> str:
        """Why no promise may rest on this codebook, in words; empty where one may."""
        drafted = [name for name in self.unattested if self.column(name).attestation is None]
        bought = [name for name in drafted if self.column(name).origin is Origin.PAID]
        plain = [name for name in drafted if name not in bought]
        stale = [name for name in self.unattested if name not in drafted]
        said = []
        if plain:
            names = ", ".join(plain)
            said.append(f"levels of {names} were drafted from the data and nobody has attested that they are public")
        if stale:
            said.append(f"levels of {', '.join(stale)} were changed after a person attested what stood there before")
        if bought:
            said.append(f"levels of {', '.join(bought)} were changed after the draft that paid for them")
        return "; ".join(said)

    @property
    def is_public(self) -> bool:
        """Whether a formal guarantee may rest on this codebook."""
        return not self.unattested

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a reader must accept about the columns for a guarantee to be true, grouped by who says so."""
        grounds: dict[str, list[str]] = {}
        for column in self.released:
            if column.attestation is not None and column.is_attested:
                grounds.setdefault(f"attested by {column.attestation}", []).append(column.name)
            elif column.origin is Origin.DECLARED:
                grounds.setdefault("declared in the codebook", []).append(column.name)
        said = [f"the levels of {', '.join(told)} are public knowledge ({ground})" for ground, told in grounds.items()]
        if self.constraints:
            rules = "; ".join(rule.title for rule in self.constraints)
            said.append(f"the rules of the codebook are public knowledge and were not read off the data ({rules})")
        if self.unit is not None:
            said.append(self.unit.assumption)
        return tuple(said)

    def with_parents(self, parents: Mapping[str, Sequence[str]]) -> "Codebook":
        """The same book with other declared parents for some columns."""
        for name in parents:
            self.column(name)
        return replace(
            self,
            columns=tuple(
                replace(column, parents=tuple(parents[column.name])) if column.name in parents else column
                for column in self.columns
            ),
        )

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical text: two books with one digest say the same."""
        return "sha256:" + hashlib.sha256(self.to_toml().encode()).hexdigest()

    def to_toml(self) -> str:
        """The canonical text; reading it back and writing it again gives the same bytes."""
        from understudy.codebook.toml import write_codebook

        return write_codebook(self)

    @staticmethod
    def from_toml(text: str) -> "Codebook":
        """Read a codebook from TOML text, reporting every fault at once."""
        from understudy.codebook.toml import read_codebook

        return read_codebook(text)

    @staticmethod
    def load(path: str | Path) -> "Codebook":
        """Read a codebook file."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")  # some editors add a mark
        except FileNotFoundError:
            raise CodebookError(
                f"there is no codebook at {str(path)!r}; draft one with `understudy codebook draft DATA -o {path}`."
            ) from None
        except UnicodeDecodeError:
            raise CodebookError(f"the codebook {str(path)!r} is not UTF-8 text; save it as UTF-8.") from None
        except OSError as reason:
            fault = "it is a folder; name the file" if Path(path).is_dir() else reason.strerror
            raise CodebookError(f"the codebook {str(path)!r} cannot be read ({fault}).") from None
        try:
            return Codebook.from_toml(text)
        except CodebookError as reason:
            message = str(reason).partition("\n")[0]
            raise CodebookError(
                message.replace("the codebook", f"the codebook {str(path)!r}", 1), reason.faults
            ) from None

    def save(self, path: str | Path) -> None:
        """Write the canonical text."""
        Path(path).write_text(self.to_toml(), encoding="utf-8", newline="\n")
