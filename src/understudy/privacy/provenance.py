"""What a table is: what it was made from, under which promise, and so what may be promised by whatever uses it.

Every table that we write carries a :class:`Provenance` in its schema metadata and in its manifest; every input of every
command is asked for one. Two are joined by ``|``, which can only lose. A table that nobody of us wrote is what its
caller declares it to be (:data:`DECLARED`), and the statement of whatever is made from it says so.

A table may come in as the confidential ``data``, where a price per row must be a price per person, or in a role that is
called public, where nothing of it may be unpaid.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from understudy.errors import DataError
from understudy.privacy.guarantees import ApproxDP, Guarantee, NoFormal, PureDP
from understudy.privacy.ledger import Entry, Ledger

MARK = b"understudy.provenance"
"""Key of the schema metadata, and of the ``attrs`` of a pandas frame."""


class Made(StrEnum):
    """What the rows of a table are, from what promises most to what promises least."""

    DECLARED = "declared"
    """Nobody of us wrote it: it is what the caller says."""
    COUNTS = "counts"
    ANSWER = "answer"
    SYNTHETIC = "synthetic"
    ANONYMIZED = "anonymized"
    RECONSTRUCTED = "reconstructed"
    COMPLETED = "completed"

    @property
    def is_statistics(self) -> bool:
        """Whether the rows are figures with intervals, and no records of any kind."""
        return self in (Made.COUNTS, Made.ANSWER)


class InputRole(StrEnum):
    """What a table is used as."""

    DATA = "data"
    SEEDS = "starts of chains"
    PRIOR = "shape of the prior"
    QUALITY = "public records to measure quality on"
    PLACES = "places"
    ORIGINS = "list of origins"
    RINGS = "distance rings"
    REGIONS = "partition of the origins"
    SIZES = "output sizes"
    STAND_IN = "stand-in for the data"
    COMPARED = "release that was asked first"

    @property
    def is_public(self) -> bool:
        """Whether everybody may see a table in this role."""
        return self is not InputRole.DATA


_MANY_ROWS = {
    Made.COUNTS: "the rows are combinations with noisy counts, not records: what the draw promises holds for no person",
    Made.ANSWER: "the rows are noisy figures of an answer, not records: what the draw promises holds for no person",
    Made.SYNTHETIC: "the rows were drawn from a table that is synthetic already, where one person can change the rows "
    "of many: people are protected by what that release states, whatever is drawn from it, and not by this price",
    Made.ANONYMIZED: "the rows were drawn from a table that was anonymised by looking at the confidential records, "
    "where one person can change the rows of many: what the draw promises holds for the rows of that "
    "table and not for the people behind them, and its k-anonymity is not inherited",
    Made.RECONSTRUCTED: "the rows were drawn from a table whose values were rebuilt from group averages, where one "
    "person can change the rows of many: what the draw promises holds for the rows of that table and for no person",
    Made.COMPLETED: "the rows were drawn from a table whose missing values were filled in from all confidential "
    "records, where one person can change the rows of many: what the draw promises holds for the rows of that table "
    "and not for the people behind them",
}
_SEEDED = (
    "the rows were anonymised under a fixed seed, where one record more can shift the noise of every later row: "
    "what the draw promises holds for the rows of that table and not for the people behind them"
)


@dataclass(frozen=True, kw_only=True)
class Bought:
    """Something that was paid for earlier and that a new ledger repeats, because its reader sees it too."""

    name: str
    """Under which the account that paid has it."""
    ledger: Ledger
    delta: float | None = None
    """At which its own total is stated."""
    parts: tuple["Bought", ...] = field(default=(), repr=False, compare=False)
    """The purchases that it is made of, where several tables were joined."""

    @property
    def slack(self) -> float:
        """What it adds to the delta of whatever repeats it."""
        each = (float(getattr(entry.guarantee, "delta", 0.0)) for entry in self.ledger)
        return math.fsum(each) if self.delta is None else self.delta


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a table is, as far as promises are concerned."""

    made: Made = Made.DECLARED
    release: str = ""
    """Name of the release; empty for a table that nobody of us wrote."""
    record_wise: bool = True
    """Whether each row came from one record by itself, by public rules or by noise of its own."""
    seeded: bool = False
    """Whether randomness that somebody can repeat went into it."""
    real_records: bool = False
    """Whether rows, or parts of rows, of real people stand in it."""
    ledger: Ledger = field(default_factory=Ledger)
    """What was paid for it."""
    delta: float | None = None
    """At which its own total is stated."""
    text: str = field(default="", repr=False, compare=False)
    """Its manifest, word for word; empty where only the mark in the table was found, or where it must stay at home."""
    k: int | None = None
    parts: tuple["Provenance", ...] = field(default=(), repr=False, compare=False)
    """The releases that were joined in it; each of them has its own price."""
    several: bool = field(default=False, repr=False, compare=False)
    """Whether rows of several tables stand below each other, so that one person may have several of them."""

    def __or__(self, other: "Provenance") -> "Provenance":
        """What a table with columns of both is: never more than either. Of rows of both: :func:`of_several`."""
        if self == other:
            return other if other.several else self
        both = (self, other)
        worse = max(both, key=lambda table: list(Made).index(table.made))
        deltas = [table.delta for table in both if table.delta is not None]
        return Provenance(
            made=worse.made,
            release=" and ".join(dict.fromkeys(table.release for table in both if table.release)),
            # two tables may hold the same people, so that one of them stands in several rows
            record_wise=not (self.is_release or other.is_release),
            seeded=self.seeded or other.seeded,
            real_records=self.real_records or other.real_records,
            ledger=self.ledger + other.ledger,
            delta=sum(deltas) if deltas else None,
            k=None,  # several tables together have none
            several=self.several or other.several,
            parts=tuple(part for table in both for part in table.parts or (table,) if part.is_release),
        )

    @property
    def is_release(self) -> bool:
        """Whether one of us wrote it."""
        return self.made is not Made.DECLARED

    @property
    def called(self) -> str:
        """What it is, for a sentence."""
        kind = "anonymised" if self.made is Made.ANONYMIZED else self.made.value
        return f"the {kind} release {self.release}"

    @property
    def promise(self) -> Guarantee:
        """What it promises by itself to the people behind it."""
        if not self.is_release:
            return NoFormal(why="it is a table of the caller's, and nobody promised anything about it")
        if self.real_records and not self.ledger.entries:
            return NoFormal(why="it holds records of real people")
        if self.seeded:
            return NoFormal(why="it was made with a seed")
        return self.ledger.total(delta=self.delta)

    @property
    def as_data(self) -> tuple[Entry, ...]:
        """What a ledger must say of a table that is used as the confidential one: nothing, or that no price holds."""
        if self.record_wise:
            return ()
        why = _SEEDED if self.seeded and self.made is Made.ANONYMIZED else _MANY_ROWS[self.made]
        reads = f"the table of {self.called}" + ("" if self.k is None else f" ({self.k}-anonymous)")
        return (Entry.unpriced(stage="input", reads=reads, why=why),)

    def refuse_as_data(self, doing: str) -> None:
        """Refuse a table in which one person can change the rows of many, where ``doing`` could not say so."""
        if not self.record_wise:
            raise DataError(
                f"the table is {self.called}, in which one person can change the rows of many, so "
                f"that {doing} could promise nothing to the people behind it. Use the confidential table itself."
            )

    def as_public(self, role: InputRole) -> Bought | None:
        """The price of a release of ours, which belongs to whatever uses it as public knowledge.

        None for a table that is declared public; a release without a formal promise is refused.
        """
        if not self.is_release:
            return None
        promise = self.promise
        if not isinstance(promise, PureDP | ApproxDP):
            why = getattr(promise, "why", None) or f"its promise, {promise.kind}, is not differential privacy"
            raise DataError(
                f"{self.called} is used as {role.value}, which must be public, and it is not: {why}. Give a table that "
                "everybody may see, or a release with a formal promise."
            )
        parts = tuple(Bought(name=part.release, ledger=part.ledger, delta=part.delta) for part in self.parts)
        return Bought(name=self.release, ledger=self.ledger, delta=self.delta, parts=parts)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a manifest."""
        if not self.is_release:
            return {"made": self.made.value}
        return {
            "made": self.made.value,
            "release": self.release,
            "record_wise": self.record_wise,
            "seeded": self.seeded,
            "real_records": self.real_records,
            "ledger": self.ledger.to_list(),
            "delta_for_total": self.delta,
            "k": self.k,
            "manifest_digest": "sha256:" + hashlib.sha256(self.text.encode()).hexdigest() if self.text else None,
        }

    def mark(self) -> dict[bytes, bytes]:
        """Schema metadata that a table carries wherever it is copied; pandas makes it the ``attrs`` of a frame."""
        if not self.is_release:
            return {}
        facts = {name: fact for name, fact in self.to_dict().items() if name not in ("k", "manifest_digest")}
        text = json.dumps(facts, ensure_ascii=False)
        pandas = {"index_columns": [], "column_indexes": [], "columns": [], "attributes": {MARK.decode(): text}}
        return {MARK: text.encode(), b"pandas": json.dumps(pandas).encode()}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> "Provenance":
        """Read back what :meth:`to_dict` or :meth:`mark` wrote."""
        made = Made(facts["made"])
        if made is Made.DECLARED:
            return DECLARED
        delta = facts["delta_for_total"]
        if delta is not None and not (isinstance(delta, float) and 0 < delta < 1):
            raise ValueError(f"{delta!r} is no delta")
        return cls(
            made=made,
            release=str(facts["release"]),
            record_wise=facts["record_wise"] is True,
            seeded=facts["seeded"] is not False,
            real_records=facts["real_records"] is not False,
            ledger=Ledger.from_list(facts["ledger"]),
            delta=delta,
            k=facts.get("k"),
        )


DECLARED = Provenance()
"""A table that nobody of us wrote."""


def of_several(tables: Iterable[Provenance]) -> Provenance:
    """What tables are that stand below each other or are linked: one person may be in several, also of one release.

    One at a time: every part of a release tells the whole manifest, and there may be thousands of parts.
    """
    joined, number = DECLARED, 0
    for number, table in enumerate(tables, start=1):
        joined = table if number == 1 else joined | table
    return replace(joined, record_wise=False, several=True) if number > 1 and joined.is_release else joined


def inputs_from_dict(inputs: Mapping[str, Any]) -> dict[InputRole, Provenance]:
    """What went in, as a manifest tells it."""
    return {InputRole[role.upper()]: Provenance.from_dict(facts) for role, facts in inputs.items()}
