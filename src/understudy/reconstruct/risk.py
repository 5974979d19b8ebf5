"""The publisher's side: reconstruct one's own table from averages that are not published yet.

Every number is computed on the confidential table: the report stays with the data. Groupings with noise show what
their release would cost; nothing is charged, because nothing is released.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from understudy.codebook import Codebook, Ordinal
from understudy.codebook.numbers import Number as NumberColumn
from understudy.errors import DataError, ParameterError, UnderstudyError
from understudy.mechanisms.bounded_sums import GroupValues, noisy_means, noisy_means_entries
from understudy.mechanisms.group import for_person, kept_records, share_of_group
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.stream import Stream
from understudy.parameters import (
    EPSILON,
    SHARE,
    Declared,
    EachName,
    Names,
    Number,
    OneOf,
    Panel,
    Several,
    Text,
    Whole,
    option,
)
from understudy.privacy.facts import BOTH_RELATIONS, MethodFacts
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret
from understudy.reconstruct.advice import ELSEWHERE, LIMIT, recommend
from understudy.reconstruct.aggregates import Aggregate
from understudy.reconstruct.estimators import Reconstructor
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.groupings import Grouping, OwnTable, groupings_of
from understudy.reconstruct.methods import (
    LUDIA,
    EcologicalRegression,
    MoorePenrose,
    PrincipalRegression,
    ShrunkenRegression,
)
from understudy.reconstruct.problem import Stack
from understudy.sources.base import Report
from understudy.sources.rows import read_rows
from understudy.synth.paid_books import drafted_entries

TENTH = 0.1
_WHY = "the risk report is computed on the confidential records themselves; keep it with the data"
Score = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class RiskQuestion(Declared):
    """What might be published, and what an intruder knows."""

    facts: ClassVar[MethodFacts] = MethodFacts(
        name="noisy averages",
        command="understudy reconstruct risk --epsilons E",
        route="N",
        neighbours=BOTH_RELATIONS,
        guarantee="ε-DP, sums released once",
        public="groups, and bounds of the values",
        paper="ours",
        paper_claim="nothing",
        sound="our own",
        truth="Exact discrete noise on bounded sums protects single people, not what averages teach about everybody.",
        page="docs/guide/reconstruct.md",
        proofs=("bounded_sums.md",),
        exact_tests=("tests/exact/test_bounded_sums_exact.py",),
    )
    groups: tuple[str, ...] = option(
        rule=EachName(),
        help="Column to group by, or a+b; may be repeated.",
        panel=Panel.INPUT,
        flag="--group -g",
    )
    value: str = option(
        rule=Text(words="the name of a column", example="charge"),
        help="Number (or ordinal column, by rank) whose averages might be published.",
        panel=Panel.INPUT,
    )
    known: tuple[str, ...] = option(
        (), rule=Names(), help="Columns between commas that an intruder knows of everybody.", panel=Panel.INPUT
    )
    epsilons: tuple[float, ...] = option(
        (),
        rule=Several(each=EPSILON, words="a list of numbers above 0", example="0.1,1", least=0),
        help="Also try averages with Laplace noise at these prices, each for one grouping alone.",
        panel=Panel.PRIVACY,
    )
    neighbours: Neighbours = option(
        Neighbours.ADD_REMOVE, rule=OneOf(BOTH_RELATIONS), help="add-remove or replace-one.", panel=Panel.PRIVACY
    )
    lower: float | None = option(
        None, rule=Number(), help="Declared lower bound for noise; default: first edge of the codebook."
    )
    upper: float | None = option(
        None, rule=Number(), help="Declared upper bound for noise; default: last edge of the codebook."
    )
    most: float = option(0.1, rule=SHARE, help="Share by which the best attack may lower the error.")
    repeats: int = option(3, rule=Whole(), help="Simulations of each noise.")

    def check(self, book: Codebook) -> None:
        """Refuse a question that the codebook cannot answer."""
        columns = [name for group in self.groups for name in group.split("+")]
        for name in (self.value, *self.known, *columns):
            if not book.column(name).is_modelled:
                raise ParameterError(
                    f"{name!r} is an identifier, which is dropped; it cannot be known, grouped by or averaged."
                )
        if not self.groups:
            raise ParameterError("no grouping is given; name at least one column to group by with `groups`.")
        if not isinstance(book.column(self.value), NumberColumn | Ordinal):
            raise ParameterError(
                f"`value` is {self.value!r}, which has no order; only numbers and ranks have averages."
            )
        if self.value in (*self.known, *columns):
            raise ParameterError(f"{self.value!r} is what the intruder wants, so it cannot be known or grouped by.")
        lower, upper = self.bounds(book)
        for epsilon in self.epsilons:  # refuse bad prices before the data are touched
            noisy_means_entries(
                "group", self.value, lower=lower, upper=upper, epsilon=epsilon, neighbours=self.neighbours
            )

    def bounds(self, book: Codebook) -> tuple[float, float]:
        """Declared bounds of the value."""
        column = book.column(self.value)
        ends = column.float_edges if isinstance(column, NumberColumn) else (0.0, column.proper_levels - 1.0)
        return ends[0] if self.lower is None else self.lower, ends[-1] if self.upper is None else self.upper


def assess(
    data: Any,
    book: Codebook,
    question: RiskQuestion,
    *,
    unknown: str = "error",
    table: str | None = None,
    stream: Stream | None = None,
    report: Report | None = None,
) -> dict[str, Any]:
    """Attack every grouping, with and without noise; a document for the page and for machines. Confidential."""
    question.check(book)
    columns = [name for group in question.groups for name in group.split("+")]
    used = tuple(dict.fromkeys((question.value, *question.known, *columns)))
    small = _only(book, used)
    rows, entry = exposed(
        [read_rows(data, small, unknown=unknown, table=table, people=True)], stage="risk", reads="every row", why=_WHY
    )
    own = OwnTable.of(rows[0], small, value=question.value, known=question.known, group_columns=columns)
    if len(own.values) < 2:
        raise DataError("the table has fewer than two records with a value; there is nothing to attack.")
    stream = Stream.checked(stream)
    rng = stream.generator()
    groupings = groupings_of(own, question.groups)
    asked = [grouping for grouping in groupings if grouping.asked]
    publications = [*([grouping] for grouping in groupings), *([asked] if len(asked) > 1 else [])]
    priced = [(grouping, epsilon) for grouping in asked if grouping.public for epsilon in question.epsilons]
    studied: list[dict[str, Any]] = []
    noisy: list[dict[str, Any]] = []

    def progress() -> None:
        if report:
            report("attacking", len(studied) + len(noisy), len(publications) + len(priced))

    for published in publications:
        studied.append(_study(own, published, question, rng))
        progress()
    for grouping, epsilon in priced:
        noisy.append(_study_noisy(own, grouping, question, epsilon, stream))
        progress()
    document = {
        "format": "understudy-reconstruction-risk/1",
        "confidential": _WHY,
        "value": question.value,
        "ranks": isinstance(small.column(question.value), Ordinal),
        "known": list(question.known),
        "people": len(own.values),
        "unit": None if own.people is None else _unit(small, own),
        "left_out": own.left_out,
        "deviation": float(own.values.std()),
        "most": question.most,
        "groupings": studied,
        "noisy": noisy,
        "ledger_of_this_report": Ledger.of([entry]).to_list(),
    }
    return {**document, "recommendation": recommend(document)}


def _only(book: Codebook, names: Sequence[str]) -> Codebook:
    ids = None if book.unit is None else book.unit.id
    kept = tuple(replace(column, parents=None) for column in book.columns if column.name in (*names, ids))
    unit = None if book.unit is None else replace(book.unit, pseudonyms=False, records_per_person=())
    return Codebook(columns=kept, paid=book.paid, unit=unit)


def _unit(book: Codebook, own: OwnTable) -> dict[str, Any]:
    """Whom noise is priced for, where people have several records."""
    assert book.unit is not None and own.people is not None
    return {"id": book.unit.id, "cap": book.unit.cap, "people": len(np.unique(own.people))}


def _attackers(own: OwnTable, noisy: bool) -> dict[str, Reconstructor]:
    """Everybody who might try; those that find too few groups for their coefficients give up."""
    attackers: dict[str, Reconstructor] = {"mp": MoorePenrose()}
    if own.frame.shape[1] == 0:
        return attackers
    attackers |= {"er": EcologicalRegression(), "shrunken": ShrunkenRegression(), "pc-er": PrincipalRegression()}
    if not noisy:
        attackers["ludia"] = LUDIA(rank="held-out", iterations=100)
        if float(own.values.min()) > 0:
            attackers["shrunken, log link"] = ShrunkenRegression(link="log")
    return attackers


Published = list[tuple[Any, Mapping[str, float], Any]]
"""For every grouping: codes of the people, averages, and the deviation of their noise (None: exact)."""


def _guesses(own: OwnTable, published: Published, *, noisy: bool) -> tuple[dict[str, Floats], Stack]:
    """What every attacker makes of the averages, and the averages matched with the people."""
    names = [f"{_GROUP}{number}" for number in range(len(published))]
    frame = own.frame.assign(**{name: codes.astype(str) for name, (codes, _, _) in zip(names, published, strict=True)})
    aggregates = [
        Aggregate(by=name, target=_VALUE, values=means, noise=noise, label="the averages")
        for name, (_, means, noise) in zip(names, published, strict=True)
    ]
    guesses: dict[str, Floats] = {}
    stack: Stack | None = None
    for name, attacker in _attackers(own, noisy).items():
        try:
            guesses[name] = attacker.fit(frame, aggregates).reconstruct().values[_VALUE]
        except UnderstudyError:  # too few groups, no column that varies, figures outside a link
            continue
        stack = stack or attacker.problem_.stacks[0]
    assert stack is not None  # the first attacker has nothing to fail at
    return guesses, stack


_GROUP, _VALUE = "\x1fgroup", "\x1fvalue"
"""Names that no column of a file has."""


def _means(own: OwnTable, codes: Any) -> dict[str, float]:
    counts = np.bincount(codes)
    sums = np.bincount(codes, own.values)
    return {str(k): float(sums[k] / counts[k]) for k in np.flatnonzero(counts)}


def _study(
    own: OwnTable, groupings: Sequence[Grouping], question: RiskQuestion, rng: np.random.Generator
) -> dict[str, Any]:
    """One grouping, or several published together."""
    counts = np.concatenate([grouping.counts[grouping.counts > 0] for grouping in groupings])
    truth = own.values
    blind = np.abs(truth - truth.mean())
    guesses, stack = _guesses(own, [(g.codes, _means(own, g.codes), None) for g in groupings], noisy=False)
    guesses[LIMIT] = _limit(own, stack)
    guesses[ELSEWHERE] = _elsewhere(own)
    order = rng.permutation(len(truth))  # the same for all: nested groups stay nested
    chance, _ = _guesses(own, [(g.codes[order], _means(own, g.codes[order]), None) for g in groupings], noisy=False)
    scores = {name: _score(truth, guess, blind) for name, guess in guesses.items()}
    for name, guess in chance.items():
        scores.setdefault(name, {}).update(
            {f"random_{key}": value for key, value in _score(truth, guess, blind).items()}
        )
    scores = {name: score for name, score in scores.items() if "mae" in score}
    best, gain = _best(scores, blind)
    disclosed = int(stack.disclosed.sum())
    together = len(groupings) > 1
    return {
        "name": " and ".join(g.name for g in groupings) + (", published together" if together else ""),
        "columns": list(dict.fromkeys(name for g in groupings for name in g.columns)),
        "asked": groupings[0].asked,
        "together": together,
        "groups": len(counts),
        "smallest": int(counts.min()),
        "median_size": float(np.median(counts)),
        "disclosed": disclosed,
        "blind": _score(truth, np.full(len(truth), truth.mean()), blind),
        "attacks": scores,
        "best": best,
        "by_size": _by_size(groupings[0], np.abs(guesses[best] - truth), blind),
        "gain": gain,
        "passes": bool(gain <= question.most and disclosed == 0),
    }


def _best(scores: Mapping[str, Score], blind: Floats) -> tuple[str, float]:
    """The best attack, and the share by which it lowers the error of knowing only the overall average."""
    best = min((name for name in scores if name not in (LIMIT, ELSEWHERE)), key=lambda name: scores[name]["mae"])
    return best, 1 - scores[best]["mae"] / max(float(blind.mean()), 1e-300)


def _score(truth: Floats, guess: Floats, blind: Floats) -> Score:
    """Errors of all, and of the tenth whose guess gained most over knowing only the overall average."""
    errors = np.abs(guess - truth)
    tenth = np.argsort(errors - blind, kind="stable")[: max(1, round(len(truth) * TENTH))]
    return {
        "mae": float(errors.mean()),
        "rmse": float(np.sqrt((errors**2).mean())),
        "median": float(np.median(errors)),
        "close": float((errors <= 0.1 * max(float(truth.std()), 1e-300)).mean()),
        "tenth_mae": float(errors[tenth].mean()),
        "tenth_blind": float(blind[tenth].mean()),
    }


def _limit(own: OwnTable, stack: Stack) -> Floats:
    """The best common slope, learned from the confidential values: no corrected method has smaller squares."""

    def within(values: Floats) -> Floats:  # (I - A+A) v
        return values - stack.spread(stack.groups.pinv(stack.average(values)))

    own_part, matrix = within(own.values), own.frame.to_numpy(dtype=np.float64)
    if not matrix.shape[1]:
        return own.values - own_part
    inner = within(matrix)
    beta = np.linalg.lstsq(inner, own_part, rcond=1e-10)[0]
    return np.asarray(own.values - own_part + inner @ beta, dtype=np.float64)


def _elsewhere(own: OwnTable) -> Floats:
    """What the known columns say without any group: each half of the people guessed by a regression on the other half.

    This much would be learned from a survey of other people; it is knowledge about everybody, not about somebody.
    """
    matrix = np.column_stack([own.frame.to_numpy(dtype=np.float64), np.ones(len(own.values))])
    half = np.arange(len(own.values)) % 2 == 0
    guesses = np.empty(len(own.values))
    for part in (half, ~half):
        beta = np.linalg.lstsq(matrix[~part], own.values[~part], rcond=1e-10)[0]
        guesses[part] = matrix[part] @ beta
    return guesses


def _by_size(grouping: Grouping, errors: Floats, blind: Floats) -> list[dict[str, float]]:
    """Mean errors of people in groups of similar size (powers of two)."""
    sizes = grouping.counts[grouping.codes]
    bands = np.floor(np.log2(sizes)).astype(int)
    return [
        {
            "size": float(sizes[bands == band].mean()),
            "people": int((bands == band).sum()),
            "error": float(errors[bands == band].mean()),
            "blind": float(blind[bands == band].mean()),
        }
        for band in np.unique(bands)
    ]


def _study_noisy(
    own: OwnTable, grouping: Grouping, question: RiskQuestion, epsilon: float, stream: Stream
) -> dict[str, Any]:
    """Averages with noise that a ledger prices; the intruder knows epsilon, and group sizes from the people's file."""
    lower, upper = question.bounds(own.book)
    ledger = Ledger.of(_priced(own.book, grouping, question, epsilon))
    truth = own.values
    blind = np.abs(truth - truth.mean())
    counts = grouping.counts
    there = np.flatnonzero(counts)
    exact = np.bincount(grouping.codes, truth, len(counts))[there] / counts[there]
    runs: dict[str, list[Score]] = {}
    off = []
    each = _share(own.book, epsilon)
    for _ in range(question.repeats):
        codes, values, counts = grouping.codes, truth, grouping.counts
        if own.people is not None and own.book.unit is not None:  # as a release would: at most the cap takes part
            kept = kept_records(own.people, cap=own.book.unit.cap, stream=stream)
            codes, values = codes[kept], truth[kept]
            counts = np.maximum(np.bincount(codes, minlength=len(counts)), 1)
        made, _ = noisy_means(
            Secret(GroupValues(groups=codes, values=values)),
            groups=len(grouping.labels),
            group=grouping.name,
            value=question.value,
            lower=lower,
            upper=upper,
            epsilon=each,
            neighbours=question.neighbours,
            stream=stream,
        )
        off.append(float(np.sqrt(((made.means[there] - exact) ** 2).mean())))
        guessed = np.clip((lower + upper) / 2 + made.sums[there] / counts[there], lower, upper)
        noise = {str(k): made.sum_deviation / counts[k] for k in there}
        means = {str(k): float(mean) for k, mean in zip(there, guessed, strict=True)}
        for name, guess in _guesses(own, [(grouping.codes, means, noise)], noisy=True)[0].items():
            runs.setdefault(name, []).append(_score(truth, np.clip(guess, lower, upper), blind))
    scores = {
        name: {key: float(np.mean([run[key] for run in series])) for key in series[0]} for name, series in runs.items()
    }
    best, gain = _best(scores, blind)
    return {
        "name": grouping.name,
        "epsilon": epsilon,
        "guarantee": ledger.total().to_dict(),
        "ledger": ledger.to_list(),
        "error_of_published_means": float(np.mean(off)),
        "attacks": scores,
        "best": best,
        "blind": _score(truth, np.full(len(truth), truth.mean()), blind),
        "gain": gain,
        "passes": bool(gain <= question.most),
    }


def _share(book: Codebook, epsilon: float) -> float:
    """What one record may cost so that whoever is protected costs epsilon."""
    records = 1 if book.unit is None else book.unit.cap
    return share_of_group(epsilon=epsilon, delta=None, records=records)[0]


def _priced(book: Codebook, grouping: Grouping, question: RiskQuestion, epsilon: float) -> list[Entry]:
    lower, upper = question.bounds(book)
    each = _share(book, epsilon)
    entries = list(
        noisy_means_entries(
            grouping.name, question.value, lower=lower, upper=upper, epsilon=each, neighbours=question.neighbours
        )
    )
    if book.unit is not None:
        entries = [for_person(entry, book.unit.cap) for entry in entries]
    return [*entries, *drafted_entries(_only(book, (question.value, *grouping.columns)))]
