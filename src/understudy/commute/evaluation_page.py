"""The confidential page about a commuting release: what was done, loss and risk, what it could have cost otherwise."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from understudy.commute.alternatives import Quoted, quoted
from understudy.commute.figures import distance_histogram, size_scatter
from understudy.commute.released import ReleasedCommutes
from understudy.evaluate.commuting import CommuteFindings, SizeBand
from understudy.pages.decision import SECTIONS, Compared, Decision, Fact
from understudy.pages.numbers import number, percent
from understudy.pages.shell import MARKER, html_page, policy
from understudy.pages.write import check_page_target, write_page
from understudy.privacy.guarantees import guarantee_from_dict
from understudy.privacy.odds import odds_facts
from understudy.sources.flows import Flows


def write_evaluation(path: Path, findings: CommuteFindings, made: ReleasedCommutes, real: Flows) -> None:
    """One self-contained page; it is confidential, and readable by its owner only."""
    check_page_target(path)
    write_page(path, evaluation_page(findings, made, real))


def evaluation_page(findings: CommuteFindings, made: ReleasedCommutes, real: Flows) -> str:
    """The page as text."""
    short_title = f"Commutes shorter than {findings.short_miles or 0:.2f} miles"
    quantiles = {"confidential": findings.real_quantiles, "synthetic": findings.synthetic_quantiles}
    sizes = (
        (title, [_band(band) for band in bands])
        for title, bands in (("All commutes", findings.all_commutes), (short_title, findings.short_commutes))
        if bands
    )
    return html_page(
        "evaluation.html",
        packages=("understudy.commute",),
        title="Synthetic commutes against the confidential table",
        sub=made.folder.name,
        marker=MARKER,
        security=policy(scripts=False),
        sections=[*SECTIONS, ("promise", "Promise"), ("distances", "Distances"), ("destinations", "By destination")],
        banner="This page compares with real origins: it must stay with those who may see them.",
        decision=_decision(findings, made, quoted(real, made)),
        statement=made.manifest["statement"],
        problems=made.problems,
        quantile_heads=("quantile", *(f"{share} %" for share in (10, 25, 50, 75, 90, 99))),
        quantiles=[(word, *map(_miles, miles)) for word, miles in quantiles.items() if miles],
        pictures=_pictures(findings, short_title),
        size_heads=("workers", "destinations", "confidential", "synthetic", "bias", "mean |error|"),
        sizes=sizes,
    )


def _pictures(findings: CommuteFindings, short_title: str) -> list[str]:
    data = findings.by_destination
    if not data:
        return []
    miles = np.concatenate([data["real"], data["synthetic"]])
    top = float(np.max(miles, initial=0.0, where=np.isfinite(miles)))
    most = float(np.ceil(top / 10) * 10) if top > 0 else 10.0
    pictures = [
        size_scatter(data["workers"], data["real"], data["synthetic"], title="All commutes", most=most),
        size_scatter(data["workers"], data["real_short"], data["synthetic_short"], title=short_title),
    ]
    if "histograms" in data:
        pictures.append(distance_histogram(*data["histograms"], title="Commute distances"))
    return pictures


def _decision(findings: CommuteFindings, made: ReleasedCommutes, others: Sequence[Quoted]) -> Decision:
    total = guarantee_from_dict(made.manifest["guarantee"])
    far = "" if findings.within is None else f" Commutes beyond {number(findings.within)} miles were left out."
    return Decision(
        done=f"The homes of {findings.synthetic_workers:,} synthetic workers were drawn for "
        f"{len(made.flows.destinations):,} public destinations, from {findings.workers:,} confidential ones.{far}",
        loss=list(_loss(findings)),
        risk=list(odds_facts(total, whose="the home of one worker")),
        compared=Compared(
            says="Prices of other choices, from destination totals, which are public here; no origin was read for "
            "them. “From the prior”: the expected share of synthetic workers whose home comes from the public prior "
            "and not from the data."
            if others
            else "Other choices cannot be quoted: the release used public tables (sizes or regions) that its folder "
            "does not hold.",
            header=("choice", "epsilon", "delta", "from the prior"),
            rows=[_row(one) for one in others],
            chosen=0,
        ),
    )


def _loss(findings: CommuteFindings) -> Iterator[Fact]:
    top = findings.top_flows
    yield Fact(
        label="Invented pairs",
        value=percent(findings.invented_pairs),
        says=f"Synthetic pairs of home and work that no real worker has; {percent(findings.invented_workers)} of the "
        "synthetic workers are on them.",
    )
    yield Fact(label="Lost pairs", value=percent(findings.lost_pairs), says="Real pairs that no synthetic worker has.")
    yield Fact(
        label=f"Error of the {top:,} largest flows",
        value=percent(findings.top_flow_error),
        says=f"On average; {percent(findings.top_flow_overlap)} of them are still among the largest.",
    )
    if findings.distance_tvd is not None:
        yield Fact(
            label="Workers whose distance would have to change",
            value=percent(findings.distance_tvd),
            says="To make the histograms of commute distances agree.",
        )


def _row(one: Quoted) -> tuple[str, ...]:
    if one.total is None:
        return (f"{one.label}: not possible ({one.why_not})", "–", "–", "–")
    if not one.total.is_formal:
        return (f"{one.label}: no promise", "–", "–", _share(one.from_prior))
    epsilon, delta = getattr(one.total, "epsilon", None), getattr(one.total, "delta", 0.0)
    return (one.label, number(epsilon), number(delta), _share(one.from_prior))


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _miles(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _band(band: SizeBand) -> tuple[str, ...]:
    workers = f"{band.smallest:,}"
    if band.largest != band.smallest:
        workers += " and more" if band.largest is None else f" to {band.largest:,}"
    figures = (band.real_miles, band.synthetic_miles, band.bias, band.mean_error)
    return workers, f"{band.destinations:,}", *map(_miles, figures)
