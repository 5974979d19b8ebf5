"""Linking a file that names people, such as a register of voters, to the synthetic one."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, ParameterError
from understudy.evaluate.checks import check_column
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.cells import check_tables, group_sums, joint_keys, lookup, open_cells
from understudy.evaluate.risk.intervals import wilson
from understudy.sources.base import Source

METRIC = Metric(
    name="linkage",
    goal="minimize",
    lowest=0.0,
    highest=1.0,
    room="risk",
    says="Share of people in an outside file who fit exactly one synthetic record that is right about them.",
)


def linkage(
    real: Source, synthetic: Source, external: Source, *, quasi: Sequence[str], sensitive: Sequence[str]
) -> Score:
    """Follow every person of ``external`` to the synthetic file, and check what is found against the real one.

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
    ours, one, other = joint_keys(people.sizes, people.codes, real_groups.codes, copy_groups.codes)
    present = lookup(ours, *group_sums(one, real_groups.counts), default=0.0)
    fitting = lookup(ours, *group_sums(other, copy_groups.counts), default=0.0)
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
    return Score(
        metric=METRIC.name,
        value=rate.value,
        breakdown={
            "fits some synthetic record": share(fitting > 0),
            "fits exactly one": share(lone),
            "fits one in both": share(both),
            "right": rate.value,
            "in the real table": share(present > 0),
        },
        low=rate.low,
        high=rate.high,
        note=f"{people.rows:,} people of the outside file, linked on {', '.join(quasi)}.",
    )
