"""What a release can be used for: every measured fact beside the limit that the board set, worst first.

A use is allowed when all its facts lie within their limits. Nothing is averaged: one wrong coefficient is not made good
by ten right ones.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from understudy.codebook import Codebook
from understudy.evaluate.board import Board
from understudy.evaluate.impossible import ImpossibleRows
from understudy.evaluate.metric import Score
from understudy.evaluate.report.columns import ColumnFacts
from understudy.evaluate.report.pairs import PairFacts
from understudy.evaluate.utility.regression import Comparison
from understudy.pages.numbers import number, percent

Held = Literal["within", "beyond", "open"]
"""Against its limit; open where the interval of a measurement holds the limit."""
_LISTED = 12
_MISS = 0.05
"""Chance that a perfect synthesis is found beyond a limit that allows for chance."""


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One measured figure against its limit."""

    says: str
    """With its numbers, in one sentence without a full stop."""
    severity: float
    """How many times the limit it is: above 1 it is beyond."""
    held: Held = "within"


@dataclass(frozen=True, kw_only=True)
class Use:
    """Something that analysts do with a table, and all that was measured about it."""

    title: str
    measured: int
    beyond: int
    facts: tuple[Fact, ...]
    """The worst of them, worst first."""

    @property
    def allowed(self) -> bool:
        """Whether every fact is within its limit."""
        return self.beyond == 0

    @property
    def sentence(self) -> str:
        """The worst fact, and how many more are beyond."""
        more = f"; {self.beyond - 1:,} more of {self.measured:,} beyond the limit" if self.beyond > 1 else ""
        return f"{self.title}: {self.facts[0].says}{more}."


def use_of(title: str, facts: Iterable[Fact]) -> Use | None:
    """All facts of one use; None where nothing was measured."""
    ranked = sorted(facts, key=lambda fact: (fact.held != "beyond", -fact.severity))
    if not ranked:
        return None
    beyond = sum(fact.held == "beyond" for fact in ranked)
    return Use(title=title, measured=len(ranked), beyond=beyond, facts=tuple(ranked[:_LISTED]))


def against(says: str, value: float, limit: float) -> Fact:
    """A figure that must not exceed its limit."""
    return Fact(says=says, severity=value / limit, held="within" if value <= limit else "beyond")


def off_by(real: float, synthetic: float, limit: float) -> str:
    """Two shares in words.

    >>> off_by(0.513, 0.452, 0.03)
    '45.2% instead of 51.3%, off by 6.1 points (limit 3)'
    """
    return (
        f"{percent(synthetic)} instead of {percent(real)}, off by {100 * abs(synthetic - real):.1f} points "
        f"(limit {number(100 * limit)})"
    )


def shares_use(columns: Iterable[ColumnFacts], board: Board, title: str = "Shares of single columns") -> Use | None:
    """Every level of every column."""
    return use_of(title, share_facts(columns, board))


def share_facts(columns: Iterable[ColumnFacts], board: Board) -> list[Fact]:
    """How far each share is off."""
    facts = []
    for column in columns:
        shares = zip(
            column.labels, column.real / column.real.sum(), column.synthetic / column.synthetic.sum(), strict=True
        )
        for label, a, b in shares:
            says = f"{column.name} = {label}: {off_by(a, b, board.share_error)}"
            facts.append(against(says, abs(float(b - a)), board.share_error))
    return facts


def pairs_use(pairs: Iterable[PairFacts], board: Board, title: str = "Tables of two columns") -> Use | None:
    """The worst cell of every table of two columns."""
    return use_of(title, pair_share_facts(pairs, board))


def pair_share_facts(pairs: Iterable[PairFacts], board: Board) -> list[Fact]:
    """How far the share that is off most is off, in each table of two columns."""
    facts = []
    for pair in pairs:
        where = ", ".join(f"{name} = {level}" for name, level in zip(pair.columns, pair.levels, strict=True))
        gap = abs(pair.shares[1] - pair.shares[0])
        facts.append(against(f"{where}: {off_by(*pair.shares, board.share_error)}", gap, board.share_error))
    return facts


def associations_use(pairs: Iterable[PairFacts], board: Board) -> Use | None:
    """How strongly two columns hang together."""
    facts = []
    for pair in pairs:
        if not (math.isnan(pair.real) or math.isnan(pair.synthetic)):
            says = (
                f"{pair.columns[0]} with {pair.columns[1]}: {pair.synthetic:.2f} instead of {pair.real:.2f} on a scale "
                f"from 0 to 1 (limit {number(board.association_error)})"
            )
            facts.append(against(says, abs(pair.synthetic - pair.real), board.association_error))
    return use_of("Which columns hang together", facts)


def model_use(model: Comparison, board: Board) -> Use | None:
    """Each coefficient but the constant: sign, and size within what chance and the limit allow.

    What chance allows is the interval of the difference of two independent estimates, at a level that all of them hold
    together (Bonferroni). An effect that neither table shows at that level is none in both.
    """
    places = [place for place, name in enumerate(model.names) if name != "Intercept"]
    z = NormalDist().inv_cdf(1 - _MISS / (2 * max(len(places), 1)))
    return use_of(f"The model of {plain_formula(model.formula)}", [_coefficient(model, at, z, board) for at in places])


def _coefficient(model: Comparison, at: int, z: float, board: Board) -> Fact:
    real, synthetic = (float(side.estimates[at]) for side in (model.real, model.synthetic))
    errors = [float(side.errors[at]) for side in (model.real, model.synthetic)]
    clear = [abs(value) > z * error for value, error in zip((real, synthetic), errors, strict=True)]
    turned = all(clear) and real * synthetic < 0
    allowed = max(board.effect_error * abs(real), z * math.hypot(*errors), 1e-12)
    severity = abs(synthetic - real) / allowed
    severity = max(severity, 1.0) if turned else severity if any(clear) else min(severity, 1.0)
    says = f"{plain_term(model.names[at])}: {number(synthetic)} instead of {number(real)}"
    return Fact(
        says=says + (", its sign turned" if turned else ""),
        severity=severity,
        held="beyond" if turned or severity > 1 else "within",
    )


_TRAINED = {
    "train_on_synthetic": ("a classifier ranks people", "auc, trained on real rows"),
    "next_event": ("a model ranks rows by what follows them", "trained on real rows"),
}
"""Metrics of models: who predicts, and the part of the score that was trained on real rows."""


def prediction_use(scores: Iterable[Score], board: Board) -> Use | None:
    """Models tested on people held out, those of one table and those of linked ones."""
    facts = []
    for score in scores:
        who, part = _TRAINED.get(score.metric, ("", ""))
        trained = score.breakdown.get(part, math.nan)
        if who and not math.isnan(score.value) and not math.isnan(trained):
            says = (
                f"{who} with {number(score.value)} instead of {number(trained)} of the area under the curve "
                f"(limit: {number(board.prediction_loss)} less)"
            )
            facts.append(against(says, max(trained - score.value, 0.0), board.prediction_loss))
    return use_of("Prediction", facts)


def rows_use(book: Codebook, impossible: ImpossibleRows, rows: tuple[int, int], board: Board) -> Use:
    """Whether single rows make sense: declared rules, and combinations that no real record has."""
    return sensible_rows([*rule_facts(impossible.breaches), *combination_facts(book, impossible, rows, board)])


def sensible_rows(facts: Sequence[Fact]) -> Use:
    """All that was found about single rows; that nothing was found is a fact, too."""
    none = Fact(says="no row has a combination that no real record has, or breaks a declared rule", severity=0.0)
    use = use_of("Single rows that make sense", facts or [none])
    assert use is not None
    return use


def rule_facts(broken: Mapping[str, float]) -> list[Fact]:
    """Declared rules that rows break, by title: every one is beyond."""
    return [
        never(f"the declared rule '{title}' is broken by {count:,.0f} rows") for title, count in broken.items() if count
    ]


def never(says: str) -> Fact:
    """Something that must not be at all."""
    return Fact(says=f"{says} (limit 0)", severity=math.inf, held="beyond")


def combination_facts(book: Codebook, impossible: ImpossibleRows, rows: tuple[int, int], board: Board) -> list[Fact]:
    """Combinations that no real record has.

    A combination that is merely rare may be absent from the data. Were it as frequent in both tables, all of its c
    rows would stand in the synthetic one with probability (m / (n + m))^c; below 1 in 20 over all pairs of levels, it
    is taken as impossible.
    """
    n, m = rows
    sizes = [book.column(name).size for name in book.names]
    pairs = sum(a * b for k, a in enumerate(sizes) for b in sizes[:k])
    facts = []
    for one in impossible.combinations:
        pair = " and ".join(f"{name} = {level}" for name, level in zip(one.columns, one.levels, strict=True))
        share = one.synthetic / m
        rare = one.synthetic * math.log(m / (n + m)) + math.log(max(pairs, 1)) > math.log(_MISS)
        allowed = percent(board.impossible_rows)
        says = f"{pair} in {one.synthetic:,} rows ({percent(share)}), in no real record (limit {allowed})"
        beyond = share > board.impossible_rows and not rare
        severity = share / board.impossible_rows
        facts.append(
            Fact(says=says, severity=severity if beyond else min(severity, 1.0), held="beyond" if beyond else "within")
        )
    return facts


def plain_term(term: str) -> str:
    """A term of a model as a person would say it.

    >>> plain_term("pay[T.self pay]"), plain_term("Q('age.yrs')"), plain_term("age:sex[T.M]")
    ('pay = self pay', 'age.yrs', 'age:sex = M')
    """
    return re.sub(r"\[T\.(.*?)\](?=:|$)", r" = \1", re.sub(r"Q\('([^']*)'\)", r"\1", term))


def plain_formula(formula: str) -> str:
    """A formula as a person would say it.

    >>> plain_formula("cat == 'Surgical' ~ Q('age.yrs') + charge")
    'cat = Surgical by age.yrs, charge'
    """
    left, _, right = formula.partition("~")
    answer = re.sub(r"'([^']*)'", r"\1", plain_term(left.strip())).replace("==", "=")
    return f"{answer} by {', '.join(plain_term(term.strip()) for term in right.split(' + '))}"
