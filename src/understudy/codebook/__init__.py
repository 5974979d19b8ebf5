"""What a table may hold: public knowledge, no data inside."""

from understudy.codebook.book import Codebook
from understudy.codebook.columns import (
    Attestation,
    Categorical,
    Column,
    Dates,
    Grain,
    Levelled,
    Ordinal,
    Origin,
    Role,
    Text,
)
from understudy.codebook.hierarchy import Generalisation
from understudy.codebook.numbers import Continuous, Integer, Number

__all__ = [
    "Attestation",
    "Categorical",
    "Codebook",
    "Column",
    "Continuous",
    "Dates",
    "Generalisation",
    "Grain",
    "Integer",
    "Levelled",
    "Number",
    "Ordinal",
    "Origin",
    "Role",
    "Text",
]
