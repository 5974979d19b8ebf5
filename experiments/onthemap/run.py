"""Draw, measure, and write figures and numbers."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from experiments.onthemap.world import SAMPLE, Absent, World, rhode_island, town
from understudy.commute import CommuteRecipe, ctpp_minnesota
from understudy.commute.evaluating import on_the_same_rows
from understudy.commute.figures import size_scatter
from understudy.commute.jobs import CommuteInput, open_commutes, quote_commutes
from understudy.commute.synthesize import draw
from understudy.evaluate.commuting import CommuteFindings, compare_flows
from understudy.mechanisms.origin_draws import KEEP_ALL
from understudy.mechanisms.stream import Stream
from understudy.sources.flows import Histograms

OUT = Path("out") / "onthemap"
SHORT = 6.23
"""Median commute of the paper's CTPP data, miles: what it calls short."""
EPSILON, DELTA = 4.6, 1e-5
PAPER: dict[str, Any] = {
    "epsilon": EPSILON,
    "delta": DELTA,
    "certificate": "theorem-4.4",
    "rings": ctpp_minnesota(),
    "shrink": True,
}
CUTS = (30.0, 15.0)
"""The longest commute here is 57.8 miles, so the paper's 200 and 100 would do nothing."""

_EXACT = {**PAPER, "certificate": "exact"}
_PLAIN = {"epsilon": EPSILON, "delta": DELTA, "certificate": "exact", "cutoff": 30.0}
VARIANTS: dict[str, dict[str, Any]] = {
    "paper: theorem 4.4, shrunk, 30 miles": {**PAPER, "cutoff": 30.0},
    "paper: theorem 4.4, shrunk, 15 miles": {**PAPER, "cutoff": 15.0},
    "exact, shrunk, 30 miles": {**_EXACT, "cutoff": 30.0},
    "exact, shrunk, 30 miles, same total as the paper": {**_EXACT, "epsilon": 4.685, "cutoff": 30.0},
    "exact, 30 miles": _PLAIN,
    "exact, 30 miles, epsilon 8.05": {**_PLAIN, "epsilon": 8.05},
    "exact, 30 miles, long commutes apart from 13.1": {**_PLAIN, "rings": ctpp_minnesota(), "split": 13.1},
    "exact, 30 miles, apart from 6.23": {**_PLAIN, "rings": ctpp_minnesota(), "split": 6.23},
    "exact, 30 miles, prior by distance": {**_PLAIN, "rings": ctpp_minnesota(), "prior": "distance"},
    "probabilistic, rejecting, 30 miles": {**_PLAIN, "certificate": "probabilistic", "reject": True},
    "pure, 30 miles": {**_PLAIN, "certificate": "pure", "delta": None},
    "exact, no cut-off": {**_PLAIN, "cutoff": None},
    "exact, no cut-off, by tract": {**_PLAIN, "cutoff": None, "coarse": True},
    "exact, 30 miles, by tract": {**_PLAIN, "coarse": True},
    "exact, 30 miles, by tract, apart from 13.1": {
        **_PLAIN,
        "rings": ctpp_minnesota(),
        "split": 13.1,
        "coarse": True,
    },
    "baseline SBA": {**_PLAIN, "cutoff": None, "method": "sba"},
    "baseline subsample": {**_PLAIN, "cutoff": None, "method": "subsample"},
    "baseline Laplace": {**_PLAIN, "cutoff": None, "method": "laplace", "delta": None},
}
FEW_ONLY = ("baseline Laplace",)
"""Noise on every cell of every destination: measured on the sample only."""


def measure(
    world: World, given: CommuteInput, options: dict[str, Any], seed: int
) -> tuple[dict[str, Any], CommuteFindings]:
    """One release and how it compares; the stream is seeded, because this is a simulation."""
    wanted = {name: value for name, value in options.items() if name != "coarse"}
    if options.get("coarse"):
        given = open_commutes(world.flows, places=world.places, regions=world.regions(given), **world.columns)
    recipe = CommuteRecipe(**wanted)
    start = time.perf_counter()
    plan = quote_commutes(recipe, given)
    planned = time.perf_counter() - start
    start = time.perf_counter()
    made = draw(plan, stream=Stream.seeded(seed))
    drawn = time.perf_counter() - start
    number = len(given.flows.destinations)
    cells = Histograms.of(made.destinations, made.origins, np.ones(len(made.origins), dtype=np.int64), number=number)
    places = given.places
    assert places is not None
    homes = places.positions(tuple(given.flows.origins.to_pylist()), "origin")
    work = places.positions(given.flows.destinations, "destination")
    found = compare_flows(
        given.flows.cells,
        on_the_same_rows(given.flows, given.flows.destinations, cells),
        distance=lambda rows, units: places.miles(work[rows], homes[units]),
        short=SHORT,
        within=recipe.cutoff,
    )
    alphas = np.array([float(alpha) for alpha in plan.alphas])
    kept = plan.public.cells * plan.public.weights * (plan.public.keeps / KEEP_ALL)  # mean number, if shrunk
    mass = alphas * kept.sum(axis=1) if len(alphas) else np.zeros(1)
    total = plan.quote.total
    facts = {
        "epsilon": total.epsilon,
        "delta": total.delta,
        "median_alpha": float(np.median(alphas)) if len(alphas) else None,
        "mean_virtual_workers": float(mass.mean()),
        "mean_workers": float(plan.public.workers.mean()),
        "left_out": made.left_out,
        "warnings": list(plan.quote.warnings),
        "seconds": {"plan": planned, "draw": drawn},
    }
    return facts, found


def main(*, quick: bool = False, out: Path = OUT) -> dict[str, Any]:
    """The paper's figures on a sample and on all destinations, then every variant side by side."""
    try:
        world = town() if quick else rhode_island()
    except Absent as reason:
        print(f"{reason}: left out")
        return {}
    out.mkdir(parents=True, exist_ok=True)
    few, whole = world.some(20 if quick else SAMPLE, seed=2008), world.all()
    report: dict[str, Any] = {"world": world.name, "workers": whole.flows.workers, "variants": {}}
    for cut, first in zip(CUTS, (1, 3), strict=True):
        for given, label in ((few, ""), (whole, "all-")):
            facts, found = measure(world, given, {**PAPER, "cutoff": cut}, seed=int(cut))
            data = found.by_destination
            words = f"{len(given.flows.destinations):,} destinations, origins within {cut:g} miles"
            for place, (suffix, what) in enumerate((("", "all commutes"), ("_short", f"below {SHORT} miles"))):
                svg = size_scatter(
                    data["workers"],
                    data[f"real{suffix}"],
                    data[f"synthetic{suffix}"],
                    title=f"Figure {first + place}: {words}, {what}",
                    real_label="original",
                    most=None if suffix == "" else 8.0,
                )
                (out / f"onthemap-{label}{first + place}.svg").write_text(svg, encoding="utf-8")
            key = f"figures {first} and {first + 1}, {'all' if label else 'sample'}"
            report[key] = {**facts, **_short_report(found)}
            print(f"{key}: {json.dumps(report[key]['in_short'])}", flush=True)
    for name, options in VARIANTS.items():
        facts, found = measure(world, few if name in FEW_ONLY else whole, options, seed=7)
        report["variants"][name] = {**facts, **_short_report(found), "sample_only": name in FEW_ONLY}
        print(f"{name}: epsilon {facts['epsilon']:.3f}, {json.dumps(report['variants'][name]['in_short'])}", flush=True)
    (out / "onthemap.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    (out / "onthemap.md").write_text(table(report), encoding="utf-8")
    return report


def _short_report(found: CommuteFindings) -> dict[str, Any]:
    data = found.by_destination
    both = np.isfinite(data["real"]) & np.isfinite(data["synthetic"])
    short = np.isfinite(data["real_short"]) & np.isfinite(data["synthetic_short"])
    return {
        "in_short": {
            "bias": round(float(np.mean(data["synthetic"][both] - data["real"][both])), 3),
            "mean_error": round(float(np.mean(np.abs(data["synthetic"][both] - data["real"][both]))), 3),
            "short_bias": round(float(np.mean((data["synthetic_short"] - data["real_short"])[short])), 3),
            "short_mean_error": round(float(np.mean(np.abs(data["synthetic_short"] - data["real_short"])[short])), 3),
            "distance_tvd": round(found.distance_tvd or 0.0, 4),
            "invented_workers": round(found.invented_workers, 4),
            "top_flow_error": round(found.top_flow_error, 4),
            "top_flow_overlap": found.top_flow_overlap,
        },
        "all_commutes": [asdict(band) for band in found.all_commutes],
        "short_commutes": [asdict(band) for band in found.short_commutes],
        "real_quantiles": found.real_quantiles,
        "synthetic_quantiles": found.synthetic_quantiles,
    }


def table(report: dict[str, Any]) -> str:
    """The variants as Markdown."""
    heads = (
        "release",
        "total ε",
        "virtual workers per destination",
        "bias, miles",
        "mean error",
        "short: bias",
        "short: mean error",
        "distance TVD",
        "invented workers",
        "top-100 flow error",
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, row in report["variants"].items():
        short = row["in_short"]
        cells = (
            f"{name}{' (sample)' if row['sample_only'] else ''}",
            f"{row['epsilon']:.2f}",
            f"{row['mean_virtual_workers']:.1f}",
            f"{short['bias']:+.2f}",
            f"{short['mean_error']:.2f}",
            f"{short['short_bias']:+.2f}",
            f"{short['short_mean_error']:.2f}",
            f"{short['distance_tvd']:.3f}",
            f"{100 * short['invented_workers']:.0f} %",
            f"{100 * short['top_flow_error']:.0f} %",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
