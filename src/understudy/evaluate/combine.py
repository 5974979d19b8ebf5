"""Combining rules: one estimate and its variance from several synthetic or completed files.

With m files, estimates q_i, their variances v_i, means q and v, and b the sample variance of the q_i:

- ``full`` (new rows, predicted columns): T_s = (1 + 1/m) b - v, (m-1)(1 - v/((1 + 1/m) b))^2 degrees of freedom
  [RRR03]; where T_s is not positive (one time in five at m = 5), Reiter's T_s* = (n_syn/n) v [Reiter02];
- ``partial`` (some values of the real records replaced): T_p = b/m + v, with (m-1)(1 + m v/b)^2 degrees of freedom
  [Reiter03];
- ``complete`` (every value drawn, parameters drawn too): v (n_syn/n + (1 + n_syn/n)/m) [RND16];
- ``plug-in`` (every value drawn from estimated parameters, as PeGS does): v (n_syn/n + 1/m) [RND16];
- ``missing`` (missing values filled): v + (1 + 1/m) b, (m-1)(1 + v/((1 + 1/m) b))^2 degrees of freedom [Rubin87].

Variances of synthetic files are those of the files themselves, as if they were simple random samples of n_syn rows. No
rule covers the bias of smoothing or the noise of differential privacy. The second can be added where it is known: rows
of a route N release follow ``plug-in``, with the noise of its measured tables (:func:`noise_variance`) on top.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from understudy.errors import ParameterError
from understudy.evaluate.risk.intervals import CONFIDENCE
from understudy.extras import need
from understudy.mechanisms.gaussian_stability import GaussianStability
from understudy.mechanisms.histogram import GeometricHistogram, SparseHistogram
from understudy.mechanisms.stability import StabilityHistogram
from understudy.parameters import Number, OneOf
from understudy.privacy.events import Event

ROWS_RATIO = Number(above=0)
NOISE = Number(least=0, tried=0.0)
KINDS = ("full", "partial", "complete", "plug-in", "missing")
_NOTE = (
    "no combining rule covers the bias of smoothing or the noise of differential privacy; under a privacy budget every "
    "further file costs its full price, unless all are drawn from tables that were released once (route N)"
)
_FILLED = "completed files hold real records, so this was computed on confidential data: it is not for release"
_NOISED = (
    "the variance holds the stated noise of the measured tables, common to all files; no combining rule covers bias, "
    "from smoothing, from thresholds or from setting negative counts to zero"
)


@dataclass(frozen=True, kw_only=True)
class Combined:
    """A combined estimate."""

    estimate: float
    variance: float
    degrees_of_freedom: float
    """Infinite where the rule refers to the normal law."""
    between: float
    within: float
    kind: str
    files: int
    adjusted: bool
    """Whether T_s was not positive, so that Reiter's replacement was used."""
    noise: float = 0.0
    """The part of the variance that was added for noise on the measured tables."""
    note: str = _NOTE

    @property
    def error(self) -> float:
        """Standard error."""
        return math.sqrt(self.variance)

    def interval(self, level: float = 0.95, *, normal: bool = False) -> tuple[float, float]:
        """Confidence interval by Student's law, or the normal one where asked or where there is no other."""
        need("scipy", extra="report", what="a confidence interval")
        from scipy import special

        CONFIDENCE.check("level", level)
        upper, freedom = (1 + level) / 2, self.degrees_of_freedom
        wide = special.ndtri(upper) if normal or math.isinf(freedom) else special.stdtrit(freedom, upper)
        reach = self.error * float(wide)
        return self.estimate - reach, self.estimate + reach

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain values for JSON with the interval; infinite degrees of freedom become None."""
        low, high = self.interval(level)
        freedom = self.degrees_of_freedom if math.isfinite(self.degrees_of_freedom) else None
        return {**vars(self), "degrees_of_freedom": freedom, "level": level, "low": low, "high": high}


def degrees_full(files: int, between: float, within: float) -> float:
    """Degrees of freedom of T_s.

    >>> round(degrees_full(5, 0.625, 1.0), 6)
    0.444444
    """
    return (files - 1) * (1 - within / ((1 + 1 / files) * between)) ** 2 if between > 0 else math.inf


def degrees_partial(files: int, between: float, within: float) -> float:
    """Degrees of freedom of T_p.

    >>> degrees_partial(5, 0.625, 1.0)
    324.0
    """
    return (files - 1) * (1 + files * within / between) ** 2 if between > 0 else math.inf


def combine(
    estimates: Sequence[float], variances: Sequence[float], *, kind: str, rows_ratio: float = 1.0, noise: float = 0.0
) -> Combined:
    """Combine by the rule of ``kind``; ``rows_ratio`` is n_syn/n, rows of one synthetic file per confidential record.

    ``noise`` is a known variance that all files share, to be added: see :func:`noise_variance`.

    >>> combine((10, 11, 9, 10.5, 9.5), (1,) * 5, kind="partial").variance
    1.125
    >>> found = combine((10, 11, 9, 10.5, 9.5), (1,) * 5, kind="full")
    >>> found.variance, found.adjusted
    (1.0, True)
    """
    q, v = _numbers("estimates", estimates), _numbers("variances", variances)
    _check(q, v, kind, rows_ratio, noise)
    files = len(q)
    mean, within = math.fsum(q) / files, math.fsum(v) / files
    between = math.fsum((x - mean) ** 2 for x in q) / (files - 1) if files > 1 else 0.0
    adjusted, freedom = False, math.inf
    if kind == "full":
        variance = (1 + 1 / files) * between - within
        freedom = degrees_full(files, between, within)
        if variance <= 0:  # its replacement is known but for v, so that the normal law serves
            variance, freedom, adjusted = rows_ratio * within, math.inf, True
    elif kind == "partial":
        variance = between / files + within
        freedom = degrees_partial(files, between, within)
    elif kind == "missing":
        spread = (1 + 1 / files) * between
        variance = within + spread
        freedom = (files - 1) * (1 + within / spread) ** 2 if spread > 0 else math.inf
    else:
        variance = within * (rows_ratio + (1 + (rows_ratio if kind == "complete" else 0.0)) / files)
    if noise > 0 and variance > 0:
        freedom *= ((variance + noise) / variance) ** 2  # Welch and Satterthwaite, with a known part
    return Combined(
        estimate=mean,
        variance=variance + noise,
        degrees_of_freedom=freedom,
        between=between,
        within=within,
        kind=kind,
        files=files,
        adjusted=adjusted,
        noise=noise,
        note=_FILLED if kind == "missing" else _NOISED if noise > 0 else _NOTE,
    )


def noise_variance(event: Event, *, weights: Sequence[float]) -> float:
    """Variance that the noise of one measured table brings to a weighted sum of its counts.

    ``event`` is that of the table's entry in the ledger. A share of n records over k cells has k weights of 1/n.
    Setting negative counts to zero shrinks the variance but brings a bias, and a threshold may do anything near itself:
    no interval covers either.

    >>> from fractions import Fraction
    >>> from understudy.privacy.guarantees import Neighbours
    >>> event = GeometricHistogram(scale=Fraction(1), neighbours=Neighbours.ADD_REMOVE)
    >>> round(noise_variance(event, weights=[1.0]), 6)
    1.841347
    """
    squares = math.fsum(weight**2 for weight in _numbers("weights", weights))
    if isinstance(event, GeometricHistogram | SparseHistogram | StabilityHistogram):
        q = math.exp(-1 / float(event.scale))
        return squares * 2 * q / (1 - q) ** 2  # of the discrete Laplace law
    if isinstance(event, GaussianStability):
        return squares * float(event.variance)  # the discrete law has no more than its parameter [CKS20 Cor 9]
    raise ParameterError(
        f"the event is {event.kind!r}; only tables with Laplace or Gaussian noise on their counts have a known noise "
        "variance. Combine without it, and say that the interval does not cover the mechanism."
    )


def _numbers(name: str, values: Sequence[float]) -> list[float]:
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError):
        raise ParameterError(f"`{name}` holds something that is no number; give one finite number per file.") from None


def _check(q: Sequence[float], v: Sequence[float], kind: str, rows_ratio: float, noise: float) -> None:
    OneOf(KINDS).check("kind", kind)
    ROWS_RATIO.check("rows_ratio", rows_ratio)
    NOISE.check("noise", noise)
    if len(q) != len(v):
        raise ParameterError(f"there are {len(q)} estimates and {len(v)} variances; give one variance per estimate.")
    least = 1 if kind in ("complete", "plug-in") else 2
    if len(q) < least:
        files = "a file" if least == 1 else "two files or more, whose difference it uses"
        raise ParameterError(f"there is {len(q)} estimate; the rule {kind!r} needs {files}. Try 5.")
    if not all(map(math.isfinite, (*q, *v))) or min(v) < 0:
        raise ParameterError("an estimate or a variance is not a finite number, or a variance is negative; mend it.")
