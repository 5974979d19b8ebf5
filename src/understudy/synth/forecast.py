"""What a release will be worth, said before anything is paid: from public numbers alone.

Known are the codebook, the options, a public guess of the number of records and, if there is one, a public table of
the same shape. With such a table the method itself is run on samples of it, which costs nothing. Without one only a
range can be told, by methods that can (:meth:`~understudy.synth.recipe.Recipe.foresee`).
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.codebook import Codebook, Coded, Detail
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.discrete_laplace import half_width
from understudy.mechanisms.smoothing import declared_public
from understudy.mechanisms.stream import Stream
from understudy.parameters import ROWS, Number, options_of
from understudy.privacy.provenance import InputRole
from understudy.privacy.quote import Quote
from understudy.sources import open_source
from understudy.sources.base import Report
from understudy.sources.inputs import public_provenance
from understudy.sources.rows import rows_of
from understudy.synth.certificate import certificate_plan, codes_of, expected_half_width, records_needed
from understudy.synth.detail_tables import code_noise
from understudy.synth.people import of_people
from understudy.synth.recipe import Recipe
from understudy.synth.wishes import table_columns

ERROR = Number(above=0, below=1, tried=0.01)
ROUNDS = 6
_MOST_PAIRS = 500
"""Two-way tables that are compared; of more columns every so manieth pair."""
_LEAST_EPSILON, _MOST_EPSILON, _CLOSE = 0.01, 100.0, 1.05
"""Where the smallest epsilon is looked for, and up to which factor it is found."""
_NORMAL, _SHOWN = 1.96, 0.95
_SURE = 5.0
"""Deviations of noise from which on a code surely shows: about 3 to be told from nothing, and 2 for its own noise."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """Where a number will lie: a range, or twice the same where the method was run."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The geometric middle."""
        return math.sqrt(self.low * self.high)

    def __str__(self) -> str:
        low, high = (f"{end:.0f}" if end >= 100 else f"{end:.2g}" for end in (self.low, self.high))  # 170, not 1.7e+02
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """What becomes of rare levels under one table that is shown from a threshold on."""

    reads: str
    records: int
    """A combination with so many records is shown in 95 of 100 cases."""
    share: float
    """The same as a share of all records."""
    at_most: int
    """So many combinations can be that large at once."""

    @property
    def sentence(self) -> str:
        """In words."""
        return (
            f"{self.reads}: a combination needs about {self.records:,} records ({self.share:.2%}) to show; at most "
            f"{self.at_most:,} can."
        )


@dataclass(frozen=True, kw_only=True)
class DetailOutlook:
    """What becomes of a detailed code; from public frequencies."""

    column: str
    codes: int
    shown: float
    """Codes that rows show."""
    other: float
    """Share of the rows that say ``other``."""
    parents: float
    """Share of the rows that name a parent of their code, where the codes come from a pack."""
    vanish: tuple[str, ...]
    """Codes that occur in the public table and in no row of any run, the commonest first."""

    @property
    def sentence(self) -> str:
        """In words."""
        return (
            f"{self.column}: {self.codes:,} codes, about {self.shown:.0f} will show; {self.other:.0%} of the rows will "
            "say other" + (f" and {self.parents:.0%} name a parent." if self.parents else ".")
        )


@dataclass(frozen=True, kw_only=True)
class CodesOutlook:
    """What noise does to the codes of packs; from sizes alone."""

    columns: tuple[str, ...]
    noise: float
    """Deviation of the noise of a count, in records."""
    records: int
    """A code with so many records in a column is shown in 95 of 100 cases."""
    at_most: int
    """So many codes can be that large at once."""

    @property
    def sentence(self) -> str:
        """In words."""
        return (
            f"{', '.join(self.columns)}: noise of about {self.noise:,.0f} records on the count of every code; one with "
            f"{self.records:,} records or more in a column shows (at most {self.at_most:,} can be so large), rarer "
            "ones the less often the rarer; those that do not show name their parent, not other."
        )


@dataclass(frozen=True, kw_only=True)
class CertificateOutlook:
    """How wide the interval of a certificate will be."""

    words: str
    half_width: float | None
    """As a share of the records; None for a regression, whose noise depends on the released rows."""
    records_needed: int | None

    @property
    def sentence(self) -> str:
        """In words."""
        told = "how wide its intervals are depends on the released rows"
        if self.half_width is not None:
            told = (
                f"its interval reaches {100 * self.half_width:.2g} points either way, and it can surely be met from "
                f"{self.records_needed:,} records on"
            )
        return f"certificate of {self.words!r}: {told}."


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What to expect of a release; from public numbers only."""

    method: str
    records: int
    quote: Quote = field(repr=False)
    from_public: bool
    """Whether the method was run on a public table; otherwise the numbers are ranges."""
    one_way: Span | None
    """Mean total variation distance of the shares of one column."""
    two_way: Span | None
    """The same of two columns."""
    share_noise: Span | None
    """Half of a 95 % interval of a share, as far as noise makes it, over the columns."""
    share_sampling: float
    """Half of a 95 % interval of a share of a tenth, as far as sampling makes it."""
    merged_below: float | None
    """Share below which levels are measured together in two-way tables."""
    thresholds: tuple[Threshold, ...] = ()
    codes: tuple[CodesOutlook, ...] = ()
    details: tuple[DetailOutlook, ...] = ()
    vanished: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Levels of the public table that no run showed, by column."""
    certificates: tuple[CertificateOutlook, ...] = ()
    table: tuple[str, ...] = ()
    """The table that was asked for."""
    table_error: Span | None = None
    epsilon: float | None = None
    """The smallest epsilon for the error that was named."""

    def lines(self) -> list[str]:
        """In words."""
        basis = (
            "the method was run on the table that is called public; nothing else was read"
            if self.from_public
            else "from codebook and size alone; no data was read"
        )
        outlooks: list[Threshold | CodesOutlook | DetailOutlook | CertificateOutlook]
        outlooks = [*self.thresholds, *self.codes, *self.details, *self.certificates]
        sentences = [*self._errors(), *self._levels(), *(outlook.sentence for outlook in outlooks)]
        begun = f"Forecast for {self.method} and about {self.records:,} records ({basis}):"
        return [begun, *(f"- {sentence}" for sentence in sentences)]

    def _errors(self) -> list[str]:
        lines = []
        if self.epsilon is not None:
            lines.append(f"the smallest epsilon for the error that was named is about {self.epsilon:.2g}.")
        if self.table_error is not None:
            table = " x ".join(self.table)
            lines.append(f"{table}: expected error {self.table_error}, the share of records in a wrong cell.")
        if self.one_way is not None:
            lines.append(f"tables of one column: expected error {self.one_way} (total variation), on average.")
        if self.two_way is not None:
            lines.append(f"tables of two columns: expected error {self.two_way}, on average.")
        if not lines:
            lines.append(
                f"{self.method} cannot tell its errors from codebook and size alone; give a public table of the same "
                "shape (`public`), on which it can be run."
            )
        return lines

    def _levels(self) -> list[str]:
        lines = []
        if self.share_noise is not None:
            lines.append(
                f"the share of a group: noise adds {_points(self.share_noise)} either way (95 %); sampling alone would "
                f"be {100 * self.share_sampling:.2g} points for a share of 10 %."
            )
        if self.merged_below:
            lines.append(
                f"levels below about {self.merged_below:.2%} of the records share one row in tables of two columns: "
                "their size shows, what they go with does not."
            )
        vanished = self.vanished.items()
        return [*lines, *(f"{column}: levels that will vanish: {_listed(levels)}." for column, levels in vanished)]

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for machines."""
        return {
            "method": self.method,
            "records": self.records,
            "from_public": self.from_public,
            "epsilon": self.epsilon,
            "total": self.quote.total.to_dict(),
            "table": list(self.table),
            **{name: _ends(getattr(self, name)) for name in ("table_error", "one_way", "two_way", "share_noise")},
            "share_sampling": self.share_sampling,
            "merged_below": self.merged_below,
            "thresholds": [vars(threshold) for threshold in self.thresholds],
            "codes": [vars(codes) for codes in self.codes],
            "details": [vars(detail) for detail in self.details],
            "vanished": {column: list(levels) for column, levels in self.vanished.items()},
            "certificates": [vars(certificate) for certificate in self.certificates],
            "words": self.lines(),
        }


def _ends(span: Span | None) -> dict[str, float] | None:
    return None if span is None else {"low": span.low, "high": span.high}


def _points(span: Span) -> str:
    """No share is further off than all of it, however wide the noise."""
    return f"{Span(low=min(100.0, 100 * span.low), high=min(100.0, 100 * span.high))} points"


def _listed(words: Sequence[str], most: int = 8) -> str:
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


Rows = Mapping[str, npt.NDArray[np.unsignedinteger]]


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicRows:
    """The rows of a public table, and samples of them in place of the confidential ones."""

    table: pa.Table
    book: Codebook

    @classmethod
    def read(cls, path: Any, book: Codebook) -> "PublicRows":
        """A table that is neither declared public nor paid for is refused."""
        public_provenance(path, InputRole.STAND_IN)
        alone = replace(book, unit=None)
        source = open_source(path, alone)
        [rows] = declared_public([rows_of(source)], provenance=source.provenance, role=InputRole.STAND_IN)
        columns = (*alone.modelled, *alone.details)
        values = (*rows.values, *rows.detail_values)
        named = {column.name: value for column, value in zip(columns, values, strict=True)}
        if not (table := pa.table(named)).num_rows:
            raise ParameterError("`public` has no rows, so nothing can be run on it; give a table that has some.")
        return cls(table=table, book=alone)

    def sample(self, records: int, rng: np.random.Generator) -> pa.Table:
        """So many rows, each as often as the others: drawing with replacement would add chance to every cell."""
        every, some = divmod(records, self.table.num_rows)
        order = rng.permutation(self.table.num_rows)
        return self.table.take(pa.array(np.concatenate([np.tile(order, every), order[:some]])))


def forecast(
    recipe: Recipe,
    book: Codebook,
    records: int,
    *,
    public: Any = None,
    error: float | None = None,
    wanted: str | None = None,
    report: Report | None = None,
) -> Forecast:
    """What to expect of a release of about ``records`` records; with ``error`` the smallest epsilon that reaches it.

    ``wanted`` names a table (``diag by age``); without it the error is the mean of all tables of two columns.
    """
    ROWS.check("rows_about", records)
    columns = () if wanted is None else table_columns(wanted, book, what=f"`wanted`, {wanted!r},")
    rows = None if public is None else PublicRows.read(public, book)
    if error is None:
        return _forecast(recipe, book, records, rows, columns, report)
    ERROR.check("error", error)
    if "epsilon" not in options_of(type(recipe)):
        raise ParameterError(
            f"`error` asks for the smallest epsilon, and {recipe.name} has no option `epsilon` to vary; use marginals."
        )

    def tried(epsilon: float) -> Forecast:
        return _forecast(recipe.with_params(epsilon=epsilon), book, records, rows, columns, report)

    return _smallest(tried, error, columns)


def _smallest(tried: Callable[[float], Forecast], error: float, columns: Sequence[str]) -> Forecast:
    """The forecast at the smallest epsilon, up to a twentieth, that meets the error; ranges by their upper end."""
    what = " x ".join(columns) or "tables of two columns"

    def meeting(epsilon: float) -> Forecast | None:
        try:
            outlook = tried(epsilon)
        except RefusalError:  # too little to draw any row from
            return None
        span = outlook.table_error if columns else outlook.two_way or outlook.one_way
        if span is None:
            raise ParameterError(
                f"`error` needs a forecast of {what}, which {outlook.method} cannot give from codebook and size alone; "
                "give a public table of the same shape (`public`)."
            )
        return outlook if span.high <= error else None

    low, high = _LEAST_EPSILON, _MOST_EPSILON
    best = meeting(high)
    if best is None:
        raise ParameterError(
            f"`error` is {error:g}, and even epsilon {high:g} would not reach it for {what} with so many records "
            "(rows_about). Name a larger error, or coarser columns."
        )
    while high / low > _CLOSE:
        middle = math.sqrt(low * high)
        if outlook := meeting(middle):
            high, best = middle, outlook
        else:
            low = middle
    return replace(best, epsilon=high)


def _forecast(
    recipe: Recipe,
    book: Codebook,
    records: int,
    public: PublicRows | None,
    columns: tuple[str, ...],
    report: Report | None,
) -> Forecast:
    quote = recipe.quote(book, records)
    alone = of_people(recipe, book)
    spans: dict[str, Any] = {"one_way": None, "two_way": None, "share_noise": None, "merged_below": None}
    foreseen = alone.foresee(book, records)
    if foreseen is not None:
        easy, hard = foreseen
        noise = [_NORMAL * deviation / records for deviation in hard.deviations]
        spans = {
            "one_way": Span(low=_mean(easy.ones), high=_mean(hard.ones)),
            "two_way": Span(low=_mean(easy.twos.values()), high=_mean(hard.twos.values())) if hard.twos else None,
            "share_noise": Span(low=min(noise), high=max(noise)),
            "merged_below": hard.merged_below / records,
        }
        places = tuple(sorted(book.position(name) for name in columns))
        if len(places) == 1:
            spans["table_error"] = Span(low=easy.ones[places[0]], high=hard.ones[places[0]])
        elif len(places) == 2:
            pair = places[0], places[1]
            spans["table_error"] = Span(low=easy.twos[pair], high=hard.twos[pair])
    if public is not None:
        spans |= _run(alone, public, records, columns, report)
    elif columns and "table_error" not in spans:
        raise ParameterError(
            f"`wanted` names {' x '.join(columns)}, whose error cannot be told from codebook and size alone; name one "
            "or two columns and use marginals, or give a public table of the same shape (`public`)."
        )
    return Forecast(
        method=recipe.name,
        records=records,
        quote=quote,
        from_public=public is not None,
        share_sampling=_NORMAL * math.sqrt(0.1 * 0.9 / records),
        thresholds=_thresholds(quote, records),
        codes=_codes(alone, book, records),
        certificates=_certificates(alone, book, records),
        table=columns,
        **spans,
    )


def _mean(numbers: Any) -> float:
    values = list(numbers)
    return float(np.mean(values)) if values else 0.0


def _thresholds(quote: Quote, records: int) -> tuple[Threshold, ...]:
    outlooks = []
    for entry in quote.ledger:
        event: Any = entry.event.inner or entry.event
        if (least := getattr(event, "threshold", None)) is None:
            continue
        miss = 2 * (1 - _SHOWN)  # of both sides
        scale = getattr(event, "scale", None)
        beyond = half_width(scale, miss=miss) if scale is not None else math.ceil(1.645 * float(event.variance) ** 0.5)
        needed = int(least + beyond)
        outlooks.append(Threshold(reads=entry.reads, records=needed, share=needed / records, at_most=records // needed))
    return tuple(outlooks)


def _codes(recipe: Recipe, book: Codebook, records: int) -> tuple[CodesOutlook, ...]:
    noise = code_noise(recipe, book)
    if noise is None:
        return ()
    needed = math.ceil(_SURE * noise)
    names = tuple(detail.name for detail in book.coded)
    return (CodesOutlook(columns=names, noise=noise, records=needed, at_most=records // needed),)


def _certificates(recipe: Recipe, book: Codebook, records: int) -> tuple[CertificateOutlook, ...]:
    plan = certificate_plan(recipe, book)
    if plan is None:
        return ()
    return tuple(
        CertificateOutlook(
            words=wish.words,
            half_width=expected_half_width(plan, place, records),
            records_needed=records_needed(plan, place),
        )
        for place, wish in enumerate(plan.wishes)
    )


def _run(
    recipe: Recipe, public: PublicRows, records: int, columns: tuple[str, ...], report: Report | None
) -> dict[str, Any]:
    """The method itself on samples of the public table."""
    book, rng = public.book, np.random.default_rng(1)
    bare = replace(recipe, certify=(), certify_epsilon=None, certify_tries=1, people_epsilon=None)
    object.__setattr__(bare, "per_person", recipe.per_person)
    object.__setattr__(bare, "one_epsilon", recipe.one_epsilon)
    pairs = list(itertools.combinations(book.names, 2))
    pairs = pairs[:: len(pairs) // _MOST_PAIRS + 1]
    errors: dict[tuple[str, ...], list[float]] = {}
    shown: dict[str, list[npt.NDArray[np.bool_]]] = {}
    other: dict[str, list[float]] = {}
    parents: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        if report:
            report("running on the public table", number, ROUNDS)
        sample = public.sample(records, rng)
        fitted = bare.fit(open_source(sample, book), stream=Stream.of_seed(number))
        try:
            drawn = fitted.sample(records).table
        except RefusalError:
            raise RefusalError(
                f"run on the public table, {recipe.name} leaves nothing to draw {records:,} rows from; a larger "
                "epsilon, or fewer and coarser columns, leave more. Nothing was paid."
            ) from None
        real, synthetic = (_coded(table, book) for table in (sample, drawn))
        for clique in [*((name,) for name in book.names), *pairs, *([columns] if columns else [])]:
            errors.setdefault(clique, []).append(distance(real, synthetic, clique, book))
        for column in (*book.modelled, *book.details):
            present = np.bincount(synthetic[column.name], minlength=column.size) > 0
            shown.setdefault(column.name, []).append(present)
        for detail in book.details:
            own = synthetic[detail.name]
            other.setdefault(detail.name, []).append(float((own == _other_code(detail)).mean()))
            named = ~_codes_of(detail)[own] & (own != _other_code(detail)) & (own != detail.missing_code)
            parents.setdefault(detail.name, []).append(float(named.mean()))
    if report:
        report("running on the public table", ROUNDS, ROUNDS)
    whole = _coded(public.table, book)
    missed = {name: ~np.logical_or.reduce(seen) for name, seen in shown.items()}
    found: dict[str, Any] = {
        "one_way": _told([error for clique, runs in errors.items() if len(clique) == 1 for error in runs]),
        "two_way": _told([error for pair in pairs for error in errors[pair]]) if pairs else None,
        "vanished": {
            name: vanished
            for name in book.names
            if (vanished := _commonest(book.column(name).labels, whole[name], missed[name]))
        },
        "details": tuple(
            DetailOutlook(
                column=detail.name,
                codes=int(_codes_of(detail).sum()),
                shown=_mean(int((seen & _codes_of(detail)).sum()) for seen in shown[detail.name]),
                other=_mean(other[detail.name]),
                parents=_mean(parents[detail.name]),
                vanish=_commonest(detail.labels, whole[detail.name], missed[detail.name]),
            )
            for detail in book.details
        ),
    }
    return found | ({"table_error": _told(errors[columns])} if columns else {})


def _told(numbers: Sequence[float]) -> Span:
    return Span(low=_mean(numbers), high=_mean(numbers))


def _codes_of(detail: Detail) -> npt.NDArray[np.bool_]:
    """Which code numbers are codes, and neither other, nor missing, nor parents."""
    if isinstance(detail, Coded):
        return detail.is_code
    proper = np.ones(detail.size, dtype=bool)
    proper[[_other_code(detail)] if detail.missing_code is None else [_other_code(detail), detail.missing_code]] = False
    return proper


def _other_code(detail: Detail) -> int:
    return detail.code_of[str(detail.other)]


def _coded(table: pa.Table, book: Codebook) -> Rows:
    return {column.name: codes_of(column, table.column(column.name)) for column in (*book.modelled, *book.details)}


def _commonest(
    labels: Sequence[str], codes: npt.NDArray[np.unsignedinteger], missed: npt.NDArray[np.bool_]
) -> tuple[str, ...]:
    """Levels that occur and are missed, the commonest first."""
    counts = np.bincount(codes, minlength=len(labels))
    return tuple(labels[code] for code in np.argsort(-counts, kind="stable") if missed[code] and counts[code])


def distance(real: Rows, synthetic: Rows, clique: Sequence[str], book: Codebook) -> float:
    """Total variation distance of the tables of some columns, by occupied cells."""
    both = {name: np.concatenate([real[name], synthetic[name]]).astype(np.int64) for name in clique}
    place = np.zeros(len(both[clique[0]]), dtype=np.int64)
    for name in clique:
        # numbered anew after every column, so that no product of sizes is too large
        place = np.unique(place * book.column(name).size + both[name], return_inverse=True)[1]
    cut, cells = len(real[clique[0]]), int(place.max()) + 1
    shares = [np.bincount(part, minlength=cells) / len(part) for part in (place[:cut], place[cut:])]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
