"""Linking by quasi-identifiers: what a matching synthetic record, one more column, or an outside file gives away."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, ParameterError
from understudy.evaluate.checks import check_column
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.attack import attacks
from understudy.evaluate.risk.cells import Cells, Floats, check_tables, group_sums, joint_keys, lookup, open_cells
from understudy.evaluate.risk.intervals import wilson
from understudy.sources.base import Source

MATCH_PROBABILITY = Metric(
    name="match_probability",
    title="Match probability",
    room="risk",
    says="Chance that a synthetic record which fits a person's quasi-identifiers is right about the sensitive values.",
)
LINK_GAIN = Metric(
    name="link_gain",
    title="Link gain",
    highest=float("inf"),
    room="risk",
    says="By what factor one more known column makes a synthetic record's sensitive value likelier to be right.",
    best=1.0,
)
LINKAGE = Metric(
    name="linkage",
    title="Linkage with an external file",
    room="risk",
    says="Share of people in an outside file who fit exactly one synthetic record that is right about them.",
)


def match_counts(people: Cells, guide: Cells, quasi: Sequence[str]) -> tuple[Floats, Floats]:
    """For each cell of ``people``: records of ``guide`` that fit on ``quasi``, and those of them that fit wholly."""
    theirs, ours = joint_keys(guide.sizes_of(quasi), guide.pick(quasi), people.pick(quasi))
    fitting = lookup(ours, *group_sums(theirs, guide.counts), default=0.0)
    theirs, ours = joint_keys(guide.sizes, guide.codes, people.codes)
    return fitting, lookup(ours, *group_sums(theirs, guide.counts), default=0.0)


@attacks(MATCH_PROBABILITY, "quasi", "holdout", each=True, where=lambda scene, about: bool(scene.quasi), place=20)
def match_probability(
    real: Source,
    synthetic: Source,
    *,
    quasi: Sequence[str],
    sensitive: str | Sequence[str],
    holdout: Source | None = None,
) -> Score:
    """How likely a synthetic record picked by its quasi-identifiers is right about a person.

    Duncan and Lambert (1986): an intruder who finds c records that fit a person gives each the probability 1/c. Reiter
    (2005): the expected share of right matches is the mean of k/c, with k of the c records right. In a synthetic file
    no record is the person's own, so "right" means that the sensitive values agree. The breakdown has the maximum, and
    Reiter's true and false match rates.
    """
    secret = (sensitive,) if isinstance(sensitive, str) else sensitive
    columns = tuple(dict.fromkeys((*quasi, *secret)))
    if not quasi or len(columns) == len(set(quasi)):
        raise ParameterError(
            f"the quasi-identifiers are {', '.join(quasi) or 'none'} and the sensitive columns "
            f"{', '.join(secret) or 'none'}; name at least one of each that the other does not hold."
        )
    check_tables(real, synthetic, holdout, columns=columns)
    people, copy = open_cells(real, columns), open_cells(synthetic, columns)
    fitting, right = match_counts(people, copy, quasi)
    chance = right / fitting.clip(min=1)
    expected = float((chance * people.counts).sum() / people.rows)
    single = fitting == 1
    singles = int(people.counts[single].sum())
    true = int(people.counts[single & (right == 1)].sum())
    largest = float(chance.max())
    lines = {
        "expected": expected,
        "maximum": largest,
        "people at the maximum": float(people.counts[chance == largest].sum() / people.rows) if largest else 0.0,
        "claimed": float((people.counts[fitting > 0] / fitting[fitting > 0]).sum() / people.rows),
        "true match rate": true / people.rows,
        "false match rate": (singles - true) / singles if singles else 0.0,
    }
    if holdout is not None:
        others = open_cells(holdout, columns)
        theirs, exact = match_counts(others, copy, quasi)
        lines["control"] = float((exact / theirs.clip(min=1) * others.counts).sum() / others.rows)
    rate = wilson(people.rows * expected, people.rows)
    wanted = ", ".join(name for name in columns if name not in quasi)
    return MATCH_PROBABILITY.score(
        replace(rate, value=expected),
        lines,
        note=f"{wanted} of a record that fits on {', '.join(quasi)}. "
        "`claimed` is what the intruder would believe: 1 over the number of records that fit.",
    )


def gain(people: Cells, guide: Cells, *, quasi: Sequence[str]) -> tuple[float, float, float]:
    """Mean of Lambda over people, and the mean chances before and after linking; columns are quasi, linked, sensitive.

    Only people whom the synthetic file can guess at all count: their own combination with Z occurs, and the value too.
    """
    linked, sensitive = people.columns[-2:]
    fits, right = _chances(people, guide, (*quasi, sensitive), quasi)
    fits_too, right_too = _chances(people, guide, people.columns, (*quasi, linked))
    known = (right > 0) & (fits_too > 0)
    if not known.any():
        return float("nan"), float("nan"), float("nan")
    weight = people.counts[known] / people.counts[known].sum()
    before, after = (right / fits.clip(min=1))[known], (right_too / fits_too.clip(min=1))[known]
    return tuple(float((part * weight).sum()) for part in (after / before, before, after))  # type: ignore[return-value]


def _chances(people: Cells, guide: Cells, columns: Sequence[str], known: Sequence[str]) -> tuple[Floats, Floats]:
    part, whole = (
        Cells(columns=tuple(columns), sizes=table.sizes_of(columns), codes=table.pick(columns), counts=table.counts)
        for table in (people, guide)
    )
    return match_counts(part, whole, known)


@attacks(
    LINK_GAIN,
    "quasi",
    each=True,
    remembered=False,
    where=lambda scene, about: bool(scene.quasi and {*scene.book.names} - {*scene.quasi, about}),
    place=30,
)
def link_gain(
    real: Source, synthetic: Source, *, quasi: Sequence[str], sensitive: str, linked: Sequence[str] | None = None
) -> Score:
    """What linking another column adds to a guess (lugs.txt theorem 2): the most telling column; all in the breakdown.

    Lambda = Pr(Y~ = Y | X, Z) / Pr(Y~ = Y | X): X are the quasi-identifiers, Z the linked column, Y the sensitive one,
    and the probabilities are those of the synthetic file at a real person's values. The theorem is Bayes' rule. What
    follows from it is Lambda <= 1 / Pr(Y~ = Y | X), no more: the paper's "Lambda increases as the guess gets worse"
    does not (PRIVACY section 4).
    """
    others = [name for name in real.codebook.names if name not in (*quasi, sensitive)]
    columns = others if linked is None else list(linked)
    check_tables(real, synthetic, columns=(*quasi, sensitive, *columns))
    if not columns or set(columns) & {*quasi, sensitive}:
        raise ParameterError(
            f"`linked` is {', '.join(columns) or 'empty'}; name columns besides the quasi-identifiers and "
            f"{sensitive!r} that another file could bring."
        )
    lines: dict[str, float] = {}
    top, before, after = float("nan"), float("nan"), float("nan")
    for name in columns:
        clique = (*quasi, name, sensitive)
        gained = gain(open_cells(real, clique), open_cells(synthetic, clique), quasi=tuple(quasi))
        lines[name] = gained[0]
        if not np.isnan(gained[0]) and not gained[0] <= top:
            top, before, after = gained
    lines |= {"chance before": before, "chance after": after}
    return LINK_GAIN.score(
        top,
        lines,
        note=f"Gain about {sensitive} beyond {', '.join(quasi) or 'nothing'}; 1 means that linking tells nothing. "
        "Small groups make it look larger than it is.",
    )


@attacks(LINKAGE, "external", "quasi", "sensitive", where=lambda scene, about: scene.external is not None, place=60)
def linkage(
    real: Source, synthetic: Source, external: Source, *, quasi: Sequence[str], sensitive: Sequence[str]
) -> Score:
    """Follow every person of ``external``, a register of voters for example, to the synthetic file.

    A link is right when the person fits exactly one synthetic record, exactly one real one, and their sensitive values
    agree. ``external`` needs the quasi-identifiers only.
    """
    columns = tuple(dict.fromkeys((*quasi, *sensitive)))
    if not quasi or len(columns) == len(set(quasi)):
        raise ParameterError("linking needs quasi-identifiers, and at least one sensitive column that is none of them.")
    check_tables(real, synthetic, columns=columns)
    for name in quasi:
        check_column(external, name, called="quasi")
        if external.codebook.column(name).labels != real.codebook.column(name).labels:
            raise DataError(
                f"column {name!r} has other levels in the external file; read it with the same column of the codebook."
            )
    people = open_cells(external, quasi)
    real_groups, copy_groups = open_cells(real, quasi), open_cells(synthetic, quasi)
    truth, copy = open_cells(real, columns), open_cells(synthetic, columns)
    ours, real_keys, copy_keys = joint_keys(people.sizes, people.codes, real_groups.codes, copy_groups.codes)
    present = lookup(ours, *group_sums(real_keys, real_groups.counts), default=0.0)
    fitting = lookup(ours, *group_sums(copy_keys, copy_groups.counts), default=0.0)
    # where a combination has one record in each table, the two agree iff they share a cell over all columns
    whole, whole_copy = joint_keys(truth.sizes, truth.codes, copy.codes)
    shared = truth.codes[np.isin(whole, whole_copy)][:, : len(quasi)]
    ours_again, agreeing = joint_keys(people.sizes, people.codes, shared)
    agrees = np.isin(ours_again, agreeing)
    lone = fitting == 1
    both = lone & (present == 1)

    def share(mask: npt.NDArray[np.bool_]) -> float:
        return float(people.counts[mask].sum() / people.rows)

    rate = wilson(int(people.counts[both & agrees].sum()), people.rows)
    return LINKAGE.score(
        rate,
        {
            "fits some synthetic record": share(fitting > 0),
            "fits exactly one": share(lone),
            "fits one in both": share(both),
            "right": rate.value,
            "in the real table": share(present > 0),
        },
        note=f"{people.rows:,} people of the outside file, linked on {', '.join(quasi)}.",
    )
