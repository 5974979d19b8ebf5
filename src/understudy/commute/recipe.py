"""The choices of a commuting release, and the plan that follows from them and from public facts alone.

A plan reads destination totals, places, rings and regions; it never looks at an origin. So a quote costs nothing, and
what a release will pay is known before the first draw.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.commute.domain import build_domain, destination_facts
from understudy.commute.places import Places
from understudy.commute.regions import Regions
from understudy.commute.rings import Rings
from understudy.errors import ParameterError
from understudy.mechanisms.discrete_laplace import check_delta, check_epsilon
from understudy.mechanisms.origin_baselines import BASELINES, baseline_event
from understudy.mechanisms.origin_domain import OriginDomain
from understudy.mechanisms.origin_draws import (
    Certificate,
    Destinations,
    OriginDraws,
    certified_alphas,
    deltas_at,
    exact_alphas,
    pure_alpha,
    theorem_44_alphas,
)
from understudy.privacy.events import Event
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.spelling import at_most
from understudy.sources.flows import Flows

__all__ = ["CERTIFICATES", "METHODS", "CommuteRecipe", "Plan"]

THEOREM = "theorem-4.4"
CERTIFICATES = ("pure", THEOREM, "probabilistic", "exact")
METHODS = ("dirichlet", *BASELINES)

_SEEDED = "the random stream was seeded, so whoever knows the seed can redo every draw"
_DRAFTED = (
    "the list of possible origins was read from the data, so an origin that is missing, or there, gives somebody away; "
    "give a public list of places or origins"
)


@dataclass(frozen=True, kw_only=True)
class CommuteRecipe:
    """What is to be made and how it is to be proved. No default for epsilon, delta or the certificate."""

    epsilon: float
    """Before domain shrinking and rejection, which add to it; the quote says how much."""
    delta: float | None
    """None is for pure differential privacy."""
    certificate: str
    """How the virtual counts are chosen and proved: one of :data:`CERTIFICATES`."""
    method: str = "dirichlet"
    prior: str = "uniform"
    """``uniform``, or ``distance``: the mass of each ring follows its share of commutes."""
    prior_cap: int = 10
    """Largest ratio of two virtual counts under the prior ``distance``."""
    rings: Rings | None = None
    shrink: bool = False
    """Algorithm 2, with f_d from the rings."""
    cutoff: float | None = None
    """Miles beyond which origins are one cell that is left out of the file."""
    split: float | None = None
    """Miles beyond which a commute is modelled apart: one cell per ring, placed inside it afterwards."""
    reject: bool = False
    """Accept/reject (lemma 5.2)."""
    size: float = 1.0
    """Synthetic workers per real one, rounded up."""
    sizes: Mapping[str, int] | None = field(default=None, repr=False)
    """Or the public number of synthetic workers of each destination."""
    subsample: float = 0.5
    """Share of workers that the baseline ``subsample`` keeps."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if self.epsilon > 50:
            raise ParameterError(f"`epsilon` is {self.epsilon}; above 50 it protects nothing. Try 4.6, as the paper.")
        _one_of("method", self.method, METHODS)
        _one_of("certificate", self.certificate, CERTIFICATES)
        _one_of("prior", self.prior, ("uniform", "distance"))
        if self.needs_delta:
            if self.delta is None:
                raise ParameterError(
                    f"`delta` is missing; {self._promise} needs one. Try 1e-5 or smaller, or the certificate pure."
                )
            check_delta(self.delta)
        elif self.delta is not None:
            raise ParameterError(f"`delta` is {self.delta}; {self._promise} is pure and takes none. Leave it out.")
        self._check_distances()
        if self.reject and self.certificate not in (THEOREM, "probabilistic"):
            raise ParameterError(
                f"`reject` is proved for probabilistic differential privacy (lemma 5.2), not for the certificate "
                f"{self.certificate!r}. Use --certificate probabilistic or theorem-4.4."
            )
        if not 0 < self.size <= 1000 or math.isnan(self.size):
            raise ParameterError(f"`size` is {self.size}; it is synthetic workers per real one, above 0. Try 1.")
        if self.certificate == THEOREM and (self.size != 1.0 or self.sizes is not None):
            raise ParameterError(
                "theorem 4.4 needs as many synthetic workers as real ones in every destination; leave the output size "
                "as it is, or use the certificate exact, which allows any."
            )
        if isinstance(self.prior_cap, bool) or not isinstance(self.prior_cap, int) or not 1 <= self.prior_cap <= 10**6:
            raise ParameterError(f"`prior_cap` is {self.prior_cap!r}; it must be a whole number of 1 or more. Try 10.")
        if self.method != "dirichlet" and self._own_options:
            raise ParameterError(
                f"{', '.join(self._own_options)} belong to the method dirichlet, not to the baseline {self.method!r}. "
                "Leave them out."
            )

    @property
    def needs_delta(self) -> bool:
        """Whether the promise has a delta."""
        if self.method != "dirichlet":
            return self.method != "laplace"
        return self.certificate != "pure"

    @property
    def _promise(self) -> str:
        return f"the certificate {self.certificate!r}" if self.method == "dirichlet" else f"the method {self.method!r}"

    @property
    def _own_options(self) -> list[str]:
        given = {
            "rings": self.rings is not None,
            "shrink": self.shrink,
            "cutoff": self.cutoff is not None,
            "split": self.split is not None,
            "reject": self.reject,
            "prior": self.prior != "uniform",
        }
        return [name for name, there in given.items() if there]

    def _check_distances(self) -> None:
        for name, value in (("cutoff", self.cutoff), ("split", self.split)):
            if value is not None and not 0 < value < 12_500:
                raise ParameterError(f"`{name}` is {value}; it is a distance in miles, above 0. Try 30.")
        if self.cutoff is not None and self.split is not None and self.split >= self.cutoff:
            raise ParameterError(
                f"`split` is {self.split} and `cutoff` {self.cutoff}; long commutes start below the cut-off."
            )
        for name, there in (("shrink", self.shrink), ("prior distance", self.prior == "distance")):
            if there and self.rings is None:
                raise ParameterError(
                    f"`{name}` needs `rings`: a public histogram of commute distances. Try --rings ctpp-minnesota."
                )

    @property
    def uses_distance(self) -> bool:
        """Whether the domain depends on coordinates."""
        return self.rings is not None or self.cutoff is not None or self.split is not None

    def plan(
        self, flows: Flows, *, places: Places | None = None, regions: Regions | None = None, secure: bool = True
    ) -> "Plan":
        """Everything that can be said before an origin is looked at: domain, virtual counts and price."""
        domain = build_domain(self, flows, places, regions)
        public = destination_facts(self, flows, domain)
        notes: list[str] = []
        alphas: list[Fraction] = []
        theorem: dict[str, int] | None = None
        event: Event
        if self.method == "dirichlet":
            alphas, theorem = self._alphas(public)
            event = OriginDraws.of(
                public,
                alphas,
                certificate=self._proved,
                epsilon=self.epsilon,
                delta=self.delta,
                rejects=self.reject,
            )
        else:
            event = baseline_event(self.method, epsilon=self.epsilon, delta=self.delta, keep=self.subsample)
        if self.delta is not None and self.delta >= 1 / flows.workers:
            notes.append(
                f"delta is {self.delta:g}, not below 1/{flows.workers:,}: such a promise would allow publishing the "
                f"origins of a few workers. The paper used 1e-5; a delta far below {1 / flows.workers:.1g} is safer."
            )
        if theorem and theorem["exact"]:
            notes.append(
                f"theorem 4.4 certifies no useful virtual count for {theorem['exact']:,} of {len(public):,} "
                "destinations "
                "(never for a single worker); there the exact probabilistic certificate was used."
            )
        entries = [
            *(
                [Entry.unpriced(stage="origins", reads="which origins exist", why=_DRAFTED)]
                if flows.origins_from_data
                else []
            ),
            Entry(
                stage="origins",
                reads=self._reads(public),
                event=event,
                assumptions=self._assumptions(places, regions),
            ),
            *([] if secure else [Entry.unpriced(stage="randomness", reads="seeded stream", why=_SEEDED)]),
        ]
        return Plan(
            recipe=self,
            domain=domain,
            public=public,
            alphas=alphas,
            ledger=Ledger.of(entries),
            paper=self._paper(event, theorem),
            warnings=tuple(notes),
        )

    @property
    def _proved(self) -> Certificate:
        return Certificate.PROBABILISTIC if self.certificate == THEOREM else Certificate(self.certificate)

    def _alphas(self, public: Destinations) -> tuple[list[Fraction], dict[str, int] | None]:
        """Virtual counts, checked at the rational numbers that are really used."""
        delta = self.delta or 0.5  # unused by the certificate pure
        if self.certificate != THEOREM:
            values = certified_alphas(public, certificate=self._proved, epsilon=self.epsilon, delta=delta)
            return self._checked(public, values, delta), None
        pure = public.draws / math.expm1(self.epsilon)
        values = theorem_44_alphas(public, epsilon=self.epsilon, delta=delta, highest=pure)
        given = np.where((values > 0) & (values <= pure), values, pure)
        found = deltas_at(public, exact_alphas(given), certificate=self._proved, epsilon=self.epsilon, delta=delta)
        useful = (values > 0) & (values <= pure) & (found <= delta)
        if not useful.all():
            rest = public.take(~useful)
            given[~useful] = certified_alphas(rest, certificate=self._proved, epsilon=self.epsilon, delta=delta)
        counted = {"theorem": int(useful.sum()), "exact": int((~useful).sum())}
        return self._checked(public, given, delta), counted

    def _checked(self, public: Destinations, values: npt.NDArray[np.float64], delta: float) -> list[Fraction]:
        alphas = exact_alphas(values)
        if self.certificate == "pure":
            return alphas
        found = deltas_at(public, alphas, certificate=self._proved, epsilon=self.epsilon, delta=delta)
        for row in np.flatnonzero(found > delta):  # rounding up crossed a jump: theorem 4.1 always holds
            alphas[row] = exact_alphas(
                np.array([pure_alpha(draws=int(public.draws[row]), epsilon=self.epsilon) * (1 + 1e-9)])
            )[0]
        return alphas

    def _reads(self, public: Destinations) -> str:
        drawn = int(public.draws.sum())
        if self.method != "dirichlet":
            return f"origins of the workers of {len(public):,} destinations, by the baseline {self.method}"
        words = [f"origins of the workers of {len(public):,} destinations, {drawn:,} synthetic ones drawn"]
        if self.shrink:
            words.append("domain shrunk at random (algorithm 2)")
        if self.reject:
            words.append("outputs outside gamma-Good drawn again")
        return "; ".join(words)

    def _assumptions(self, places: Places | None, regions: Regions | None) -> tuple[str, ...]:
        said = [
            "the number of workers of every destination, and who works there, is public",
            "the number of synthetic workers of every destination is public",
            "the list of possible origins is public",
        ]
        if places is not None and self.uses_distance:
            said.append("the coordinates of places are public")
        if self.rings is not None:
            said.append(f"the distance rings are public ({self.rings.source})")
        if regions is not None:
            said.append(f"the partition of origins and its density are public ({regions.source})")
        return tuple(said)

    def _paper(self, event: Event, theorem: dict[str, int] | None) -> dict[str, Any] | None:
        if not isinstance(event, OriginDraws):
            return None
        if self._proved is Certificate.EXACT:
            return {
                "statement": "Computed exactly from the Dirichlet-multinomial law, not by theorem 4.4 of the paper."
            }
        promise = event.probabilistic()
        if promise is None:
            return None
        chosen = (
            f" Theorem 4.4 of the paper chose the virtual counts of {theorem['theorem']:,} destinations, the exact "
            "tails "
            f"those of {theorem['exact']:,}."
            if theorem
            else ""
        )
        return {
            "statement": (
                f"What was proved is (epsilon = {at_most(promise.epsilon)}, delta = {at_most(promise.delta)})-"
                "probabilistic differential privacy, from exact tails; the differential privacy stated here follows "
                "from it." + chosen
            ),
            "probabilistic": promise.to_dict(),
            "epsilon_before_shrinking_and_rejection": self.epsilon,
        }

    def parameters(self) -> dict[str, Any]:
        """Every choice as plain data, for the manifest."""
        rings = self.rings
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "certificate": self.certificate if self.method == "dirichlet" else None,
            "prior": self.prior,
            "prior_cap": self.prior_cap if self.prior == "distance" else None,
            "rings": None
            if rings is None
            else {
                "miles": [edge if math.isfinite(edge) else "inf" for edge in rings.miles],
                "shares": list(rings.shares),
                "keeps": list(rings.keeps),
                "source": rings.source,
            },
            "shrink": self.shrink,
            "cutoff": self.cutoff,
            "split": self.split,
            "reject": self.reject,
            "size": self.size if self.sizes is None else "a public list",
            "subsample": self.subsample if self.method == "subsample" else None,
        }


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ParameterError(f"`{name}` is {value!r}; it must be one of {', '.join(allowed)}.")


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """A recipe laid out for one table: public facts and a price, no origin read yet."""

    recipe: CommuteRecipe
    domain: OriginDomain
    public: Destinations
    alphas: list[Fraction]
    """Smallest virtual count of each destination, exactly as drawn with; empty for baselines."""
    ledger: Ledger
    paper: dict[str, Any] | None
    warnings: tuple[str, ...]

    @property
    def total(self) -> Any:
        """The price of the whole file."""
        return self.ledger.total(delta=self.recipe.delta)

    @property
    def event(self) -> Event:
        """What prices the draws."""
        return next(entry.event for entry in self.ledger.entries if entry.event.proof is not None)

    @property
    def rows(self) -> int:
        """Synthetic workers that will be drawn."""
        return int(self.public.draws.sum())
