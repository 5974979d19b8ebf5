"""A promise as odds, for the first screen of a page; rounded so that what is written is never better than true."""

import math
from collections.abc import Iterator

from understudy.pages.decision import Fact
from understudy.pages.numbers import number
from understudy.privacy.guarantees import ApproxDP, Guarantee, NoFormal, ProbabilisticDP, PureDP
from understudy.privacy.spelling import at_least, at_most, short_promise


def odds_facts(total: Guarantee, *, whose: str) -> Iterator[Fact]:
    """How far the release may change anybody's odds about ``whose``, and how often that may fail."""
    if not isinstance(total, PureDP | ApproxDP | ProbabilisticDP):
        why = str(total.why) if isinstance(total, NoFormal) else "It is no differential privacy."
        yield Fact(label="Formal promise", value=short_promise(total), says=why)
        return
    factor = math.exp(total.epsilon) if total.epsilon < 700 else math.inf
    yield Fact(
        label=f"Odds about {whose}",
        value=f"{number(float(at_most(factor, 3)))} times at most" if math.isfinite(factor) else "no useful bound",
        says="So much may this release change what anybody believes, whatever they know already (epsilon "
        f"{number(float(at_most(total.epsilon)))}).",
    )
    delta = getattr(total, "delta", 0.0)
    yield Fact(
        label="Chance that this fails",
        value=f"1 in {number(float(at_least(1 / delta, 3)))}" if delta else "none",
        says="Delta." if delta else "There is no delta.",
    )
