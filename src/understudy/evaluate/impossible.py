"""Combinations that never occur in the confidential table and do in the synthetic one. For the holder only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.codebook import Codebook, Rule
from understudy.evaluate.dependencies import Proposal, forbidden_by, pair_grids, rules_from
from understudy.evaluate.opened import Counts
from understudy.sources.base import Report, Source

_MOST = 50


@dataclass(frozen=True, kw_only=True)
class Combination:
    """Two levels that only synthetic rows have together."""

    columns: tuple[str, str]
    levels: tuple[str, str]
    synthetic: int
    """Rows that have them."""
    rule: str
    """A rule that would forbid them, in words."""
    proposed: str | None
    """Its id among the rules that `codebook rules` proposes; None where the levels are too rare to tell."""


@dataclass(frozen=True, kw_only=True)
class ImpossibleRows:
    """All such pairs of levels, the most frequent listed."""

    combinations: tuple[Combination, ...]
    total: int
    """Pairs of levels that never occur in the data and do in the release."""
    breaches: Mapping[str, int]
    """Synthetic rows that break each declared rule about two columns."""

    @property
    def sentences(self) -> list[str]:
        """What a reader should know first."""
        said = []
        if worst := self.combinations[:1]:
            first = worst[0]
            pair = " and ".join(f"{name} = {level}" for name, level in zip(first.columns, first.levels, strict=True))
            said.append(
                f"{self.total:,} pairs of levels never occur in the confidential table and do in the synthetic one; "
                f"the most frequent is {pair} ({first.synthetic:,} rows), which the rule '{first.rule}' would forbid."
            )
        if broken := {title: count for title, count in self.breaches.items() if count}:
            said.append(
                f"declared rules are broken: {'; '.join(f'{title} ({n:,} rows)' for title, n in broken.items())}."
            )
        return said


def impossible_rows(
    real: Source,
    synthetic: Source,
    *,
    pairs: Sequence[tuple[str, ...]] | None = None,
    report: Report | None = None,
) -> ImpossibleRows:
    """Pairs of levels that both occur in the data, but never together, and that the release has together."""
    book = real.codebook
    truth, copy = pair_grids(real, report, pairs), pair_grids(synthetic, report, pairs)
    found = []
    for pair, counts in truth.items():
        both = np.outer(counts.sum(axis=1) > 0, counts.sum(axis=0) > 0)
        for a, b in zip(*np.nonzero((counts == 0) & both & (copy[pair] > 0)), strict=True):
            found.append((int(copy[pair][a, b]), pair, (int(a), int(b))))
    found.sort(key=lambda item: (-item[0], item[1], item[2]))
    proposals = rules_from(book, truth) if found else []
    return ImpossibleRows(
        combinations=tuple(_combination(book, proposals, *item) for item in found[:_MOST]),
        total=len(found),
        breaches={rule.title: count for rule in book.constraints if (count := _breaches(book, rule, copy)) is not None},
    )


def _combination(
    book: Codebook, proposals: Sequence[Proposal], rows: int, pair: tuple[str, str], codes: tuple[int, int]
) -> Combination:
    labels = tuple(book.column(name).labels[code] for name, code in zip(pair, codes, strict=True))
    for proposal in proposals:
        if set(pair) <= set(proposal.rule.columns):
            forbidden = forbidden_by(proposal.rule, book, pair)
            if forbidden is not None and forbidden[codes]:
                rule, name = proposal.words, proposal.id
                break
    else:
        rule, name = f"never {pair[0]} = {labels[0]} and {pair[1]} = {labels[1]}", None
    return Combination(columns=pair, levels=(labels[0], labels[1]), synthetic=rows, rule=rule, proposed=name)


def _breaches(book: Codebook, rule: Rule, copy: Mapping[tuple[str, str], Counts]) -> int | None:
    """Rows that break a rule about two columns; more columns are counted by `verify`."""
    pair = next((pair for pair in copy if set(pair) == set(rule.columns)), None)
    forbidden = None if pair is None else forbidden_by(rule, book, pair)
    return None if pair is None or forbidden is None else int(copy[pair][forbidden].sum())
