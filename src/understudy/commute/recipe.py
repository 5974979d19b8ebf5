"""The choices of a commuting release: checked when they are made, priced from public facts alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.commute.places import CommuteInput, PublicTable, Rings, read_rings, read_sizes
from understudy.commute.plan import THEOREM, Plan, lay_out
from understudy.commute.synthesize import FittedCommutes
from understudy.errors import ParameterError
from understudy.mechanisms.origin_draws import Certificate
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, Declared, Flag, Number, OneOf, Panel, Whole, option
from understudy.privacy.facts import MethodFacts
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.quote import Quote
from understudy.sources.base import Report

CERTIFICATES = ("pure", THEOREM, "probabilistic", "exact")
_MILES = Number(above=0, below=12_500, tried=30.0)
_BASELINE_TESTS = ("tests/exact/test_origin_baselines.py", "tests/exact/test_origin_vectors.py")

_PUBLIC = "who works where (destination totals), output sizes, the list of possible origins, distance rings"


def _facts(name: str, **more: Any) -> MethodFacts:
    """What the methods have in common; the baselines are our own."""
    common: dict[str, Any] = {
        "route": "N",
        "paper": "ours, as a yardstick for OnTheMap",
        "paper_claim": "nothing",
        "sound": "our own",
    }
    return MethodFacts(
        name=f"commute {name}",
        command=f"understudy commute synth --method {name}",
        neighbours=(Neighbours.ORIGIN,),
        **{"page": "docs/methods/onthemap.md", "public": _PUBLIC, **common, **more},
    )


@dataclass(frozen=True, kw_only=True)
class CommuteRecipe(Declared):
    """What is to be made and how it is to be proved; a promise that has a delta must be given one."""

    facts: ClassVar[Mapping[str, MethodFacts]] = {
        "levels": _facts(
            "levels",
            page="docs/methods/commute-levels.md",
            paper="ours",
            public="who works where (destination totals), the list of possible origins, levels of places",
            guarantee="(ε, δ)-DP for the origin and the characteristics of one worker",
            truth="Flows of every level, workers by home and groups are measured with discrete Gaussian noise under "
            "one price; whole flows that agree on all levels, and an interval for each, are post-processing.",
            proofs=("flow_measurements.md",),
            exact_tests=("tests/exact/test_flow_levels_exact.py",),
        ),
        "dirichlet": _facts(
            "dirichlet",
            route="S",
            guarantee="(ε, δ)-DP for the origin of one worker, or ε-DP",
            paper="OnTheMap",
            paper_claim="Theorem 4.4 gives (ε, δ)-probabilistic DP; theorem 5.2 keeps δ when the domain is shrunk.",
            sound="unsound",
            truth="4.1 and 4.3 hold; 4.4 is false for one worker and loose otherwise; 5.2 is false, δ grows when |α| "
            "falls. Every release is priced by exact tails of the Dirichlet-multinomial law; 4.4 may choose α, never "
            "the promise.",
            proofs=("origin_draws.md",),
            exact_tests=("tests/exact/test_origin_exact.py", "tests/exact/test_origin_vectors.py"),
            audits=("tests/audit/test_origin_audit.py",),
            instead="--certificate exact",
        ),
        "laplace": _facts(
            "laplace",
            guarantee="ε-DP",
            truth="Discrete Laplace noise on every cell of a destination.",
            proofs=("geometric_histogram.md",),
            exact_tests=(*_BASELINE_TESTS, "tests/exact/test_noise_exact.py"),
        ),
        "subsample": _facts(
            "subsample",
            guarantee="(ε, δ)-DP",
            truth="Subsampling and binomial noise, δ summed exactly.",
            proofs=("subsampled_binomial.md",),
            exact_tests=_BASELINE_TESTS,
        ),
        "sba": _facts(
            "sba",
            guarantee="(ε, δ)-DP",
            truth="Noise on occupied cells and a threshold.",
            proofs=("stability_histogram.md",),
            exact_tests=(*_BASELINE_TESTS, "tests/exact/test_stability.py"),
        ),
    }
    """Of every method, by its name."""

    epsilon: float = option(
        rule=Number(above=0, most=50, tried=4.6),  # above 50 it protects nothing
        help="Before shrinking and rejection, which add to it; the quote says how much.",
        panel=Panel.PRIVACY,
    )
    delta: float | None = option(None, rule=DELTA, help="Not for a pure promise.", panel=Panel.PRIVACY)
    certificate: str | None = option(
        None,
        rule=OneOf(CERTIFICATES),
        help="How the paper's method dirichlet is proved: pure (theorem 4.1), theorem-4.4 (the paper's choice, promise "
        "recomputed), probabilistic (exact tails) or exact (smallest noise).",
        panel=Panel.PRIVACY,
    )
    method: str | None = option(
        None,
        rule=OneOf.of(facts),
        help="levels (flows that agree at every level, with intervals), dirichlet (the paper's), or a baseline: "
        "laplace, subsample, sba. Default: levels, or dirichlet where a certificate is given.",
    )
    prior: str = option(
        "uniform", rule=OneOf(("uniform", "distance")), help="uniform, or distance: by the rings' shares of commutes."
    )
    prior_cap: int = option(
        10,
        rule=Whole(least=1, most=10**6, tried=10),
        help="Largest ratio of two virtual counts under the prior distance.",
    )
    rings: Rings | None = option(
        None,
        rule=PublicTable(words="distance rings", kind=Rings, reader=read_rings, example="ctpp-minnesota"),
        help="Public histogram of distances (miles, share, perhaps keep), or ctpp-minnesota.",
        panel=Panel.INPUT,
    )
    shrink: bool = option(False, rule=Flag(), help="Drop empty origins at random (algorithm 2); costs epsilon.")
    cutoff: float | None = option(None, rule=_MILES, help="Leave out commutes beyond so many miles.")
    split: float | None = option(
        None,
        rule=_MILES,
        help="Model commutes beyond so many miles apart, ring by ring; makes a cliff in the distances there.",
    )
    reject: bool = option(
        False, rule=Flag(), help="Draw again what is not gamma-Good (lemma 5.2).", panel=Panel.PRIVACY
    )
    size: float = option(
        1.0, rule=Number(above=0, most=1000, tried=1.0), help="Synthetic workers per real one, rounded up."
    )
    sizes: Mapping[str, int] | None = option(
        None,
        rule=PublicTable(words="a public number of workers for each destination", kind=Mapping, reader=read_sizes),
        help="Public table of destination, workers: output sizes.",
        panel=Panel.INPUT,
    )
    subsample: float = option(
        0.5, rule=Number(above=0, most=1), help="Share of workers that the baseline subsample keeps."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method is None:
            object.__setattr__(self, "method", "levels" if self.certificate is None else "dirichlet")
        dirichlet = self.method == "dirichlet"
        if dirichlet and self.certificate is None:
            raise ParameterError(
                "`certificate` is missing; it says how the promise of the method dirichlet is proved. Try exact, or "
                "leave the method out: levels needs none."
            )
        if self.method == "levels" and (self.certificate is not None or self.size != 1.0 or self.sizes is not None):
            raise ParameterError(
                "certificate, size and sizes belong to the method dirichlet; the method levels draws one worker for "
                "every real one. Leave them out."
            )
        promise = f"the certificate {self.certificate!r}" if dirichlet else f"the method {self.method!r}"
        pure = self.certificate == "pure" if dirichlet else self.method == "laplace"
        if not pure and self.delta is None:
            raise ParameterError(
                f"`delta` is missing; {promise} needs one. Try 1e-6 or smaller, or the certificate pure."
            )
        if pure and self.delta is not None:
            raise ParameterError(f"`delta` is {self.delta}; {promise} is pure and takes none. Leave it out.")
        if self.cutoff is not None and self.split is not None and self.split >= self.cutoff:
            raise ParameterError(
                f"`split` is {self.split} and `cutoff` {self.cutoff}; long commutes start below the cut-off."
            )
        for name, is_set in (("shrink", self.shrink), ("prior distance", self.prior == "distance")):
            if is_set and self.rings is None:
                raise ParameterError(
                    f"`{name}` needs `rings`: a public histogram of commute distances. Try rings = 'ctpp-minnesota'."
                )
        if self.reject and self.certificate not in (THEOREM, "probabilistic"):
            raise ParameterError(
                f"`reject` is proved for probabilistic differential privacy (lemma 5.2), not for the certificate "
                f"{self.certificate!r}. Use certificate = 'probabilistic' or theorem-4.4."
            )
        if self.certificate == THEOREM and (self.size != 1.0 or self.sizes is not None):
            raise ParameterError(
                "theorem 4.4 needs as many synthetic workers as real ones in every destination; leave the output size "
                "as it is, or use the certificate exact, which allows any."
            )
        own = ("rings", "shrink", "cutoff", "split", "reject", "prior")
        if not dirichlet and (given := [name for name in own if getattr(self, name) not in (None, False, "uniform")]):
            raise ParameterError(
                f"{', '.join(given)} belong to the method dirichlet, not to the method {self.method!r}. Leave them out."
            )

    @property
    def uses_distance(self) -> bool:
        """Whether the domain depends on coordinates."""
        return self.rings is not None or self.cutoff is not None or self.split is not None

    @property
    def proved(self) -> Certificate:
        """What the promise is proved by; theorem 4.4 chooses virtual counts and proves nothing."""
        assert self.certificate is not None  # of the method dirichlet
        return Certificate.PROBABILISTIC if self.certificate == THEOREM else Certificate(self.certificate)

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


METHODS = tuple(CommuteRecipe.facts)
