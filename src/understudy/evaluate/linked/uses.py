"""What linked tables can be used for: every measured fact beside the limit that the board set.

The facts, the limits and the rules of a verdict are those of one table (:mod:`..report.facts`); what is compared is
found in several tables (:mod:`.views`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from understudy.evaluate.board import Board
from understudy.evaluate.impossible import impossible_rows
from understudy.evaluate.linked.metrics import MUST_BE_PERFECT
from understudy.evaluate.linked.rows import LinkedRows
from understudy.evaluate.linked.views import Sides, View, gaps_view, numbers_view, rows_view, steps_view
from understudy.evaluate.metric import Score
from understudy.evaluate.opened import open_grids
from understudy.evaluate.report.columns import ColumnFacts, column_facts
from understudy.evaluate.report.facts import (
    Fact,
    Use,
    associations_use,
    combination_facts,
    never,
    pair_share_facts,
    pairs_use,
    prediction_use,
    rule_facts,
    sensible_rows,
    share_facts,
    shares_use,
    use_of,
)
from understudy.evaluate.report.pairs import PairFacts, pair_facts
from understudy.pages.numbers import percent
from understudy.sources.base import Report

NO_MODELS = "Coefficients of models: none is fitted on linked tables, so effect_error limits nothing here."
NO_TASK = "Prediction: nobody was set aside to predict for (--holdout), or nothing could be predicted."


def linked_uses(
    real: LinkedRows, synthetic: LinkedRows, scores: Sequence[Score], board: Board, report: Report | None = None
) -> tuple[list[Use], list[str]]:
    """What was measured of each use, in the order in which a page lists them; and what was not measured, and why."""
    sides: Sides = (real, synthetic)
    tables = real.book.tables
    below = [table.name for table in tables if table.parent is not None]
    views = {}
    for done, table in enumerate(tables):
        if report:
            report("against the limits", done, len(tables))
        views[table.name] = rows_view(sides, table.name)
    lacking = [name for name, view in views.items() if view.rows[0] and not view.rows[1]]
    compared = [view for view in views.values() if view.can_be_compared]
    pairs = [fact for view in compared for fact in _pairs(view)]
    predicted = prediction_use(scores, board)
    found = [
        shares_use((fact for view in compared for fact in _columns(view)), board),
        shares_use(_details(real, synthetic), board, "Shares of detailed codes"),
        pairs_use(pairs, board),
        associations_use(pairs, board),
        _with_view("How many rows go with one", [numbers_view(sides, name) for name in below], board),
        _with_view("What follows what", [steps_view(sides, name) for name in _ordered(real, below)], board),
        _with_view("Time between events", [gaps_view(sides, name) for name in _ordered(real, below)], board),
        predicted,
        sensible_rows(
            [
                *(never(f"the synthetic table {name} has no row") for name in lacking),
                *_must_hold(scores),
                *(fact for view in compared for fact in _impossible(view, board)),
            ]
        ),
    ]
    if report:
        report("against the limits", len(tables), len(tables))
    untested = [NO_MODELS, *([] if predicted is not None else [NO_TASK])]
    return [use for use in found if use is not None], untested


def _ordered(rows: LinkedRows, names: Iterable[str]) -> list[str]:
    return [name for name in names if rows.book.table(name).order is not None]


def _with_view(title: str, views: Iterable[View | None], board: Board) -> Use | None:
    """Shares of the columns that views are about, and of their pairs."""
    facts: list[Fact] = []
    for view in views:
        if view is None or not view.rows[0]:
            continue
        if not view.rows[1]:
            facts.append(never(f"{_about(view)}: no synthetic row to compare with {view.rows[0]:,} confidential ones"))
            continue
        facts += share_facts(_columns(view), board)
        facts += pair_share_facts(_pairs(view), board)
    return use_of(title, facts)


def _about(view: View) -> str:
    return ", ".join(view.own) or view.pairs[0][1] if view.own or view.pairs else "rows that follow another"


def _columns(view: View) -> list[ColumnFacts]:
    """The columns that a view is about."""
    book, cliques = view.real.codebook, [[name] for name in view.own]
    counts = zip(view.own, open_grids(view.real, cliques), open_grids(view.synthetic, cliques), strict=True)
    return [column_facts(book, name, a, b) for name, a, b in counts]


def _pairs(view: View) -> list[PairFacts]:
    return pair_facts(view.real, view.synthetic, pairs=view.pairs)


def _impossible(view: View, board: Board) -> list[Fact]:
    found = impossible_rows(view.real, view.synthetic, pairs=view.pairs)
    return combination_facts(view.real.codebook, found, view.rows, board)


def _details(real: LinkedRows, synthetic: LinkedRows) -> list[ColumnFacts]:
    """Detailed codes, which are outside the model and paired with nothing."""
    facts = []
    for table in real.book.tables:
        for detail in table.book.details:
            counts = []
            for side in (real, synthetic):
                codes = side.tables[table.name].codes(detail.name)
                counts.append(np.bincount(codes[codes >= 0], minlength=detail.size))
            if all(each.any() for each in counts):
                fact = column_facts(table.book, detail.name, counts[0], counts[1])
                facts.append(replace(fact, name=table.spelled(detail.name)))
    return facts


def _must_hold(scores: Sequence[Score]) -> list[Fact]:
    """Keys, constants and rules: these are no matter of degree."""
    known = {score.metric: score for score in scores if score.metric in MUST_BE_PERFECT and score.breakdown}
    facts = rule_facts(known["broken_rules"].breakdown) if "broken_rules" in known else []
    if "orphans" in known:
        facts += [never(f"{name}: {count:,.0f}") for name, count in known["orphans"].breakdown.items() if count]
    if "constants" in known:
        facts += [
            never(f"{name} differs within {percent(1 - share)} of those who have it")
            for name, share in known["constants"].breakdown.items()
            if share < 1
        ]
    return facts
