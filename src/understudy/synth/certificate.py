"""The certificate of a release: what it must be good for, named beforehand, and how well the finished rows meet it.

What is asked for, its tolerances and its epsilon are options of the recipe, so that the quote holds the price and the
account the choice. The measurements are made in the same transaction as the draw. Rows that do not meet what was asked
are destroyed unseen and the verdict is handed over in their place, as a release of no rows: it was paid for, and it
tells something. Where several tries are allowed, rows are drawn again from the same perturbed tables until measurements
of their own let one pass, which is a private selection (``mechanisms/proofs/selected_try.md``); the certificate of the
chosen rows is then measured anew, so that the choice does not flatter it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.blocks.certified_regression import ReleasedRegression, released_regression
from understudy.codebook import Codebook, Column
from understudy.codebook.encode import encode_value
from understudy.codec import to_fraction
from understudy.errors import ParameterError
from understudy.mechanisms.certificate import (
    STEPS,
    CertifiedNumbers,
    SelectedTry,
    certified_event,
    measure_moves,
    measure_records,
    measure_sums,
    until_passed,
)
from understudy.mechanisms.discrete_laplace import count_sensitivity, float_above, half_width
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import ApproxDP, Neighbours, PureDP
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret
from understudy.sources.base import Source
from understudy.sources.tables import CountTable
from understudy.synth.wishes import Wish, read_wishes

if TYPE_CHECKING:
    from understudy.synth.recipe import Recipe

Codes = npt.NDArray[np.unsignedinteger]
Drawn = TypeVar("Drawn")
CONFIDENCE = 0.95
_MISS, _RECORDS_MISS = 0.04, 0.01
"""How often the noise of a number, and of the number of records, may pass its half-width: 5 % together."""
_RECORDS_SHARE, _TRIES_SHARE = 0.1, 0.5
"""Of the price: the number of records, which only divides; and of the rest, where several are tried, the selection."""
_WITHHELD = "none: the rows did not meet what was asked of them, so only the verdict is released"


@dataclass(frozen=True, kw_only=True)
class CertificatePlan:
    """What will be measured, and with which noise; from public choices alone."""

    wishes: tuple[Wish, ...]
    tries: int
    records: CertifiedNumbers
    each: tuple[CertifiedNumbers, ...]
    tried: tuple[CertifiedNumbers, ...]
    """Of every try, where there are several."""

    @property
    def entries(self) -> list[Entry]:
        """What it costs."""
        known = ("what the release must be good for was chosen without looking at the data",)
        measured = [("the number of records", self.records)]
        for wish, event in zip(self.wishes, self.each, strict=True):
            measured.append((f"how well the released rows meet {wish.words!r}", event))
        entries = [Entry(stage="certificate", reads=reads, event=event, assumptions=known) for reads, event in measured]
        if self.tried:
            epsilon = float_above(sum((Fraction(event.guarantee().epsilon) for event in self.tried), Fraction(0)))
            chosen = SelectedTry(epsilon=epsilon, tries=self.tries, neighbours=self.records.neighbours)
            reads = "which of several draws of the rows is handed over"
            timed = "nobody sees how long drawing took"
            entries.append(Entry(stage="certificate", reads=reads, event=chosen, assumptions=(*known, timed)))
        return entries


def certificate_plan(recipe: "Recipe", book: Codebook) -> CertificatePlan | None:
    """The plan of a recipe that asks for a certificate."""
    epsilon = recipe.certify_epsilon
    if not recipe.certify:
        if epsilon is not None or recipe.certify_tries != 1:
            raise ParameterError(
                "`certify_epsilon` and `certify_tries` belong to a certificate, and nothing is to be certified; leave "
                "them out, or say what the release must be good for: `certify`, for example 'sex x age within 0.02'."
            )
        return None
    if epsilon is None:
        raise ParameterError(
            "`certify` asks for a certificate, which is measured in the confidential table and paid for; give "
            "`certify_epsilon` (for example 0.1). There is no default for privacy."
        )
    wishes = read_wishes(recipe.certify, book)
    if recipe.certify_tries > 1 and recipe.route != "N":
        raise ParameterError(
            f"`certify_tries` is {recipe.certify_tries}, and {recipe.name} pays for every row of every try; leave it "
            "out, or use a method of route N, where rows are drawn from tables that were paid for once."
        )
    relation = getattr(recipe, "neighbours", Neighbours.ADD_REMOVE)
    several = recipe.certify_tries > 1
    rest = (1 - _RECORDS_SHARE) * epsilon / len(wishes)
    final = rest * (1 - _TRIES_SHARE) if several else rest
    events = partial(_wish_event, neighbours=relation)
    return CertificatePlan(
        wishes=wishes,
        tries=recipe.certify_tries,
        records=certified_event(epsilon=_RECORDS_SHARE * epsilon, moved=1, neighbours=relation),
        each=tuple(events(wish, epsilon=final) for wish in wishes),
        # a selection costs at most twice what one try costs
        tried=tuple(events(wish, epsilon=rest * _TRIES_SHARE / 2) for wish in wishes) if several else (),
    )


def _wish_event(wish: Wish, *, epsilon: float, neighbours: Neighbours) -> CertifiedNumbers:
    moved = 1 if wish.outcome is None else STEPS * count_sensitivity(neighbours)
    return certified_event(epsilon=epsilon, moved=moved, neighbours=neighbours)


def certificate_entries(recipe: "Recipe", book: Codebook, others: Sequence[Entry]) -> list[Entry]:
    """What the certificate costs; refused where what it certifies has no promise of the same kind."""
    plan = certificate_plan(recipe, book)
    if plan is None:
        return []
    promise = Ledger.of(others).basic()
    if not isinstance(promise, PureDP | ApproxDP):
        raise ParameterError(
            f"`certify` asks for a certificate that may be published, and {recipe.name} with these options has no "
            "differential privacy that it could be added to; use a method that has (`understudy methods`), or look at "
            "the release confidentially with `understudy evaluate`."
        )
    return plan.entries


def certificate_warnings(recipe: "Recipe", book: Codebook) -> list[str]:
    """Before paying: from how many records on a table can be certified at all."""
    plan = certificate_plan(recipe, book)
    if plan is None:
        return []
    return [
        f"the certificate of {wish.words!r} has noise of its own: even a perfect release passes for sure only if there "
        f"are {needed:,} records or more. With fewer, raise `certify_epsilon` or the tolerance, or ask for fewer "
        "things."
        for place, wish in enumerate(plan.wishes)
        if (needed := records_needed(plan, place)) is not None
    ]


def records_needed(plan: CertificatePlan, place: int) -> int | None:
    """From so many records on a release without any error passes in 95 of 100 cases; None for a regression.

    The interval reaches the half-width above a number that noise puts up to another half-width too high, and divides by
    the number of records, which is known as well only up to noise.
    """
    wish, around = plan.wishes[place], half_width(plan.records.scale, miss=_RECORDS_MISS)
    if wish.outcome is not None:
        return None
    return int((2 * half_width(plan.each[place].scale, miss=_MISS) + 1) / wish.tolerance) + 2 * around + 1


def expected_half_width(plan: CertificatePlan, place: int, records: int) -> float | None:
    """How far the interval of a table that just meets its tolerance reaches up, as a share; None for a regression."""
    wish, around = plan.wishes[place], half_width(plan.records.scale, miss=_RECORDS_MISS)
    if wish.outcome is not None:
        return None
    reach = half_width(plan.each[place].scale, miss=_MISS) + 1 + wish.tolerance * around
    return min(1.0, reach / (records - around)) if records > around else 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """The plan, and the confidential counts that it will be measured in."""

    plan: CertificatePlan
    book: Codebook
    counts: Sequence[Secret[CountTable]]

    def judged(
        self, draw: Callable[[], Drawn], codes_of: Callable[[Drawn], Sequence[Codes]], rows: int, stream: Stream
    ) -> tuple[Drawn, dict[str, Any]]:
        """Rows, drawn until some pass where several tries are allowed, and their certificate."""
        records = measure_records(self.counts[0], event=self.plan.records, stream=stream)
        if self.plan.tried:

            def passes(drawn: Drawn) -> bool:
                return all(item["met"] for item in self._measured(codes_of(drawn), records, self.plan.tried, stream))

            drawn = until_passed(draw, passes, tries=self.plan.tries, stream=stream)
        else:
            drawn = draw()
        items = self._measured(codes_of(drawn), records, self.plan.each, stream)
        return drawn, {
            "accepted": all(item["met"] for item in items),
            "rows": rows,
            "confidence": CONFIDENCE,
            "tries": self.plan.tries,
            "records": {"measured": records, "scale": str(self.plan.records.scale)},
            "asked": items,
        }

    def _measured(
        self, codes: Sequence[Codes], records: int, events: Sequence[CertifiedNumbers], stream: Stream
    ) -> list[dict[str, Any]]:
        items, by_name = [], dict(zip(self.book.names, codes, strict=True))
        for wish, counts, event in zip(self.plan.wishes, self.counts, events, strict=True):
            released = released_counts(self.book, wish.clique, by_name)
            facts: dict[str, Any] = {"words": wish.words, "tolerance": wish.tolerance, "scale": str(event.scale)}
            if wish.outcome is None:
                facts["moved"] = measure_moves(counts, released, event=event, stream=stream)
            else:
                fitted = regression_of(wish, self.book, released)
                sums = measure_sums(counts, fitted.steps, event=event, stream=stream)
                facts |= {"unit": fitted.unit, "coefficients": _coefficients(fitted, sums)}
            items.append(with_intervals(facts, records, self.plan.records.scale))
        return items


def count_certificate(recipe: "Recipe", source: Source) -> Judge | None:
    """Count what a certificate will be measured in, if one is asked for."""
    plan = certificate_plan(recipe, source.codebook)
    if plan is None:
        return None
    counts = source.count([wish.clique for wish in plan.wishes])
    return Judge(plan=plan, book=source.codebook, counts=counts)


def released_counts(book: Codebook, clique: Sequence[str], codes: Mapping[str, Codes]) -> npt.NDArray[np.int64]:
    """Rows by cell."""
    sizes = tuple(book.column(name).size for name in clique)
    chosen = tuple(codes[name].astype(np.int64) for name in clique)
    cells = np.ravel_multi_index(chosen, sizes)
    return np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes).astype(np.int64)


def regression_of(wish: Wish, book: Codebook, released: npt.NDArray[np.int64]) -> ReleasedRegression:
    """The regression of a wish, fitted to released rows."""
    assert wish.outcome is not None
    predictors = [book.column(name) for name in wish.columns]
    return released_regression(predictors, book.column(wish.outcome), wish.level, released, most=STEPS)


def _coefficients(fitted: ReleasedRegression, sums: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    facts = zip(fitted.names, fitted.coefficients, sums, fitted.rounding, fitted.offset, strict=True)
    return [
        {"name": name, "released": float(b), "sum": int(s), "rounding": float(r), "offset": float(o)}
        for name, b, s, r, o in facts
    ]


def with_intervals(item: Mapping[str, Any], records: int, records_scale: Fraction) -> dict[str, Any]:
    """What was measured of one wish, with estimate, interval and verdict: all of them follow from the other numbers."""
    reach, around = half_width(to_fraction(item["scale"]), miss=_MISS), half_width(records_scale, miss=_RECORDS_MISS)
    least, most = max(records - around, 0), max(records + around, 1)
    if "coefficients" not in item:
        moved = item["moved"]
        low = max(0.0, (moved - reach) / most)
        # the number was rounded down, so that up to one record more may have to move
        high = min(1.0, max(moved + reach + 1, 1) / least) if least else 1.0
        estimate = min(1.0, max(0.0, moved / max(records, 1)))
        return {**item, "estimate": estimate, "low": min(low, 1.0), "high": high, "met": high <= item["tolerance"]}
    coefficients = []
    for known in item["coefficients"]:
        sides = [
            (known["sum"] + sign * reach) * item["unit"] / number + sign * known["rounding"] - known["offset"]
            for sign in (-1, 1)
            for number in (max(least, 1), most)
        ]
        estimate = known["sum"] * item["unit"] / max(records, 1) - known["offset"]
        coefficients.append({**known, "estimate": estimate, "low": min(sides), "high": max(sides)})
    inside = all(max(-known["low"], known["high"]) <= item["tolerance"] for known in coefficients)
    return {**item, "coefficients": coefficients, "met": bool(least) and inside}


def certificate_lines(certificate: Mapping[str, Any]) -> list[str]:
    """The certificate in words."""
    lines = []
    for item in certificate["asked"]:
        verdict = "met" if item["met"] else "not met"
        if "coefficients" in item:
            far = max(item["coefficients"], key=lambda known: max(-known["low"], known["high"]), default=None)
            measured = (
                "it has no coefficients"
                if far is None
                else f"the coefficient that may be farthest off, {far['name']}, differs by {far['estimate']:.3f} (95 % "
                f"interval {far['low']:.3f} to {far['high']:.3f})"
            )
        else:
            measured = (
                f"{item['estimate']:.2%} of the records would have to move for the tables to agree (95 % interval "
                f"{item['low']:.2%} to {item['high']:.2%})"
            )
        lines.append(f"certificate, {item['words']}: {measured}: {verdict}.")
    if not certificate["accepted"]:
        lines.append(
            "rejected: the rows are withheld and this verdict is the release. It was paid for and stays charged; to "
            "try again, with other options, is to pay again."
        )
    return lines


def withheld_rows(certificate: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a manifest says of its rows where they were rejected."""
    if certificate is None or certificate["accepted"]:
        return {}
    return {"rows": 0, "rows_origin": _WITHHELD}


_STATED = {"words", "tolerance", "scale", "met"}
_PARTS = {True: _STATED | {"moved", "estimate", "low", "high"}, False: _STATED | {"unit", "coefficients"}}
"""What a certificate states of a table, and of a regression."""


def faults_of(certificate: Mapping[str, Any], recipe: "Recipe", book: Codebook, *, rows: int) -> list[str]:
    """Why a certificate in a manifest cannot be that of its recipe: everything that follows is computed again."""
    plan = certificate_plan(recipe, book)
    if plan is None:
        return ["the manifest holds a certificate, and nothing was to be certified"]
    faults = []
    items = certificate["asked"]
    if [set(item) for item in items] != [_PARTS[wish.outcome is None] for wish in plan.wishes]:
        return ["what the certificate states of a wish is not what is measured for it"]
    if [item["words"] for item in items] != [wish.words for wish in plan.wishes]:
        faults.append("the certificate is about other things than were asked for")
    scales = [certificate["records"]["scale"], *(item["scale"] for item in items)]
    if scales != [str(event.scale) for event in (plan.records, *plan.each)]:
        faults.append("the noise of the certificate is not the one that was paid for")
    if [item["tolerance"] for item in items] != [wish.tolerance for wish in plan.wishes]:
        faults.append("the tolerances of the certificate are not those that were asked for")
    again = [with_intervals(item, certificate["records"]["measured"], to_fraction(scales[0])) for item in items]
    if again != list(items):
        faults.append("the intervals and verdicts of the certificate do not follow from its measurements")
    if certificate["accepted"] is not all(item["met"] for item in again):
        faults.append("whether the certificate accepts the release does not follow from its verdicts")
    if rows != (certificate["rows"] if certificate["accepted"] else 0):
        faults.append("the release shows rows that its certificate rejected, or another number of them")
    if certificate["tries"] != plan.tries or certificate["confidence"] != CONFIDENCE:
        faults.append("the certificate states another number of tries, or another confidence, than its recipe")
    return faults


def regression_faults(certificate: Mapping[str, Any], book: Codebook, table: pa.Table) -> list[str]:
    """Whether the regressions of a certificate are those of the released rows."""
    faults = []
    for item in certificate["asked"]:
        [wish] = read_wishes([item["words"]], book)
        if wish.outcome is None:
            continue
        codes = {name: codes_of(book.column(name), table.column(name)) for name in wish.clique}
        fitted = regression_of(wish, book, released_counts(book, wish.clique, codes))
        stated = item["coefficients"]
        again = {"released": fitted.coefficients, "rounding": fitted.rounding, "offset": fitted.offset}
        same = [known["name"] for known in stated] == list(fitted.names) and all(
            np.allclose([known[part] for known in stated], values, rtol=1e-6, atol=1e-6)
            for part, values in again.items()
        )
        if not same or not math.isclose(item["unit"], fitted.unit, rel_tol=1e-6):
            faults.append(f"the regression {wish.words!r} of the certificate is not that of the released rows")
    return faults


def codes_of(column: Column, values: pa.ChunkedArray) -> Codes:
    """Codes of released values, each distinct one encoded once."""
    coded = values.combine_chunks().dictionary_encode()
    known = [encode_value(column, value) for value in (*coded.dictionary.to_pylist(), None)]
    place = coded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)
    codes: Codes = np.array([0 if code is None else code for code in known], dtype=np.uint32)[place]
    return codes
