"""All risk metrics of one release, in the order in which a report shows them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from understudy.codebook.columns import Role
from understudy.errors import ParameterError
from understudy.evaluate import risk
from understudy.evaluate.checks import check_rows
from understudy.evaluate.holdout import check_holdout
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.remembered import Remembered
from understudy.evaluate.risk.attack import Attack, Scene, find_attacks
from understudy.evaluate.risk.cells import check_tables
from understudy.evaluate.risk.membership import Shadows
from understudy.mechanisms.stream import Stream
from understudy.parameters import OneOf
from understudy.sources.base import Report, Source

LEVELS = OneOf(("quick", "full"))
ATTACKS: dict[str, Attack] = find_attacks("understudy.evaluate.risk", risk.__path__)
"""Every attack by the name of its metric, in the order of a report."""
METRICS: dict[str, Metric] = {name: attack.metric for name, attack in ATTACKS.items()}
"""What each of them says."""


def metric_of(score: Score) -> Metric:
    """The metric of a score, named as the score is: ``mode_attack: MDC`` is ``mode_attack`` about MDC.

    >>> metric_of(Score(metric="mode_attack: MDC", value=0.5)).name
    'mode_attack: MDC'
    """
    return replace(METRICS[score.metric.partition(": ")[0]], name=score.metric)


def risk_scores(
    real: Source,
    synthetic: Source,
    *,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    holdout: Source | None = None,
    external: Source | None = None,
    level: str = "quick",
    shadows: Shadows | None = None,
    stream: Stream | None = None,
    report: Report | None = None,
) -> list[Score]:
    """Every attack that the tables allow. ``quick`` only counts; ``full`` adds neighbour searches and guesses.

    Without ``quasi`` and ``sensitive`` the roles of the codebook decide. Attacks that need randomness (a bootstrap, a
    sample of targets) use a fixed seed unless a ``stream`` is given: a report of the same tables says the same.
    ``shadows`` says how to rerun the method; without it ``full`` has no shadow models.
    """
    LEVELS.check("level", level)
    known, wanted = _roles(real, quasi, sensitive)
    check_tables(real, synthetic, holdout, columns=(*known, *wanted))
    check_rows(real, called="real")
    check_rows(synthetic, called="synthetic")
    if holdout is not None:
        check_rows(holdout, called="hold-out")
        check_holdout(real, holdout)
    truth, copy = Remembered(real), Remembered(synthetic)
    others = None if holdout is None else Remembered(holdout)
    scene = Scene(
        book=real.codebook,
        quasi=known,
        sensitive=wanted,
        holdout=others,
        external=external,
        shadows=shadows,
        report=report,
    )
    seed = stream or Stream.seeded(0)
    steps: list[Callable[[], Score]] = []
    for attack, about in _asked(scene, is_full=level == "full"):
        tables = (truth, copy) if attack.remembered else (real, synthetic)
        steps.append(partial(attack, *tables, scene, about, seed.spawn() if "stream" in attack.told else None))
    return _carried_out(steps, report)


def _asked(scene: Scene, *, is_full: bool) -> list[tuple[Attack, str]]:
    """Attacks with what they are about, as a report shows them; those of one place are together for each column."""
    asked = [
        (attack.place, scene.sensitive.index(about) if about else 0, name, attack, about)
        for name, attack in ATTACKS.items()
        if is_full or not attack.full
        for about in attack.abouts(scene)
    ]
    return [(attack, about) for _, _, _, attack, about in sorted(asked, key=lambda one: one[:3])]


def _carried_out(steps: Sequence[Callable[[], Score]], report: Report | None) -> list[Score]:
    scores = []
    for done, attack in enumerate(steps, start=1):
        scores.append(attack())
        if report:
            report("measuring risk", done, len(steps))
    return scores


def _roles(
    real: Source, quasi: Sequence[str] | None, sensitive: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the intruder knows and wants: as given, or by the roles that the codebook declares."""
    known = real.codebook.with_role(Role.QUASI_IDENTIFIER) if quasi is None else tuple(quasi)
    wanted = real.codebook.with_role(Role.SENSITIVE) if sensitive is None else tuple(sensitive)
    if twice := [name for name in known if name in wanted]:
        raise ParameterError(
            f"the columns {', '.join(twice)} are quasi-identifiers and sensitive at once; an intruder does not guess "
            "what they know. Take them out of one of the two."
        )
    return known, wanted
