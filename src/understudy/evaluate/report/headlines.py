"""A selection of the scores, each beside what two known tables would get."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from understudy.evaluate.report.findings import Headline, Measured
from understudy.evaluate.report.pairs import PairFacts
from understudy.evaluate.utility.references import Reference
from understudy.pages.numbers import number


def headlines_of(
    utility: Sequence[Measured],
    risks: Sequence[Measured],
    lines: Mapping[str, Reference],
    pairs: Sequence[PairFacts],
    *,
    guessing: bool,
) -> list[Headline]:
    """One line per question; guesses only where the intruder knows something (``guessing``)."""
    scores = {item.score.metric: item for item in (*utility, *risks)}
    headlines = [
        _line(scores[name], label, bootstrap=lines[name].bootstrap, independent=lines[name].independent)
        for name, label in (
            ("tvd_one_way", "Shares of levels"),
            ("tvd_two_way", "Pairs of columns"),
            ("conditional_mae", "Shares given another column"),
        )
        if name in scores and name in lines
    ]
    gaps = [abs(pair.synthetic - pair.real) for pair in pairs]
    if known := [gap for gap in gaps if not math.isnan(gap)]:
        headlines.append(
            Headline(
                label="Connections between columns",
                says="Absolute change of Cramer's V, averaged over pairs of columns.",
                goal="minimize",
                value=float(np.mean(known)),
                independent=float(np.mean([pair.real for pair in pairs if not math.isnan(pair.real)])),
            )
        )
    if item := scores.get("pmse_ratio"):
        headlines.append(_line(item, "Telling real from synthetic rows, times a perfect synthesis", bootstrap=1.0))
    if item := scores.get("train_on_synthetic"):
        trained = item.score.breakdown["auc, trained on real rows"]
        label, more = "Prediction by a model trained on synthetic rows", f" Trained on real rows: {number(trained)}."
        headlines.append(_line(item, label, more=more, bootstrap=trained, independent=0.5, perfect=1.0, worst=0.5))
    for name, item in scores.items():
        if guessing and name.startswith("mode_attack") and not math.isnan(item.score.value):
            label = f"Intruder's wrong guesses of {name.partition(': ')[2]}"
            more, parts = _control(item, " People held out"), item.score.breakdown
            levels = {"bootstrap": parts["bootstrap"], "independent": parts["marginal"]}
            headlines.append(_line(item, label, more=more, **levels, perfect=1.0, worst=0.0))
    if item := scores.get("exact_copies"):
        more = _control(item, " Among people held out")
        headlines.append(_line(item, "Rows equal to a real record", more=more, bootstrap=1.0, perfect=0.0, worst=1.0))
    return [line for line in headlines if not math.isnan(line.value)]


def _control(item: Measured, words: str) -> str:
    parts = item.score.breakdown
    return f"{words}: {number(parts['control'])}." if "control" in parts else ""


def _line(item: Measured, label: str, *, more: str = "", perfect: float | None = None, **known: float) -> Headline:
    return Headline(
        label=label,
        says=item.metric.says + more,
        goal=item.metric.goal,
        value=item.score.value,
        low=item.score.low,
        high=item.score.high,
        perfect=item.metric.perfect if perfect is None else perfect,
        **known,
    )
