"""All risk metrics of one release, in the order in which a report shows them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from understudy.codebook.columns import Role
from understudy.codebook.numbers import Number
from understudy.errors import ParameterError
from understudy.evaluate.checks import check_rows, count_rows
from understudy.evaluate.holdout import check_holdout
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.remembered import Remembered
from understudy.evaluate.risk import copies, giomi, guesses, linking
from understudy.evaluate.risk.cells import check_tables
from understudy.evaluate.risk.membership import MEMBERSHIP, try_membership
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Report, Source
from understudy.synth.recipe import Recipe

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        guesses.MODE_ATTACK,
        guesses.MEAN_ATTACK,
        linking.MATCH_PROBABILITY,
        linking.LINK_GAIN,
        copies.UNIQUENESS,
        copies.EXACT_COPIES,
        linking.LINKAGE,
        copies.CLOSEST_RECORD,
        giomi.SINGLING_OUT,
        giomi.LINKABILITY,
        giomi.INFERENCE,
        MEMBERSHIP,
    )
}


@dataclass(frozen=True, kw_only=True)
class Shadows:
    """How to rerun the method that made a table, for the attack by shadow models."""

    recipe: Recipe | None
    why_not: str = ""
    """Why there is no recipe."""
    runs: int | None = None
    """On each of two tables; without a number, 100 if they are quick enough."""
    processes: int = 1

    def attack(self, real: Source, copy: Source, *, stream: Stream, report: Report | None = None) -> Score:
        """As many rows are drawn each time as the synthetic table has."""
        return try_membership(
            self.recipe,
            real,
            rows=count_rows(copy),
            runs=self.runs,
            why_not=self.why_not,
            stream=stream,
            processes=self.processes,
            report=report,
        )


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
    if level not in ("quick", "full"):
        raise ParameterError(f"`level` is {level!r}; it must be 'quick' (counting only) or 'full'.")
    known, wanted = _roles(real, quasi, sensitive)
    check_tables(real, synthetic, holdout, columns=(*known, *wanted))
    check_rows(real, called="real")
    check_rows(synthetic, called="synthetic")
    if holdout is not None:
        check_rows(holdout, called="hold-out")
        check_holdout(real, holdout)
    truth, copy = Remembered(real), Remembered(synthetic)
    others = None if holdout is None else Remembered(holdout)
    seed = stream or Stream.seeded(0)
    steps = [
        *_guesses(truth, copy, others, known, wanted, seed),
        *_gains(real, synthetic, known, wanted),
        *_lookups(truth, copy, others, external, known, wanted, seed),
    ]
    if level == "full":
        steps += _full(truth, copy, others, wanted, seed)
        if shadows is not None:
            steps.append(("", _later(shadows.attack, truth, copy, stream=seed.spawn(), report=report)))
    found = []
    for done, (label, step) in enumerate(steps, start=1):
        score = step()
        found.append(replace(score, metric=f"{score.metric}: {label}") if label else score)
        if report:
            report("measuring risk", done, len(steps))
    return found


_Step = tuple[str, Callable[[], Score]]


def _guesses(
    real: Source, copy: Source, others: Source | None, known: Sequence[str], wanted: Sequence[str], stream: Stream
) -> list[_Step]:
    steps: list[_Step] = []
    for name in wanted:
        attack = guesses.mean_attack if isinstance(real.codebook.column(name), Number) else guesses.mode_attack
        more = {"quasi": known, "sensitive": name, "holdout": others, "stream": stream.spawn()}
        steps.append((name, _later(attack, real, copy, **more)))
    for name in wanted if known else ():
        more = {"quasi": known, "sensitive": [name], "holdout": others}
        steps.append((name, _later(linking.match_probability, real, copy, **more)))
    return steps


def _gains(real: Source, copy: Source, known: Sequence[str], wanted: Sequence[str]) -> list[_Step]:
    """Their tables are large and nobody asks for them again, so they are not remembered."""
    return [
        (name, _later(linking.link_gain, real, copy, quasi=known, sensitive=name))
        for name in wanted
        if known and set(real.codebook.names) - {*known, name}
    ]


def _lookups(
    real: Source,
    copy: Source,
    others: Source | None,
    external: Source | None,
    known: Sequence[str],
    wanted: Sequence[str],
    stream: Stream,
) -> list[_Step]:
    steps: list[_Step] = []
    if known:
        steps.append(("", _later(copies.uniqueness, real, copy, columns=known, stream=stream.spawn())))
    steps.append(("", _later(copies.exact_copies, real, copy, holdout=others)))
    if external is not None:
        steps.append(("", _later(linking.linkage, real, copy, external, quasi=known, sensitive=wanted)))
    return steps


def _full(real: Source, copy: Source, others: Source | None, wanted: Sequence[str], stream: Stream) -> list[_Step]:
    fresh = {"holdout": others}
    steps: list[_Step] = [
        ("", _later(copies.closest_record, real, copy, stream=stream.spawn(), **fresh)),
        ("", _later(giomi.singling_out, real, copy, stream=stream.spawn(), **fresh)),
    ]
    if len(real.codebook.names) > 1:
        steps.append(("", _later(giomi.linkability, real, copy, stream=stream.spawn(), **fresh)))
        for name in wanted:
            found = _later(giomi.inference, real, copy, sensitive=name, stream=stream.spawn(), **fresh)
            steps.append((name, found))
    return steps


def _later(attack: Callable[..., Score], *tables: Source, **choices: object) -> Callable[[], Score]:
    return lambda: attack(*tables, **choices)


def _roles(
    real: Source, quasi: Sequence[str] | None, sensitive: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the intruder knows and wants: as given, or by the roles that the codebook declares."""
    columns = real.codebook.modelled
    known = [c.name for c in columns if c.role is Role.QUASI_IDENTIFIER] if quasi is None else list(quasi)
    wanted = [c.name for c in columns if c.role is Role.SENSITIVE] if sensitive is None else list(sensitive)
    if twice := [name for name in known if name in wanted]:
        raise ParameterError(
            f"the columns {', '.join(twice)} are quasi-identifiers and sensitive at once; an intruder does not guess "
            "what they know. Take them out of one of the two."
        )
    return tuple(known), tuple(wanted)
