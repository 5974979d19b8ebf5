"""The choices of a commuting release: checked when they are made, priced from public facts alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from understudy.commute.inputs import CommuteInput
from understudy.commute.lists import Sizes
from understudy.commute.plan import THEOREM, Plan, lay_out
from understudy.commute.rings import Rings
from understudy.commute.synthesize import FittedCommutes
from understudy.errors import ParameterError
from understudy.mechanisms.origin_baselines import BASELINES
from understudy.mechanisms.origin_draws import Certificate
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, EPSILON
from understudy.privacy.provenance import DECLARED, InputRole, Provenance
from understudy.privacy.quote import Quote
from understudy.sources.base import Report

CERTIFICATES = ("pure", THEOREM, "probabilistic", "exact")
METHODS = ("dirichlet", *BASELINES)


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
        EPSILON.check("epsilon", self.epsilon)
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
            DELTA.check("delta", self.delta)
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

    @property
    def proved(self) -> Certificate:
        """What the promise is proved by; theorem 4.4 chooses virtual counts and proves nothing."""
        return Certificate.PROBABILISTIC if self.certificate == THEOREM else Certificate(self.certificate)

    @property
    def public(self) -> Mapping[InputRole, Provenance]:
        """What the public tables among the choices are."""
        found = {}
        if self.rings is not None:
            found[InputRole.RINGS] = self.rings.provenance
        if self.sizes is not None:
            found[InputRole.SIZES] = self.sizes.provenance if isinstance(self.sizes, Sizes) else DECLARED
        return found

    def plan(self, given: CommuteInput, *, secure: bool = True) -> Plan:
        """Everything that can be said before an origin is looked at: domain, virtual counts and price."""
        return lay_out(self, given, secure=secure)

    def quote(self, given: CommuteInput, *, secure: bool = True) -> Quote:
        """The price alone."""
        return self.plan(given, secure=secure).quote

    def fit(self, given: CommuteInput, *, stream: Stream | None = None, report: Report | None = None) -> FittedCommutes:
        """Lay it out, once. The default stream is secure; a seeded one makes the release not private."""
        stream = Stream.checked(stream)
        return FittedCommutes(plan=self.plan(given, secure=stream.is_secure), stream=stream, report=report)

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
