"""Singling out, linkability and inference: the three attacks of Giomi et al. 2023 (doi:10.56553/popets-2023-0055).

Each rate has Wilson's interval. What is true of everybody like the person is learned as well from people who were not
in the data; where there is a hold-out, the score is what the attack gains over them.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel
from understudy.errors import ParameterError
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.attack import attacks
from understudy.evaluate.risk.cells import Cells, Floats, Ints, check_tables, open_cells
from understudy.evaluate.risk.intervals import Rate, residual, wilson
from understudy.evaluate.risk.neighbours import nearest, scale_of
from understudy.evaluate.values import is_ordered
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

SINGLING_OUT = Metric(
    name="singling_out",
    title="Singling out",
    room="risk",
    says="How often a description that fits one synthetic record fits exactly one real person, beyond chance.",
)
LINKABILITY = Metric(
    name="linkability",
    title="Linkability",
    room="risk",
    says="How often two separate pieces of knowledge about a person lead to one synthetic record, beyond chance.",
)
INFERENCE = Metric(
    name="inference",
    title="Attribute inference",
    room="risk",
    says="How often the nearest synthetic record reveals a person's sensitive value, beyond chance.",
)
_LEAST_COLUMNS, _MOST_COLUMNS = 3, 8
_ANY, _SAME, _UP, _DOWN = 0, 1, 2, 3


@attacks(SINGLING_OUT, "holdout", "stream", full=True, place=80)
def singling_out(
    real: Source,
    synthetic: Source,
    *,
    holdout: Source | None = None,
    guesses: int = 1_000,
    stream: Stream | None = None,
) -> Score:
    """Whether a description read off the synthetic file fits exactly one person (section 4.1).

    A guess is a synthetic record reduced to a few columns (ordered values as "at least" or "at most", whichever is
    rarer) that no other synthetic record fits. It succeeds when exactly one real record fits. Both tables are cut to
    one size, because small tables have more unique records.
    """
    check_tables(real, synthetic, holdout)
    book, names = real.codebook, real.codebook.names
    rng = (stream or Stream.seeded(0)).generator()
    truth, copy = open_cells(real, names), open_cells(synthetic, names)
    unordered = np.array([c.proper_levels for c in book.modelled], dtype=np.int64)
    ordered = np.array([is_ordered(column) for column in book.modelled])

    made = _describe(copy.records()[rng.integers(copy.rows, size=4 * guesses)], copy, ordered, unordered, rng)
    lone = fitting(*made, copy, unordered) == 1
    values, tests = (part[lone][:guesses] for part in made)
    random = np.stack([rng.integers(size, size=max(len(values), 1)) for size in copy.sizes], axis=1)
    blind = fitting(*_describe(random, copy, ordered, unordered, rng), truth, unordered) == 1
    lines = {"guesses": float(len(values)), "baseline": float(blind.mean())}
    attack = wilson(int((fitting(values, tests, truth, unordered) == 1).sum()), len(values))
    lines["attack"] = attack.value
    rate = attack
    if holdout is not None:
        others = open_cells(holdout, names)
        size = min(truth.rows, others.rows)
        inside, outside = (
            wilson(int((fitting(values, tests, table.subsample(size, rng), unordered) == 1).sum()), len(values))
            for table in (truth, others)
        )
        lines |= {"attack at the control's size": inside.value, "control": outside.value}
        lines |= {"tried": float(len(values)), "tried, held out": float(len(values))}
        rate = residual(inside, outside)
    return SINGLING_OUT.score(
        rate,
        lines,
        note="Gain over the hold-out, (attack - control) / (1 - control)."
        if holdout is not None
        else "Without a hold-out this counts what is unique by chance as a success.",
    )


def _describe(
    records: Ints,
    copy: Cells,
    ordered: npt.NDArray[np.bool_],
    unordered: Ints,
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Values to compare with, and how: one row per description."""
    width = records.shape[1]
    wanted = rng.integers(min(_LEAST_COLUMNS, width), min(_MOST_COLUMNS, width) + 1, size=len(records))
    rank = rng.random(records.shape).argsort(axis=1).argsort(axis=1)
    used = rank < wanted[:, None]
    weights = copy.counts / copy.rows
    middle = np.array([_median(copy.codes[:, column], weights) for column in range(width)])
    tests = np.where(ordered & (records < unordered), np.where(records >= middle, _UP, _DOWN), _SAME)
    return records, np.where(used, tests, _ANY)


def _median(codes: Ints, weights: Floats) -> int:
    shares = np.bincount(codes, weights=weights)
    return int(np.searchsorted(np.cumsum(shares), 0.5))


def fitting(values: Ints, tests: Ints, table: Cells, unordered: Ints) -> Ints:
    """How many records fit each description: 0, 1, or 2 for more."""
    numbers = np.zeros(len(values), dtype=np.int64)
    _fit(np.ascontiguousarray(values), np.ascontiguousarray(tests), table.codes, table.counts, unordered, numbers)
    return numbers


@kernel
def _fit(values: Ints, tests: Ints, codes: Ints, counts: Ints, unordered: Ints, numbers: Ints) -> None:
    for guess in range(len(values)):
        total = 0
        for row in range(len(codes)):
            fits = True
            for column in range(values.shape[1]):
                test = tests[guess, column]
                if test == 0:
                    continue
                wanted, value = values[guess, column], codes[row, column]
                if test == 1:
                    fits = wanted == value
                elif value >= unordered[column]:
                    fits = False
                else:
                    fits = value >= wanted if test == 2 else value <= wanted
                if not fits:
                    break
            if fits:
                total += counts[row]
                if total > 1:
                    break
        numbers[guess] = min(total, 2)


@attacks(
    LINKABILITY,
    "holdout",
    "stream",
    full=True,
    where=lambda scene, about: len(scene.book.names) > 1,
    place=90,
)
def linkability(
    real: Source,
    synthetic: Source,
    *,
    halves: tuple[Sequence[str], Sequence[str]] | None = None,
    holdout: Source | None = None,
    targets: int = 500,
    most: int = 20_000,
    stream: Stream | None = None,
) -> Score:
    """Whether two halves of what is known about a person lead to one synthetic record (section 4.2).

    The intruder holds two files about the same people, without a common key. For each person the nearest synthetic
    record is looked up by either half; the halves are linked when it is the same one. ``halves`` are the columns of
    either file, every other column by default. Up to ``targets`` people are looked up among up to ``most`` synthetic
    records; equally near records are taken at random, for each half on its own.
    """
    names = real.codebook.names
    first, second = (names[::2], names[1::2]) if halves is None else (tuple(halves[0]), tuple(halves[1]))
    check_tables(real, synthetic, holdout, columns=(*first, *second))
    if not first or not second or set(first) & set(second):
        raise ParameterError(
            f"the halves are {', '.join(first) or 'empty'} and {', '.join(second) or 'empty'}; linking needs two sets "
            "of columns without a common one."
        )
    rng = (stream or Stream.seeded(0)).generator()
    records = open_cells(synthetic, names).subsample(most, rng).records()
    orders = [rng.permutation(len(records)) for _ in range(2)]

    tried: list[int] = []

    def rate(source: Source) -> Rate:
        people = open_cells(source, names).subsample(targets, rng)
        tried.append(people.rows)
        places = [
            _look_up(people, half, records, order, source) for half, order in zip((first, second), orders, strict=True)
        ]
        linked = int(np.repeat(places[0] == places[1], people.counts).sum())
        return wilson(linked, people.rows)

    note = f"{', '.join(first)} in one file, {', '.join(second)} in the other."
    attack, control = rate(real), None if holdout is None else rate(holdout)
    return _beyond(LINKABILITY, attack, control, tried, baseline=1 / len(records), note=note)


def _look_up(people: Cells, half: Sequence[str], records: Ints, order: Ints, source: Source) -> Ints:
    axes = [people.columns.index(name) for name in half]
    places, _ = nearest(people.codes[:, axes], records[order][:, axes], scale_of(source.codebook, half))
    return order[places]


@attacks(
    INFERENCE,
    "holdout",
    "stream",
    each=True,
    full=True,
    where=lambda scene, about: len(scene.book.names) > 1,
    place=100,
)
def inference(
    real: Source,
    synthetic: Source,
    *,
    sensitive: str,
    known: Sequence[str] | None = None,
    holdout: Source | None = None,
    targets: int = 500,
    most: int = 20_000,
    stream: Stream | None = None,
) -> Score:
    """Whether the nearest synthetic record gives away a value (section 4.3).

    The intruder knows all other columns of a person and takes the secret one from the synthetic record that is nearest.
    """
    given = tuple(n for n in real.codebook.names if n != sensitive) if known is None else tuple(known)
    check_tables(real, synthetic, holdout, columns=(*given, sensitive))
    if not given or sensitive in given:
        raise ParameterError(
            f"the intruder knows {', '.join(given) or 'nothing'} and wants {sensitive!r}; known columns do not hold it."
        )
    rng = (stream or Stream.seeded(0)).generator()
    columns = (*given, sensitive)
    scale = scale_of(real.codebook, given)
    copy = open_cells(synthetic, columns)
    records = rng.permutation(copy.subsample(most, rng).records())
    common = int(np.bincount(copy.codes[:, -1], weights=copy.counts).argmax())

    tried: list[int] = []

    def rates(source: Source) -> tuple[Rate, float]:
        people = open_cells(source, columns).subsample(targets, rng)
        tried.append(people.rows)
        places, _ = nearest(people.codes[:, :-1], records[:, :-1], scale)
        right = records[places, -1] == people.codes[:, -1]
        blind = float(people.counts[people.codes[:, -1] == common].sum() / people.rows)
        return wilson(int(people.counts[right].sum()), people.rows), blind

    attack, baseline = rates(real)
    note = f"{sensitive} of the nearest synthetic record. `baseline` always guesses the commonest value."
    if holdout is None:
        note += " Without a hold-out, what is general and what is leaked look alike."
    control = None if holdout is None else rates(holdout)[0]
    return _beyond(INFERENCE, attack, control, tried, baseline=baseline, note=note)


def _beyond(
    metric: Metric, attack: Rate, control: Rate | None, tried: Sequence[int], *, baseline: float, note: str
) -> Score:
    """What an attack gains over the same attack on other people, or its plain rate where there are none."""
    lines = {"attack": attack.value, "baseline": baseline}
    if control is None:
        return metric.score(attack, lines, note=note)
    lines |= {"control": control.value, "tried": float(tried[0]), "tried, held out": float(tried[1])}
    return metric.score(residual(attack, control), lines, note=note)
