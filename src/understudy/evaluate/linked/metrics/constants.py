"""Whether what cannot change within a person does not."""

from understudy.evaluate.linked.rows import LinkedRows
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.measure import measures

CONSTANTS = Metric(
    name="constants",
    title="What stays the same within a person",
    goal="maximize",
    says="Share of people (and other parents) who have one value only of a column that cannot change. It must be 1.",
)


@measures(CONSTANTS, place=60)
def constants(real: LinkedRows, synthetic: LinkedRows) -> Score:
    """Over all constants of the synthetic tables; the note tells the same of the real ones."""
    parts = {name: single / all_of for name, (single, all_of) in synthetic.differing.items() if all_of}
    if not parts:
        return CONSTANTS.undefined("No column is constant within a parent.")
    differ = {name: all_of - single for name, (single, all_of) in real.differing.items() if single < all_of}
    told = "; ".join(f"{count:,} with several values of {name}" for name, count in differ.items())
    single, everybody = (sum(pair[place] for pair in synthetic.differing.values()) for place in (0, 1))
    return CONSTANTS.score(single / everybody, parts, note=f"In the confidential tables: {told}." if told else "")
