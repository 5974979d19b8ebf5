"""Words of the report, each in a sentence or two."""

from understudy.evaluate.metric import Metric
from understudy.evaluate.risk.scores import METRICS as RISKS
from understudy.evaluate.utility import METRICS

GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "Association (Cramer's V)",
        "How strongly two columns hang together: 0 not at all, 1 when one fixes the other. Corrected for the bias that "
        "small tables have.",
    ),
    (
        "Attribute inference",
        "An intruder knows some columns of a person (the quasi-identifiers) and guesses another one from the synthetic "
        "table. What counts is how much better the guess is than for people whose records were never used.",
    ),
    (
        "Bootstrap",
        "Rows drawn with replacement from the confidential table itself, as many as the synthetic table has. It has no "
        "error but chance, so it is the best that a synthetic table of that size can hope for, and it protects nobody.",
    ),
    (
        "Confidence interval",
        "Where the true figure lies in 95 of 100 repetitions; a wide one means that few records decided.",
    ),
    (
        "Differential privacy, epsilon, delta",
        "A promise about the method, not about one table: whether or not any one record was in the data, everything "
        "that is seen is about as likely, up to a factor e^epsilon, except with probability delta.",
    ),
    (
        "Hold-out",
        "Real records set aside before synthesis. An attack that works as well on them as on the records that were "
        "used has learned about the population, not about a person.",
    ),
    (
        "Independent columns",
        "A table whose columns have the right shares and nothing to do with each other. A synthetic table should come "
        "clearly closer to the confidential one than this.",
    ),
    (
        "Mosaic plot",
        "A two-way table as tiles: widths are shares of one column, heights shares of the other within it.",
    ),
    (
        "pMSE",
        "How well a model tells synthetic rows from real ones: 0 when it cannot. Its ratio to what chance would give "
        "is 1 for a table drawn from the same population.",
    ),
    ("Quasi-identifier", "A column that an intruder may know about a person, for example age, sex or place."),
    (
        "Total variation distance",
        "The share of rows that one would have to change to turn one table of shares into the other: 0 equal, 1 "
        "nothing in common.",
    ),
    (
        "Train on synthetic, test on real",
        "A classifier learns from the synthetic table and is judged on real records, beside one that learned "
        "from real ones.",
    ),
)


def metric_named(name: str) -> Metric | None:
    """The metric of a score or measure: what follows a colon or a bar says what it is about."""
    name = name.partition(": ")[0].partition(" | ")[0]
    return METRICS.get(name) or RISKS.get(name)


def title_of(metric: str) -> str:
    """A heading for a metric, with what it is about.

    >>> title_of("mode_attack: MDC"), title_of("something_new")
    ('Wrong guesses of a category: MDC', 'Something new')
    """
    name, _, about = metric.partition(": ")
    known = metric_named(name)
    title = known.title if known else name.replace("_", " ").capitalize()
    return f"{title}: {about}" if about else title
