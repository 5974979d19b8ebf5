"""All risk metrics of one release, in the order in which a report shows them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from understudy.codebook.columns import Role
from understudy.codebook.numbers import Number
from understudy.errors import ParameterError
from understudy.evaluate.checks import check_rows
from understudy.evaluate.holdout import check_holdout
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.remembered import Remembered
from understudy.evaluate.risk import copies, giomi, guesses, linking, membership
from understudy.evaluate.risk.cells import check_tables
from understudy.evaluate.risk.membership import Shadows
from understudy.mechanisms.stream import Stream
from understudy.parameters import OneOf
from understudy.sources.base import Report, Source

LEVELS = OneOf(("quick", "full"))
METRICS: dict[str, Metric] = {
    value.name: value
    for module in (guesses, linking, copies, giomi, membership)
    for value in vars(module).values()
    if isinstance(value, Metric)
}


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
    seed, names = stream or Stream.seeded(0), set(real.codebook.names)
    steps: list[tuple[str, Callable[[], Score]]] = []

    def add(attack: Callable[..., Score], *tables: Source, about: str = "", **choices: object) -> None:
        steps.append((about, partial(attack, *tables, **choices)))

    for name in wanted:
        guess = guesses.mean_attack if isinstance(real.codebook.column(name), Number) else guesses.mode_attack
        add(guess, truth, copy, about=name, quasi=known, sensitive=name, holdout=others, stream=seed.spawn())
    if known:
        for name in wanted:
            add(linking.match_probability, truth, copy, about=name, quasi=known, sensitive=[name], holdout=others)
        for name in wanted:
            if names - {*known, name}:  # its tables are large and nobody asks for them again: not remembered
                add(linking.link_gain, real, synthetic, about=name, quasi=known, sensitive=name)
        add(copies.uniqueness, truth, copy, columns=known, stream=seed.spawn())
    add(copies.exact_copies, truth, copy, holdout=others)
    if external is not None:
        add(linking.linkage, truth, copy, external, quasi=known, sensitive=wanted)
    if level == "full":
        add(copies.closest_record, truth, copy, holdout=others, stream=seed.spawn())
        add(giomi.singling_out, truth, copy, holdout=others, stream=seed.spawn())
        if len(names) > 1:
            add(giomi.linkability, truth, copy, holdout=others, stream=seed.spawn())
            for name in wanted:
                add(giomi.inference, truth, copy, about=name, sensitive=name, holdout=others, stream=seed.spawn())
        if shadows is not None:
            add(shadows.attack, truth, copy, stream=seed.spawn(), report=report)
    return _carried_out(steps, report)


def _carried_out(steps: Sequence[tuple[str, Callable[[], Score]]], report: Report | None) -> list[Score]:
    scores = []
    for done, (about, attack) in enumerate(steps, start=1):
        score = attack()
        scores.append(replace(score, metric=f"{score.metric}: {about}") if about else score)
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
