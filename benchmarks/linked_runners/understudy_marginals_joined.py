"""Our single-table default on the joined table, with the person as unit: the same cap, epsilon and delta."""

from linked_common import CAP, PATIENT, run

import understudy as us
from understudy.codebook import Categorical, PersonUnit, Role, Text


def make(tables, levels, folder, epsilon, delta):
    joined = tables["encounters"].merge(tables["patients"], on=PATIENT, validate="many_to_one")
    columns = [
        Categorical(name=name, levels=tuple(own))
        for table in ("patients", "encounters")
        for name, own in levels[table].items()
    ]
    book = us.Codebook(
        columns=(Text(name=PATIENT, role=Role.IDENTIFIER), *columns), unit=PersonUnit(id=PATIENT, cap=CAP)
    )
    rows = int(tables["encounters"].groupby(PATIENT).size().clip(upper=CAP).sum())
    fitted = us.Marginals(epsilon=epsilon, delta=delta).fit(us.open(joined, book))

    def draw():
        made = fitted.sample(rows).table.to_pandas()
        made[PATIENT] = [f"row-{number}" for number in range(len(made))]  # there are no histories to tell
        return {
            "patients": made[[PATIENT, *levels["patients"]]],
            "encounters": made[[PATIENT, *levels["encounters"]]],
        }

    return draw


run(make)
