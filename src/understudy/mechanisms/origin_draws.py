"""Synthetic origins for public destinations (OnTheMap, algorithms 1 and 2): what they cost, computed exactly.

Every destination has n workers (public), a public domain of origins in classes of equal virtual count, and gets m
synthetic origins from the Dirichlet-multinomial law. One worker's origin changes inside one destination, so the price
of the whole file is that of its most expensive destination. See ``proofs/origin_draws.md``; the theorems are those of
the paper only where they were proved again there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.codec import to_fraction
from understudy.errors import ParameterError
from understudy.mechanisms.dirichlet import rational_alpha
from understudy.mechanisms.origin_tails import DP, PDP, PURE, prices, search
from understudy.parameters import DELTA, EPSILON, Flag, Number, OneOf, Text, option
from understudy.privacy.events import Event
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours, ProbabilisticDP, PureDP

KEEP_ALL = 1 << 32
"""Keep probabilities are whole numbers over this; this one keeps every cell."""

_UP = 1 + 1e-6  # far above the rounding of the sums in origin_tails
_STEP, _LOWEST, _HIGHEST = 0.97, 1e-9, 1e4
MOST_WORKERS = 1_000_000
"""Beyond this many workers of one destination only theorem 4.1 is computed."""
_LOST_SHARE = 1 / 64  # of delta, for the rare case that shrinking keeps unusually few cells
_KERNEL_KIND = {"pure": PURE, "probabilistic": PDP, "exact": DP}


class Certificate(StrEnum):
    """How the promise is proved."""

    PURE = "pure"
    """Theorem 4.1: epsilon-DP for every output, alpha >= m / (e^epsilon - 1)."""
    PROBABILISTIC = "probabilistic"
    """Exact tails of theorem 4.3's sufficient condition: (epsilon, delta)-probabilistic DP."""
    EXACT = "exact"
    """The exact hockey-stick divergence of the Dirichlet-multinomial law: (epsilon, delta)-DP."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Destinations:
    """What is public about each destination, one row each; classes of cells are columns."""

    workers: npt.NDArray[np.int64]
    draws: npt.NDArray[np.int64]
    cells: npt.NDArray[np.int64]
    """Possible origins in each class; 0 where a class is empty."""
    weights: npt.NDArray[np.int64]
    """Virtual count of a cell of the class, in units of the smallest."""
    keeps: npt.NDArray[np.int64]
    """Probability over :data:`KEEP_ALL` that an unobserved cell stays in the domain (algorithm 2's f_d)."""

    def __len__(self) -> int:
        return len(self.workers)

    @property
    def shrinks(self) -> bool:
        """Whether any cell may be dropped."""
        return bool(np.any((self.keeps < KEEP_ALL) & (self.cells > 0)))

    def arrays(self) -> tuple[Any, ...]:
        """Workers, draws, cells, weights and keep probabilities, as the kernels of ``origin_tails`` want them."""
        cells, weights, keeps = (values.astype(np.float64) for values in (self.cells, self.weights, self.keeps))
        return self.workers, self.draws, cells, weights, keeps / KEEP_ALL

    def distinct(self) -> tuple["Destinations", npt.NDArray[np.int64]]:
        """Each kind of destination once, and where each destination went."""
        rows = np.column_stack([self.workers, self.draws, self.cells, self.weights, self.keeps])
        _, first, where = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return self.take(first), where.reshape(-1)

    def take(self, rows: Any) -> "Destinations":
        """Some of them."""
        return Destinations(
            workers=self.workers[rows],
            draws=self.draws[rows],
            cells=self.cells[rows],
            weights=self.weights[rows],
            keeps=self.keeps[rows],
        )


def pure_alpha(*, draws: int, epsilon: float) -> float:
    """Theorem 4.1: the smallest virtual count for epsilon-DP.

    >>> round(pure_alpha(draws=1_000_000, epsilon=7.0), 3)
    912.714
    """
    return draws / math.expm1(epsilon)


def theorem_44_alphas(
    public: Destinations, *, epsilon: float, delta: float, highest: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.float64]:
    """The smallest alphas that theorem 4.4 of the paper certifies as printed; 0 where it certifies none up to 10,000.

    ``highest`` is where the search starts, if not there: what is certified only above it is of no use.

    For a calibration only: it is false for single workers (``proofs/origin_draws.md``), and what a release promises is
    recomputed from the law itself. Needs m = n and epsilon above ln 3.
    """
    EPSILON.check("epsilon", epsilon)
    DELTA.check("delta", delta)
    if epsilon <= math.log(3):
        raise ParameterError(
            f"`epsilon` is {epsilon}; theorem 4.4 needs more than ln 3 = 1.0986. Use --certificate exact."
        )
    if np.any(public.draws != public.workers):
        raise ParameterError(
            "theorem 4.4 needs as many synthetic workers as real ones in every destination; leave the output size as "
            "it is, or use the certificate exact, which allows any."
        )
    top = np.full(len(public), _HIGHEST) if highest is None else highest
    return _searched(public, PDP, paper=True, epsilon=epsilon, delta=delta, highest=top)


def certified_alphas(
    public: Destinations, *, certificate: Certificate, epsilon: float, delta: float
) -> npt.NDArray[np.float64]:
    """The smallest alphas that a certificate of ours allows; never above theorem 4.1's."""
    EPSILON.check("epsilon", epsilon)
    highest = public.draws / math.expm1(epsilon) * (1 + 1e-11)
    if certificate is Certificate.PURE:
        return np.asarray(highest)
    DELTA.check("delta", delta)
    most = max(int(public.workers.max()), int(public.draws.max()))
    if most > MOST_WORKERS:
        raise ParameterError(
            f"a destination has {most:,} workers; certificates other than pure are computed up to {MOST_WORKERS:,}. "
            "Split it, or use --certificate pure."
        )
    kind = _KERNEL_KIND[certificate.value]
    # under shrinking delta is multiplied by G, which is at most 2 up to alpha = 1 (m <= n) and explodes beyond
    top = np.minimum(highest, 1.0) if certificate is Certificate.EXACT and public.shrinks else highest
    alphas = _searched(public, kind, paper=False, epsilon=epsilon, delta=delta / _UP, highest=top)
    return np.where(alphas > 0, alphas, highest)


def _searched(
    public: Destinations, kind: int, *, paper: bool, epsilon: float, delta: float, highest: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    once, where = public.distinct()
    top = np.zeros(len(once))
    np.maximum.at(top, where, highest)
    out = np.zeros(len(once))
    lost = delta * _LOST_SHARE
    search(kind, paper, top, once.arrays(), epsilon, delta, lost, _STEP, _LOWEST, out)
    return out[where]


@dataclass(frozen=True, kw_only=True)
class OriginDraws(Event):
    """m synthetic origins for each destination, from its smoothed histogram, which stays secret."""

    kind: ClassVar[str] = "origin-draws"
    proof: ClassVar[str | None] = "origin_draws.md"
    certificate: str = option(rule=OneOf.of(item.value for item in Certificate), help="how the promise is proved")
    epsilon: int | float = option(
        rule=EPSILON, help="ratio that outputs are held to before shrinking and rejection are paid for"
    )
    lost: int | float = option(
        rule=Number(least=0, below=1),
        help="probability set aside for the case that shrinking keeps unusually few cells; 0 without shrinking",
    )
    rejects: bool = option(
        rule=Flag(), help="whether outputs outside gamma-Good, gamma = e^epsilon - 1, are drawn again (lemma 5.2)"
    )
    groups: tuple[str, ...] = option(
        rule=Text(words="one kind of destination or more", example="5 5 1/2 10*1@4294967296", admitted=bool),
        help="kinds of destinations: `workers draws alpha cells*weight@keep ...`, all public; keep is over 2^32",
    )

    @classmethod
    def of(
        cls,
        public: Destinations,
        alphas: Sequence[Fraction],
        *,
        certificate: Certificate,
        epsilon: float,
        delta: float | None,
        rejects: bool,
    ) -> "OriginDraws":
        """The event of drawing from these destinations with these virtual counts."""
        texts = dict.fromkeys(_group_text(public, row, alpha) for row, alpha in enumerate(alphas))
        lost = delta / _UP * _LOST_SHARE if delta and public.shrinks and certificate is not Certificate.PURE else 0.0
        return cls(
            certificate=certificate.value, epsilon=epsilon, lost=lost, rejects=rejects, groups=tuple(sorted(texts))
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rejects and self.certificate != Certificate.PROBABILISTIC:
            raise ParameterError("rejection is proved for the certificate probabilistic only (lemma 5.2).")
        public, _ = parsed_groups(self.groups)
        if public.shrinks and self.lost == 0 and self.certificate != Certificate.PURE:
            raise ParameterError("`lost` is 0; a domain that is shrunk needs a probability set aside for it.")

    def covers(self, public: Destinations, alphas: Sequence[Fraction], *, rejects: bool) -> bool:
        """Whether this is the price of drawing from these destinations with these virtual counts."""
        paid = set(self.groups)
        return self.rejects == rejects and all(
            _group_text(public, row, alpha) in paid for row, alpha in enumerate(alphas)
        )

    @property
    def public(self) -> Destinations:
        """Each kind of destination once."""
        return parsed_groups(self.groups)[0]

    @property
    def added(self) -> float:
        """What shrinking and rejection add to epsilon, at the destination that pays most."""
        added, deltas = _prices(self)
        # lemma 5.2: all ratios grow by 1 / (1 - p)
        return float(np.max(added - (np.log1p(-np.minimum(deltas * _UP, 1 - 1e-12)) if self.rejects else 0.0)))

    def guarantee(self) -> Guarantee:
        """The price of the dearest destination; from probabilistic DP, the (epsilon, delta)-DP that follows."""
        return _guarantee(self)

    def probabilistic(self) -> ProbabilisticDP | None:
        """The paper's own kind of promise, where that is what was proved."""
        claim = self.guarantee()
        if self.certificate != Certificate.PROBABILISTIC or not isinstance(claim, ApproxDP | PureDP):
            return None
        return ProbabilisticDP(epsilon=claim.epsilon, delta=claim.delta, neighbours=Neighbours.ORIGIN)


@lru_cache(maxsize=256)
def _guarantee(event: OriginDraws) -> Guarantee:
    _, deltas = _prices(event)
    relation = Neighbours.ORIGIN
    delta = min(1.0, float(np.max(deltas)) * _UP)
    if event.certificate == Certificate.PURE:
        public, alphas = parsed_groups(event.groups)
        epsilon = float(np.max(np.log1p(public.draws / alphas) + _prices(event)[0]))
        return PureDP(epsilon=epsilon * (1 + 2.0**-45), neighbours=relation)
    added = event.added
    epsilon = event.epsilon if added == 0 else (event.epsilon + added) * (1 + 2.0**-45)
    if delta == 0:
        return PureDP(epsilon=epsilon, neighbours=relation)
    return ApproxDP(epsilon=epsilon, delta=delta, neighbours=relation)


@lru_cache(maxsize=256)
def _prices(event: OriginDraws) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    public, alphas = parsed_groups(event.groups)
    added, deltas = np.zeros(len(public)), np.zeros(len(public))
    kind = _KERNEL_KIND[event.certificate]
    prices(kind, alphas, public.arrays(), event.epsilon, event.lost, added, deltas)
    return added, deltas


def _group_text(public: Destinations, row: int, alpha: Fraction) -> str:
    classes = " ".join(
        f"{cells}*{weight}@{keep}"
        for cells, weight, keep in zip(
            public.cells[row].tolist(), public.weights[row].tolist(), public.keeps[row].tolist(), strict=True
        )
        if cells > 0
    )
    return f"{public.workers[row]} {public.draws[row]} {alpha.numerator}/{alpha.denominator} {classes}"


@lru_cache(maxsize=64)
def parsed_groups(groups: tuple[str, ...]) -> tuple[Destinations, npt.NDArray[np.float64]]:
    """Read the groups back; anybody may have edited a manifest."""
    heads, alphas, classes = [], [], []
    for text in groups:
        try:
            workers, draws, alpha, *rest = text.split(" ")
            head = int(workers), int(draws)
            exact = to_fraction(alpha)
            kinds = [_class_of(word) for word in rest]
            if (
                min(head) < 1
                or exact <= 0
                or not kinds
                or any(cells < 1 or weight < 1 or not 0 < keep <= KEEP_ALL for cells, weight, keep in kinds)
            ):
                raise ValueError("a number is out of range")
        except (ValueError, ZeroDivisionError, AttributeError) as error:
            raise ParameterError(
                f"a kind of destination reads {text!r} ({error}); it must be `workers draws alpha cells*weight@keep "
                "...`."
            ) from None
        heads.append(head)
        alphas.append(float(exact))
        classes.append(kinds)
    width = max(len(kinds) for kinds in classes)
    grid = np.zeros((len(groups), width, 3), dtype=np.int64)
    grid[:, :, 1:] = (1, KEEP_ALL)
    for row, kinds in enumerate(classes):
        grid[row, : len(kinds)] = kinds
    workers_draws = np.array(heads, dtype=np.int64)
    public = Destinations(
        workers=workers_draws[:, 0].copy(),
        draws=workers_draws[:, 1].copy(),
        cells=grid[:, :, 0].copy(),
        weights=grid[:, :, 1].copy(),
        keeps=grid[:, :, 2].copy(),
    )
    return public, np.array(alphas)


def _class_of(word: str) -> tuple[int, int, int]:
    cells, rest = word.split("*")
    weight, keep = rest.split("@")
    return int(cells), int(weight), int(keep)


def deltas_at(
    public: Destinations, alphas: Sequence[Fraction], *, certificate: Certificate, epsilon: float, delta: float
) -> npt.NDArray[np.float64]:
    """The delta of every destination at the virtual counts that are really used."""
    added, deltas = np.zeros(len(public)), np.zeros(len(public))
    values = np.array([float(alpha) for alpha in alphas])
    lost = delta / _UP * _LOST_SHARE
    kind = _KERNEL_KIND[certificate.value]
    prices(kind, values, public.arrays(), epsilon, lost, added, deltas)
    return deltas * _UP


def exact_alphas(alphas: npt.NDArray[np.float64]) -> list[Fraction]:
    """Each rounded up to a rational with few bits, so that weights are integers; the price is that of the rational."""
    known = {value: rational_alpha(value) for value in np.unique(alphas).tolist()}
    return [known[value] for value in alphas.tolist()]
