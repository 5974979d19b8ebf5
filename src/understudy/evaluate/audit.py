"""Try to refute a recipe's stated guarantee by running it many times on two neighbouring tables.

One table holds a canary, a record of rare values; its neighbour lacks it (add-remove) or holds another record in its
place (replace-one). For an event S of the output the guarantee says P(S) <= e^epsilon Q(S) + delta. The first half of
the runs chooses S and the direction: a linear rule learned on its first part, or a single feature, cut at a threshold.
The second half, which had no say in the choice, bounds P(S) from below and Q(S) from above by Clopper and Pearson, each
failing with probability at most ``miss / 2``. So ln((P - delta) / Q) is a lower bound of epsilon which exceeds a true
one with probability at most ``miss``, however S was chosen.

An audit can refute a promise and never prove one. It runs on the data without charging an account, so its outcome is
confidential where the data are.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Column, Detail, Number
from understudy.codebook.encode import encode_value
from understudy.codec import to_plain
from understudy.confidential import Confidential
from understudy.errors import DataError, ParameterError, RefusalError
from understudy.evaluate.risk.cells import Cells, Ints, open_cells
from understudy.evaluate.risk.intervals import clopper_pearson
from understudy.evaluate.risk.membership import LinearRule, agreements, encode_rows, source_of
from understudy.evaluate.shadows import repeated
from understudy.extras import need
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, Whole
from understudy.privacy.guarantees import Guarantee, Neighbours
from understudy.privacy.provenance import DECLARED, Made
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable
from understudy.synth.recipe import Fitted, Recipe
from understudy.synth.released import FittedReleased

MISS = 1e-6
"""Probability with which an audit may refute a promise that is true."""
LEAST_RUNS = 40
RUNS = Whole(least=LEAST_RUNS, most=1_000_000, tried=1000)
Floats = npt.NDArray[np.float64]

_NOTHING = "nothing could be drawn"
_WHOSE = ("the canary", "the other record")


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit(Confidential):
    """What the runs proved."""

    method: str
    parameters: Mapping[str, Any]
    rows: int
    runs: int
    """On each of the two tables; half of them chose the event."""
    neighbours: Neighbours
    epsilon: float
    delta: float
    """The promise under attack."""
    bound: float
    """Epsilon is at least this, at the stated delta, with confidence 1 - miss."""
    reach: float
    """The largest bound that so many runs could have given."""
    event: str
    hits: tuple[int, int]
    trials: int
    miss: float
    canary: Mapping[str, str]

    @property
    def refuted(self) -> bool:
        """Whether the stated epsilon is below what was proved."""
        return self.bound > self.epsilon

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        claim = f"epsilon {self.epsilon:.6g}, delta {self.delta:.3g} ({self.neighbours.value})"
        proved = f"{2 * self.runs:,} runs prove epsilon >= {self.bound:.4g} with confidence 1 - {self.miss:g}"
        if self.refuted:
            return f"REFUTED: {self.method} states {claim}, but {proved}. Do not rely on this release."
        beyond = ""
        if self.reach <= self.epsilon:
            beyond = (
                f" So few runs could not have proved more than {self.reach:.3g}, so this audit could not have failed: "
                "use more runs or a smaller epsilon."
            )
        return f"Not refuted: {self.method} states {claim}; {proved}. This is no proof of the promise.{beyond}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the promise under attack stands under ``stated``."""
        plain = to_plain(vars(self))
        stated = {name: plain.pop(name) for name in ("epsilon", "delta")}
        return {**plain, "stated": stated, "refuted": self.refuted, "sentence": self.sentence}


def audit(
    recipe: Recipe,
    source: Source,
    *,
    rows: int,
    runs: int,
    canary: Mapping[str, Any] | str = "rare",
    miss: float = MISS,
    stream: Stream | None = None,
    processes: int = 1,
    report: Report | None = None,
) -> Audit:
    """Run ``recipe`` ``runs`` times on either of two neighbouring tables and test what it states for ``rows`` rows.

    ``canary`` is ``rare`` (the rarest level of every column), ``common`` (one of the commonest records: the better
    choice against methods that withhold small counts), or values by column, the others being rare. Nothing is charged.
    Long audits run in ``processes`` processes; the outcome does not depend on their number.
    """
    RUNS.check("runs", runs)
    DELTA.check("miss", miss)
    need("scipy", extra="report", what="an audit")
    book = source.codebook
    # an audit runs on whatever table it is given, so one that is synthetic already is as good as any
    provenance = source.provenance if source.provenance.made is Made.ANONYMIZED else DECLARED
    claim = _claim(recipe, recipe.quote(book, rows).with_data(provenance).total)
    records = 1 if book.unit is None else book.unit.cap
    person, replaced, tables = neighbouring(source, neighbours=claim[2], canary=canary, records=records)
    marked = [person] if _is_adding(claim[2]) else [person, replaced]
    together = [records, 1 if _is_adding(claim[2]) else records]
    parts = repeated(
        recipe,
        [source_of(book, table, last_of_one=number) for table, number in zip(tables, together, strict=True)],
        rows=rows,
        runs=runs,
        see=_Look(recipe, book, marked),
        stream=Stream.checked(stream),
        processes=processes,
        label="auditing",
        report=report,
    )
    seen = [run for part in parts for run in part]
    names = list(dict.fromkeys(name for run in seen for name in run))  # which tables are released may differ by run
    features = np.array([[run.get(name, 0.0) for name in names] for run in seen]).reshape(2, runs, -1)
    if (features[:, :, names.index(_NOTHING)] == 1).all():
        raise RefusalError(
            f"{recipe.name} drew nothing in any run on a table of this size, so there is nothing to audit; give more "
            "records, fewer columns or a larger epsilon."
        )
    event, hits, trials = _attack(features, names, delta=claim[1], miss=miss)
    bound = epsilon_bound(hits, trials, delta=claim[1], miss=miss)
    return Audit(
        method=recipe.name,
        parameters=recipe.parameters(),
        rows=rows,
        runs=runs,
        neighbours=claim[2],
        epsilon=claim[0],
        delta=claim[1],
        bound=bound,
        reach=epsilon_bound((trials, 0), trials, delta=claim[1], miss=miss),
        event=event,
        hits=hits,
        trials=trials,
        miss=miss,
        canary={c.name: c.labels[code] for c, code in zip(book.counted, person, strict=False)},
    )


def epsilon_bound(hits: tuple[int, int], trials: int, *, delta: float, miss: float) -> float:
    """Lower bound of epsilon from one event chosen beforehand: ln((P - delta) / Q), 0 at least.

    >>> round(epsilon_bound((1000, 0), 1000, delta=0.0, miss=1e-6), 3)
    4.226
    """
    low = clopper_pearson(hits[0], trials, miss=miss / 2)[0] - delta
    high = clopper_pearson(hits[1], trials, miss=miss / 2)[1]
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def _claim(recipe: Recipe, total: Guarantee) -> tuple[float, float, Neighbours]:
    epsilon, relation = getattr(total, "epsilon", None), getattr(total, "neighbours", None)
    if epsilon is None or relation is None:
        why = getattr(total, "why", None) or f"its promise is {total.kind}"
        raise RefusalError(
            f"{recipe.name} states no epsilon here ({why}), so there is nothing to refute. Audit a recipe that "
            "promises differential privacy."
        )
    return float(epsilon), float(getattr(total, "delta", 0.0)), relation


def _is_adding(relation: Neighbours) -> bool:
    return relation.of_people is Neighbours.ADD_REMOVE_PERSON


def neighbouring(
    source: Source, *, neighbours: Neighbours, canary: Mapping[str, Any] | str = "rare", records: int = 1
) -> tuple[Ints, Ints, tuple[Ints, Ints]]:
    """Canary, the record whose place it takes, and the tables with and without it.

    The canary takes the place of one of the commonest records, and has ``records`` records, which follow at the end of
    the table; so do those that it is replaced by. See :func:`audit` for what it may be.
    """
    cells = open_cells(source, [column.name for column in source.counted])
    if cells.rows < 2:
        raise DataError(f"the table has {cells.rows} row(s); an audit needs at least 2. Give a larger table.")
    order = np.argsort(-cells.counts, kind="stable")
    replaced = cells.codes[order[0]]
    if canary == "common":
        replacing = not _is_adding(neighbours) and len(order) > 1
        person = cells.codes[order[1 if replacing else 0]].copy()
    else:
        person = _canary(source.codebook, cells, canary)
    listed = cells.records()
    place = int(np.flatnonzero((listed == replaced).all(axis=1))[0])
    if not _is_adding(neighbours) and (replaced == person).all():
        raise ParameterError(
            "the canary is the commonest record of the table, so that its neighbour would be the same table; set "
            "another value with `canary`."
        )
    without = np.delete(listed, place, axis=0)
    alone = without if _is_adding(neighbours) else np.vstack([without, *[replaced] * records])
    return person, replaced, (np.vstack([without, *[person] * records]), alone)


def _canary(book: Codebook, cells: Cells, choice: Mapping[str, Any] | str) -> Ints:
    if isinstance(choice, str) and choice != "rare":
        raise ParameterError(f"`canary` is {choice!r}; it must be 'rare', 'common', or values by column.")
    chosen: Mapping[str, Any] = {} if isinstance(choice, str) else choice
    names = [column.name for column in book.described]
    if strange := sorted(set(chosen) - set(names)):
        raise ParameterError(f"the canary names {', '.join(strange)}; the table has {', '.join(names)}.")
    codes: list[int] = []
    for position, column in enumerate(book.counted[: cells.codes.shape[1]]):
        if column.reads in chosen:
            code = encode_value(column, chosen[column.reads])
            if code is None:
                raise ParameterError(
                    f"the canary has {chosen[column.reads]!r} in {column.reads!r}, which the codebook does not know; "
                    f"choose among {', '.join(column.labels[:12])}."
                )
        else:
            seen = np.bincount(cells.codes[:, position], weights=cells.counts, minlength=column.size)
            code = int(np.where(_fitting(book, column, codes), seen, np.inf).argmin())
        codes.append(code)
    return np.array(codes, dtype=np.int64)


def _fitting(book: Codebook, column: Column, codes: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Levels that go with those chosen before: details of the coarse level, pieces of the bin."""
    fits = np.ones(column.size, dtype=bool)
    if isinstance(column, Detail):
        level = book.column(column.detail_of).labels[codes[book.position(column.detail_of)]]
        inside = {column.code_of[code] for group, members in column.groups if group == level for code in members}
        if inside:
            fits = np.isin(np.arange(column.size), list(inside))
    elif isinstance(column, Number) and column.within is not None:
        coarse = codes[book.position(column.reads)]
        bins = np.repeat(np.arange(column.within.proper_levels), [len(cuts) for cuts in column.within.cuts])
        bins = np.append(bins, np.arange(column.within.proper_levels, column.within.size))
        fits = bins == coarse
    return fits


class _Look:
    """What is visible of one run, as numbers by name."""

    def __init__(self, recipe: Recipe, book: Codebook, marked: Sequence[Ints]) -> None:
        self._recipe, self._book, self._marked = recipe, book, marked
        self._columns = book.counted[: len(marked[0])]
        names = [column.name for column in self._columns]
        pairs = [f"{a} and {b}" for a, b in itertools.combinations(names, 2)]
        self._agreeing = (*names, *pairs, "all columns", "all but one column")

    def __call__(self, fitted: Fitted, rows: int) -> dict[str, float]:
        """Whether nothing could be drawn, agreement of the rows with the marked records, counts of released tables."""
        counts = self._released(fitted)
        try:
            drawn = encode_rows(self._columns, fitted.sample(rows).table)
        except RefusalError:
            return {_NOTHING: 1.0, **counts}
        seen = {_NOTHING: 0.0}
        for whose, person in zip(_WHOSE, self._marked, strict=False):
            agreeing = zip(self._agreeing, agreements(drawn, person).tolist(), strict=True)
            seen |= {f"rows that agree with {whose} on {what}": count for what, count in agreeing}
        return seen | counts

    def _released(self, fitted: Fitted) -> dict[str, float]:
        """Route N publishes its noisy tables: their counts at the marked records, and the sums of these."""
        if not isinstance(fitted, FittedReleased) or self._recipe.route != "N":
            return {}
        tables = [table for table in fitted.model.tables if set(table.columns) <= set(self._book.names)]
        tables += fitted.model.details.tables()
        counted: dict[str, float] = {}
        sums: list[float] = []
        for whose, person in zip(_WHOSE, self._marked, strict=False):
            counts = [self._count(table, person) for table in tables]
            for table, count in zip(tables, counts, strict=True):
                name = f"noisy count of {whose} in {', '.join(table.columns)}"
                counted[name] = counted.get(name, 0.0) + count
            counted[f"tables that show {whose}"] = float(sum(count > 0 for count in counts))
            sums.append(sum(counts))
            counted[f"sum of noisy counts of {whose}"] = sums[-1]
        if len(sums) > 1:
            counted["canary's noisy counts less the other record's"] = sums[0] - sums[1]
        return counted

    def _count(self, table: CountTable, person: Ints) -> float:
        codes = np.array([person[self._book.count_position(name)] for name in table.columns])
        if table.grid is not None:
            return float(table.grid[tuple(codes)])
        occupied, counts = table.occupied()
        return float(counts[(occupied == codes).all(axis=1)].sum())


def _attack(features: Floats, names: Sequence[str], *, delta: float, miss: float) -> tuple[str, tuple[int, int], int]:
    """Choose an event on the first half of the runs; count it on the second: first the likelier table's hits."""
    runs = features.shape[1]
    learn, choose = runs // 4, runs // 2
    learned = np.concatenate(features[:, :learn])
    rule = LinearRule(learned, np.repeat([True, False], learn))
    scores = np.concatenate([features, rule(features.reshape(2 * runs, -1)).reshape(2, runs, 1)], axis=2)
    best = (-math.inf, 0, 0.0, True, True)
    for column in range(scores.shape[2]):
        chosen = _best_cut(scores[:, learn:choose, column], runs - choose, delta=delta, miss=miss)
        best = max(best, (chosen[0], -column, *chosen[1:]))  # of equals the first: the learned score comes last
    column, cut, above, with_canary = -best[1], *best[2:]
    tested = scores[:, choose:, column] >= cut
    tested = tested if above else ~tested
    hits = (int(tested[0].sum()), int(tested[1].sum()))
    name = [*names, "learned score"][column]
    sign, table = (">=" if above else "<"), ("with" if with_canary else "without")
    return f"{name} {sign} {cut:.6g}, likelier {table} the canary", hits if with_canary else hits[::-1], runs - choose


def _best_cut(scores: Floats, trials: int, *, delta: float, miss: float) -> tuple[float, float, bool, bool]:
    """The cut, side and direction whose bound would be largest if the test half showed the same shares.

    A cut lies halfway between two neighbouring scores, where values not yet seen fall on it least often.
    """
    need("scipy", extra="report", what="an audit")
    from scipy import special

    values = np.unique(scores)
    if len(values) < 2:
        return -math.inf, 0.0, True, True
    cuts = (values[:-1] + values[1:]) / 2
    share = np.stack([1 - np.searchsorted(np.sort(part), cuts) / len(part) for part in scores])
    best = (-math.inf, 0.0, True, True)
    for above in (True, False):
        for with_canary in (True, False):
            p, q = (share if above else 1 - share)[:: 1 if with_canary else -1] * trials
            with np.errstate(divide="ignore", invalid="ignore"):
                low = np.where(p > 0, special.betaincinv(np.maximum(p, 1e-9), trials - p + 1, miss / 2), 0.0) - delta
                high = np.where(q < trials, special.betainccinv(q + 1, np.maximum(trials - q, 1e-9), miss / 2), 1.0)
                value = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
            place = int(value.argmax())
            best = max(best, (float(value[place]), float(cuts[place]), above, with_canary))
    return best
