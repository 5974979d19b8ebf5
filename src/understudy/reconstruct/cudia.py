"""CUDIA (dissertation section 4.2): clusters of individuals whose target means explain the group averages.

pi_p ~ Dirichlet(alpha); z_i ~ pi_p; x_i ~ p(x | z_i); s_p ~ N(pi_p eta, Sigma_p^2), N_p Sigma_p^2 = pi_p (eta^2 +
T^2) - (pi_p eta)^2.

The E-step, alpha, T^2, W and the ridge are not in the dissertation; PRIVACY section 8 has the Monte-Carlo EM that is
used here: z_i by Gibbs, pi_p by independence Metropolis-Hastings from Dirichlet(alpha + counts), accepted by the
ratio of the densities of s_p, weighted maximum likelihood for the clusters, ridge generalised least squares with W =
1/Sigma^2 for eta, Newton for alpha. T^2 is barely identified: its moment estimate is kept from falling below zero.
The ridge pulls towards the overall mean.

The greedy version is ours: hard memberships, and pi_p by exponentiated-gradient steps on its own convex part; its
objective falls at every step.

Averages need not tell the means of the clusters apart, and then eta is arbitrary. So the clusters' number and the
ridge are chosen by averages held out, and a fit that does not predict such averages better than the mean of the
others gives way to the group means.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, RefusalError
from understudy.parameters import Flag, Number, NumberOrWord, OneOf, Whole, option
from understudy.reconstruct.design import Design, as_frame
from understudy.reconstruct.estimators import Effects, Reconstructor, correction
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.heldout import HeldOut, folds_of
from understudy.reconstruct.links import rake
from understudy.reconstruct.methods import SEED
from understudy.reconstruct.mixture import Clusters, Codes, People, minka, starting_clusters
from understudy.reconstruct.problem import Stack

Flags = npt.NDArray[np.bool_]
_CLUSTERS = (2, 3, 4, 5, 6, 8)
_RIDGES = tuple(float(x) for x in 10.0 ** np.arange(2, -3.01, -0.5))


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A fitted CUDIA model of one target."""

    clusters: Clusters
    shares: Floats
    """pi, p x k."""
    typical: Floats
    """Mean of pi over people, for records without a known group."""
    eta: Floats
    """Mean of the target in each cluster."""
    spread: float
    """T: deviation of the target within a cluster, 0 where the averages do not show any."""
    history: tuple[float, ...]
    accepted: float
    """Share of the proposals for pi that were accepted."""


def memberships(fitted: Fitted, people: People, groups: Codes) -> Floats:
    """Probability of every cluster for every individual."""
    shares = np.concatenate([fitted.shares, fitted.typical[None, :]])[groups]
    return _softmax(np.log(np.maximum(shares, 1e-300)) + fitted.clusters.log_density(people))


def _softmax(logs: Floats) -> Floats:
    logs = logs - logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    shares: Floats = logs / logs.sum(axis=1, keepdims=True)
    return shares


def mcem(
    people: People,
    groups: Codes,
    means: Floats,
    *,
    clusters: int,
    iterations: int,
    sweeps: int,
    ridge: float,
    rng: np.random.Generator,
    start: Floats | None = None,
    out: Flags | None = None,
) -> Fitted:
    """Monte-Carlo EM. ``groups`` are codes of the partition (all known); ``means`` the published averages.

    It begins with the memberships ``start``. Averages of the groups ``out`` are not used; the people of these groups
    are.
    """
    p = len(means)
    sizes = np.bincount(groups, minlength=p).astype(float)
    used = np.ones(p, dtype=bool) if out is None else ~out
    resp = starting_clusters(people, clusters, rng) if start is None else start
    theta = Clusters.weighted(people, resp)
    alpha = np.full(clusters, 1.0)
    pi = (_counts(groups, resp.argmax(axis=1), p, clusters) + alpha) / (sizes[:, None] + alpha.sum())
    eta, t2 = _eta(pi[used], means[used], sizes[used], ridge, None), 0.0
    history, proposed, taken = [], 0, 0
    for _ in range(iterations):
        density = theta.log_density(people)
        weights, averaged, logs = np.zeros_like(resp), np.zeros_like(pi), np.zeros_like(pi)
        for sweep in range(sweeps + 1):
            chance = _softmax(np.log(np.maximum(pi, 1e-300))[groups] + density)
            z = (rng.random((people.count, 1)) > np.cumsum(chance, axis=1)[:, :-1]).sum(axis=1)
            counts = _counts(groups, z, p, clusters)
            fresh = rng.standard_gamma(counts + alpha) + 1e-300
            fresh /= fresh.sum(axis=1, keepdims=True)
            gain = _log_normal(means, fresh, eta, t2, sizes) - _log_normal(means, pi, eta, t2, sizes)
            yes = ~used | (np.log(rng.random(p)) < gain)  # nothing speaks against mixtures of a group left out
            pi = np.where(yes[:, None], fresh, pi)
            if sweep == 0:  # forget where the last step of the parameters left the chain
                continue
            proposed, taken = proposed + p, taken + int(yes.sum())
            weights += chance
            averaged += pi
            logs += np.log(np.maximum(pi, 1e-12))
        weights, averaged, logs = weights / sweeps, averaged / sweeps, logs / sweeps
        theta = Clusters.weighted(people, weights)
        variance = _variance(averaged, eta, t2, sizes)[used]
        eta = _eta(averaged[used], means[used], sizes[used], ridge, variance)
        gaps = means - averaged @ eta
        between = averaged @ eta**2 - (averaged @ eta) ** 2
        t2 = max(float((sizes * gaps**2 - between)[used].mean()), 0.0)
        alpha = minka(alpha, logs.mean(axis=0))
        pi = averaged
        history.append(float(_log_normal(means, averaged, eta, t2, sizes)[used].sum()))
    return Fitted(
        clusters=theta,
        shares=pi,
        typical=_typical(pi, sizes),
        eta=eta,
        spread=float(np.sqrt(t2)),
        history=tuple(history),
        accepted=taken / max(proposed, 1),
    )


def greedy(
    people: People,
    groups: Codes,
    means: Floats,
    *,
    clusters: int,
    iterations: int,
    ridge: float,
    rng: np.random.Generator,
    start: Floats | None = None,
    out: Flags | None = None,
) -> Fitted:
    """Deterministic from its start on: memberships, clusters, shares and eta in turn, each lowering one objective.

    It begins with the memberships ``start``. Averages of the groups ``out`` are not used; the people of these groups
    are.
    """
    p = len(means)
    sizes = np.bincount(groups, minlength=p).astype(float)
    used = np.ones(p, dtype=bool) if out is None else ~out
    z = (starting_clusters(people, clusters, rng) if start is None else start).argmax(axis=1)
    counts = _counts(groups, z, p, clusters)
    pi = (counts + 1.0) / (sizes[:, None] + clusters)
    eta = _eta(pi[used], means[used], sizes[used], ridge, None)
    noise = float((sizes * (means - pi @ eta) ** 2)[used].mean())
    noise = max(noise, 1e-6 * float(means[used].var()) * float(sizes.mean()), 1e-12)
    weights = used * sizes / noise  # fixed: the objective must mean the same at every step
    theta = Clusters.weighted(people, np.eye(clusters)[z])
    history: list[float] = []
    for _ in range(iterations):
        z = (np.log(pi)[groups] + theta.log_density(people)).argmax(axis=1)
        counts = _counts(groups, z, p, clusters)
        theta = Clusters.weighted(people, np.eye(clusters)[z])
        pi = _mirror(pi, counts + 1.0, means, eta, weights)
        eta = _eta(pi[used], means[used], sizes[used], ridge, noise / sizes[used])
        fit = theta.log_density(people)[np.arange(people.count), z].sum()
        history.append(
            float(
                -fit
                - ((counts + 1.0) * np.log(pi)).sum()
                + 0.5 * (weights * (means - pi @ eta) ** 2).sum()
                + 0.5 * ridge / noise * sizes[used].mean() * ((eta - _centre(means[used], sizes[used])) ** 2).sum()
            )
        )
        if len(history) > 1 and history[-2] - history[-1] <= 1e-10 * abs(history[-2]):
            break
    return Fitted(
        clusters=theta,
        shares=pi,
        typical=_typical(pi, sizes),
        eta=eta,
        spread=0.0,
        history=tuple(history),
        accepted=1.0,
    )


def alone(people: People, groups: Codes, means: Floats) -> Fitted:
    """One cluster: what is left of the model where the averages support no more. Corrected, it is the group means."""
    sizes = np.bincount(groups, minlength=len(means)).astype(float)
    centre = _centre(means, sizes)
    return Fitted(
        clusters=Clusters.weighted(people, np.ones((people.count, 1))),
        shares=np.ones((len(means), 1)),
        typical=np.ones(1),
        eta=np.array([centre]),
        spread=float(np.sqrt((sizes * (means - centre) ** 2).mean())),  # as T^2 of mcem, by moments
        history=(),
        accepted=1.0,
    )


def mixtures(people: People, groups: Codes, p: int, start: Floats, *, steps: int) -> Floats:
    """The pi that the columns alone advise, by EM: no average is looked at, so every average may judge them."""
    sizes = np.bincount(groups, minlength=p)[:, None].astype(float)
    resp, clusters = start, start.shape[1]
    pi = np.empty((p, clusters))
    for _ in range(steps):
        for k in range(clusters):
            pi[:, k] = np.bincount(groups, resp[:, k], p)
        pi = (pi + 1.0) / (sizes + clusters)  # Dirichlet(1), as mcem starts
        resp = _softmax(np.log(pi)[groups] + Clusters.weighted(people, resp).log_density(people))
    return pi


def _typical(pi: Floats, sizes: Floats) -> Floats:
    return np.asarray((sizes[:, None] * pi).sum(axis=0) / sizes.sum())


def _mirror(pi: Floats, counts: Floats, means: Floats, eta: Floats, weights: Floats) -> Floats:
    """Exponentiated-gradient steps with halving on -sum c log pi + w/2 (s - pi eta)^2, group by group; never uphill."""

    def cost(share: Floats) -> Floats:
        costs: Floats = -(counts * np.log(share)).sum(axis=1) + 0.5 * weights * (means - share @ eta) ** 2
        return costs

    now, step = cost(pi), np.full(len(pi), 1.0)
    scale = counts.sum(axis=1, keepdims=True)
    for _ in range(60):
        slope = -counts / pi - (weights * (means - pi @ eta))[:, None] * eta[None, :]
        slope = (slope - (pi * slope).sum(axis=1, keepdims=True)) / scale
        logs = np.log(pi) - step[:, None] * slope
        fresh = np.maximum(_softmax(logs), 1e-12)
        fresh /= fresh.sum(axis=1, keepdims=True)
        then = cost(fresh)
        better = then < now
        pi, now = np.where(better[:, None], fresh, pi), np.where(better, then, now)
        step = np.where(better, np.minimum(step * 1.5, 10.0), step / 4)
    return pi


def _counts(groups: Codes, z: Codes, p: int, k: int) -> Floats:
    return np.bincount(groups * k + z, minlength=p * k).reshape(p, k).astype(float)


def _variance(pi: Floats, eta: Floats, t2: float, sizes: Floats) -> Floats:
    """Sigma_p^2 (4.4), kept above rounding."""
    variance = (pi @ (eta**2 + t2) - (pi @ eta) ** 2) / sizes
    return np.maximum(variance, 1e-9 * (1.0 + float(np.var(eta))) / sizes)


def _log_normal(means: Floats, pi: Floats, eta: Floats, t2: float, sizes: Floats) -> Floats:
    variance = _variance(pi, eta, t2, sizes)
    logs: Floats = -0.5 * (means - pi @ eta) ** 2 / variance - 0.5 * np.log(variance)
    return logs


def _centre(means: Floats, sizes: Floats) -> float:
    return float((sizes * means).sum() / sizes.sum())


def _eta(pi: Floats, means: Floats, sizes: Floats, ridge: float, variance: Floats | None) -> Floats:
    """(Pi'W Pi + lambda I)^-1 Pi'W s about the overall mean; lambda in units of one typical group's weight."""
    centre = _centre(means, sizes)
    weights = sizes if variance is None else 1.0 / variance
    inner = pi.T @ (weights[:, None] * pi) + ridge * float(weights.mean()) * np.eye(pi.shape[1])
    solved = np.linalg.lstsq(inner, pi.T @ (weights * (means - centre)), rcond=None)[0]
    return np.asarray(centre + solved, dtype=np.float64)


@dataclass(kw_only=True, eq=False, repr=False)
class CUDIA(Reconstructor):
    """Clusters whose target means explain the averages of one partition; an individual gets the means of its clusters.

    Needs more groups than clusters, with different mixtures.
    """

    name: ClassVar[str] = "cudia"
    standardise: bool = field(default=True, init=False)
    intercept: bool = field(default=True, init=False)
    clusters: int | str = option(
        "held-out",
        rule=NumberOrWord(number=Whole(tried=3), choices=("held-out",)),
        help="Number of clusters; held-out: as averages left out of the fit advise.",
    )
    version: str = option(
        "mcem", rule=OneOf(("mcem", "greedy")), help="mcem: Monte-Carlo EM; greedy: deterministic from its start on."
    )
    iterations: int = option(40, rule=Whole(tried=40), help="Iterations at most.")
    sweeps: int = option(5, rule=Whole(tried=5), help="Gibbs sweeps in each iteration of mcem.")
    ridge: float | str = option(
        "held-out",
        rule=NumberOrWord(number=Number(least=0, tried=1e-3), choices=("held-out",)),
        help="Penalty of the clusters' means; held-out: as averages left out of the fit advise.",
    )
    fallback: bool = option(
        True,
        rule=Flag(),
        help="Give group means where clusters do not predict held-out averages better.",
        flag="--fallback/--no-fallback",
    )
    seed: int | None = option(None, rule=SEED, help="Makes the fit reproducible.")

    def fit(self, individuals: Any, aggregates: Any) -> Self:
        """Learn clusters and their means of the target."""
        self.models_: dict[str, Fitted] = {}
        self._frame = as_frame(individuals)
        try:
            super().fit(self._frame, aggregates)
        finally:
            del self._frame
        return self

    def _fit_together(self, stacks: Sequence[Stack]) -> None:
        self.people_ = people_of(self.design_, self._frame)
        if self.people_.numbers.shape[1] + len(self.people_.words) == 0:
            raise DataError("cudia has no column to find clusters in; give individuals with at least one that varies.")
        for stack in stacks:
            if not stack.is_partition:
                raise RefusalError(
                    f"cudia takes one partition per target, and {stack.target!r} has several levels or overlapping "
                    "groups; choose one of them, or a method that stacks (ludia, pc-er, shrunken)."
                )
            wanted = "" if isinstance(self.clusters, str) else f" for {self.clusters} clusters"
            if len(stack.means) < (3 if isinstance(self.clusters, str) else max(self.clusters, 3)):
                raise DataError(
                    f"there are {len(stack.means)} groups{wanted}; cudia needs 3 or more, to leave some out and see "
                    "whether it predicts them, and as many as clusters. Ask for fewer clusters, or use `mp`."
                )
            self._fit_one(stack)

    def _fit_one(self, stack: Stack) -> None:
        codes = stack.levels[0].members[0]
        inside = codes >= 0
        inner = People(
            numbers=self.people_.numbers[inside],
            words=tuple(word[inside] for word in self.people_.words),
            sizes=self.people_.sizes,
        )
        published = self._on_link(stack)
        own = codes[inside]
        folds = folds_of(stack.average(self.problem_.matrix), published[:, None])
        start, ridge = self._choose(inner, own, published, folds)
        clusters = start.shape[1]
        judged = self._judge(stack.target, inner, own, published, folds, start, ridge)
        self.held_out_.append(judged)
        if judged.fell_back:
            fitted = alone(inner, own, published)
        else:
            fitted = self._fitted(inner, own, published, start, ridge)
            rank = int(np.linalg.matrix_rank(fitted.shares, tol=1e-3 * np.sqrt(len(fitted.shares))))
            if rank < clusters:
                self.notes_.append(
                    f"the mixtures of clusters hardly differ between groups (rank {rank} of {clusters}): the averages "
                    "cannot tell the means of the clusters apart. Ask for fewer clusters."
                )
        self.models_[stack.target] = fitted
        base = memberships(fitted, self.people_, codes) @ fitted.eta
        lift = np.zeros(len(stack.means))
        if self.correct or judged.fell_back:
            spread = max(fitted.spread, float(fitted.eta.std()), 1e-9)
            lift = correction(stack, published - stack.average(base), self._variance(stack), spread)
        offsets = lift / stack.levels[0].counts
        if self.correct and self._averages_are_curved:
            offsets = offsets + rake(stack, self._link, base + np.concatenate([offsets, [0.0]])[codes])
        empty = np.zeros(self.problem_.matrix.shape[1])
        self.effects_[stack.target] = Effects(
            stack=stack, beta=empty, offsets=offsets, gamma=None, spread=fitted.spread
        )

    def _fitted(
        self, people: People, groups: Codes, means: Floats, start: Floats, ridge: float, out: Flags | None = None
    ) -> Fitted:
        shared: dict[str, Any] = {"clusters": start.shape[1], "iterations": self.iterations, "ridge": ridge}
        shared |= {"rng": np.random.default_rng(self.seed), "start": start, "out": out}
        if self.version == "mcem":
            return mcem(people, groups, means, sweeps=self.sweeps, **shared)
        return greedy(people, groups, means, **shared)

    def _choose(self, people: People, groups: Codes, means: Floats, folds: Codes) -> tuple[Floats, float]:
        """First clusters and a ridge by which eta predicts held-out averages, with mixtures by the columns alone.

        The fewest clusters that lose no more than one standard error on the best [Breiman et al. 1984, section 3.4].
        """
        numbers = _CLUSTERS if isinstance(self.clusters, str) else (self.clusters,)
        ridges = _RIDGES if isinstance(self.ridge, str) else (float(self.ridge),)
        least = len(means) - int(np.bincount(folds).max())
        sizes = np.bincount(groups, minlength=len(means)).astype(float)
        rng = np.random.default_rng(self.seed)
        tried: list[tuple[Floats, float, Floats]] = []
        for k in [k for k in numbers if k <= least] or [min(numbers)]:
            start = starting_clusters(people, k, rng)
            pi = mixtures(people, groups, len(means), start, steps=self.iterations)
            lost = {}
            for ridge in ridges:
                guesses = np.empty(len(means))
                for fold in range(int(folds.max()) + 1):
                    out = folds == fold
                    guesses[out] = pi[out] @ _eta(pi[~out], means[~out], sizes[~out], ridge, None)
                lost[ridge] = sizes * (means - guesses) ** 2
            ridge = min(ridges, key=lambda each: float(lost[each].sum()))
            tried.append((start, ridge, lost[ridge]))
        best = min((losses for _, _, losses in tried), key=np.sum)
        gaps = [losses - best for _, _, losses in tried]
        within = [float(gap.sum()) <= float(gap.std(ddof=1)) * np.sqrt(len(gap)) for gap in gaps]
        return tried[within.index(True)][:2]

    def _judge(
        self,
        target: str,
        people: People,
        groups: Codes,
        means: Floats,
        folds: Codes,
        start: Floats,
        ridge: float,
    ) -> HeldOut:
        """Fit again without each fold, and compare its averages with what its people's clusters promise."""
        sizes = np.bincount(groups, minlength=len(means)).astype(float)
        guesses = np.empty(len(means))
        for fold in range(int(folds.max()) + 1):
            out = folds == fold
            fitted = self._fitted(people, groups, means, start, ridge, out)
            values = memberships(fitted, people, groups) @ fitted.eta
            guesses[out] = (np.bincount(groups, values, len(means)) / sizes)[out]
        return HeldOut.of(
            guesses,
            folds,
            means,
            sizes,
            fall_back=self.fallback,
            method=self.name,
            target=target,
            settings={"clusters": start.shape[1], "ridge": ridge},
        )

    def _linear(self, target: str) -> Floats:
        stack, fitted = self.effects_[target].stack, self.models_[target]
        base = memberships(fitted, self.people_, stack.levels[0].members[0]) @ fitted.eta
        return base + super()._linear(target)

    def _drawn(self, rng: np.random.Generator, spread: float | None) -> dict[str, Floats]:
        """A cluster for every individual by its membership, and scatter about the cluster's mean."""
        draws = {}
        for target, fitted in self.models_.items():
            stack = self.effects_[target].stack
            chance = memberships(fitted, self.people_, stack.levels[0].members[0])
            z = (rng.random((len(chance), 1)) > np.cumsum(chance, axis=1)[:, :-1]).sum(axis=1)
            sigma = fitted.spread if spread is None else spread
            draws[target] = fitted.eta[z] + super()._linear(target) + sigma * rng.standard_normal(len(z))
        return draws

    def predict(self, new: Any) -> dict[str, Floats]:
        """Values for new records, by target."""
        self._check_fitted()
        frame = as_frame(new)
        people = people_of(self.design_, frame)
        predictions = {}
        for target, effects in self.effects_.items():
            members = [self._members(frame, level) for level in effects.stack.levels]
            base = memberships(self.models_[target], people, members[0][0]) @ self.models_[target].eta
            empty = np.zeros((len(frame), len(effects.beta)))
            predictions[target] = self._link.back(base + effects.linear(empty, members, new=True))
        return predictions


def people_of(design: Design, frame: Any) -> People:
    """Numbers and words by the design of the fit; a level that the fit did not see counts as the commonest one."""
    matrix = design.matrix(frame)
    numbers, words, sizes, at = [], [], [], 0
    for part in design.parts:
        width = 1 if part.levels is None else len(part.levels)
        block = matrix[:, at : at + width]
        at += width
        if part.levels is None:
            numbers.append(block[:, 0])
        else:
            raw = block * design.spreads[at - width : at] + design.centres[at - width : at]
            words.append(np.where(raw.max(axis=1) > 0.5, raw.argmax(axis=1) + 1, 0).astype(np.int64))
            sizes.append(width + 1)
        if part.has_gaps:
            raw = matrix[:, at] * design.spreads[at] + design.centres[at]
            words.append((raw > 0.5).astype(np.int64))
            sizes.append(2)
            at += 1
    stacked = np.stack(numbers, axis=1) if numbers else np.zeros((len(frame), 0))
    return People(numbers=stacked, words=tuple(words), sizes=tuple(sizes))
