"""Rules learned from the data at a price: maps, and combinations that do not occur, from thresholded support of pairs.

What is public beforehand: the codebook, the pairs of columns that are asked about, and the price. Everything in a
learned rule is post-processing of the supports that show (``mechanisms/proofs/rule_support.md``).
"""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from understudy.codebook import Codebook, Column, Determines, Impossible, Origin, PaidDraft, Rule
from understudy.codebook.edits import edited_text
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.group import share_of_group
from understudy.mechanisms.rule_support import RuleSupport, rule_support_event, supported
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, EPSILON, OneOf
from understudy.privacy.account import Account, digest_of_choices
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Point, paying
from understudy.release.folders import check_file, new_file
from understudy.sources import open_source
from understudy.sources.inputs import provenance_behind
from understudy.sources.tables import CountTable
from understudy.synth.people import capped_source, person_entries

REST = OneOf(("never", "free"))
"""What becomes of levels of a map whose value does not show: no synthetic row has them, or the map leaves them free."""
_MAPPED = 0.95
"""Share of a level's shown records that must agree before it is mapped."""
_ABSENT = 3.0
"""A combination is forbidden where it does not show and chance would give it so many thresholds."""


@dataclass(frozen=True, kw_only=True)
class RulePlan:
    """The public choices of priced rules."""

    epsilon: float
    delta: float
    pairs: tuple[tuple[str, str], ...]
    rest: str = "never"
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        EPSILON.check("epsilon", self.epsilon)
        DELTA.check("delta", self.delta)
        REST.check("rest", self.rest)
        if not self.pairs:
            raise ParameterError("no pair of columns is asked about; name at least one, such as facility,county.")

    def event(self, book: Codebook) -> RuleSupport:
        """What all pairs cost one record."""
        known = {column.name for column in book.modelled}
        for pair in self.pairs:
            if strange := [name for name in pair if name not in known]:
                raise ParameterError(
                    f"there is no column {strange[0]!r} of the model to learn rules about; choose among "
                    f"{', '.join(sorted(known))}."
                )
            if len(set(pair)) < 2:
                raise ParameterError(
                    f"a pair to learn is {', '.join(pair)}; name two columns, such as facility,county."
                )
        records = 1 if book.unit is None else book.unit.cap
        epsilon, delta = share_of_group(epsilon=float(self.epsilon), delta=float(self.delta), records=records)
        assert delta is not None
        return rule_support_event(epsilon=epsilon, delta=delta, pairs=len(self.pairs), neighbours=self.neighbours)

    def quote(self, book: Codebook, *, secure: bool = True) -> Quote:
        """One line for all pairs."""
        event = self.event(book)
        named = "; ".join(f"{a} and {b}" for a, b in self.pairs)
        paid = Entry(
            stage="rules",
            reads=f"combinations of {named}, shown from {event.threshold:,} records on",
            event=event,
            assumptions=("the pairs of columns that rules were learned about were chosen without looking at the data",),
        )
        why = "rules were learned with a seed, so whoever guesses the seed can undo the noise"
        seeded = Entry.unpriced(stage="rules", reads="a seed instead of the secure stream", why=why)
        own = Ledger.of([*person_entries([paid], book), *([] if secure else [seeded])])
        return Quote(method="priced-rules", route="counts", own=own, own_delta=None, rows=len(self.pairs))


def paid_rules(
    what: Any,
    text: str,
    plan: RulePlan,
    *,
    out: Path,
    table: str | None = None,
    unknown: str = "error",
    account: Account | None = None,
    stream: Stream | None = None,
) -> tuple[Codebook, tuple[Rule, ...]]:
    """The codebook of ``text`` with the rules that show at this price, written to a new file."""
    book = Codebook.from_toml(text)
    provenance = provenance_behind(what, book, table)
    provenance.refuse_as_data("rules learned at a price")
    check_file(out, what="the codebook")
    stream = Stream.checked(stream)
    event = plan.event(book)
    quote = plan.quote(book, secure=stream.is_secure).with_data(provenance)
    identity = f"rules {uuid.uuid4()}"
    choices = digest_of_choices(method="priced rules", plan=repr(plan), codebook=book.digest)
    source = open_source(what, book, table=table, unknown=unknown)
    with paying(account, quote, label="rules learned at a price", release_id=identity, choices=choices) as payment:
        payment.drawing()
        counts = capped_source(source, stream).count(plan.pairs)
        shown = supported(counts, event=event, stream=stream)
        rules = tuple(rule for pair in shown for rule in learned_rules(book, pair, event.threshold, rest=plan.rest))
        if not rules:
            raise RefusalError(
                f"nothing about these pairs shows from {event.threshold:,} records on that makes a rule; raise "
                "epsilon, or give a public table. What was charged stays charged: that nothing shows is an answer."
            )
        learned = PaidDraft(
            draft=identity,
            entries=json.dumps(quote.own.to_list(), ensure_ascii=False),
            found=json.dumps({rule.title: rule.content for rule in rules}, ensure_ascii=False),
        )
        kept = _others(book, rules)
        wanted = replace(book, constraints=(*kept, *rules), learned=(*book.learned, learned))
        written = edited_text(text, wanted) if kept == book.constraints else wanted.to_toml()
        payment.reached(Point.DRAWN)
        new_file(out, written.encode(), what="the codebook", commit=payment.commit)
    return wanted, rules


def _others(book: Codebook, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules of the codebook, without drafted maps that a learned one replaces."""
    mapped = {rule.columns for rule in rules if isinstance(rule, Determines)}
    return tuple(
        rule
        for rule in book.constraints
        if not (isinstance(rule, Determines) and rule.columns in mapped and rule.origin is Origin.DRAFTED)
    )


def learned_rules(book: Codebook, shown: CountTable, threshold: int, *, rest: str) -> list[Rule]:
    """Rules that follow from the combinations that show. A function of what was paid for, and of the codebook."""
    first, second = (book.column(name) for name in shown.columns)
    codes, counts = shown.occupied()
    grid = np.zeros((first.size, second.size), dtype=np.int64)
    grid[codes[:, 0], codes[:, 1]] = counts
    proper = grid[: first.proper_levels, : second.proper_levels]
    seen = np.flatnonzero(proper.sum(axis=1))
    largest = proper[seen].max(axis=1)
    if (
        len(seen) > 1
        and (largest >= _MAPPED * proper[seen].sum(axis=1)).all()
        and np.count_nonzero(proper.sum(axis=0)) > 1
    ):
        return _map_rules(first, second, proper, seen, rest)
    return _absent_rules(first, second, grid, threshold)


def _map_rules(first: Column, second: Column, proper: Any, seen: Any, rest: str) -> list[Rule]:
    groups: dict[str, list[str]] = {}
    for code in seen:
        groups.setdefault(second.labels[int(proper[code].argmax())], []).append(first.labels[int(code)])
    unseen = [first.labels[code] for code in range(first.proper_levels) if code not in set(seen.tolist())]
    rules: list[Rule] = [
        Determines(
            column=first.name,
            sets=second.name,
            groups=tuple((group, tuple(levels)) for group, levels in groups.items()),
            free=tuple(unseen),
            origin=Origin.PAID,
        )
    ]
    never = [level for level in unseen if level != getattr(first, "other", None)]
    if never and rest == "never":
        cells = ((first.name, tuple(never)),)
        rules.append(Impossible(name=f"{first.name} without a known {second.name}", cells=cells, origin=Origin.PAID))
    return rules


def _absent_rules(first: Column, second: Column, grid: Any, threshold: int) -> list[Rule]:
    expected = np.outer(grid.sum(axis=1), grid.sum(axis=0)) / max(1, int(grid.sum()))
    absent = (grid == 0) & (expected >= _ABSENT * threshold)
    rows: dict[bytes, list[int]] = {}
    for code, own in enumerate(absent):
        if own.any():
            rows.setdefault(own.tobytes(), []).append(code)
    return [
        Impossible(
            cells=(
                (first.name, tuple(first.labels[code] for code in some)),
                (second.name, tuple(second.labels[int(code)] for code in np.flatnonzero(absent[some[0]]))),
            ),
            origin=Origin.PAID,
        )
        for some in rows.values()
    ]
