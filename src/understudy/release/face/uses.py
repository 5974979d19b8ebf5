"""What a release is good for and not good for, from public facts: what it is, its ledger, its price, its measurements.

Nothing here looks at how well the release came out; that is what an evaluation does, which is confidential.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from understudy.codebook import Codebook
from understudy.pages.numbers import number
from understudy.privacy.guarantees import ApproxDP, Guarantee, KAnonymous, Neighbours, PureDP
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import Made
from understudy.release.face.columns import NORMAL, Noise, points
from understudy.release.measurements import Measurements

_MISS = 0.05
_WEAK = 10.0
_LISTED = 6
_COUNTED = ("histogram", "stability")
"""How events are called that are counts with noise."""


@dataclass(frozen=True, kw_only=True)
class Uses:
    """Two lists of sentences."""

    good: tuple[str, ...]
    bad: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One kind of count that was taken with noise."""

    reads: str
    noise: int
    """Half of an interval that holds 95 of 100 times, in records."""
    threshold: int | None
    """Smallest noisy count that is shown."""


def measured_counts(ledger: Ledger) -> list[Measured]:
    """What the ledger says about noise; the measurements of a release say it in their own file."""
    # compiles; whoever only reads a release needs none of it
    from understudy.mechanisms.discrete_laplace import half_width

    lines = []
    for entry in ledger:
        event: Any = entry.event.inner
        scale: Any = getattr(event, "scale", None)
        variance: Any = getattr(event, "variance", None)
        in_records = getattr(event, "largest", 1) == 1  # weighted counts are in units of their own
        if not event.kind.endswith(_COUNTED) or not in_records or (scale is None and variance is None):
            continue
        wide = half_width(scale, miss=_MISS) if scale is not None else math.ceil(NORMAL * float(variance) ** 0.5)
        lines.append(Measured(reads=entry.reads, noise=wide, threshold=getattr(event, "threshold", None)))
    return lines


def uses_of(
    facts: Mapping[str, Any], made: Made, total: Guarantee, book: Codebook, measured: Measurements | None
) -> Uses:
    """Sentences about this release."""
    ledger = Ledger.from_list(facts["ledger"])
    good, bad = _by_kind(facts, made, total, ledger, book, measured)
    certificate = facts.get("certificate")
    if certificate is not None and not certificate["accepted"]:
        good = []
        bad.insert(0, "Anything: it did not reach what it had to be good for, so no row was released.")
    if isinstance(total, PureDP | ApproxDP) and total.epsilon > _WEAK:
        bad.append("Publication on the strength of its promise alone, which bounds hardly anything.")
    return Uses(good=tuple(good), bad=tuple(bad))


def _by_kind(
    facts: Mapping[str, Any],
    made: Made,
    total: Guarantee,
    ledger: Ledger,
    book: Codebook,
    measured: Measurements | None,
) -> tuple[list[str], list[str]]:
    if made is Made.COMPLETED:
        return (
            ["Work inside the house: analyse every completed file and combine the results (`understudy combine`)."],
            ["Leaving the house: these are real records."],
        )
    if made is Made.ANONYMIZED:
        beyond = "" if isinstance(total, KAnonymous) else " Nothing is promised about them."
        return (
            ["Analyses at the level of detail that was kept: the rows are real records, made vaguer."],
            [
                f"Open publication without a judgement of its risk: the rows are real people's.{beyond}",
                "Use beside other tables about the same people: what each of them hides, both together may show.",
            ],
        )
    if not total.is_formal:
        return (
            ["Comparing methods, and work inside the house that holds the confidential data."],
            ["Leaving that house: no promise covers it."],
        )
    if made is Made.COUNTS:
        return _counts(facts)
    if made is Made.ANSWER:
        sure = number(100 * facts["parameters"]["level"])
        return (
            [f"The figures of this one question, each with an interval that holds {sure} times of 100."],
            ["Any other question: the next one is asked, and paid for, by itself."],
        )
    good = ["Writing and trying out programs: columns, levels and types are those of the confidential table."]
    bad = ["Looking for a person, or deciding about one: no row is a person."]
    if getattr(total, "neighbours", None) is Neighbours.ORIGIN:
        good.append("Flows between places as a whole: where the workers of a destination come from.")
        bad.append("Single rare flows: one that few workers take may be missing, or be there by chance.")
        return good, bad + _rare(measured_counts(ledger))
    if measured is not None:
        more, less = _by_measurements(measured, book)
        return good + more, bad + less
    taken = measured_counts(ledger)
    if taken:
        good.append("Combinations that many records share, within the noise that is listed below.")
        bad += _rare(taken)
    else:
        bad.append("Estimates whose error must be known: this method states no noise, and carries no measurements.")
    bad.append("Tests and intervals that take rows for people: how many rows there are says nothing about the error.")
    return good, bad


def _counts(facts: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    sure = facts["parameters"].get("confidence")
    inside = "" if sure is None else f" that holds {number(100 * sure)} times of 100"
    good = [f"Every count of the table, each with an interval{inside}."]
    bad = ["Combinations that the table does not have.", "Sums of many counts as if their noise went away: it adds up."]
    wide = math.ceil(facts["parameters"].get("half_width", 0))
    return good, bad + (_rare([Measured(reads="", noise=wide, threshold=None)]) if wide else [])


def _rare(taken: Iterable[Measured]) -> list[str]:
    """Below which size noise drowns a group."""
    taken = list(taken)
    if not taken:
        return []
    widest = max(item.noise for item in taken)
    lines = [f"Groups of fewer than about {max(1, 2 * widest):,} records: noise is half as large as they are, or more."]
    shown = [item.threshold + item.noise for item in taken if item.threshold is not None]
    if shown:
        lines.append(f"Rare combinations: those with fewer than about {max(shown):,} records may not be shown at all.")
    return lines


def _by_measurements(measured: Measurements, book: Codebook) -> tuple[list[str], list[str]]:
    """Of a release that carries what was measured: its noise, and which columns were measured together."""
    halves = sorted(Noise.of(measured).by_column.values())
    records = max(1.0, float(measured.records.values[0]))
    pairs = [names for names in measured.tables if len(names) == 2]  # in order: two runs make one page
    larger = [names for names in measured.tables if len(names) > 2]
    every = list(combinations(book.names, 2))
    unmeasured = [names for names in every if names not in pairs]
    good, bad = [], []
    if halves:
        span = " to ".join(dict.fromkeys(points(half) for half in (halves[0], halves[-1])))
        good.append(f"Shares of single columns: noise moves them by about {span} points, 95 times of 100.")
        bad.append(
            f"Groups of fewer than about {math.ceil(2 * halves[-1] * records):,} records: noise is half as large as "
            "they are, or more."
        )
    if pairs:
        good.append(f"How two columns go together, where it was measured ({len(pairs):,} pairs): {_named(pairs)}.")
    if larger:
        good.append(f"How three columns go together: {_named(larger)}.")
    good.append("Figures with honest intervals: `understudy infer` computes them from this folder.")
    if unmeasured:
        bad.append(
            f"How two columns go together that were not measured together ({len(unmeasured):,} of {len(every):,} "
            f"pairs), such as {_named(unmeasured)}: rows may show less of it than is true."
        )
    bad.append("Combinations of many columns at once: what was not measured follows from what was, not from people.")
    return good, bad


def _named(tables: Iterable[tuple[str, ...]]) -> str:
    names = [" x ".join(each) for each in tables]
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
