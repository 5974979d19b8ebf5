"""LUDIA (dissertation section 4.3, algorithm 2) with the corrected updates, in time that does not depend on n.

The objective (4.9), with W = K+, K = A A', targets s (p x d) and V = [V_x; V_y]:

    |X - U V_x'|^2 + |sqrt(W) (s - Pi V_y')|^2 + |A U - Pi|^2

Minimising over U gives the Sylvester equation U S + A'A U = X V_x + A'Pi with S = V_x'V_x. Its solution has the form

    U = X B + A'M,   B = V_x S^-1,   M S + K M = Pi - Z B,

as substitution shows, so only the p x r matrix M has to be found, and U'U, U'X and A U follow from X'X, Z = A X and
K. An iteration costs a few p x r and m x r products; the individuals are never touched.

The objective is degenerate: (U, Pi, V) -> (cU, cPi, V/c) leaves two terms as they are and scales the third, so for r
= rank(X) its infimum is 0 and says nothing about y. Descent is monotone, but the answer depends on the number of
iterations. Corrected, it is always ``X beta + A+(s - A X beta)`` with one common beta (PRIVACY section 8).
"""

from dataclasses import dataclass

import numpy as np

from understudy.parameters import Whole
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.linear import pinv, weighted_regression
from understudy.reconstruct.sketch import Sketch

STARTS = ("mp", "er", "random")


@dataclass(frozen=True, kw_only=True, eq=False)
class LowRank:
    """Where a low-rank method arrived: the answer is ``X beta + A'lift`` before correction."""

    beta: Floats
    lift: Floats
    objective: tuple[float, ...]
    """After every iteration."""
    converged: bool
    """Whether the objective stopped falling before the iterations were used up."""


def rank_of(sketch: Sketch) -> int:
    """Numerical rank of X, which algorithm 2 takes for r."""
    values = np.linalg.eigvalsh(sketch.gram)
    return max(int(np.count_nonzero(values > 1e-10 * max(float(values.max()), 1e-300))), 1)


def ludia(
    sketch: Sketch,
    *,
    rank: int,
    iterations: int,
    tolerance: float = 0.0,
    start: str = "mp",
    rng: np.random.Generator | None = None,
) -> LowRank:
    """Alternating minimisation of (4.9); ``tolerance`` stops it when an iteration lowers the objective by less."""
    Whole(most=sketch.columns).check("rank", rank)
    v_x, v_y, pi = _start(sketch, rank, start, rng)
    groups, gram, s = sketch.groups, sketch.gram, sketch.targets
    history: list[float] = []
    converged = False
    b, m = np.zeros((sketch.columns, rank)), np.zeros((groups.size, rank))
    for _ in range(iterations):
        b, m, held = solve_u(sketch, v_x, pi)  # held = A U
        pi = groups.relax(v_y.T @ v_y, groups.pinv(s) @ v_y + held)
        inner, outer = _products(sketch, b, m)  # U'U, U'X
        v_x = outer.T @ pinv(inner)
        weighted = groups.pinv(pi)
        v_y = (s.T @ weighted) @ pinv(pi.T @ weighted)
        gap = s - pi @ v_y.T
        history.append(
            float(
                np.trace(gram)
                - 2 * np.sum(v_x * outer.T)
                + np.sum((v_x @ inner) * v_x)
                + np.sum(gap * groups.pinv(gap))
                + np.sum((held - pi) ** 2)
            )
        )
        if _has_settled(history, tolerance):
            converged = True
            break
    return LowRank(beta=b @ v_y.T, lift=m @ v_y.T, objective=tuple(history), converged=converged)


def solve_u(sketch: Sketch, v_x: Floats, pi: Floats) -> tuple[Floats, Floats, Floats]:
    """B and M of U = X B + A'M, and A U."""
    inner = v_x.T @ v_x
    b = v_x @ pinv(inner)
    free = sketch.means @ b
    m = sketch.groups.sylvester(inner, pi - free)
    return b, m, free + sketch.groups.times(m)


def _products(sketch: Sketch, b: Floats, m: Floats) -> tuple[Floats, Floats]:
    outer = b.T @ sketch.gram + m.T @ sketch.means
    inner = outer @ b + (b.T @ sketch.means.T) @ m + m.T @ sketch.groups.times(m)
    return (inner + inner.T) / 2, outer


def _start(sketch: Sketch, rank: int, start: str, rng: np.random.Generator | None) -> tuple[Floats, Floats, Floats]:
    """V and Pi from a rank-r singular value decomposition of [X y], y by MP or ER; or V drawn at random."""
    if start == "random":
        draws = (rng or np.random.default_rng()).standard_normal((sketch.columns + sketch.targets.shape[1], rank))
        v_x, v_y = draws[: sketch.columns], draws[sketch.columns :]
        return v_x, v_y, sketch.means @ (v_x @ pinv(v_x.T @ v_x))
    m = sketch.columns
    if start == "mp":
        beta, lift = np.zeros((m, sketch.targets.shape[1])), sketch.groups.pinv(sketch.targets)
    else:
        beta = weighted_regression(sketch)
        lift = np.zeros_like(sketch.targets)
    values, vectors = np.linalg.eigh(sketch.joint(beta, lift))
    top = np.argsort(values)[::-1][:rank]
    sizes = np.sqrt(np.maximum(values[top], 0.0))
    right = vectors[:, top]
    # [X y] = (U G^1/2)(G^1/2 V'), as the dissertation writes it below the Eckart-Young theorem
    v = right * np.sqrt(sizes)
    averages = np.concatenate([sketch.means, sketch.met(beta, lift)], axis=1)  # A [X y]
    scale = np.divide(1.0, np.sqrt(sizes), out=np.zeros_like(sizes), where=sizes > 0)
    return v[:m], v[m:], averages @ (right * scale)


def ludia_svd(sketch: Sketch, *, rank: int, iterations: int, tolerance: float = 0.0) -> LowRank:
    """True descent on (4.6): the best rank-r copy of [X y], then y <- f + A+(s - A f), and again.

    With P the projector on the r leading right singular vectors of [X y], f = X P_xy + y P_yy; since y = X beta +
    A+(s - Z beta), the next beta is P_xy + beta P_yy. The objective is the sum of the singular values left out,
    squared.
    """
    Whole(most=sketch.columns).check("rank", rank)
    m, d = sketch.columns, sketch.targets.shape[1]
    beta = np.zeros((m, d))
    history: list[float] = []
    converged = False
    for _ in range(iterations):
        values, vectors = np.linalg.eigh(sketch.joint(beta, sketch.lift(beta)))
        history.append(float(np.maximum(values[: m + d - rank], 0.0).sum()))
        top = vectors[:, m + d - rank :]
        beta = top[:m] @ top[m:].T + beta @ (top[m:] @ top[m:].T)
        if _has_settled(history, tolerance):
            converged = True
            break
    return LowRank(beta=beta, lift=sketch.lift(beta), objective=tuple(history), converged=converged)


def _has_settled(history: list[float], tolerance: float) -> bool:
    """Whether the last iteration lowered the objective by too small a share."""
    return len(history) > 1 and history[-2] - history[-1] <= tolerance * abs(history[-2])
