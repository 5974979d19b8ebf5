"""What the paper says, and what came out. A difference within two standard errors decides nothing."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from experiments.pegs.maps import AMOUNT, EPSILONS

METHODS = ("pegs", "pegs-rs", "pmi")
Found = dict[str, Any]


def at(found: Found, method: str, epsilon: float | None, measure: str) -> tuple[float, float]:
    """Mean of a measure and its standard error; NaN where it was not measured."""
    mean, spread = found["series"].get(method, {}).get(str(epsilon), {}).get(measure, (math.nan, math.nan))
    return float(mean), float(spread) / math.sqrt(found["repeats"])


def below(first: tuple[float, float], second: tuple[float, float]) -> int:
    """1 if the first is smaller beyond two standard errors, -1 if larger, 0 if nobody can tell."""
    gap = second[0] - first[0]
    sure = abs(gap) > 2 * math.hypot(first[1], second[1])
    return int(math.copysign(1, gap)) if sure else 0


def verdict(signs: Sequence[int]) -> str:
    """All must agree; one that surely differs decides."""
    if any(sign < 0 for sign in signs):
        return "differs"
    return "agrees" if all(sign > 0 for sign in signs) else "undecided"


def claims(found: Found) -> list[tuple[str, str, str]]:
    """(claim of the paper, verdict here, the numbers)."""
    small, large = EPSILONS[0], EPSILONS[-1]
    age = found["given"][0]
    listed: list[tuple[str, str, str]] = []
    for measure, label in (("marginal_mae", "marginal"), (f"conditional_mae | {age}", "conditional")):
        ends = {m: (at(found, m, small, measure), at(found, m, large, measure)) for m in METHODS}
        said = ", ".join(f"{m} {a[0]:.4f} to {b[0]:.4f}" for m, (a, b) in ends.items())
        falls = [below(b, a) for a, b in ends.values()]
        first = [below(ends["pegs-rs"][0], ends[other][0]) for other in ("pegs", "pmi")]
        last = [below(ends["pegs"][1], ends["pegs-rs"][1])]
        listed += [
            (f"{label} distances fall with epsilon", verdict(falls), said),
            (f"PeGS.rs has the smallest {label} distance at epsilon {small:g}", verdict(first), said),
            (f"PeGS comes below PeGS.rs at epsilon {large:g} ({label})", verdict(last), said),
        ]
    listed.append(_ranks(found))
    for formula, label in zip(found["formulas"], ("logistic", "linear"), strict=True):
        ten = {m: at(found, m, 10.0, f"coefficient_distance: {formula}") for m in METHODS}
        said = ", ".join(f"{m} {value[0]:.3g}" for m, value in ten.items())
        best = [below(ten["pegs-rs"], ten[other]) for other in ("pegs", "pmi")]
        worst = [below(ten[other], ten["pmi"]) for other in ("pegs", "pegs-rs")]
        listed += [
            (f"PeGS.rs has the closest {label} coefficients at epsilon 10", verdict(best), said),
            (f"PMI has the worst {label} coefficients at epsilon 10", verdict(worst), said),
        ]
    return [*listed, *_intruder(found, small, large)]


def _ranks(found: Found) -> tuple[str, str, str]:
    signs = []
    for epsilon in EPSILONS:
        tau = {m: at(found, m, epsilon, "kendall_marginal") for m in METHODS}
        signs.append(verdict([below(tau[other], tau["pegs-rs"]) for other in ("pegs", "pmi")]))
    count: Callable[[str], int] = signs.count
    half = len(EPSILONS) / 2
    said = f"surely best at {count('agrees')}, surely beaten at {count('differs')} of {len(EPSILONS)} epsilons"
    word = "agrees" if count("agrees") > half else "differs" if count("differs") > half else "undecided"
    return "PeGS.rs keeps the order of levels best overall", word, said


def _intruder(found: Found, small: float, large: float) -> list[tuple[str, str, str]]:
    mode = f"mode_attack: {found['category']}"
    wrong = {m: at(found, m, large, mode) for m in METHODS}
    bootstrap = at(found, "pegs", large, f"{mode} (bootstrap)")
    first = ", ".join(f"{m} {value[0]:.3f}" for m, value in wrong.items()) + f"; bootstrap {bootstrap[0]:.3f}"
    amounts = {m: (at(found, m, small, AMOUNT), at(found, m, large, AMOUNT)) for m in METHODS}
    second = ", ".join(f"{m} {a[0]:.3g} to {b[0]:.3g}" for m, (a, b) in amounts.items())
    return [
        (
            f"guesses of {found['category']} are worse than with a bootstrap, even at epsilon {large:g}",
            verdict([below(bootstrap, value) for value in wrong.values()]),
            first,
        ),
        (f"errors of {found['amount']} fall with epsilon", verdict([below(b, a) for a, b in amounts.values()]), second),
    ]


def report(results: dict[str, Any]) -> str:
    """Claims and table 3 as text."""
    parts = []
    for name, found in results.items():
        if found is None:
            parts.append(f"{name}: left out, UNDERSTUDY_DATA is not set")
            continue
        parts.append(f"## {name}")
        parts += [f"- {word}: {claim} ({said})" for claim, word, said in claims(found["maps"])]
        for column, shares in found["blocks"]["columns"].items():
            a, b = shares["to_uniform"]
            parts.append(
                f"- figure 5, {column}: distance to uniform {a:.3f} in first rows, {b:.3f} in last rows; uniform rows "
                f"themselves would show {shares['chance']:.3f}"
            )
        parts.append("table 3 (epsilon 10 per record):")
        parts += ["  " + " | ".join(row) for row in found["sweep"]]
    return "\n".join(parts)
